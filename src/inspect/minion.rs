//! Which processes are minions, and whether the one that a marker names is alive. The one answer for all commands.
//!
//! A minion is known by the control socket that it listens on, else by its name with what it was told to do. Anybody can make
//! either, so only root and our own user are believed. The number in a marker is minion's pid as minion sees it: it is
//! looked for in the pid namespaces of the process that carries the marker, above that process first.

use super::SOCKET;
use super::proc::once::Once;
use super::proc::seen::{self, Seen};
use super::proc::stat::Stat;
use super::proc::{self, everyone, programs};
use super::view::kin::{ancestors, variables};
use crate::process::peer::{self, Listener, is_believed};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The inode of the pid namespace that the kernel starts with: nothing is outside of it. [KF-191]
const FIRST_SPACE: u64 = 0xEFFF_FFFC;

/// What became of the minion that a marker names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// It is this one.
    Alive(Stat),
    /// There is no such process any more.
    Gone,
    /// Nobody can tell from here, for this reason. What it has started is left alone.
    Unknown(String),
}

impl Named {
    /// The minion with this number in the marker of `carrier`.
    pub(super) fn of(carrier: &Stat, number: i32, once: &Once) -> Self {
        let above = ancestors(carrier, once);
        // It is a subreaper: while it lives, what it started is below it.
        let is_it = |above: &&Stat| is_older(above, carrier) && numbers(above.pid, once).last() == Some(&number);
        if let Some(minion) = above.iter().find(is_it) {
            return Self::Alive(minion.clone());
        }
        // An environment may also be handed to somebody who is not below it, as `minion enter` does.
        let candidates = match candidates(carrier, &above, number, once) {
            Ok(candidates) => candidates,
            Err(why) => return Self::Unknown(why),
        };
        let could_be =
            |stat: &Stat| is_older(stat, carrier) && proc::arguments(stat.pid, once).known() != Some(&Vec::new());
        let mut living = candidates.into_iter().filter_map(|pid| once.stat(pid).known().cloned()).filter(could_be);
        match living.next() {
            Some(stat) if arguments(&stat, once).is_some() => Self::Alive(stat),
            Some(stat) => Self::Unknown(format!("whether pid {} ({}) is minion {number}", stat.pid, stat.name)),
            None => out_of_sight(carrier, &above, number, once).map_or(Self::Gone, Self::Unknown),
        }
    }

    /// The living one.
    pub(super) fn alive(&self) -> Option<&Stat> {
        match self {
            Self::Alive(stat) => Some(stat),
            Self::Gone | Self::Unknown(_) => None,
        }
    }
}

/// Whoever began later cannot have started it: the number was given away again.
fn is_older(minion: &Stat, carrier: &Stat) -> bool {
    !minion.is_zombie() && minion.start <= carrier.start
}

/// The processes, by our numbers, that have this number in a pid namespace of the carrier: its own, or one around it.
fn candidates(carrier: &Stat, above: &[Stat], number: i32, once: &Once) -> Result<Vec<i32>, String> {
    let mut found = Vec::new();
    if numbers(number, once) == [number] {
        found.push(number);
    }
    if numbers(carrier.pid, once).len() > 1 {
        let own = proc::namespace(carrier.pid, "pid");
        if let Some(why) = own.why() {
            return Err(why.to_owned());
        }
        let around = above.iter().filter_map(|above| proc::namespace(above.pid, "pid").known().copied());
        let spaces: HashSet<u64> = around.chain(own.known().copied()).collect();
        let has_it = |pid: &i32| matches!(numbers(*pid, once).as_slice(), [_, .., inner] if *inner == number);
        let is_there = |pid: &i32| proc::namespace(*pid, "pid").known().is_some_and(|space| spaces.contains(space));
        found.extend(everyone().into_iter().filter(has_it).filter(is_there));
    }
    Ok(found)
}

