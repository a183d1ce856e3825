//! Text that other people wrote, made fit for a terminal.

use std::borrow::Cow;

/// The words of a text in lines of at most `width` characters; a word that is longer has a line of its own. What a terminal
/// would take for a command is spelled out.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut room = 0;
    for word in text.split_whitespace() {
        let word = clean(word);
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if length < room => {
                line.push(' ');
                line.push_str(&word);
                room -= length + 1;
            }
            _ => {
                lines.push(word);
                room = width.saturating_sub(length);
            }
        }
    }
    lines
}

/// The text without anything that a terminal would take for a command: names of processes and cgroups hold what they like.
pub fn clean(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    if text.contains(char::is_control) { text.chars().map(escape).collect() } else { text.to_owned() }
}

/// An error in lines: each one clean, and each but the first indented, so that nothing inside can pass for a message of its own.
pub fn clean_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (nth, line) in text.split('\n').enumerate() {
        if nth > 0 {
            out.push_str(if line.starts_with("  ") { "\n" } else { "\n  " });
        }
        out.push_str(&clean(line));
    }
    out
}

/// The text with DEL and the eight-bit controls (U+009B is ESC and a bracket) as JSON may spell them: a parser reads the same,
/// a terminal obeys nothing. The controls below U+0020 are the writer's to spell: JSON has none, and a screen's colours are.
pub fn spelled(text: &str) -> Cow<'_, str> {
    let commands = |c: char| matches!(c, '\u{7f}'..='\u{9f}');
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let spell = |c: char| if commands(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    Cow::Owned(text.chars().map(spell).collect())
}

/// The room that a line takes on a terminal.
pub(super) struct Extent {
    /// At least one.
    pub(super) rows: usize,
    /// Whether the last row has no room left.
    pub(super) is_full: bool,
}

impl Extent {
    /// Of a line with nothing in it but text and colours, where there are so many columns.
    pub(super) fn of(line: &str, columns: usize) -> Self {
        let (mut rows, mut column, mut in_colour) = (1, 0, false);
        for c in line.chars() {
            match c {
                '\x1b' => in_colour = true,
                'm' if in_colour => in_colour = false,
                _ if in_colour => {}
                c => {
                    let width = width(c);
                    if column + width > columns {
                        (rows, column) = (rows + 1, 0);
                    }
                    column += width;
                }
            }
        }
        Self { rows, is_full: column >= columns }
    }
}

/// Characters that take two columns: those of East Asia, and pictures.
const WIDE: [(u32, u32); 9] = [
    (0x1100, 0x115f),
    (0x2e80, 0xa4cf),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xfe30, 0xfe6f),
    (0xff00, 0xff60),
    (0xffe0, 0xffe6),
    (0x1f300, 0x1faff),
    (0x20000, 0x3fffd),
];

/// The columns of a character.
fn width(c: char) -> usize {
    let wide = WIDE.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(c)));
    if wide { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Screen;

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out() {
        assert_eq!(clean("a\x1b[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(clean("naïve"), "naïve");
        assert_eq!(Screen::plain(80).paragraph("", "a\x1b[31m\nb"), "a\\u{1b}[31m b\n");
    }

    #[test]
    fn a_line_inside_an_error_cannot_pass_for_another_message() {
        assert_eq!(clean_lines("open a\nminion: fine\x1b[2J"), "open a\n  minion: fine\\u{1b}[2J");
        assert_eq!(clean_lines("there are 2:\n  12  /a\n  13  /b"), "there are 2:\n  12  /a\n  13  /b");
        assert_eq!(clean_lines("a\r\nb"), "a\\r\n  b");
    }

    #[test]
    fn json_without_eight_bit_controls_says_the_same() {
        let json = "{\"a\":\"\u{9b}31m\u{7f}\u{e9}\"}\n";
        assert_eq!(spelled(json), "{\"a\":\"\\u009b31m\\u007f\u{e9}\"}\n");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&spelled(json)), value(json));
    }
}
