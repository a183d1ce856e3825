//! Why everything ended, and the exit code that says so.

use super::exit::Exit;
use std::fmt;

/// What began the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// This signal asked for it.
    Signal(i32),
    /// The executor ended by itself.
    ExecutorEnded(Exit),
    /// A task could not be started at all.
    SetupFailed,
    /// A task failed for good: the executor's health or readiness, or a start limit that ends everything.
    Failed,
}

/// How a whole run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What began the end.
    pub reason: Reason,
    /// The last exit of the executor; `None` when it had none.
    pub executor: Option<Exit>,
    /// Whether nothing was left alive.
    pub everything_ended: bool,
}

/// The exit codes of `run` that are minion's own; any other code is the executor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// Told to stop, and everything stopped.
    Stopped = 0,
    /// The command line is wrong; nothing was touched.
    Usage = 100,
    /// Set-up failed: nothing was started, or everything that was started was ended again.
    Setup = 111,
    /// Health, readiness or a start limit ended the run; stderr names the task and the evidence.
    Failed = 112,
    /// Told to stop, but something could not be ended inside the grace; stderr names it.
    Survivors = 113,
}

impl Outcome {
    /// The exit code of `run` and `supervise`.
    pub fn code(self) -> u8 {
        match (self.reason, self.everything_ended) {
            (Reason::ExecutorEnded(exit), _) => exit.code(),
            (Reason::SetupFailed, _) => ExitCode::Setup as u8,
            (Reason::Failed, _) => ExitCode::Failed as u8,
            (Reason::Signal(_), true) => ExitCode::Stopped as u8,
            (Reason::Signal(_), false) => ExitCode::Survivors as u8,
        }
    }
}

/// `SIGTERM asked for it`, `executor exited with 3`, `a task could not be started`.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Signal(signal) => match signal_hook::low_level::signal_name(signal) {
                Some(name) => write!(f, "{name} asked for it"),
                None => write!(f, "signal {signal} asked for it"),
            },
            Self::ExecutorEnded(exit) => write!(f, "executor {exit}"),
            Self::SetupFailed => f.write_str("a task could not be started"),
            Self::Failed => f.write_str("a task failed for good"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(reason: Reason, everything_ended: bool) -> u8 {
        Outcome { reason, executor: None, everything_ended }.code()
    }

    #[test]
    fn the_executors_own_code_when_it_ended_first() {
        assert_eq!(code(Reason::ExecutorEnded(Exit::Code(3)), true), 3);
        assert_eq!(code(Reason::ExecutorEnded(Exit::Code(0)), true), 0);
        assert_eq!(code(Reason::ExecutorEnded(Exit::Signal { signal: 11, core: true }), true), 139);
    }

    #[test]
    fn zero_only_when_told_to_stop_and_everything_stopped() {
        assert_eq!(code(Reason::Signal(libc::SIGTERM), true), 0);
        assert_eq!(code(Reason::Signal(libc::SIGTERM), false), 113);
    }

    #[test]
    fn failures_have_codes_of_their_own() {
        assert_eq!(code(Reason::SetupFailed, true), 111);
        assert_eq!(code(Reason::Failed, true), 112);
    }
}
