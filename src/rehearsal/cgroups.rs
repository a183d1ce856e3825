//! The container's cgroups: which hierarchies, made before the fork, removed at the end.

use super::proc::Process;
use crate::cgroup::{self, Mount, Version};
use crate::error::{During, Error, Result};
use crate::mesos::SEPARATOR;
use crate::process::procfs;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Which of the two cgroup layouts the agent uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `<hierarchy>/<root>/<id>` in freezer, name=systemd and the hierarchies of the enabled isolators (Mesos 1.11).
    V1,
    /// `<root>/<id>` for limits and `<root>/<id>/leaf` for processes (unreleased Mesos, clusterd).
    V2,
}

/// The hierarchies of a v1 agent with `--isolation=cgroups/cpu,cgroups/mem`, in the order in which it destroys.
pub(super) const DEFAULT: [&str; 5] = ["freezer", "systemd", "cpu", "cpuacct", "memory"];

/// Where containers of this agent get their cgroups. Removes the roots that it made when it is dropped.
#[derive(Debug)]
pub(super) struct Tree {
    layout: Layout,
    /// Relative to each mount point: `mesos`, or `test/root`.
    root: PathBuf,
    hierarchies: Vec<Hierarchy>,
    made: Vec<PathBuf>,
}

#[derive(Debug)]
struct Hierarchy {
    name: String,
    mount: PathBuf,
}

/// One container's cgroups, one directory a hierarchy. On v1 freezer comes first, then systemd, then the controllers.
#[derive(Debug)]
pub(super) struct Group {
    layout: Layout,
    directories: Vec<(String, PathBuf)>,
}

impl Tree {
    /// The named v1 hierarchies that are mounted. Freezer must be: no launcher without it.
    pub(super) fn v1(root: &Path, names: &[String]) -> Result<Self> {
        let mountinfo = procfs::read("/proc/self/mountinfo").during("read", "/proc/self/mountinfo")?;
        let mounts = cgroup::mounts(&mountinfo);
        let mut hierarchies: Vec<Hierarchy> = Vec::new();
        for name in names {
            let mount = mount_of(&mounts, name);
            // Co-mounted controllers (cpu,cpuacct) share one directory: it is made once.
            if let Some(mount) = mount.filter(|mount| hierarchies.iter().all(|one| one.mount != *mount)) {
                hierarchies.push(Hierarchy { name: name.clone(), mount });
            }
        }
        if hierarchies.first().is_none_or(|first| first.name != "freezer") {
            return Err(Error::new("make cgroups", root.display(), "no v1 freezer hierarchy is mounted"));
        }
        Self { layout: Layout::V1, root: root.to_owned(), hierarchies, made: Vec::new() }.make_roots()
    }

    /// The cgroup2 file system mounted at `mount`.
    pub(super) fn v2(root: &Path, mount: &Path) -> Result<Self> {
        if !mount.join("cgroup.controllers").exists() {
            return Err(Error::new("make cgroups", mount.display(), "it is no cgroup2 mount"));
        }
        let hierarchies = vec![Hierarchy { name: "unified".to_owned(), mount: mount.to_owned() }];
        let mut tree =
            Self { layout: Layout::V2, root: root.to_owned(), hierarchies, made: Vec::new() }.make_roots()?;
        let root = mount.join(root);
        enable_controllers(&root);
        // The agent's own: its presence is part of what a recovery reads.
        for below in ["agent", "agent/leaf"] {
            let directory = root.join(below);
            make(&directory)?;
            tree.made.push(directory);
        }
        Ok(tree)
    }

