//! Where something stands in the file, and what is wrong there.

use crate::mesos::secret;
use crate::render::clean;
use std::fmt;
use std::path::{Path, PathBuf};

/// A value and the byte of the text at which it begins.
#[derive(Clone, Debug)]
pub(super) struct Placed<T> {
    pub(super) at: usize,
    pub(super) value: T,
}

impl<T> Placed<T> {
    pub(super) fn new(at: usize, value: T) -> Self {
        Self { at, value }
    }
}

/// Whose fault it is: this decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The text is wrong on every machine.
    Text,
    /// This machine lacks what the text names: a program, a user, a file.
    Machine,
}

/// One thing that is wrong with a file, and what helps.
///
/// ```text
/// minion.toml:12:17: restart-delay: not a duration: "5" (hint: restart-delay takes a duration such as "10s", …)
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as it was named.
    pub file: PathBuf,
    /// The line, from 1. None where no line is at fault.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What the reader can do about it; empty where nothing helps.
    pub hint: String,
    /// Whose fault it is.
    pub fault: Fault,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", clean(&self.file.to_string_lossy()))?;
        if let Some(line) = self.line {
            write!(f, "{line}:{}:", self.column)?;
        }
        // Both quote the file, which may hold what would steer a terminal.
        write!(f, " {}", clean(&self.message))?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, " (hint: {})", clean(&self.hint)) }
    }
}

/// What is wrong with a value. The reader of keys adds the hint that its table has.
#[derive(Debug)]
pub(super) struct Wrong {
    /// Where, when not at the value itself.
    pub(super) at: Option<usize>,
    pub(super) message: String,
    /// Another hint than that of the table.
    pub(super) hint: Option<String>,
}

impl Wrong {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { at: None, message: message.into(), hint: None }
    }

    pub(super) fn at(self, at: usize) -> Self {
        Self { at: Some(at), ..self }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// What was found to be wrong so far: reading goes on behind each fault, so that one look shows them all.
pub(super) struct Findings<'a> {
    text: &'a str,
    file: &'a Path,
    found: Vec<(usize, Problem)>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(text: &'a str, file: &'a Path) -> Self {
        Self { text, file, found: Vec::new() }
    }

    /// Something that is wrong with the text.
    pub(super) fn add(&mut self, at: usize, message: impl Into<String>, hint: impl Into<String>) {
        self.push(at, &message.into(), hint.into(), Fault::Text);
    }

    /// Something that this machine lacks. `at` is none where the command line names it.
    pub(super) fn lacks(&mut self, at: usize, message: impl Into<String>, hint: impl Into<String>) {
        self.push(at, &message.into(), hint.into(), Fault::Machine);
    }

    fn push(&mut self, at: usize, message: &str, hint: String, fault: Fault) {
        let (line, column) = self.place(at);
        // A message quotes what it does not like. [ME-04]
        let message = secret::without_userinfo(message);
        let file = self.file.to_owned();
        // What the command line gave is not in the text.
        let line = (!self.text.is_empty()).then_some(line);
        self.found.push((at, Problem { file, line, column, message, hint, fault }));
    }

    /// Line and column, both from 1, of a byte of the text; of its end for what lies behind it.
    fn place(&self, at: usize) -> (usize, usize) {
        let mut end = at.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.found.len()
    }

    /// All of them in the order of the text.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|(at, _)| *at);
        self.found.into_iter().map(|(_, problem)| problem).collect()
    }
}
