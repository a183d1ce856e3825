//! `/proc/<pid>/mountinfo`: every mount with its propagation.

use super::once::Once;
use super::seen::Seen;
use crate::process::mountinfo;

/// One mount of a mount namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct Mount {
    /// Which part of the file system is shown.
    pub(in crate::inspect) root: String,
    /// Where.
    pub(in crate::inspect) point: String,
    /// Major and minor number, `0:30`.
    pub(in crate::inspect) device: String,
    /// The peer group that mounts below it are sent to.
    pub(in crate::inspect) shared: Option<u32>,
    /// The peer group that mounts below it are received from.
    pub(in crate::inspect) master: Option<u32>,
    /// `ext4`, `cgroup`, …
    pub(in crate::inspect) kind: String,
    /// Options of the file system: for a v1 cgroup mount its controllers.
    pub(in crate::inspect) options: String,
}

impl Mount {
    fn of(line: &mountinfo::Line<'_>) -> Self {
        Self {
            root: text(line.root),
            point: text(line.point),
            device: format!("{}:{}", line.device.0, line.device.1),
            shared: line.group("shared"),
            master: line.group("master"),
            kind: text(line.kind),
            options: text(line.options),
        }
    }

    /// `shared`, `slave`, `slave and shared`, `private`.
    pub(in crate::inspect) fn propagation(&self) -> &'static str {
        match (self.shared, self.master) {
            (None, None) => "private",
            (Some(_), None) => "shared",
            (None, Some(_)) => "slave",
            (Some(_), Some(_)) => "slave and shared",
        }
    }
}

/// The mounts that a process sees.
pub(in crate::inspect) fn read(pid: i32, once: &Once) -> Seen<Vec<Mount>> {
    once.list(super::path(pid, "mountinfo")).map(|text| parse(&text))
}

/// The mounts that are seen: what another mount hides is not among them.
pub(in crate::inspect) fn parse(text: &[u8]) -> Vec<Mount> {
    mountinfo::Mounts::parse(text).visible().map(Mount::of).collect()
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(&mountinfo::unescape(field)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_propagation_and_the_last_mount_hides_the_others() {
        let mounts = parse(
            b"1 0 8:1 / / rw shared:1 - ext4 /dev/a rw\n2 1 0:5 / /a\\040b rw master:7 - tmpfs  rw\n\
              3 2 0:6 /x /a\\040b rw shared:9 master:7 - cgroup cgroup rw,cpu\n4 1 0:7 / /p rw - proc proc rw\n",
        );
        let seen: Vec<_> = mounts.iter().map(|mount| (mount.point.as_str(), mount.propagation())).collect();
        assert_eq!(seen, [("/", "shared"), ("/a b", "slave and shared"), ("/p", "private")]);
        assert_eq!(
            (mounts[1].kind.as_str(), mounts[1].options.as_str(), mounts[1].root.as_str()),
            ("cgroup", "rw,cpu", "/x")
        );
    }
}
