//! The process to go to, as it was when it was looked at.

use crate::error::{During, Error, Result};
use crate::inspect::Told;
use crate::inspect::target::main_of_task;
use crate::process::tree::{self, Process};
use crate::process::{Pidfd, procfs};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// A living process.
#[derive(Debug)]
pub(super) struct Target {
    pidfd: Pidfd,
    environment: Vec<(OsString, OsString)>,
    credentials: Credentials,
}

/// Who it is, in numbers of our user namespace.
#[derive(Debug, PartialEq, Eq)]
struct Credentials {
    /// Real, effective, saved.
    uids: [u32; 3],
    /// Real, effective, saved.
    gids: [u32; 3],
    groups: Vec<u32>,
    /// Its program gave it more than its caller had (set-user-ID, file capabilities): so the caller wrote its environment.
    gained: bool,
}

impl Target {
    /// Digits are a pid, other words a task: of the minion whose sandbox this is, else of any.
    pub(super) fn find(word: &str, ask: fn(&str) -> Told) -> Result<Self> {
        match word.parse() {
            Ok(pid) => Self::open(pid),
            Err(_) => Self::open(main_of_task(word, &ask)?),
        }
    }

    fn open(pid: i32) -> Result<Self> {
        let process = || format!("process {pid}");
        let pidfd = Pidfd::open(pid).during("find", process())?;
        let is_dead = || Error::new("enter", process(), "it is dead and waits to be reaped");
        if Process::read(pid).is_ok_and(|process| process.is_zombie()) {
            return Err(is_dead());
        }
        let before = Credentials::of(pid).during("look at", process())?;
        let environ = tree::start_environment(pid, tree::exec_end()).during("read the environment of", process())?;
        // An exec in between is of somebody else's environment, perhaps.
        let credentials = Credentials::of(pid).during("look at", process())?;
        if before != credentials {
            return Err(Error::new("enter", process(), "it becomes another user in this moment").hint("try again"));
        }
        let variable = |entry: &[u8]| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            Some((OsStr::from_bytes(&entry[..at]).to_owned(), OsStr::from_bytes(&entry[at + 1..]).to_owned()))
        };
        let target =
            Self { environment: environ.split(|byte| *byte == 0).filter_map(variable).collect(), credentials, pidfd };
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
        let Credentials { uids: [_, uid, _], gids: [_, gid, _], groups, .. } = &self.credentials;
        (*uid, *gid, groups)
    }

    /// Whether nobody but this user, and root, can have had a hand in its environment. Its owner may write it at any time; and a
    /// program that is set-user-ID or set-group-ID has that of whoever started it. [KF-191]
    pub(super) fn is_only(&self, uid: u32) -> bool {
        let Credentials { uids, gids, gained, .. } = &self.credentials;
        let is_one_group = gids.iter().all(|gid| *gid == gids[0]);
        !gained && uids.iter().all(|own| *own == uid) && (uid == 0 || is_one_group)
    }

    /// Its pidfd is not readable. What was read by its number before that was its own.
    pub(super) fn is_alive(&self) -> bool {
        !self.pidfd.dies(Duration::ZERO)
    }
}

impl Credentials {
    fn of(pid: i32) -> io::Result<Self> {
        let status = procfs::read_piece(format!("/proc/{pid}/status"))?;
        let auxv = procfs::read_piece(format!("/proc/{pid}/auxv"))?;
        let three = |name: &str| {
            let numbers = field(&status, name).get(..3).and_then(|three| three.try_into().ok());
            numbers.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("no {name} in its status")))
        };
        let (uids, gids, groups) = (three("Uid")?, three("Gid")?, field(&status, "Groups"));
        Ok(Self { uids, gids, groups, gained: gained(&auxv) })
    }
}

/// `AT_SECURE` of `/proc/<pid>/auxv`: the kernel's own word, of the last exec. Where there is none, as with a program of 32 bits,
/// it counts as said.
fn gained(auxv: &[u8]) -> bool {
    const AT_SECURE: u64 = 23;
    let (pairs, _) = auxv.as_chunks::<8>();
    let (pairs, _) = pairs.as_chunks::<2>();
    let secure = pairs.iter().map(|pair| pair.map(u64::from_ne_bytes)).find(|[key, _]| *key == AT_SECURE);
    secure.is_none_or(|[_, value]| value != 0)
}

/// The numbers of a line of `/proc/<pid>/status`.
fn field(status: &[u8], name: &str) -> Vec<u32> {
    let text = String::from_utf8_lossy(status);
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}
