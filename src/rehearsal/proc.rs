//! A process as evidence.

use crate::error::{During, Result};
use crate::process::{Pidfd, tree};
use std::fmt;
use std::fs;

/// A process that was seen: who it was, in words.
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

impl Process {
    /// The process as it is now; none when it is dead, a zombie, or about to be one.
    pub(super) fn alive(pid: i32) -> Option<Self> {
        let process = tree::Process::read(pid).ok()?;
        (!process.is_zombie() && !process.is_exiting).then(|| Self { pid, command: command(pid) })
    }
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

/// SIGKILL. A process that is dead already is no error.
pub(super) fn kill(pidfd: &Pidfd) -> Result<()> {
    match pidfd.signal(libc::SIGKILL) {
        Err(error) if error.raw_os_error() != Some(libc::ESRCH) => Err(error).during("kill", pidfd.pid()),
        _ => Ok(()),
    }
}