    fn make_roots(mut self) -> Result<Self> {
        for hierarchy in &self.hierarchies {
            let mut path = hierarchy.mount.clone();
            for part in &self.root {
                path.push(part);
                match make(&path) {
                    Ok(()) => self.made.push(path.clone()),
                    Err(error) if error.errno() == Some(libc::EEXIST) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(self)
    }

    /// Makes the cgroups of container `id`. Fails if one exists: then something else uses that id.
    pub(super) fn make_group(&self, id: &str) -> Result<Group> {
        let mut group = Group { layout: self.layout, directories: Vec::new() };
        for hierarchy in &self.hierarchies {
            let directory = hierarchy.mount.join(&self.root).join(id);
            if let Err(error) = self.make_one(&directory) {
                group.abandon();
                return Err(error);
            }
            group.directories.push((hierarchy.name.clone(), directory));
        }
        Ok(group)
    }

    /// Makes the cgroups of a container nested in another: they lie below its parent's, after a separator. v2 only.
    pub(super) fn nest(&self, parent: &Group, id: &str) -> Result<Group> {
        let Some(above) = parent.directory("unified") else {
            return Err(Error::new("make nested cgroup", id, "only the v2 layout is rehearsed"));
        };
        let separator = above.join(SEPARATOR);
        make(&separator).or_else(|error| if error.errno() == Some(libc::EEXIST) { Ok(()) } else { Err(error) })?;
        let directory = separator.join(id);
        self.make_one(&directory)?;
        Ok(Group { layout: self.layout, directories: vec![("unified".to_owned(), directory)] })
    }

    /// On v2 the mount and, below it, the agent's own cgroup.
    pub(super) fn agent(&self) -> Option<(&Path, PathBuf)> {
        let mount = self.hierarchies.first().filter(|_| self.layout == Layout::V2)?.mount.as_path();
        Some((mount, mount.join(&self.root).join("agent/leaf")))
    }

    fn make_one(&self, directory: &Path) -> Result<()> {
        make(directory)?;
        if self.layout == Layout::V2 {
            enable_controllers(directory);
            make(&directory.join("leaf")).inspect_err(|_| drop(fs::remove_dir(directory)))?;
        }
        Ok(())
    }

    /// Every cgroup below the agent's root: its path relative to that, and its directory.
    pub(super) fn below_root(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut found = Vec::new();
        for hierarchy in &self.hierarchies {
            let root = hierarchy.mount.join(&self.root);
            for directory in post_order(&root).into_iter().filter(|directory| *directory != root) {
                let relative = directory.strip_prefix(&root).map(Path::to_owned);
                found.extend(relative.map(|relative| (relative, directory)));
            }
        }
        found
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        for directory in self.made.iter().rev() {
            // Another agent of the same root may still have containers there: then EBUSY is right.
            let _ = fs::remove_dir(directory);
        }
    }
}

impl Group {
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Hierarchy name and directory of each. The first is freezer on v1, `<root>/<id>` on v2.
    pub(super) fn directories(&self) -> &[(String, PathBuf)] {
        &self.directories
    }

    /// The directory in the hierarchy of that name.
    pub(super) fn directory(&self, name: &str) -> Option<&Path> {
        self.directories.iter().find(|(one, _)| one == name).map(|(_, path)| path.as_path())
    }

    /// What the launcher does before the init may go on: freezer and systemd on v1, `leaf` on v2. [ME-44]
    pub(super) fn attach_by_launcher(&self, pid: i32) -> Result<()> {
        self.attach(pid, |name| matches!(name, "freezer" | "systemd" | "unified"))
    }

    /// What the isolators do afterwards, with the init still waiting.
    pub(super) fn attach_by_isolators(&self, pid: i32) -> Result<()> {
        self.attach(pid, |name| !matches!(name, "freezer" | "systemd" | "unified"))
    }

    fn attach(&self, pid: i32, wanted: fn(&str) -> bool) -> Result<()> {
        for (_, directory) in self.directories.iter().filter(|(name, _)| wanted(name)) {
            let procs = match self.layout {
                Layout::V1 => directory.join("cgroup.procs"),
                Layout::V2 => directory.join("leaf/cgroup.procs"),
            };
            fs::write(&procs, pid.to_string()).during("attach to", procs.display())?;
        }
        Ok(())
    }

    /// The memory limit and, on v1, the soft limit and the hierarchy switch that the agent sets with it. Bytes.
    pub(super) fn limit_memory(&self, bytes: u64) -> Result<()> {
        let (name, files): (_, &[&str]) = match self.layout {
            Layout::V1 => ("memory", &["memory.soft_limit_in_bytes", "memory.limit_in_bytes"]),
            Layout::V2 => ("unified", &["memory.max"]),
        };
        let Some(directory) = self.directory(name) else {
            return Err(Error::new("limit memory", "container", "it has no memory cgroup"));
        };
        for file in files {
            let path = directory.join(file);
            fs::write(&path, bytes.to_string()).during("write", path.display())?;
        }
        Ok(())
    }

    /// The pids in any of the cgroups or below them.
    pub(super) fn members(&self) -> BTreeSet<i32> {
        self.directories.iter().flat_map(|(_, top)| post_order(top)).flat_map(|cgroup| members(&cgroup)).collect()
    }

    /// Removes directories that never had a process.
    pub(super) fn abandon(&self) {
        for (_, top) in &self.directories {
            for directory in post_order(top) {
                let _ = fs::remove_dir(directory);
            }
        }
    }
}

/// The pids in one cgroup.
pub(super) fn members(cgroup: &Path) -> Vec<i32> {
    let text = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// The processes in one cgroup that are alive, as evidence.
pub(super) fn living(cgroup: &Path) -> Vec<Process> {
    members(cgroup).into_iter().filter_map(Process::alive).collect()
}

/// The cgroup and all below it, each after its children. Nothing when it does not exist.
pub(super) fn post_order(top: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(top) else {
        return Vec::new();
    };
    let directories = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut found: Vec<PathBuf> = directories.flat_map(|entry| post_order(&entry.path())).collect();
    found.push(top.to_owned());
    found
}

/// `mkdir(2)` of a cgroup. A v1 cpuset is made empty and takes no process before it has what its parent has. [KF-63]
fn make(directory: &Path) -> Result<()> {
    fs::create_dir(directory).during("make cgroup", directory.display())?;
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let parent = directory.parent().map(|parent| parent.join(file));
        if let Some(value) = parent.and_then(|parent| fs::read(parent).ok()).filter(|value| !value.is_empty()) {
            // On v2 an empty value means the parent's anyway, so only v1 depends on this.
            let _ = fs::write(directory.join(file), value);
        }
    }
    Ok(())
}

/// Enables what the agent enables, as far as this kernel offers it here.
fn enable_controllers(directory: &Path) {
    let offered = fs::read_to_string(directory.join("cgroup.controllers")).unwrap_or_default();
    for name in ["cpu", "memory", "io", "hugetlb", "cpuset", "pids"] {
        if offered.split_ascii_whitespace().any(|one| one == name) {
            let _ = fs::write(directory.join("cgroup.subtree_control"), format!("+{name}"));
        }
    }
}

/// The mount point of the whole v1 hierarchy that holds `name`: a controller, or `systemd` for name=systemd.
fn mount_of(mounts: &[Mount], name: &str) -> Option<PathBuf> {
    let option = OsStr::new(if name == "systemd" { "name=systemd" } else { name });
    let whole = |mount: &&Mount| mount.version == Version::V1 && mount.root == Path::new("/") && mount.has(option);
    mounts.iter().find(whole).map(|mount| mount.point.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTINFO: &str = "\
30 25 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw
32 30 0:28 / /sys/fs/cgroup/systemd rw shared:10 - cgroup cgroup rw,xattr,name=systemd
33 30 0:31 /docker/1 /bind/memory rw - cgroup cgroup rw,memory
34 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
35 30 0:32 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
";

    #[test]
    fn a_hierarchy_is_found_by_its_options_and_only_whole() {
        let mounts = cgroup::mounts(MOUNTINFO.as_bytes());
        let of = |name| mount_of(&mounts, name);
        assert_eq!(of("systemd").unwrap(), Path::new("/sys/fs/cgroup/systemd"));
        assert_eq!(of("memory").unwrap(), Path::new("/sys/fs/cgroup/memory"));
        assert_eq!(of("cpu"), of("cpuacct"));
        assert_eq!(of("freezer"), None);
    }
}
