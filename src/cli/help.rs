//! Help for a person at a terminal: 80 columns, flags under headings, two examples at the end.

use super::command::{self, Row, visible};
use super::flag::{About, Group};
use super::status::OTHER_EXIT_CODES;
use crate::render::wrap;
use std::fmt::Write as _;

/// The width of the text.
const WIDTH: usize = 80;
/// Where the explanation of a flag starts.
const COLUMN: usize = 29;

/// The help of `minion`: the commands, then everything about `run`.
pub(super) fn overview() -> String {
    let mut text = String::from("minion supervises the executor of a Mesos container and its kube-proxy.\n\nUsage:\n");
    text.push_str("  minion [run] [FLAGS] [EXECUTOR FLAGS] [-- EXECUTOR ARGS]\n  minion COMMAND\n\nCommands:\n");
    for row in visible() {
        columns(&mut text, &format!("  {}", row.name), row.summary, 15);
    }
    section(&mut text, OTHER_EXIT_CODES);
    body(&mut text, run());
    text
}

/// The help of `minion run`.
pub(super) fn of_run() -> String {
    of(run())
}

fn run() -> &'static Row {
    command::find("run").expect("run is a row of the table")
}

/// The help of a command.
pub(super) fn of(row: &Row) -> String {
    let mut text = String::new();
    wrapped(&mut text, &format!("minion {}: {}.", row.name, row.summary), 0);
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(text, "\nUsage:\n  minion {} {}", row.name, row.synopsis);
    body(&mut text, row);
    text
}

fn body(text: &mut String, row: &Row) {
    for paragraph in row.text {
        text.push('\n');
        wrapped(text, paragraph, 0);
    }
    let flags = (row.flags)();
    for group in Group::ALL {
        let mut heading = Some(group.title());
        for about in flags.iter().filter(|about| about.group == group) {
            if let Some(title) = heading.take() {
                let _ = writeln!(text, "\n{title}:");
            }
            flag(text, about);
        }
    }
    row.sections.iter().for_each(|one| section(text, *one));
    text.push_str("\nJSON:\n");
    wrapped(text, &row.json.told(row.name), 2);
    text.push_str("\nExamples:\n");
    for (line, what) in row.examples {
        let _ = writeln!(text, "  # {what}");
        shell_line(text, line);
    }
}

/// Long paragraphs stand apart, lines do not.
fn section(text: &mut String, (title, paragraphs): (&str, &[&str])) {
    let _ = writeln!(text, "\n{title}:");
    for (nth, paragraph) in paragraphs.iter().enumerate() {
        if nth > 0 && paragraph.len() > 2 * WIDTH {
            text.push('\n');
        }
        wrapped(text, paragraph, 2);
    }
}

/// A flag with its explanation and its default.
fn flag(text: &mut String, about: &About) {
    // Flags without a letter stand under those with one.
    let indent = if about.short.is_some() { "  " } else { "      " };
    let mut explained = about.help.to_owned();
    if !about.default.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(explained, " (default {})", about.default);
    }
    columns(text, &format!("{indent}{}", about.spelled()), &explained, COLUMN);
}

/// A name on the left and wrapped text from `column` on, on the next line when the name is too long.
fn columns(text: &mut String, left: &str, right: &str, column: usize) {
    text.push_str(left);
    let mut first = true;
    if left.len() + 2 > column {
        text.push('\n');
        first = false;
    }
    for line in wrap(right, WIDTH - column) {
        let pad = if first { column - left.len() } else { column };
        let _ = writeln!(text, "{:pad$}{line}", "");
        first = false;
    }
}

fn wrapped(text: &mut String, paragraph: &str, indent: usize) {
    for line in wrap(paragraph, WIDTH - indent) {
        let _ = writeln!(text, "{:indent$}{line}", "");
    }
}

/// A command line that may be copied: broken with a backslash where it is too long.
fn shell_line(text: &mut String, line: &str) {
    let lines = wrap(line, WIDTH - 8);
    for (at, part) in lines.iter().enumerate() {
        let indent = if at == 0 { 2 } else { 6 };
        let end = if at + 1 < lines.len() { " \\" } else { "" };
        let _ = writeln!(text, "{:indent$}{part}{end}", "");
    }
}
