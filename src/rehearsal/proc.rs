//! What `/proc` says about a process: for evidence, and to find what carries a container's marker.

use crate::error::{During, Result};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fmt;
use std::fs;
use std::os::fd::OwnedFd;

/// A process as evidence: who it was, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its pid when it was seen.
    pub pid: i32,
    /// Its command line, or `[name]` when it has none.
    pub command: String,
}

/// `4711 (sleep 60)`.
impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.pid, self.command)
    }
}

/// `/proc/<pid>/stat`, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stat {
    pub(super) state: u8,
    pub(super) parent: i32,
    pub(super) session: i32,
}

impl Process {
    /// The process as it is now; none when it is dead, or a zombie.
    pub(super) fn alive(pid: i32) -> Option<Self> {
        let stat = stat(pid)?;
        (!matches!(stat.state, b'Z' | b'X')).then(|| Self { pid, command: command(pid) })
    }
}

/// State, parent and session of a process; none when it does not exist.
pub(super) fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold any byte, `)` included: the fields begin after the last one. [KF-61]
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let fields = String::from_utf8_lossy(&text[end + 1..]).into_owned();
    let mut fields = fields.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Stat { state, parent, session })
}

/// The command line with spaces between the arguments.
fn command(pid: i32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&words).replace('\0', " ");
    match text.trim() {
        "" => format!("[{}]", fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim()),
        text => text.to_owned(),
    }
}

/// Every pid of this pid namespace.
pub(super) fn pids() -> Result<Vec<i32>> {
    let entries = fs::read_dir("/proc").during("list", "/proc")?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// Whether the environment that the process was started with holds `entry` (`NAME=value`).
pub(super) fn carries(pid: i32, entry: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|one| one == entry)
}

/// `pidfd_open(2)`: a handle to the process; none when there is no such process.
pub(super) fn pidfd(pid: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()
}

/// SIGKILL through a pidfd. A process that is dead already is no error.
pub(super) fn kill(pidfd: &OwnedFd) -> Result<()> {
    match pidfd_send_signal(pidfd, Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(errno) => Err(errno).during("send SIGKILL through pidfd", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_sees_itself() {
        let own = i32::try_from(std::process::id()).unwrap();
        let seen = stat(own).unwrap();
        assert!(matches!(seen.state, b'R' | b'S'), "{seen:?}");
        assert!(seen.parent > 0 && seen.session >= 0, "{seen:?}");
        assert!(pids().unwrap().contains(&own));
        assert!(Process::alive(own).unwrap().command.contains("minion"));
    }
}
