//! The process to go to, as it was when it was looked at.

use crate::error::{During, Error, Result};
use crate::inspect::target::main_of_task;
use crate::process::tree::{self, Process};
use crate::process::{Pidfd, procfs};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

/// A living process.
#[derive(Debug)]
pub(super) struct Target {
    pidfd: Pidfd,
    environment: Vec<(OsString, OsString)>,
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
}

impl Target {
    /// Digits are a pid, other words a task: of the minion whose sandbox this is, else of any.
    pub(super) fn find(word: &str) -> Result<Self> {
        match word.parse() {
            Ok(pid) => Self::open(pid),
            Err(_) => Self::open(main_of_task(word)?),
        }
    }

    fn open(pid: i32) -> Result<Self> {
        let process = || format!("process {pid}");
        let pidfd = Pidfd::open(pid).during("find", process())?;
        let is_dead = || Error::new("enter", process(), "it is dead and waits to be reaped");
        if Process::read(pid).is_ok_and(|process| process.is_zombie()) {
            return Err(is_dead());
        }
        let status = procfs::read_piece(format!("/proc/{pid}/status")).during("look at", process())?;
        let environ = tree::start_environment(pid, tree::exec_end()).during("read the environment of", process())?;
        let variable = |entry: &[u8]| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            Some((OsStr::from_bytes(&entry[..at]).to_owned(), OsStr::from_bytes(&entry[at + 1..]).to_owned()))
        };
        let target = Self {
            environment: environ.split(|byte| *byte == 0).filter_map(variable).collect(),
            // Real, effective, saved, file system: the second is what it acts as.
            uid: field(&status, "Uid").get(1).copied().unwrap_or(0),
            gid: field(&status, "Gid").get(1).copied().unwrap_or(0),
            groups: field(&status, "Groups"),
            pidfd,
        };
        if target.is_alive() { Ok(target) } else { Err(is_dead()) }
    }

    /// Its number. It is its own for as long as [`is_alive`](Self::is_alive) says so afterwards.
    pub(super) fn pid(&self) -> i32 {
        self.pidfd.pid()
    }

    pub(super) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// What it was started with. Secrets are in it: it is passed on and never shown.
    pub(super) fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// Effective user and group, supplementary groups.
    pub(super) fn user(&self) -> (u32, u32, &[u32]) {
        (self.uid, self.gid, &self.groups)
    }

    /// Its pidfd is not readable. What was read by its number before that was its own.
    pub(super) fn is_alive(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready == 0)
    }
}

/// The numbers of a line of `/proc/<pid>/status`.
fn field(status: &[u8], name: &str) -> Vec<u32> {
    let text = String::from_utf8_lossy(status);
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}
