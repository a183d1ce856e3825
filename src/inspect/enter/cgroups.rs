//! The cgroups of the task, for the command alone.

use super::target::Target;
use crate::cgroup::{self, Mount, Version};
use crate::error::{During, Error, Result};
use crate::process::procfs;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A cgroup of the task in a hierarchy where we are in another one.
#[derive(Debug)]
pub(super) struct Place {
    hierarchy: Vec<u8>,
    path: PathBuf,
    directory: PathBuf,
}

/// Where the task is and we are not. Not the container's cgroups but the task's own: what has drifted is entered where it is.
pub(super) fn places(target: &Target) -> Result<Vec<Place>> {
    let read = |path: &str| procfs::read(path).during("read", path);
    let mounts = cgroup::mounts(&read("/proc/self/mountinfo")?);
    let (own, theirs) = (read("/proc/self/cgroup")?, read(&format!("/proc/{}/cgroup", target.pid()))?);
    let here: Vec<_> = cgroup::memberships(&own).collect();
    let others = cgroup::memberships(&theirs).filter(|line| !here.contains(line));
    let place = |(hierarchy, path): (&[u8], &std::path::Path)| {
        let shows = |mount: &Mount| Some(mount.point.join(mount.reach(path)?));
        let directory = mounts.iter().filter(|mount| is_of(mount, hierarchy)).find_map(shows).ok_or_else(|| {
            Error::new("enter", format!("{path:?}"), "no mount here shows this cgroup")
                .hint("run minion enter on the host, not inside a container")
        })?;
        Ok(Place { hierarchy: hierarchy.to_owned(), path: path.to_owned(), directory })
    };
    others.map(place).collect()
}

fn is_of(mount: &Mount, hierarchy: &[u8]) -> bool {
    let first = hierarchy.split(|byte| *byte == b',').next().unwrap_or_default();
    match mount.version {
        Version::V1 => !first.is_empty() && mount.has(OsStr::from_bytes(first)),
        Version::V2 => first.is_empty(),
    }
}

/// Puts the child into all of them, and reads back that it is there.
pub(super) fn attach(places: &[Place], child: i32) -> Result<()> {
    for place in places {
        let procs = place.directory.join("cgroup.procs");
        fs::write(&procs, child.to_string()).during("write to", procs.display())?;
    }
    let text = procfs::read_piece(format!("/proc/{child}/cgroup")).during("read", "the cgroups of the command")?;
    let there: Vec<_> = cgroup::memberships(&text).collect();
    match places.iter().find(|place| !there.contains(&(place.hierarchy.as_slice(), place.path.as_path()))) {
        None => Ok(()),
        Some(place) => {
            Err(Error::new("attach to", place.directory.display(), "the kernel took it, and it is not there"))
        }
    }
}
