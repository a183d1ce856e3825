//! By what the processes of one `minion enter` are known, wherever they went and whoever is their parent.

use crate::process::{procfs, tree};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::time::Instant;

/// The variable that each of them has, unless it gave itself another environment.
pub(super) const VARIABLE: &str = "MINION_ENTER";

/// A variable, and a limit on file locks. The kernel has heeded none such since 2.4.25, so a number of ours does no harm; it is
/// inherited, and neither exec, a change of user nor a new session takes it away. [KF-192]
pub(super) struct Mark {
    variable: Vec<u8>,
    locks: u64,
}

impl Mark {
    /// `words` are the pid of the front and a moment: `4711.123456789`.
    pub(super) fn new(words: &str) -> Self {
        let mut numbers = words.splitn(2, '.').map(|word| word.parse::<u32>().unwrap_or_default());
        let mut number = || u64::from(numbers.next().unwrap_or_default());
        Self { variable: format!("{VARIABLE}={words}").into_bytes(), locks: number() << 32 | number() }
    }

    /// Gives the limit to a process; the variable is in its environment. Where the limit cannot be had, the variable has to do.
    pub(super) fn give_to(&self, pid: i32) {
        let limit = Rlimit { current: Some(self.locks), maximum: Some(self.locks) };
        let _ = Pid::from_raw(pid).map(|pid| prlimit(Some(pid), Resource::Locks, limit));
    }

    /// None of a process that is gone. An exec that hides the environment is waited for until then. A zombie has its limits still,
    /// and no environment any more.
    pub(super) fn is_on(&self, pid: i32, until: Instant) -> Option<bool> {
        let limits = procfs::read_piece(format!("/proc/{pid}/limits")).ok()?;
        if locks(&limits).is_some_and(|locks| locks == self.locks) {
            return Some(true);
        }
        let environment = tree::start_environment(pid, until).unwrap_or_default();
        Some(environment.split(|byte| *byte == 0).any(|entry| entry == self.variable))
    }
}

/// What the limit on file locks may be raised to, of `/proc/<pid>/limits`. None is no limit.
fn locks(limits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(limits).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max file locks"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_made_of_both_numbers_and_read_back_from_the_kernels_table() {
        assert_eq!(Mark::new("3.7").locks, 3 << 32 | 7);
        let line =
            |limits: &str| format!("Max stack size  1 2 bytes\nMax file locks            {limits}  locks     \n");
        assert_eq!(locks(line("5                    12884901895").as_bytes()), Some(3 << 32 | 7));
        assert_eq!(locks(line("unlimited            unlimited").as_bytes()), None);
    }
}
