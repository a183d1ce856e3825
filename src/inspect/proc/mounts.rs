//! `/proc/<pid>/mountinfo`: every mount with its propagation.

use super::once::Once;
use super::seen::Seen;

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

/// The mounts that a process sees; of several on one point only the last, which hides the others.
pub(in crate::inspect) fn read(pid: i32, once: &Once) -> Seen<Vec<Mount>> {
    once.list(super::path(pid, "mountinfo")).map(|text| parse(&text))
}

/// `36 35 0:30 /root /point rw,noatime shared:1 master:2 - ext4 /dev/vda rw`. [KF-21]
pub(in crate::inspect) fn parse(text: &[u8]) -> Vec<Mount> {
    let mut mounts: Vec<Mount> = Vec::new();
    for line in String::from_utf8_lossy(text).lines() {
        let Some(mount) = parse_line(line) else { continue };
        mounts.retain(|earlier| earlier.point != mount.point);
        mounts.push(mount);
    }
    mounts
}

fn parse_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut fields = left.split(' ').skip(2);
    let (device, root, point) = (fields.next()?, fields.next()?, fields.next()?);
    let tags: Vec<&str> = fields.skip(1).collect();
    let group = |name: &str| tags.iter().find_map(|tag| tag.strip_prefix(name)?.parse().ok());
    let (shared, master) = (group("shared:"), group("master:"));
    let mut fields = right.split(' ');
    let (kind, options) = (fields.next()?.to_owned(), fields.nth(1).unwrap_or_default().to_owned());
    Some(Mount {
        root: unescape(root),
        point: unescape(point),
        device: device.to_owned(),
        shared,
        master,
        kind,
        options,
    })
}

/// Blank, tab, line feed and backslash stand as three octal digits. [KF-21]
fn unescape(field: &str) -> String {
    if !field.contains('\\') {
        return field.to_owned();
    }
    ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(field.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_propagation_and_the_last_mount_hides_the_others() {
        let mounts = parse(
            b"1 0 8:1 / / rw shared:1 - ext4 /dev/a rw\n2 1 0:5 / /a\\040b rw master:7 - tmpfs  rw\n\
              3 1 0:6 /x /a\\040b rw shared:9 master:7 - cgroup cgroup rw,cpu\n4 1 0:7 / /p rw - proc proc rw\n",
        );
        let seen: Vec<_> = mounts.iter().map(|mount| (mount.point.as_str(), mount.propagation())).collect();
        assert_eq!(seen, [("/", "shared"), ("/a b", "slave and shared"), ("/p", "private")]);
        assert_eq!(
            (mounts[1].kind.as_str(), mounts[1].options.as_str(), mounts[1].root.as_str()),
            ("cgroup", "rw,cpu", "/x")
        );
    }
}
