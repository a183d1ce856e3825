//! Who descends from whom, and signalling all of them.
//!
//! A subreaper's descendants stay its descendants, whatever they do to their session, group or environment: when a parent
//! dies, its children go to the nearest subreaper above. So walking down from ourselves finds every process that any child
//! ever started. [KF-07]

use super::own_pid;
use super::pidfd::Pidfd;
use super::{procfs, reap};
use crate::error::{During, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::retry_on_intr;
use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// One process as `/proc/<pid>/stat` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its pid.
    pub pid: i32,
    /// Its parent.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
    /// Its session.
    pub session: i32,
    /// `R`, `S`, `D`, `T`, `Z`, …
    pub state: u8,
    /// Whether it has executed a program since its fork. [KF-155]
    pub executed: bool,
    /// Whether it is a thread of the kernel.
    pub is_kernels: bool,
    /// Whether it is on its way out of the world, without memory perhaps, and not a zombie yet. `PF_EXITING`.
    pub is_exiting: bool,
    /// Whether it is amid an exec: it has its new memory, and not all is there. Never for a stranger's, of whom that is not
    /// told. [KF-82]
    pub is_loading: bool,
}

/// `PF_KTHREAD`.
const KERNELS: u32 = 0x20_0000;
/// `PF_EXITING`.
const EXITING: u32 = 0x4;
/// `PF_FORKNOEXEC`: forked, and nothing executed since. Zombies keep it.
const FORKED_ONLY: u32 = 0x40;

impl Process {
    /// Reads `/proc/<pid>/stat`.
    pub fn read(pid: i32) -> io::Result<Self> {
        Self::parse(&procfs::read_piece(format!("/proc/{pid}/stat"))?)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a stat line"))
    }

    /// Reads such a line. The name may hold anything, spaces and parentheses too: the fields begin after the last `)`.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let name_end = line.iter().rposition(|byte| *byte == b')')?;
        let pid = std::str::from_utf8(line.split(|byte| *byte == b' ').next()?).ok()?.parse().ok()?;
        let mut fields = std::str::from_utf8(line.get(name_end + 2..)?).ok()?.split(' ');
        let state = *fields.next()?.as_bytes().first()?;
        let mut number = || fields.next()?.parse::<i32>().ok();
        let (parent, group, session) = (number()?, number()?, number()?);
        // Behind the terminal and its foreground group.
        let flags: u32 = fields.nth(2)?.parse().ok()?;
        let (executed, is_kernels, is_exiting) = (flags & FORKED_ONLY == 0, flags & KERNELS != 0, flags & EXITING != 0);
        // Where the program's text begins: the last thing that an exec sets. Zero too without memory.
        let text: u64 = fields.nth(16)?.parse().ok()?;
        let is_loading = text == 0 && !is_kernels && !is_exiting && state != b'Z' && state != b'X';
        Some(Self { pid, parent, group, session, state, executed, is_kernels, is_exiting, is_loading })
    }

    /// A zombie is dead already; only its parent can do anything about it.
    pub fn is_zombie(&self) -> bool {
        self.state == b'Z' || self.state == b'X'
    }
}

/// The children of this process, zombies included.
///
/// Orphans arrive at the first living thread, the main one. Its list is one file, kept open: an emptiness check at a
/// task's death is one `pread`.
#[derive(Debug)]
pub struct Children {
    /// `None` on a kernel without `CONFIG_PROC_CHILDREN`: then `/proc` is walked instead.
    list: Option<OwnedFd>,
    own: i32,
}

impl Children {
    /// Opens `/proc/self/task/<pid>/children`.
    pub fn open() -> Self {
        let own = own_pid();
        let path = format!("/proc/self/task/{own}/children");
        let list = openat(rustix::fs::CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok();
        Self { list, own }
    }

    /// The pid of this process.
    pub fn parent(&self) -> i32 {
        self.own
    }

    /// The pids of the direct children now.
    pub fn pids(&self) -> Result<Vec<i32>> {
        match &self.list {
            Some(list) => {
                let text = read_from_start(list).during("read", "/proc/self/task/…/children")?;
                Ok(parse_pids(&text).collect())
            }
            None => Ok(everyone()?.into_iter().filter(|process| process.parent == self.own).map(|p| p.pid).collect()),
        }
    }
}

fn read_from_start(file: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let read = retry_on_intr(|| rustix::io::pread(file, &mut piece, text.len() as u64))?;
        if read == 0 {
            return Ok(text);
        }
        text.extend_from_slice(&piece[..read]);
    }
}

