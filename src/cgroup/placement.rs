//! From what the kernel and the agent say to where the container's cgroups are. Pure.

use super::Sources;
use super::hierarchy::{Candidate, Hierarchy, Nowhere, Target};
use super::identity::{Directory, Identity, Kernel};
use super::membership::{self, Line};
use super::mountinfo::{self, Mount, Version};
use crate::mesos::{ContainerId, Environment, clean_prefix, recovery};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// How this host's hierarchies are set up, in systemd's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// v1 only.
    Legacy,
    /// v1 with the controllers, and v2 without them beside it.
    Hybrid,
    /// v2 with the controllers.
    Unified,
    /// No cgroups, or none that this process can see.
    None,
}

/// Where this process and its container are in every hierarchy.
#[derive(Debug)]
pub struct Placement {
    /// The set-up of this host.
    pub layout: Layout,
    /// The container's id and the evidence for it.
    pub identity: Identity,
    /// The agent's root in each hierarchy: the prefix, cleaned, absolute.
    pub root: PathBuf,
    /// Freezer and name=systemd first, then the other v1 hierarchies, v2 last.
    pub hierarchies: Vec<Hierarchy>,
}

/// Finds the placement. `prefix` is the agent's `--cgroups_root`, with or without slashes around it.
pub fn discover(sources: &Sources, prefix: &str, environment: &Environment) -> Placement {
    let root = Path::new("/").join(clean_prefix(prefix));
    let mounts = mountinfo::cgroups(&sources.mountinfo);
    let mut lines: Vec<Line<'_>> = membership::lines(&sources.cgroup).collect();
    lines.sort_by_key(|line| match line.hierarchy {
        // The launcher makes these two for every container; freezer is what destroys it. [ME-08]
        b"freezer" => 0,
        b"name=systemd" => 1,
        b"" => 3,
        _ => 2,
    });
    let layout = layout(&lines, &mounts);
    let identity = identity(&lines, layout, &root, environment);
    let hierarchies = lines
        .iter()
        .map(|line| {
            let target = match (layout, identity.id()) {
                (Layout::Hybrid, _) if line.is_v2() => Target::Nowhere(Nowhere::BesideV1),
                (_, Some(id)) => target(*line, id, &root, &mounts),
                (_, None) => Target::Nowhere(Nowhere::NoContainer),
            };
            Hierarchy::new(*line, target)
        })
        .collect();
    Placement { layout, identity, root, hierarchies }
}

