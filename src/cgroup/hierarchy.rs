//! One hierarchy of a placement.

use super::membership::Line;
use super::mountinfo::{Mount, Version};
use std::fmt;
use std::path::PathBuf;

/// One hierarchy.
#[derive(Debug)]
pub struct Hierarchy {
    /// v1 or v2.
    pub version: Version,
    /// The controllers of a v1 hierarchy. Empty for v2, and for one that only has a name.
    pub controllers: Vec<String>,
    /// The name of a v1 hierarchy, `systemd`.
    pub name: Option<String>,
    /// Where this process is, in the terms of `/proc/self/cgroup`.
    pub here: PathBuf,
    /// Where the container's cgroup is.
    pub target: Target,
    /// The second field of the hierarchy's line in `/proc/<pid>/cgroup`.
    pub(super) line: Vec<u8>,
}

/// Where a container's cgroup is in a hierarchy.
#[derive(Debug)]
pub enum Target {
    /// In the first of these that exists, or in none: then the agent has no isolator for this hierarchy. Never empty.
    Candidates(Vec<Candidate>),
    /// It cannot be there.
    Nowhere(Nowhere),
}

/// A directory that would be the container's cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The cgroup, in the terms of `/proc/<pid>/cgroup`.
    pub path: PathBuf,
    /// A mount that shows it.
    pub mount: Mount,
    /// The directory below the mount's point. Empty when the mount shows just this cgroup.
    pub below: PathBuf,
}

/// Why a hierarchy has no cgroup of the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nowhere {
    /// It is not known which container this is.
    NoContainer,
    /// v2 beside v1: no agent that runs on such a host uses it. [ME-07]
    BesideV1,
    /// The hierarchy is not mounted here.
    NotMounted,
    /// It is mounted, but only in parts that do not show the container's cgroup.
    OutOfReach,
    /// There is no such directory: the agent has no isolator for it, the container's processes inherit the agent's cgroup.
    NoIsolator,
}

impl Hierarchy {
    pub(super) fn new(line: Line<'_>, target: Target) -> Self {
        let text = String::from_utf8_lossy(line.hierarchy);
        let parts = || text.split(',').filter(|part| !part.is_empty());
        Self {
            version: if line.is_v2() { Version::V2 } else { Version::V1 },
            controllers: parts().filter(|part| !part.starts_with("name=")).map(str::to_owned).collect(),
            name: parts().find_map(|part| part.strip_prefix("name=")).map(str::to_owned),
            here: line.path.to_owned(),
            target,
            line: line.hierarchy.to_owned(),
        }
    }

    /// What to call it: `cpu,cpuacct`, `name=systemd`, `unified`.
    pub fn label(&self) -> String {
        match self.version {
            Version::V1 => String::from_utf8_lossy(&self.line).into_owned(),
            Version::V2 => "unified".to_owned(),
        }
    }
}

impl Candidate {
    /// The directory.
    pub fn directory(&self) -> PathBuf {
        // Joined with an empty path it would end in a slash.
        self.mount.point.components().chain(self.below.components()).collect()
    }
}

impl fmt::Display for Nowhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoContainer => "no container is known",
            Self::BesideV1 => "the agent does not use v2 beside v1",
            Self::NotMounted => "it is not mounted here",
            Self::OutOfReach => "no mount here shows the container's cgroup",
            Self::NoIsolator => "the agent has no isolator for it",
        })
    }
}
