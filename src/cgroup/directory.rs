//! The container's cgroup directories, opened and checked.

use super::hierarchy::{Candidate, Hierarchy, Nowhere, Target};
use super::mountinfo::{Mount, Version};
use super::placement::Placement;
use crate::error::{Error, Result};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, fstatfs, major, minor, openat, openat2};
use rustix::io::Errno;
use std::fmt;
use std::os::fd::OwnedFd;
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
    /// The hierarchies where something else is in its place, or where it cannot be opened, and what that is. Nothing is written
    /// there either.
    pub refused: Vec<(String, Error)>,
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
    /// file, a link or a foreign file system in its place is refused; whether one can do without is the caller's decision.
    pub fn validate(&self) -> Validated {
        let mut validated = Validated { places: Vec::new(), inherited: Vec::new(), refused: Vec::new() };
        for hierarchy in &self.hierarchies {
            match place(hierarchy) {
                Ok(Ok(place)) => validated.places.push(place),
                Ok(Err(why)) => {
                    let (hierarchy, here) = (hierarchy.label(), hierarchy.here.clone());
                    validated.inherited.push(Inherited { hierarchy, here, why });
                }
                Err(error) => validated.refused.push((hierarchy.label(), error)),
            }
        }
        validated
    }
}

impl Validated {
    /// For who cannot do without: the first refusal is an error.
    pub fn whole(mut self) -> Result<Self> {
        if self.refused.is_empty() { Ok(self) } else { Err(self.refused.swap_remove(0).1) }
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

/// Opens a cgroup below a mount. `None` when it does not exist, or another mount hides this one.
pub(super) fn open(mount: &Mount, below: &Path) -> Result<Option<OwnedFd>> {
    let path: PathBuf = mount.point.components().chain(below.components()).collect();
    let opened = match openat2(CWD, &path, FLAGS, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Linux before 5.6, or a seccomp profile that does not know the call. [KF-34]
        Err(Errno::NOSYS | Errno::PERM) => walk(&path),
        opened => opened,
    };
    let directory = match opened {
        Ok(directory) => directory,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::NOTDIR | Errno::LOOP) => return Err(refuse(&path, "a file or a symbolic link is in the way")),
        Err(error) => return Err(Error::io("open cgroup", format!("{path:?}"), error)),
    };
    Ok((device(&directory, mount.version, &path)? == mount.device).then_some(directory))
}

const FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens an absolute path one component at a time, none of them a link.
fn walk(path: &Path) -> Result<OwnedFd, Errno> {
    let mut components = path.components();
    components.next();
    let mut directory = openat(CWD, "/", FLAGS, Mode::empty())?;
    for component in components {
        // With O_DIRECTORY a link that is not followed is no directory: ENOTDIR. [KF-28]
        directory = openat(&directory, component.as_os_str(), FLAGS, Mode::empty())?;
    }
    Ok(directory)
}

/// The file system that a directory is on, by its number; one that is not for cgroups is an error.
fn device(directory: &OwnedFd, version: Version, path: &Path) -> Result<(u32, u32)> {
    let failed = |error: Errno| Error::io("look at cgroup", format!("{path:?}"), error);
    let magic = match version {
        Version::V1 => libc::CGROUP_SUPER_MAGIC,
        Version::V2 => libc::CGROUP2_SUPER_MAGIC,
    };
    if fstatfs(directory).map_err(failed)?.f_type != magic {
        return Err(refuse(path, "it is not on a cgroup file system"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_openat2_a_link_is_refused_too() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::os::unix::fs::symlink("a", top.join("link")).unwrap();
        assert!(walk(&top.join("a/b")).is_ok());
        assert_eq!(walk(&top.join("link/b")).unwrap_err(), Errno::NOTDIR);
        assert_eq!(walk(&top.join("link")).unwrap_err(), Errno::NOTDIR);
        assert_eq!(walk(&top.join("a/c")).unwrap_err(), Errno::NOENT);
    }
}
