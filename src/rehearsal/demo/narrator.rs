//! The demo's lines: numbered, timed, at most 80 columns.

use crate::error::{During, Result};
use std::fmt::Display;
use std::io::Write;
use std::time::Instant;

const WIDTH: usize = 80;
/// Where the text of a step begins: after `12  3.456 s  `.
const INDENT: usize = 13;

/// Writes what was seen, and when.
pub(super) struct Narrator<'a> {
    out: &'a mut dyn Write,
    began: Instant,
    steps: u32,
}

impl<'a> Narrator<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, began: Instant::now(), steps: 0 }
    }

    /// A numbered line: something that has just been seen.
    pub(super) fn step(&mut self, text: impl Display) -> Result<()> {
        self.steps += 1;
        let head = format!("{:>2}  {:>5.3} s  ", self.steps, self.began.elapsed().as_secs_f64());
        self.write(&head, &text.to_string())
    }

    /// A line that belongs to the step before.
    pub(super) fn detail(&mut self, text: impl Display) -> Result<()> {
        self.write(&" ".repeat(INDENT + 2), &text.to_string())
    }

    /// A line outside of the steps.
    pub(super) fn plain(&mut self, text: impl Display) -> Result<()> {
        self.write("", &text.to_string())
    }

    pub(super) fn steps(&self) -> u32 {
        self.steps
    }

    pub(super) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn write(&mut self, head: &str, text: &str) -> Result<()> {
        let indent = head.len() + if head.is_empty() { 0 } else { 2 };
        let mut line = head.to_owned();
        for piece in fold(text, WIDTH - head.len(), WIDTH - indent) {
            writeln!(self.out, "{}", (line + &piece).trim_end()).during("write", "output")?;
            line = " ".repeat(indent);
        }
        self.out.flush().during("flush", "output")
    }
}

/// Cuts text into pieces of at most `first` and then `rest` characters: at a space, else after a `/`, else anywhere.
fn fold(text: &str, first: usize, rest: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut left: Vec<char> = text.chars().collect();
    let mut width = first;
    while left.len() > width {
        let space = left[..=width].iter().rposition(|c| *c == ' ').filter(|at| *at > width / 2);
        let slash = left[..width].iter().rposition(|c| *c == '/').filter(|at| *at > width / 2).map(|at| at + 1);
        let tail = left.split_off(space.or(slash).unwrap_or(width));
        pieces.push(left.into_iter().collect());
        left = tail.into_iter().skip_while(|c| *c == ' ').collect();
        width = rest;
    }
    pieces.push(left.into_iter().collect());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_80_columns_and_nothing_is_lost() {
        let path = format!("/tmp/{}/x", "0123456789/".repeat(20));
        for text in [path.as_str(), &"word ".repeat(60), &"x".repeat(300), "short"] {
            let mut out = Vec::new();
            let mut narrator = Narrator::new(&mut out);
            narrator.step(text).unwrap();
            narrator.detail(text).unwrap();
            narrator.plain(text).unwrap();
            let shown = String::from_utf8(out).unwrap();
            assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "{shown}");
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
            assert_eq!(letters(&shown), 3 * letters(text) + "1.0.000s".len() - 1, "{shown}");
        }
    }
}
