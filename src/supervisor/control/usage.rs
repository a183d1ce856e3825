//! What a process uses, read when somebody asks.

use std::fs;
use std::time::Duration;

/// Memory and processor time of one process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Usage {
    /// Resident memory in bytes.
    pub(super) rss: u64,
    /// User and system time of all its threads, without its children.
    pub(super) cpu: Duration,
}

impl Usage {
    /// `/proc/<pid>/statm` and `/proc/<pid>/stat`: neither waits for a lock of the process, as `smaps` or `cmdline` may.
    pub(super) fn read(pid: i32) -> Option<Self> {
        let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let ticks = ticks(&stat)?;
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        Some(Self {
            rss: pages * rustix::param::page_size() as u64,
            cpu: Duration::from_millis(ticks * 1000 / per_second),
        })
    }
}

/// `utime` and `stime`, fields 14 and 15; the name before them may hold spaces and parentheses.
fn ticks(stat: &[u8]) -> Option<u64> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(name_end + 2..)?).ok()?;
    let mut times = fields.split(' ').skip(11).map(|field| field.parse::<u64>().ok());
    Some(times.next()?? + times.next()??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_behind_the_name() {
        let stat = b"42 (a) 1 (b) S 7 40 39 0 -1 4194560 1 2 3 4 500 25 8 9 20 0 1 0 100 0 0";
        assert_eq!(ticks(stat), Some(525));
        assert_eq!(ticks(b"42 (a) S 7"), None);
    }

    #[test]
    fn this_process_uses_memory() {
        let usage = Usage::read(crate::process::own_pid()).unwrap();
        assert!(usage.rss > 100_000, "{usage:?}");
        assert_eq!(Usage::read(i32::MAX), None);
    }
}
