//! The cgroup mounts of `/proc/<pid>/mountinfo`.

use crate::process::mountinfo::{Line, Mounts, unescape};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// Which of the kernel's two interfaces a hierarchy has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy for some controllers or for a name, file system `cgroup`.
    V1,
    /// The one hierarchy of file system `cgroup2`.
    V2,
}

/// One mount of a cgroup hierarchy. The same hierarchy can be mounted many times, whole or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// v1 or v2.
    pub version: Version,
    /// Major and minor number of the file system: equal for all mounts of a hierarchy, different between hierarchies.
    pub device: (u32, u32),
    /// The cgroup that is seen at the mount point, as `/proc/<pid>/cgroup` would print it: `/` for the whole hierarchy,
    /// below it for a bind mount, with leading `..` when it is outside of the reader's cgroup namespace. [KF-20]
    pub root: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    options: OsString,
}

impl Mount {
    /// Where `path` (in the terms of `/proc/<pid>/cgroup`) is below this mount's point. `None` when the mount does not show it.
    pub fn reach(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.root).ok()?;
        // From a mount of the namespace's root, `/../x` would lead out into the file system around the mount. [KF-20]
        below.components().all(|component| matches!(component, Component::Normal(_))).then(|| below.to_owned())
    }

    /// Whether this v1 hierarchy has the controller or the name (`cpu`, `name=systemd`).
    pub fn has(&self, controller: &OsStr) -> bool {
        self.options.as_bytes().split(|byte| *byte == b',').any(|option| option == controller.as_bytes())
    }
}

/// The mounts of cgroup hierarchies that no other mount hides, in the kernel's order.
pub(super) fn cgroups(text: &[u8]) -> Vec<Mount> {
    Mounts::parse(text).visible().filter_map(of_cgroup).collect()
}

fn of_cgroup(line: &Line<'_>) -> Option<Mount> {
    let version = match line.kind {
        b"cgroup" => Version::V1,
        b"cgroup2" => Version::V2,
        _ => return None,
    };
    let text = |field| OsString::from_vec(unescape(field).into_owned());
    Some(Mount {
        version,
        device: line.device,
        root: text(line.root).into(),
        point: text(line.point).into(),
        options: text(line.options),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Mount {
        cgroups(line.as_bytes()).pop().unwrap()
    }

    #[test]
    fn a_line_is_read_with_its_options() {
        let mount = one("33 31 0:30 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct");
        assert_eq!((mount.version, mount.device), (Version::V1, (0, 30)));
        assert_eq!((mount.root.as_path(), mount.point.as_path()), (Path::new("/"), Path::new("/sys/fs/cgroup/cpu")));
        assert!(mount.has(OsStr::new("cpuacct")) && !mount.has(OsStr::new("cpua")));
        assert!(one("1 2 0:3 / /x rw - cgroup  rw,name=systemd").has(OsStr::new("name=systemd")), "an empty source");
    }

    #[test]
    fn other_file_systems_are_left_out() {
        assert_eq!(cgroups(b"22 27 0:21 / /proc rw - proc proc rw\n1 2 0:3 / /cgroup2 rw - tmpfs cgroup2 rw\n"), []);
    }

    #[test]
    fn escapes_are_undone() {
        let mount = one(r"1 2 0:3 /a\134040\011b /mnt/with\040blank rw - cgroup cgroup rw,pids");
        assert_eq!(mount.root, Path::new("/a\\040\tb"));
        assert_eq!(mount.point, Path::new("/mnt/with blank"));
    }

    #[test]
    fn a_mount_that_another_file_system_covers_is_not_seen() {
        let text = b"9 8 0:2 / /sys rw - sysfs s rw\n1 9 0:3 / /sys/fs/cgroup rw - cgroup2 c rw\n\
            2 1 0:4 / /sys/fs/cgroup rw - tmpfs t rw\n3 2 0:5 / /sys/fs/cgroup/pids rw - cgroup c rw,pids\n";
        let points: Vec<_> = cgroups(text).into_iter().map(|mount| (mount.version, mount.point)).collect();
        assert_eq!(points, [(Version::V1, PathBuf::from("/sys/fs/cgroup/pids"))]);
    }

    #[test]
    fn a_mount_reaches_what_is_below_its_root_and_nothing_else() {
        let mount = |root: &str| one(&format!("1 2 0:3 {root} /x rw - cgroup2 c rw"));
        let reach = |root: &str, path: &str| mount(root).reach(Path::new(path));
        assert_eq!(reach("/", "/mesos/c1"), Some("mesos/c1".into()));
        assert_eq!(reach("/mesos/c1", "/mesos/c1"), Some(PathBuf::new()));
        assert_eq!(reach("/mesos/c1", "/mesos/c10"), None);
        assert_eq!(reach("/../../c1/leaf", "/../../c1/leaf"), Some(PathBuf::new()));
        assert_eq!(reach("/", "/../../c1/leaf"), None);
        assert_eq!(reach("/..", "/../../c1/leaf"), None);
    }
}
