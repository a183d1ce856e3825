//! The cgroup trees: which there are, below which cgroups an agent keeps containers, and what is there.

use super::measure::{self, Numbers};
use crate::cgroup::{self, Mount, Version};
use crate::error::{During, Result};
use crate::mesos::recovery;
use crate::process::procfs;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, open, openat, statat};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One hierarchy.
#[derive(Debug)]
pub(super) struct Tree {
    /// `freezer`, `name=systemd`, `cpu,cpuacct`; `unified` for v2.
    pub(super) label: String,
    pub(super) version: Version,
    /// Where it is mounted, whole.
    pub(super) point: PathBuf,
    mount: Mount,
}

/// A cgroup below an agent's root.
#[derive(Debug)]
pub(super) struct Group {
    /// Below the root: `<id>`, `<id>/leaf`.
    pub(super) path: PathBuf,
    pub(super) pids: Vec<i32>,
    /// What its controllers count. Read of containers' own cgroups only.
    pub(super) numbers: Numbers,
}

/// What is below a root in one tree, or a part of that.
#[derive(Debug)]
pub(super) struct Branch {
    /// Which of the trees.
    pub(super) tree: usize,
    /// The agent's root in it: `mesos`.
    pub(super) root: PathBuf,
    pub(super) groups: Vec<Group>,
}

/// What hierarchies can be called, in the order that the rest of this module wants: the launcher's first, then controllers.
const NAMES: [&str; 15] = [
    "freezer",
    "name=systemd",
    "cpu",
    "cpuacct",
    "cpuset",
    "memory",
    "blkio",
    "devices",
    "net_cls",
    "net_prio",
    "perf_event",
    "hugetlb",
    "pids",
    "rdma",
    "misc",
];
/// Deeper than any agent nests.
const DEEPEST: usize = 32;

/// The hierarchies that are mounted whole.
pub(super) fn trees() -> Result<Vec<Tree>> {
    let mountinfo = procfs::read("/proc/self/mountinfo").during("read", "/proc/self/mountinfo")?;
    let mut trees: Vec<Tree> = Vec::new();
    for mount in cgroup::mounts(&mountinfo).into_iter().filter(|mount| mount.root == Path::new("/")) {
        if trees.iter().all(|tree| tree.mount.device != mount.device) {
            trees.push(Tree { label: label(&mount), version: mount.version, point: mount.point.clone(), mount });
        }
    }
    let rank = |tree: &Tree| NAMES.iter().position(|name| tree.mount.has(OsStr::new(name))).unwrap_or(NAMES.len());
    trees.sort_by_key(rank);
    Ok(trees)
}

fn label(mount: &Mount) -> String {
    match mount.version {
        Version::V2 => "unified".to_owned(),
        Version::V1 => NAMES.into_iter().filter(|name| mount.has(OsStr::new(name))).collect::<Vec<_>>().join(","),
    }
}

impl Tree {
    /// Whether it is one that an agent's launcher keeps every container in: freezer on v1, and v2.
    pub(super) fn is_launchers(&self) -> bool {
        self.version == Version::V2 || self.mount.has(OsStr::new("freezer"))
    }

    /// Whether a line of `/proc/<pid>/cgroup` is about it.
    pub(super) fn is(&self, hierarchy: &[u8]) -> bool {
        let first = hierarchy.split(|byte| *byte == b',').next().unwrap_or_default();
        match self.version {
            Version::V1 => !first.is_empty() && self.mount.has(OsStr::from_bytes(first)),
            Version::V2 => first.is_empty(),
        }
    }

    /// The cgroups directly below the root.
    pub(super) fn tops(&self, root: &Path) -> Vec<PathBuf> {
        directory(&self.point.join(root)).map_or_else(Vec::new, |top| children(top, Path::new("")))
    }

    /// These and every cgroup below them, those that are being removed as far as they are there.
    pub(super) fn branch(&self, index: usize, root: &Path, tops: &[PathBuf]) -> Branch {
        let mut branch = Branch { tree: index, root: root.to_owned(), groups: Vec::with_capacity(tops.len()) };
        if let Some(top) = directory(&self.point.join(root)) {
            for name in tops {
                self.descend(&top, name.clone(), &mut branch.groups, 0);
            }
        }
        branch
    }

    fn descend(&self, top: &OwnedFd, path: PathBuf, groups: &mut Vec<Group>, depth: usize) {
        let own = recovery::enclosing(&path).is_some_and(|(_, rest)| rest.is_empty());
        let pids = measure::pids(top, &path);
        let numbers = if own { Numbers::read(top, &path, &self.mount) } else { Numbers::default() };
        // A cgroup's directory has a link for each child: one call instead of a list of its thirty files.
        let parent = statat(top, &path, AtFlags::empty()).is_ok_and(|stat| stat.st_nlink > 2);
        if parent && depth < DEEPEST {
            for child in children(top, &path) {
                self.descend(top, child, groups, depth + 1);
            }
        }
        groups.push(Group { path, pids, numbers });
    }
}

/// The cgroups below which containers are kept: `mesos`, and each with a child whose name is a container id as agents make
/// them, one or two levels deep.
pub(super) fn roots(trees: &[Tree]) -> Vec<PathBuf> {
    let launchers = trees.iter().any(Tree::is_launchers);
    let mut roots = Vec::new();
    for tree in trees.iter().filter(|tree| tree.is_launchers() || !launchers) {
        let Some(top) = directory(&tree.point) else { continue };
        for first in children(&top, Path::new("")) {
            if holds_containers(&top, &first) || first == Path::new("mesos") {
                roots.push(first);
            } else {
                let below = children(&top, &first);
                roots.extend(below.into_iter().filter(|second| holds_containers(&top, second)));
            }
        }
    }
    roots.sort();
    roots.dedup();
    roots
}

fn holds_containers(top: &OwnedFd, path: &Path) -> bool {
    children(top, path).iter().any(|child| child.file_name().and_then(OsStr::to_str).is_some_and(is_uuid))
}

/// `0c8c9b9e-8f0b-4f5c-9d8e-2f0b1a3c4d5e`
fn is_uuid(name: &str) -> bool {
    let form = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
    };
    name.len() == 36 && name.bytes().enumerate().all(form)
}

fn directory(path: &Path) -> Option<OwnedFd> {
    open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// The cgroups directly below one, as paths from `top`.
fn children(top: impl AsFd, path: &Path) -> Vec<PathBuf> {
    let here = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(list) = openat(top, here, flags, Mode::empty()).and_then(Dir::new) else { return Vec::new() };
    let directories = list.flatten().filter(|entry| entry.file_type() == FileType::Directory);
    let names = directories.map(|entry| entry.file_name().to_owned());
    names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name != "." && name != "..")
        .map(|name| path.join(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn container_ids_are_told_from_other_names() {
        assert!(is_uuid("0c8c9b9e-8f0b-4f5c-9d8e-2f0b1a3c4d5e"));
        for name in ["", "mesos", "0c8c9b9e-8f0b-4f5c-9d8e-2f0b1a3c4d5E", "pod0c8c9b9e-8f0b-4f5c-9d8e-2f0b1a3c4d5e"] {
            assert!(!is_uuid(name), "{name}");
        }
    }
}