fn parse_pids(text: &[u8]) -> impl Iterator<Item = i32> {
    text.split(u8::is_ascii_whitespace).filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok())
}

/// The given processes and everything below them. What dies or forks meanwhile may be missing: ask again.
pub fn with_descendants(roots: impl IntoIterator<Item = i32>) -> Result<Vec<i32>> {
    let mut found: Vec<i32> = roots.into_iter().collect();
    let mut seen: HashSet<i32> = found.iter().copied().collect();
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        for child in children_of(pid)? {
            if seen.insert(child) {
                found.push(child);
            }
        }
    }
    Ok(found)
}

/// The children of all threads of a process; empty when it is gone.
fn children_of(pid: i32) -> Result<Vec<i32>> {
    let Ok(threads) = procfs::numbers(format!("/proc/{pid}/task")) else { return Ok(Vec::new()) };
    let mut children = Vec::new();
    for thread in threads {
        let thread = PathBuf::from(format!("/proc/{pid}/task/{thread}"));
        match procfs::read(thread.join("children")) {
            Ok(text) => children.extend(parse_pids(&text)),
            // The directory is there and the file is not: no CONFIG_PROC_CHILDREN.
            Err(error) if error.kind() == io::ErrorKind::NotFound && thread.exists() => {
                return Ok(everyone()?.into_iter().filter(|process| process.parent == pid).map(|p| p.pid).collect());
            }
            Err(_) => {} // the thread ended
        }
    }
    Ok(children)
}

/// The numbers of a process in the pid namespace of this `/proc` and in each one below it that it is in, the innermost last:
/// `NSpid` of `/proc/<pid>/status`. One is what a kernel tells that does not know them. [KF-191]
pub fn numbers(pid: i32) -> io::Result<Vec<i32>> {
    let status = procfs::read_piece(format!("/proc/{pid}/status"))?;
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"NSpid:"));
    Ok(line.map_or_else(|| vec![pid], |line| parse_pids(line).collect()))
}

/// Every process that `/proc` shows.
fn everyone() -> Result<Vec<Process>> {
    let pids = procfs::numbers("/proc").during("list", "/proc")?;
    Ok(pids.into_iter().filter_map(|pid| Process::read(pid).ok()).collect())
}

/// A variable in the environment that a process was started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartVariable {
    /// It has this value.
    Value(Vec<u8>),
    /// There is an environment, and it is not in it.
    Unset,
    /// There is no environment to be seen: it is dead, amid an exec for longer than one waited, not ours to read, or has none.
    Hidden,
}

impl StartVariable {
    /// Whether it is set to that.
    pub fn is(&self, value: &[u8]) -> bool {
        matches!(self, Self::Value(own) if own == value)
    }
}

/// An exec takes a fraction of that, also on a busy machine.
const EXEC: Duration = Duration::from_millis(100);
/// So many looks at an environment that is empty, though no exec hides it, say that it is.
const LOOKS: u32 = 3;

/// By then an exec that goes on now is through.
pub fn exec_end() -> Instant {
    Instant::now() + EXEC
}

/// Looks for a variable in the environment that a process was started with, as [`start_environment`] finds it.
pub fn start_variable(pid: i32, name: &str, until: Instant) -> StartVariable {
    let environment = start_environment(pid, until).unwrap_or_default();
    if environment.is_empty() {
        return StartVariable::Hidden;
    }
    value(&environment, name).map_or(StartVariable::Unset, |value| StartVariable::Value(value.to_vec()))
}

/// The value of a variable in such an environment.
pub fn value<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// `/proc/<pid>/environ`, entries that end with a zero byte each. Empty, or ESRCH on newer kernels, for a zombie and a thread
/// of the kernel.
///
/// Amid an exec a process has none that could be seen. [KF-82] That is waited for until then; who cannot wait gives the
/// moment that it is, and what is hidden is empty. Who asks for many gives them all one end.
pub fn start_environment(pid: i32, until: Instant) -> io::Result<Vec<u8>> {
    let mut looks = 0;
    loop {
        let text = procfs::read_at_once(format!("/proc/{pid}/environ"))?;
        looks += 1;
        if !text.is_empty() {
            return Ok(text);
        }
        let Ok(process) = Process::read(pid) else { return Ok(text) };
        let is_dead_or_kernels = process.is_zombie() || process.is_exiting || process.is_kernels;
        let is_sure = if process.is_loading { Instant::now() >= until } else { looks >= LOOKS };
        if is_dead_or_kernels || is_sure {
            return Ok(text);
        }
        if process.is_loading {
            await_death(Some(pid), EXEC / 100);
        }
    }
}

