//! The cgroup mounts of `/proc/<pid>/mountinfo`.

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

/// The mounts of cgroup hierarchies, in the kernel's order; of several on one point only the last, which hides the others.
pub(super) fn cgroups(text: &[u8]) -> Vec<Mount> {
    let mut mounts: Vec<Mount> = Vec::new();
    for mount in text.split(|byte| *byte == b'\n').filter_map(parse) {
        mounts.retain(|earlier| earlier.point != mount.point);
        mounts.push(mount);
    }
    mounts
}

/// `36 35 0:30 /root /point rw,noatime shared:1 - cgroup cgroup rw,cpu`: any number of tags stands before the dash. [KF-21]
fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ').skip(2);
    let device = std::str::from_utf8(fields.next()?).ok()?.split_once(':')?;
    let (root, point) = (fields.next()?, fields.next()?);
    let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
    let version = match fields.next()? {
        b"cgroup" => Version::V1,
        b"cgroup2" => Version::V2,
        _ => return None,
    };
    let options = fields.nth(1)?;
    Some(Mount {
        version,
        device: (device.0.parse().ok()?, device.1.parse().ok()?),
        root: unescape(root).into(),
        point: unescape(point).into(),
        options: unescape(options),
    })
}

/// Blank, tab, line feed and backslash stand as `\` and three octal digits. [KF-21]
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        match after {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] if *first == b'\\' => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = tail;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(line: &str) -> Mount {
        parse(line.as_bytes()).unwrap()
    }

    #[test]
    fn a_line_is_read_with_any_number_of_tags() {
        for tags in ["", "shared:9 ", "master:1 propagate_from:2 unbindable "] {
            let mount =
                one(&format!("33 31 0:30 / /sys/fs/cgroup/cpu rw,relatime {tags}- cgroup cgroup rw,cpu,cpuacct"));
            assert_eq!((mount.version, mount.device), (Version::V1, (0, 30)));
            assert_eq!(
                (mount.root.as_path(), mount.point.as_path()),
                (Path::new("/"), Path::new("/sys/fs/cgroup/cpu"))
            );
            assert!(mount.has(OsStr::new("cpuacct")) && !mount.has(OsStr::new("cpua")));
        }
    }

    #[test]
    fn other_file_systems_and_broken_lines_are_skipped() {
        for line in [
            "",
            "22 27 0:21 / /proc rw - proc proc rw",
            "1 2 0:3 / /x rw cgroup cgroup rw",
            "1 2 0 / /x rw - cgroup c rw",
            "1 2 0:3 / /cgroup2 rw - tmpfs cgroup2 rw",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn an_empty_source_leaves_the_options_in_place() {
        assert!(one("1 2 0:3 / /x rw - cgroup  rw,name=systemd").has(OsStr::new("name=systemd")));
    }

    #[test]
    fn escapes_are_undone() {
        let mount = one(r"1 2 0:3 /a\134040\011b /mnt/with\040blank rw - cgroup cgroup rw,pids");
        assert_eq!(mount.root, Path::new("/a\\040\tb"));
        assert_eq!(mount.point, Path::new("/mnt/with blank"));
    }

    #[test]
    fn of_two_mounts_on_one_point_the_later_is_seen() {
        let text = b"1 2 0:3 / /x rw - cgroup c rw,pids\n2 2 0:3 /mesos/c1 /x rw - cgroup c rw,pids\n";
        assert_eq!(
            cgroups(text).iter().map(|mount| mount.root.as_path()).collect::<Vec<_>>(),
            [Path::new("/mesos/c1")]
        );
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

    proptest! {
        #[test]
        fn no_text_panics(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = cgroups(&text);
        }
    }
}
