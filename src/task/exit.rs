//! How a run ended, in words and as an exit code.

use std::fmt;

/// How the main process of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It called `exit` with this code.
    Code(u8),
    /// A signal killed it.
    Signal {
        /// The signal's number.
        signal: i32,
        /// Whether a core was dumped.
        core: bool,
    },
    /// It never ran: a step before or at `exec` failed.
    NotStarted,
}

impl Exit {
    /// The code that a shell would give: the own code, 128+n after signal n, 127 when nothing ran.
    pub fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal { signal, .. } => u8::try_from(128 + signal).unwrap_or(u8::MAX),
            Self::NotStarted => 127,
        }
    }

    /// Whether it ended by itself with code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// `exited with 3`, `killed by signal 9 (SIGKILL)`.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exited with {code}"),
            Self::Signal { signal, core } => {
                write!(f, "killed by signal {signal}")?;
                // Names are a fixed table of the crate, no I/O: this keeps the module pure.
                if let Some(name) = signal_hook::low_level::signal_name(signal) {
                    write!(f, " ({name})")?;
                }
                f.write_str(if core { ", core dumped" } else { "" })
            }
            Self::NotStarted => f.write_str("never started"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_follow_the_shell() {
        assert_eq!(Exit::Code(3).code(), 3);
        assert_eq!(Exit::Signal { signal: 9, core: false }.code(), 137);
        assert_eq!(Exit::NotStarted.code(), 127);
    }

    #[test]
    fn words_name_signal_and_core() {
        let segv = Exit::Signal { signal: 11, core: true };
        assert_eq!(segv.to_string(), "killed by signal 11 (SIGSEGV), core dumped");
        assert_eq!(Exit::Code(0).to_string(), "exited with 0");
    }
}
