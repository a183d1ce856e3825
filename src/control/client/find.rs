//! Which minion is meant: by its sandbox, a container, a pid, or because there is only one.

use super::connection::Connection;
use crate::control::SOCKET;
use crate::error::{During, Error, Result};
use crate::process::tree;
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

/// A process that has a control socket in its working directory.
struct Candidate {
    pid: i32,
    sandbox: PathBuf,
    /// The last component of `MESOS_DIRECTORY`, where it may be read.
    container: Option<String>,
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

/// A minion, or the one above any other process.
fn by_pid(pid: i32) -> Result<Connection> {
    let mut above = pid;
    while above > 0 {
        if let Some(candidate) = candidate(above) {
            return connect(&candidate);
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
        1 => connect(&found.remove(0)),
        count => {
            let mut list = String::new();
            for Candidate { pid, sandbox, container } in &found {
                let container = container.as_deref().unwrap_or("no container");
                // Writing to a String cannot fail.
                let _ = write!(list, "\n  {pid}  {container}  {}", sandbox.display());
            }
            Err(Error::new("find the minion of", of, format!("there are {count}; name one by pid, container or path:{list}")))
        }
    }
}

/// Through `/proc`, which also leads into a container's own mounts.
fn connect(candidate: &Candidate) -> Result<Connection> {
    Connection::open(&PathBuf::from(format!("/proc/{}/cwd", candidate.pid))).or_else(|first| {
        // That link may be closed to us although the directory is not.
        Connection::open(&candidate.sandbox).map_err(|_| first)
    })
}

/// Every minion that can be seen, by pid.
fn candidates() -> Result<Vec<Candidate>> {
    let entries = fs::read_dir("/proc").during("list", "/proc")?;
    let mut pids: Vec<i32> = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    let mut found: Vec<((u64, u64), Candidate)> = Vec::new();
    for candidate in pids.into_iter().filter_map(candidate) {
        let Some(socket) = identity(&candidate) else { continue };
        // A minion status in a sandbox looks like its minion: the one that listens is the older one, and asked for its pid.
        if found.iter().all(|(other, _)| *other != socket) {
            found.push((socket, candidate));
        }
    }
    let mut candidates: Vec<Candidate> = found.into_iter().map(|(_, candidate)| candidate).collect();
    candidates.retain_mut(|candidate| match connect(candidate) {
        Ok(connection) => {
            candidate.pid = if connection.pid() > 0 { connection.pid() } else { candidate.pid };
            true
        }
        // It is there and does not let us in, or is stopped: the operator should hear of it all the same.
        Err(error) => error.errno() != Some(libc::ECONNREFUSED),
    });
    Ok(candidates)
}

/// A process called minion with a socket in its working directory.
fn candidate(pid: i32) -> Option<Candidate> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    if pid == own || !is_minion(pid) {
        return None;
    }
    let link = PathBuf::from(format!("/proc/{pid}/cwd"));
    let is_socket = fs::symlink_metadata(link.join(SOCKET)).is_ok_and(|file| file.file_type().is_socket());
    let sandbox = fs::read_link(&link).unwrap_or(link);
    is_socket.then(|| Candidate { pid, sandbox, container: container(pid) })
}

fn is_minion(pid: i32) -> bool {
    let comm = fs::read(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_ascii_end() == b"minion");
    let exe = || fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.file_name() == Some(OsStr::new("minion")));
    comm || exe()
}

fn container(pid: i32) -> Option<String> {
    let directory = PathBuf::from(OsString::from_vec(tree::start_variable(pid, "MESOS_DIRECTORY")?));
    Some(directory.file_name()?.to_string_lossy().into_owned())
}

fn identity(candidate: &Candidate) -> Option<(u64, u64)> {
    let file = fs::symlink_metadata(format!("/proc/{}/cwd/{SOCKET}", candidate.pid)).ok()?;
    Some((file.dev(), file.ino()))
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
