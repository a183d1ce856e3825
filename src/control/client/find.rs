//! Which minion is meant: by its sandbox, a container, a pid, or because there is only one.

use super::connection::Connection;
use crate::control::SOCKET;
use crate::error::{During, Error, Result};
use crate::process::tree::{self, StartVariable};
use crate::render::clean;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
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
    connection: Connection,
}

/// Connects to the one that is meant.
pub(super) fn find(wanted: &Wanted) -> Result<Connection> {
    if let Some(sandbox) = &wanted.sandbox {
        return Connection::open(sandbox);
    }
    match &wanted.target {
        None if Path::new(SOCKET).exists() => Connection::open(Path::new(".")),
        None => only(candidates()?, "this host"),
        Some(target) => match target.to_str().map(str::parse::<i32>) {
            Some(Ok(pid)) => by_pid(pid),
            _ if is_path(target) => Connection::open(Path::new(target)),
            _ => by_container(&target.to_string_lossy()),
        },
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
            return connect(above);
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
    let mut found = candidates()?;
    found.retain(|candidate| candidate.container.as_deref().is_some_and(|own| own.starts_with(id)));
    only(found, &format!("container {id}"))
}

/// Exactly one, or why not.
fn only(mut found: Vec<Candidate>, of: &str) -> Result<Connection> {
    match found.len() {
        0 => Err(Error::new("find the minion of", of, "none is seen")
            .hint("as root all are seen; --sandbox names the directory of one")),
        1 => Ok(found.remove(0).connection),
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

/// Through `/proc`, which also leads into a container's own mounts.
fn connect(pid: i32) -> Result<Connection> {
    Connection::open(&PathBuf::from(format!("/proc/{pid}/cwd")))
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
    Ok(fresh.filter_map(|pid| Some(candidate(pid, connect(pid).ok()?))).collect())
}

fn candidate(pid: i32, connection: Connection) -> Candidate {
    let pid = if connection.pid() > 0 { connection.pid() } else { pid };
    let link = PathBuf::from(format!("/proc/{pid}/cwd"));
    Candidate { pid, sandbox: fs::read_link(&link).unwrap_or(link), container: container(pid), connection }
}

/// The control socket in the working directory of a process, as device and inode.
fn socket_of(pid: i32) -> Option<(u64, u64)> {
    let file = fs::symlink_metadata(format!("/proc/{pid}/cwd/{SOCKET}")).ok()?;
    file.file_type().is_socket().then(|| (file.dev(), file.ino()))
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
