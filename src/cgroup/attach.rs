//! Putting a process into the container's cgroups, and seeing whether it is still there.
//!
//! A write to `cgroup.procs` costs milliseconds on an idle machine, even for a process that is inside already, so what the
//! kernel says comes first: a child is born where its parent is, and mostly nothing has to move. [KF-29]

use super::directory::{Place, Validated};
use super::mountinfo::Version;
use super::{hint, membership};
use crate::error::{Error, Result};
use crate::process::procfs;
use crate::process::tree::Process;
use cgroups_rs::CgroupPid;
use cgroups_rs::fs::systemd::SystemdController;
use cgroups_rs::fs::{Cgroup, Controllers, Hierarchy, Subsystem};
use rustix::io::Errno;
use std::error::Error as _;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;

/// A process that is in every one of the container's cgroups.
#[derive(Debug)]
pub struct Attached {
    /// The hierarchies in which it had to be moved. Mostly none.
    pub moved: Vec<String>,
}

/// A process that is somewhere else than in the container's cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// The hierarchy.
    pub hierarchy: String,
    /// The container's cgroup, in the terms of `/proc/<pid>/cgroup`.
    pub expected: PathBuf,
    /// Where the process is. `None` when the kernel has no line for the hierarchy any more.
    pub actual: Option<PathBuf>,
}

impl Validated {
    /// Puts a process into every one of the container's cgroups in which it is not yet, and reads back that it is there.
    ///
    /// The process has to be one that no other can take the pid of: an unreaped child. On an error it may have been moved in
    /// some hierarchies and not in others (the error names them): it must then be ended, not run. A dead child that was
    /// already in place everywhere on v2 is not noticed here; its pidfd tells.
    pub fn attach(&self, pid: i32) -> Result<Attached> {
        let mut moved = Vec::new();
        let text = self.membership(pid)?;
        for place in self.strays(&text) {
            place.take(pid).map_err(|error| error.while_doing(attempt(pid, &moved)))?;
            moved.push(place.hierarchy.clone());
        }
        if !moved.is_empty() {
            self.confirm(pid).map_err(|error| error.while_doing(attempt(pid, &moved)))?;
        }
        Ok(Attached { moved })
    }

    /// Where the process is not in the container's cgroup. Empty while everything is right. Reads one file.
    pub fn drift(&self, pid: i32) -> Result<Vec<Drift>> {
        let text = self.membership(pid)?;
        let drift = |place: &Place| Drift {
            hierarchy: place.hierarchy.clone(),
            expected: place.path.clone(),
            actual: membership::path_in(&text, &place.line).map(PathBuf::from),
        };
        Ok(self.strays(&text).map(drift).collect())
    }

    fn membership(&self, pid: i32) -> Result<Vec<u8>> {
        match pid {
            // To a cgroup file 0 means the writer itself.
            ..=0 => Err(Error::new("attach", format!("pid {pid}"), "it is not the pid of a process")),
            _ if self.places.is_empty() => Ok(Vec::new()),
            _ => membership::of(pid),
        }
    }

    fn strays<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = &'a Place> {
        self.places.iter().filter(|place| membership::path_in(text, &place.line) != Some(&place.path))
    }

    fn confirm(&self, pid: i32) -> Result<()> {
        // A cgroup takes the dead without a word and without effect. [KF-25]
        if Process::read(pid).map_or(true, |process| process.is_zombie()) {
            return Err(Error::new("read back", format!("pid {pid}"), "it has ended meanwhile"));
        }
        match self.drift(pid)?.first() {
            None => Ok(()),
            Some(drift) => Err(Error::new("read back", drift, "the kernel took the pid and did not move the process")),
        }
    }
}

fn attempt(pid: i32, moved: &[String]) -> String {
    match moved {
        [] => format!("attach pid {pid}"),
        moved => format!("attach pid {pid} (already moved in {})", moved.join(" ")),
    }
}

impl Place {
    /// Writes the pid to `cgroup.procs`.
    fn take(&self, pid: i32) -> Result<()> {
        let here = Here { version: self.version, fd: self.fd.as_raw_fd() };
        let controller = Controllers::Systemd.to_string();
        let cgroup = Cgroup::load_with_specified_controllers(Box::new(here), ".", vec![controller]);
        cgroup.add_task_by_tgid(CgroupPid::from(u64::from(pid.unsigned_abs()))).map_err(|error| {
            let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>());
            let errno = cause.and_then(Errno::from_io_error);
            let subject = format!("{:?}", self.directory.join("cgroup.procs"));
            match errno {
                None => Error::new("write to", subject, error.to_string()),
                Some(errno) => {
                    let failed = Error::io("write to", subject, errno);
                    hint::attach(errno).into_iter().fold(failed, Error::hint)
                }
            }
        })
    }
}

/// One validated directory as a hierarchy of cgroups-rs: its root is the open descriptor.
///
/// Left to itself the crate takes the first mount of a controller, whatever part of the hierarchy that shows, knows v2 at one
/// place only and parses mountinfo for every group. Through the descriptor it writes to what was validated and to nothing
/// else. [CR-20] [CR-21] [CR-22]
#[derive(Clone, Copy, Debug)]
struct Here {
    version: Version,
    fd: RawFd,
}

impl Hierarchy for Here {
    /// The crate's one controller that has no files of its own: all of them attach by the same code. [CR-23]
    fn subsystems(&self) -> Vec<Subsystem> {
        vec![Subsystem::Systemd(SystemdController::new(self.root(), PathBuf::from("/"), self.v2()))]
    }

    fn root(&self) -> PathBuf {
        procfs::descriptor(self.fd)
    }

    fn root_control_group(&self) -> Cgroup {
        Cgroup::load(Box::new(*self), "")
    }

    fn parent_control_group(&self, _path: &str) -> Cgroup {
        // The crate removes a process by moving it to the parent. Nothing here leaves the container: stay.
        self.root_control_group()
    }

    fn v2(&self) -> bool {
        self.version == Version::V2
    }
}

/// `memory: in /, not in /mesos/c1`.
impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.hierarchy)?;
        match &self.actual {
            Some(actual) => write!(f, "in {}, not in {}", actual.display(), self.expected.display()),
            None => write!(f, "no longer there, not in {}", self.expected.display()),
        }
    }
}

/// `already in place`, `moved in freezer memory`.
impl fmt::Display for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.moved.as_slice() {
            [] => f.write_str("already in place"),
            moved => write!(f, "moved in {}", moved.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_without_cgroups_takes_any_process_and_reads_nothing() {
        let nothing = Validated { places: Vec::new(), inherited: Vec::new(), refused: Vec::new() };
        assert_eq!(nothing.attach(i32::MAX).unwrap().to_string(), "already in place");
        assert!(nothing.drift(i32::MAX).unwrap().is_empty());
        assert!(nothing.attach(0).is_err());
        assert!(nothing.attach(-1).is_err());
    }

    #[test]
    fn drift_is_one_line() {
        let drift = Drift { hierarchy: "memory".into(), expected: "/mesos/c1".into(), actual: Some("/".into()) };
        assert_eq!(drift.to_string(), "memory: in /, not in /mesos/c1");
    }
}
