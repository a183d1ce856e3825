//! A command line that cannot be understood.

use crate::hyperkube::value::Refusal;
use crate::mesos::secret;
use std::ffi::OsStr;
use std::fmt;

/// What is wrong with a command line, and one hint, without the secrets that were typed. Exit code 100. [ME-04]
///
/// ```text
/// minion: --max-log-size: not a quantity: "x"
/// minion: hint: --max-log-size takes a size such as 10Mi, 1G or 512Ki; 0 never rotates
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    wrong: String,
    hint: String,
}

impl Usage {
    pub(super) fn new(wrong: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { wrong: one_line(&wrong.into()), hint: one_line(&hint.into()) }
    }

    /// A value that its flag does not take. `flag` is spelled as on the command line.
    pub(super) fn refused(flag: &str, value: &OsStr, refusal: Refusal) -> Self {
        let shown = secret::shown_variable(flag, value);
        Self::new(format!("{flag}: {}: {shown:?}", refusal.wrong), format!("{flag} takes {}", refusal.takes))
    }

    /// A word that does not do where it stands.
    pub(super) fn word(what: &str, word: &OsStr, hint: impl Into<String>) -> Self {
        Self::new(format!("{what}: {:?}", secret::shown_word(word)), hint)
    }
}

/// A flag is printed as it was typed, and may hold what would break the line or steer a terminal: that is escaped.
fn one_line(text: &str) -> String {
    let text = secret::without_userinfo(text);
    if !text.contains(char::is_control) {
        return text;
    }
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}

/// Two lines, without a line end behind the second.
impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "minion: {}\nminion: hint: {}", self.wrong, self.hint)
    }
}

impl std::error::Error for Usage {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_was_typed_breaks_a_line() {
        let usage = Usage::new("--a\nb\u{1b}[31m\u{e9}: no such flag", "none\r");
        assert_eq!(usage.to_string(), "minion: --a\\nb\\u{1b}[31m\u{e9}: no such flag\nminion: hint: none\\r");
    }
}
