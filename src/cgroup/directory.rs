//! The container's cgroup directories, opened and checked.

use super::mountinfo::{Mount, Version};
use super::placement::{Candidate, Hierarchy, Nowhere, Placement, Target};
use crate::error::{Error, Result};
use rustix::fs::{CWD, Mode, OFlags, fstat, fstatfs, major, minor, openat};
use rustix::io::Errno;
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A placement whose directories were opened: what processes are attached to.
///
/// # Invariants
/// Each place is a cgroup of the hierarchy that it names: its descriptor leads there whatever happens to the path later.
#[derive(Debug)]
pub struct Validated {
    /// The hierarchies where the container has a cgroup, in the order of attaching.
    pub places: Vec<Place>,
    /// The hierarchies where it has none: nothing is ever written there, children stay where their parent is.
    pub inherited: Vec<Inherited>,
}

/// The container's cgroup in one hierarchy.
#[derive(Debug)]
pub struct Place {
    /// v1 or v2.
    pub version: Version,
    /// What to call the hierarchy: `freezer`, `cpu,cpuacct`, `name=systemd`, `unified`.
    pub hierarchy: String,
    /// The cgroup, in the terms of `/proc/<pid>/cgroup`.
    pub path: PathBuf,
    /// Its directory, for messages.
    pub directory: PathBuf,
    pub(super) line: Vec<u8>,
    pub(super) candidate: Candidate,
    /// Opened with `O_PATH`.
    pub(super) fd: OwnedFd,
}

/// A hierarchy in which the container has no cgroup.
#[derive(Debug)]
pub struct Inherited {
    /// What to call the hierarchy.
    pub hierarchy: String,
    /// Where this process, and with it each child, is.
    pub here: PathBuf,
    /// Why.
    pub why: Nowhere,
}

impl Placement {
    /// Opens the container's cgroup in each hierarchy, without following a link.
    ///
    /// A directory that is not there is inherited, and never made: on v1 the agent has no isolator for that hierarchy. A
    /// file, a link or a foreign file system in its place is an error.
    pub fn validate(&self) -> Result<Validated> {
        let mut validated = Validated { places: Vec::new(), inherited: Vec::new() };
        for hierarchy in &self.hierarchies {
            match place(hierarchy)? {
                Ok(place) => validated.places.push(place),
                Err(why) => {
                    let (hierarchy, here) = (hierarchy.label(), hierarchy.here.clone());
                    validated.inherited.push(Inherited { hierarchy, here, why });
                }
            }
        }
        Ok(validated)
    }
}

fn place(hierarchy: &Hierarchy) -> Result<Result<Place, Nowhere>> {
    let candidates = match &hierarchy.target {
        Target::Nowhere(why) => return Ok(Err(*why)),
        Target::Candidates(candidates) => candidates,
    };
    for candidate in candidates {
        let Some(fd) = open(&candidate.mount, &candidate.below)? else { continue };
        return Ok(Ok(Place {
            version: hierarchy.version,
            hierarchy: hierarchy.label(),
            path: candidate.path.clone(),
            directory: candidate.directory(),
            line: hierarchy.line.clone(),
            candidate: candidate.clone(),
            fd,
        }));
    }
    Ok(Err(Nowhere::NoIsolator))
}

/// Opens a cgroup below a mount, one component at a time. `None` when it does not exist, or another mount hides this one.
pub(super) fn open(mount: &Mount, below: &Path) -> Result<Option<OwnedFd>> {
    let Some(mut directory) = step(CWD, &mount.point, &mount.point)? else {
        return Ok(None);
    };
    if device(&directory, mount)? != mount.device {
        return Ok(None);
    }
    let mut path = mount.point.clone();
    for component in below {
        path.push(component);
        match step(&directory, Path::new(component), &path)? {
            None => return Ok(None),
            Some(next) => directory = next,
        }
    }
    if device(&directory, mount)? != mount.device {
        return Err(refuse(&path, "another hierarchy is mounted there"));
    }
    Ok(Some(directory))
}

fn step(parent: impl AsFd, name: &Path, path: &Path) -> Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(parent, name, flags, Mode::empty()) {
        Ok(directory) => Ok(Some(directory)),
        Err(Errno::NOENT) => Ok(None),
        // With O_DIRECTORY a link that is not followed is no directory. [KF-28]
        Err(Errno::NOTDIR | Errno::LOOP) => Err(refuse(path, "it is a file or a symbolic link")),
        Err(error) => Err(Error::io("open cgroup", format!("{path:?}"), error)),
    }
}

/// The device number of a directory that is on the file system of a cgroup mount; any other file system is an error.
fn device(directory: &OwnedFd, mount: &Mount) -> Result<(u32, u32)> {
    let failed = |error: Errno| Error::io("look at cgroup", format!("{:?}", mount.point), error);
    let magic = match mount.version {
        Version::V1 => libc::CGROUP_SUPER_MAGIC,
        Version::V2 => libc::CGROUP2_SUPER_MAGIC,
    };
    if fstatfs(directory).map_err(failed)?.f_type != magic {
        return Err(refuse(&mount.point, "it is not on a cgroup file system"));
    }
    let status = fstat(directory).map_err(failed)?;
    Ok((major(status.st_dev), minor(status.st_dev)))
}

fn refuse(path: &Path, why: &'static str) -> Error {
    Error::new("open cgroup", format!("{path:?}"), why).hint("something was put or mounted over the cgroup tree")
}

/// `freezer:/mesos/c1`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.hierarchy, self.path.display())
    }
}

/// `pids:/system.slice (the agent has no isolator for it)`.
impl fmt::Display for Inherited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} ({})", self.hierarchy, self.here.display(), self.why)
    }
}