/// Signals a descendant by its number, without hitting a stranger: its own parent may have reaped it and the number been
/// given away between our look and our signal. So the pidfd comes first, then the proof, then the signals in their order. True
/// when it got them all. Where a seccomp profile leaves only numbers, the proof is microseconds old. [ME-30]
pub fn signal_descendant(pid: i32, signals: &[i32]) -> bool {
    let Ok(pidfd) = Pidfd::open(pid) else { return false };
    Process::read(pid).is_ok_and(|process| is_below_us(&process))
        && signals.iter().all(|signal| pidfd.signal(*signal).is_ok())
}

/// Kills and reaps everything below this process, again and again until nothing is left: true, or the time is over.
///
/// For the end of a supervisor that cannot go on: its children have a death signal, what they started has none. [KF-06]
pub fn kill_all(deadline: Instant) -> bool {
    let own = own_pid();
    loop {
        let below = with_descendants([own]).unwrap_or_default();
        let alive: Vec<i32> = below.into_iter().filter(|pid| *pid != own && is_alive(*pid)).collect();
        while Instant::now() <= deadline
            && let Ok(Some(pid)) = reap::peek()
            && let Ok(Some(_)) = reap::reap(pid)
        {}
        if !reap::has_children() {
            return true;
        }
        for &pid in &alive {
            signal_descendant(pid, &[libc::SIGKILL]);
        }
        if Instant::now() > deadline {
            return false;
        }
        await_death(alive.first().copied(), Duration::from_millis(5));
    }
}

fn is_alive(pid: i32) -> bool {
    Process::read(pid).is_ok_and(|process| !process.is_zombie())
}

/// For less than a second: it may be one that cannot die now. Without one, for as long as it may take to show itself.
fn await_death(pid: Option<i32>, limit: Duration) {
    let limit = Timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
    let pidfd = pid.and_then(|pid| Pidfd::open(pid).ok());
    let _ = match &pidfd {
        Some(pidfd) => poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&limit)),
        None => poll(&mut [], Some(&limit)),
    };
}

/// Whether the chain of parents leads to us. A chain that changes under our eyes may look broken; the caller asks again.
pub fn is_below_us(process: &Process) -> bool {
    let own = own_pid();
    let mut parent = process.parent;
    while parent > 1 {
        if parent == own {
            return true;
        }
        let Ok(above) = Process::read(parent) else { return false };
        parent = above.parent;
    }
    parent == own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_behind_the_last_parenthesis() {
        let line = |flags: u32, text: u64| {
            format!(
                "42 (a) R (b) S 7 40 39 0 -1 {flags} 5 0 0 0 1 2 0 0 20 0 1 0 77 4096 9 18446744073709551615 {text} 1 1"
            )
        };
        let parse = |flags, text| Process::parse(line(flags, text).as_bytes());
        let (executed, is_kernels, is_exiting, is_loading) = (true, false, false, false);
        let process = Process {
            pid: 42,
            parent: 7,
            group: 40,
            session: 39,
            state: b'S',
            executed,
            is_kernels,
            is_exiting,
            is_loading,
        };
        assert_eq!(parse(0x40_0100, 4096), Some(process));
        assert_eq!(parse(0x40_0040, 4096), Some(Process { executed: false, ..process }));
        assert_eq!(parse(0x40_0100, 0), Some(Process { is_loading: true, ..process }));
        assert_eq!(parse(0x40_0104, 0), Some(Process { is_exiting: true, ..process }));
        assert_eq!(parse(0x20_0040, 0), Some(Process { executed: false, is_kernels: true, ..process }));
        assert_eq!(Process::parse(b"42 (a"), None);
        assert_eq!(Process::parse(b""), None);
        assert_eq!(Process::parse(b"42 (a) S 7"), None);
        assert_eq!(Process::parse(b"42 (a) S 7 40 39 0 -1"), None);
    }

    #[test]
    fn pids_of_a_children_file() {
        assert_eq!(parse_pids(b"1 22 333 ").collect::<Vec<_>>(), [1, 22, 333]);
        assert_eq!(parse_pids(b"").count(), 0);
    }

    #[test]
    fn a_process_reads_itself() {
        let own = own_pid();
        let process = Process::read(own).unwrap();
        assert_eq!(process.pid, own);
        assert!(!process.is_zombie());
    }
}
