//! The process to go to, as it was when it was looked at.

use crate::error::{During, Error, Result};
use crate::inspect::target::task_here;
use crate::process::tree::{Process, StartVariable, start_variable};
use crate::process::{Pidfd, procfs};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

/// The variable that the supervisor gives each process that it starts: task, minion's pid, number of the run.
const MARKER: &str = "MINION_TASK";

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
            Err(_) => Self::open(task_here(word).map_or_else(|| task(word), Ok)?),
        }
    }

    fn open(pid: i32) -> Result<Self> {
        let process = || format!("process {pid}");
        let pidfd = Pidfd::open(pid).during("find", process())?;
        let status = procfs::read(format!("/proc/{pid}/status")).during("look at", process())?;
        let environ = procfs::read(format!("/proc/{pid}/environ")).during("read the environment of", process())?;
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
        if Process::read(pid).is_ok_and(|process| process.is_zombie()) || !target.is_alive() {
            return Err(Error::new("enter", process(), "it is dead and waits to be reaped"));
        }
        Ok(target)
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

/// The main process of a task: the child of a minion that carries the marker.
fn task(name: &str) -> Result<i32> {
    let numbers = fs::read_dir("/proc").during("list", "/proc")?.flatten();
    let pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let marked: Vec<(i32, String)> = pids.filter_map(|pid| Some((pid, main_of(pid)?))).collect();
    let mains: Vec<i32> = marked.iter().filter(|(_, task)| task == name).map(|(pid, _)| *pid).collect();
    match mains.as_slice() {
        [pid] => Ok(*pid),
        [] => {
            let mut names: Vec<&str> = marked.iter().map(|(_, task)| task.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            let hint = match names.as_slice() {
                [] => "no minion is running here".to_owned(),
                names => format!("tasks are: {}", names.join(", ")),
            };
            Err(Error::new("find", format!("task {name:?}"), "no living minion has one").hint(hint))
        }
        several => Err(Error::new("choose", format!("task {name:?}"), format!("{} minions have one", several.len()))
            .hint(format!("take a pid: {}", several.iter().map(i32::to_string).collect::<Vec<_>>().join(", ")))),
    }
}

/// The task's name, where the process is a child of the minion that its marker names: its descendants carry it too.
fn main_of(pid: i32) -> Option<String> {
    let StartVariable::Value(marker) = start_variable(pid, MARKER) else { return None };
    let marker = String::from_utf8(marker).ok()?;
    let mut parts = marker.rsplitn(3, '.').skip(1);
    let minion: i32 = parts.next()?.parse().ok()?;
    let task = parts.next()?.to_owned();
    let process = Process::read(pid).ok()?;
    (process.parent == minion && !process.is_zombie()).then_some(task)
}