/// Unified is told by the mount: a host with cgroup2 in the place of the tree may still have a v1 hierarchy elsewhere, as
/// VPN clients mount `net_cls`, and its `0::` counts all the same. [KF-26]
fn layout(lines: &[Line<'_>], mounts: &[Mount]) -> Layout {
    let v1 = lines.iter().any(|line| !line.is_v2() && !line.hierarchy.starts_with(b"name="));
    let v2 = lines.iter().any(Line::is_v2);
    let unified = mounts.iter().any(|mount| mount.version == Version::V2 && mount.point == Path::new("/sys/fs/cgroup"));
    match (v1, v2) {
        (_, true) if unified => Layout::Unified,
        (true, true) => Layout::Hybrid,
        (true, false) => Layout::Legacy,
        (false, true) => Layout::Unified,
        (false, false) => Layout::None,
    }
}

fn identity(lines: &[Line<'_>], layout: Layout, root: &Path, environment: &Environment) -> Identity {
    let directory = match &environment.directory {
        None => Directory::Absent,
        Some(value) => match ContainerId::from_directory(value) {
            Ok(id) => Directory::Names { id, value: value.clone() },
            Err(error) => Directory::Unusable(error),
        },
    };
    let mut counted: Vec<&Line<'_>> = lines.iter().filter(|line| !(line.is_v2() && layout == Layout::Hybrid)).collect();
    if layout == Layout::Unified {
        counted.sort_by_key(|line| !line.is_v2());
    }
    let seen = counted.iter().find_map(|line| {
        let (_, id) = inside(**line, root)?;
        // Directly below `/` stand units and slices too: there the kernel can only confirm.
        let confirmed = matches!(&directory, Directory::Names { id: named, .. } if named.own() == id.own());
        (confirmed || root != Path::new("/")).then(|| Kernel::Inside { id, line: label(**line) })
    });
    let kernel = seen.unwrap_or_else(|| Kernel::Outside {
        root: root.to_owned(),
        lines: lines.iter().map(|line| label(*line)).collect::<Vec<_>>().join(", "),
    });
    Identity { kernel, directory }
}

/// The agent's root and the container that this path is inside of, both in the path's own terms.
///
/// Below the root it is plain. From inside a cgroup namespace that the agent made, the path climbs first and the root's name
/// may be missing (`/../../c1/leaf`, seen from `/mesos/agent/leaf`); the leaf then tells a container from the rest. [ME-09]
fn inside(line: Line<'_>, root: &Path) -> Option<(PathBuf, ContainerId)> {
    let climb: PathBuf = std::iter::once(Component::RootDir)
        .chain(line.path.components().skip(1).take_while(|part| *part == Component::ParentDir))
        .collect();
    let rest = line.path.strip_prefix(&climb).ok()?;
    let climbs = climb != Path::new("/");
    let name = root.strip_prefix("/").unwrap_or(root);
    let (view, below) = match rest.strip_prefix(name) {
        Ok(below) => (climb.join(name), below),
        Err(_) if climbs && line.is_v2() => (climb, rest),
        Err(_) => return None,
    };
    let (id, after) = recovery::enclosing(below)?;
    let in_leaf = after.first().is_some_and(|part| *part == recovery::LEAF);
    (!climbs || in_leaf).then_some((view, id))
}

fn target(line: Line<'_>, id: &ContainerId, root: &Path, mounts: &[Mount]) -> Target {
    let of_hierarchy: Vec<&Mount> = mounts.iter().filter(|mount| is_of(mount, line)).collect();
    if of_hierarchy.is_empty() {
        return Target::Nowhere(Nowhere::NotMounted);
    }
    let view = match inside(line, root) {
        Some((view, seen)) if seen.parts().first() == id.parts().first() => view,
        Some(_) | None => root.to_owned(),
    };
    let candidates: Vec<Candidate> = cgroups(line, id, &view)
        .into_iter()
        .flat_map(|path| {
            of_hierarchy.iter().filter_map(move |mount| {
                let below = mount.reach(&path)?;
                Some(Candidate { path: path.clone(), mount: (*mount).clone(), below })
            })
        })
        .collect();
    if candidates.is_empty() { Target::Nowhere(Nowhere::OutOfReach) } else { Target::Candidates(candidates) }
}

/// The cgroups that may be the container's, best first.
///
/// On v2 every container has its own and processes live in its leaf. On v1 a nested container has its own in the freezer
/// and systemd hierarchies, and shares those of its parents for controllers unless told otherwise. [ME-06] [ME-10]
fn cgroups(line: Line<'_>, id: &ContainerId, view: &Path) -> Vec<PathBuf> {
    if line.is_v2() {
        return vec![view.join(id.cgroup_path()).join(recovery::LEAF)];
    }
    std::iter::successors(Some(id.clone()), ContainerId::parent).map(|id| view.join(id.cgroup_path())).collect()
}

fn is_of(mount: &Mount, line: Line<'_>) -> bool {
    match (mount.version, line.is_v2()) {
        (Version::V2, true) => true,
        // The two files may list co-mounted controllers in different orders, but each is in one hierarchy only. [KF-27]
        (Version::V1, false) => first(line).is_some_and(|controller| mount.has(controller)),
        (Version::V1, true) | (Version::V2, false) => false,
    }
}

fn first(line: Line<'_>) -> Option<&OsStr> {
    line.hierarchy.split(|byte| *byte == b',').next().map(OsStr::from_bytes)
}

/// `freezer:/mesos/c1`, `0::/mesos/c1/leaf`: as in the kernel's file but for a v1 number, which changes with every boot.
fn label(line: Line<'_>) -> String {
    let hierarchy = if line.is_v2() { "0:".into() } else { String::from_utf8_lossy(line.hierarchy) };
    format!("{hierarchy}:{}", line.path.display())
}

impl Placement {
    /// The container's id, if it is known.
    pub fn container_id(&self) -> Option<&ContainerId> {
        self.identity.id()
    }

    /// The container's cgroup as the executor's `--cgroup-root` names it: below the agent's root, without mount points.
    ///
    /// On v2 it exists too, but whatever a kubelet makes below it stops the agent's next recovery: look at
    /// [`Placement::layout`] before passing it on. [ME-05]
    pub fn cgroup_root(&self) -> Option<PathBuf> {
        self.container_id().map(|id| self.root.join(id.cgroup_path()))
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Hybrid => "hybrid",
            Self::Unified => "unified",
            Self::None => "none",
        })
    }
}
