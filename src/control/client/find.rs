//! Which minion is meant: by its sandbox, a container, a pid, or because there is only one.

use super::connection::Connection;
use crate::control::SOCKET;
use crate::error::{During, Error, Result};
use crate::process::peer;
use crate::process::tree::{self, StartVariable};
use crate::render::clean;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The fewest characters that stand for a container's id.
const SHORTEST: usize = 4;

/// What the operator said about which minion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The sandbox's path.
    pub sandbox: Option<PathBuf>,
    /// A pid, a container's id or its beginning, or a path.
    pub target: Option<OsString>,
}

/// A minion that listens.
struct Candidate {
    /// Its pid; where it is in another pid namespace, that of a process in its sandbox.
    pid: i32,
    sandbox: PathBuf,
    /// The last component of `MESOS_DIRECTORY`, where it may be read.
    container: Option<String>,
    /// Or why it cannot be asked: it does not accept.
    connection: Result<Connection>,
}

impl Candidate {
    /// One that cannot be asked was looked for by the owner of its socket's file alone.
    fn is_believed(&self) -> bool {
        self.connection.as_ref().is_ok_and(Connection::is_believed) || self.connection.is_err()
    }
}

/// Connects to the one that is meant.
pub(super) fn find(wanted: &Wanted) -> Result<Connection> {
    if let Some(sandbox) = &wanted.sandbox {
        return Connection::open(sandbox);
    }
    match &wanted.target {
        None if Path::new(SOCKET).exists() => Connection::open(Path::new(".")),
        None => {
            let mut found = candidates()?;
            found.retain(Candidate::is_believed);
            only(found, "this host")
        }
        Some(target) => match target.to_str().map(str::parse::<i32>) {
            Some(Ok(pid)) => by_number(pid, &target.to_string_lossy()),
            _ if is_path(target) => Connection::open(Path::new(target)),
            _ => by_container(&target.to_string_lossy()),
        },
    }
}

/// A pid; where that leads to no minion, the beginning of a container's id, which may be digits alone.
fn by_number(pid: i32, word: &str) -> Result<Connection> {
    match by_pid(pid) {
        Err(error) if word.len() >= SHORTEST => {
            let found = candidates_of(word)?;
            if found.is_empty() { Err(error) } else { only(found, &format!("container {word}")) }
        }
        found => found,
    }
}

fn is_path(target: &OsStr) -> bool {
    let path = Path::new(target);
    path.is_absolute() || path.starts_with(".") || path.starts_with("..") || path.components().count() > 1
}

/// The one in whose sandbox the process is, or a process above it.
fn by_pid(pid: i32) -> Result<Connection> {
    let mut above = pid;
    while above > 0 {
        if socket_of(above).is_some() {
            return Connection::open(&cwd(above));
        }
        above = tree::Process::read(above).during("look at", format_args!("pid {above}"))?.parent;
    }
    Err(Error::new("find the minion of", format_args!("pid {pid}"), "no process above it is one"))
}

fn by_container(id: &str) -> Result<Connection> {
    if id.len() < SHORTEST {
        return Err(Error::new("find the container", format_args!("{id:?}"), "that is too short for an id")
            .hint("a path has a slash or a dot: ./name"));
    }
    only(candidates_of(id)?, &format!("container {id}"))
}

/// The minions of the containers whose ids begin so; of one that is called so exactly, that alone.
fn candidates_of(id: &str) -> Result<Vec<Candidate>> {
    let mut found = candidates()?;
    found.retain(|candidate| candidate.container.as_deref().is_some_and(|own| own.starts_with(id)));
    // Whoever likes may call a container his own.
    if found.iter().any(Candidate::is_believed) {
        found.retain(Candidate::is_believed);
    }
    let is_exact = |candidate: &Candidate| candidate.container.as_deref() == Some(id);
    if found.iter().any(is_exact) {
        found.retain(is_exact);
    }
    Ok(found)
}

/// Exactly one, or why not.
fn only(mut found: Vec<Candidate>, of: &str) -> Result<Connection> {
    match found.len() {
        0 => Err(Error::new("find the minion of", of, "none is seen")
            .hint("those of other users are for root, by pid, container or --sandbox")),
        1 => found.remove(0).connection,
        count => {
            let mut list = String::new();
            for Candidate { pid, sandbox, container, .. } in &found {
                let container = clean(container.as_deref().unwrap_or("no container"));
                // Writing to a String cannot fail.
                let _ = write!(list, "\n  {pid}  {container}  {}", clean(&sandbox.to_string_lossy()));
            }
            Err(Error::new(
                "find the minion of",
                of,
                format!("there are {count}; name one by pid, container or path:{list}"),
            ))
        }
    }
}

/// The working directory of a process, by the way that also leads into a container's own mounts.
fn cwd(pid: i32) -> PathBuf {
    format!("/proc/{pid}/cwd").into()
}

/// Every minion that can be seen, by pid. Its name may be any: it is known by the socket in a working directory, and the
/// socket by device and inode, because its children and others may be in the same directory.
fn candidates() -> Result<Vec<Candidate>> {
    let entries = fs::read_dir("/proc").during("list", "/proc")?;
    let mut pids: Vec<i32> = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    let mut seen = HashSet::new();
    let fresh = pids.into_iter().filter(|pid| socket_of(*pid).is_some_and(|socket| seen.insert(socket)));
    // One that is gone, or that does not let us in, is no candidate.
    Ok(fresh.filter_map(|pid| Some(candidate(pid, Connection::now(&cwd(pid))?))).collect())
}

fn candidate(pid: i32, connection: Result<Connection>) -> Candidate {
    let pid = connection.as_ref().map(Connection::pid).ok().filter(|pid| *pid > 0).unwrap_or(pid);
    let link = cwd(pid);
    Candidate { pid, sandbox: fs::read_link(&link).unwrap_or(link), container: container(pid), connection }
}

/// The control socket in the working directory of a process, as device and inode. One that we may not ask is none.
fn socket_of(pid: i32) -> Option<(u64, u64)> {
    peer::socket_to_ask(&cwd(pid).join(SOCKET))
}

fn container(pid: i32) -> Option<String> {
    let StartVariable::Value(directory) = tree::start_variable(pid, "MESOS_DIRECTORY", tree::exec_end()) else {
        return None;
    };
    let directory = PathBuf::from(OsString::from_vec(directory));
    Some(directory.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_an_id() {
        for path in ["/a", "./a", "..", ".", "a/b"] {
            assert!(is_path(OsStr::new(path)), "{path}");
        }
        for id in ["5f0c7a52-3d1e-4b8a-9c61-0d7c8f1b2e34", "a.b", "c1"] {
            assert!(!is_path(OsStr::new(id)), "{id}");
        }
    }
}