/// Why a minion that is not seen may be alive all the same.
fn out_of_sight(carrier: &Stat, above: &[Stat], number: i32, once: &Once) -> Option<String> {
    if above.last().unwrap_or(carrier).parent != 0 {
        return Some(format!("all that is above pid {}", carrier.pid));
    }
    let exists = |number| Pid::from_raw(number).is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH));
    if once.stat(number).known().is_none() && exists(number) {
        return Some(format!("process {number}, which /proc hides"));
    }
    // A minion outside of our pid namespace started what is its pid 1 here.
    let is_inner = !matches!(proc::namespace(std::process::id().cast_signed(), "pid"), Seen::Known(FIRST_SPACE));
    let first = variables(1, once).known().map(|first| first.marker.as_ref().map(|marker| marker.minion));
    let is_from_outside = is_inner && first.is_none_or(|minion| minion == Some(number));
    is_from_outside.then(|| format!("whether minion {number} is outside of this pid namespace"))
}

/// The numbers of a process in our pid namespace and in each that it is in below it, the innermost last: `NSpid`. Empty where
/// there is no such process.
pub(super) fn numbers(pid: i32, once: &Once) -> Vec<i32> {
    let Seen::Known(status) = once.piece(proc::path(pid, "status")) else { return Vec::new() };
    let numbers = field(&status, b"NSpid:");
    // A kernel that does not tell them.
    if numbers.is_empty() { vec![pid] } else { numbers }
}

/// Whether root or our own user started it and it acts as one of them. A program that is setuid is its caller's.
fn is_believable(pid: i32, once: &Once) -> bool {
    let Seen::Known(status) = once.piece(proc::path(pid, "status")) else { return false };
    // The real and the effective one.
    matches!(field(&status, b"Uid:").as_slice(), [real, effective, ..] if is_believed(*real) && is_believed(*effective))
}

fn field<T: std::str::FromStr>(status: &[u8], name: &[u8]) -> Vec<T> {
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    String::from_utf8_lossy(line).split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// The arguments of a process that is a minion; None for every other.
pub(super) fn arguments(stat: &Stat, once: &Once) -> Option<Vec<String>> {
    let (is_called_so, listens) =
        (stat.name.starts_with("minion"), || listener(&cwd(stat.pid), once) == Some(stat.pid));
    if stat.is_zombie() || !(is_called_so || listens()) {
        return None;
    }
    let arguments = proc::arguments(stat.pid, once).known()?.clone();
    // What it was told to do: `minion doctor` is no supervisor, nor are the stand-ins of a demo.
    let is_job = |job: &String| job.starts_with('-') || job == "run" || job == "supervise";
    let is_one = (is_called_so && arguments.get(1).is_some_and(is_job)) || listens();
    (is_one && is_believable(stat.pid, once)).then_some(arguments)
}

/// The process of this number, if it is a minion.
pub(super) fn live(pid: i32, once: &Once) -> Option<Stat> {
    let Seen::Known(stat) = once.stat(pid) else { return None };
    arguments(&stat, once).map(|_| stat)
}

/// Who listens on the control socket in a directory. It is not asked for anything: it may be stopped.
pub(super) fn listener(directory: &Path, once: &Once) -> Option<i32> {
    let socket = peer::believed_socket(&directory.join(SOCKET))?;
    once.listener(socket, || {
        // A full queue says so at once and is no reason to wait.
        let listener = Listener::of(&peer::directory(directory).ok()?, SOCKET, None).ok()?;
        listener.is_believed().then_some(listener.pid)
    })
}

/// Every minion that can be seen: first those whose program is called so, which costs one call a process, then all others.
pub(super) fn all(once: &Once) -> [Vec<i32>; 2] {
    let (called_so, others): (Vec<_>, Vec<_>) =
        programs(once).into_iter().filter_map(|pid| Some((pid, program(pid)?))).partition(|(_, called_so)| *called_so);
    [called_so, others].map(|programs| programs.into_iter().map(|(pid, _)| pid).collect())
}

/// Whether the program of a process is called as a minion is. None for a kernel thread: it has no program.
fn program(pid: i32) -> Option<bool> {
    match seen::link(&proc::path(pid, "exe")) {
        Seen::Known(program) => {
            Some(program.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"minion")))
        }
        Seen::Unknown(why) => (!why.starts_with("ENOENT")).then_some(false),
    }
}

/// Where a process works, also where that is in another mount namespace.
pub(super) fn cwd(pid: i32) -> PathBuf {
    proc::path(pid, "cwd").into()
}
