//! A command line that cannot be understood.

use crate::hyperkube::value::Refusal;
use std::ffi::OsStr;
use std::fmt;

/// What is wrong with a command line, and one hint. Exit code 100.
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
        Self { wrong: wrong.into(), hint: hint.into() }
    }

    /// A value that its flag does not take. `flag` is spelled as on the command line.
    pub(super) fn refused(flag: &str, value: &OsStr, refusal: Refusal) -> Self {
        Self::new(format!("{flag}: {}: {value:?}", refusal.wrong), format!("{flag} takes {}", refusal.takes))
    }
}

/// Two lines, without a line end behind the second.
impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "minion: {}\nminion: hint: {}", self.wrong, self.hint)
    }
}

impl std::error::Error for Usage {}
