//! Reading `/proc/<pid>/mountinfo`, and which of its mounts a path leads to.

use std::borrow::Cow;

/// One line: a mount of a mount namespace. Fields that may hold anything are as the kernel wrote them: see [`unescape`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The number of the mount.
    pub id: u64,
    /// The number of the mount that it is on.
    pub parent: u64,
    /// Major and minor number of the file system.
    pub device: (u32, u32),
    /// What is seen at the mount point, in the terms of the file system. Escaped.
    pub root: &'a [u8],
    /// Where it is. Escaped.
    pub point: &'a [u8],
    /// `shared:9`, `master:2`, … with blanks between.
    pub tags: &'a [u8],
    /// `ext4`, `cgroup`, …
    pub kind: &'a [u8],
    /// Options of the file system: for a v1 cgroup mount its controllers. Escaped.
    pub options: &'a [u8],
}

impl<'a> Line<'a> {
    /// `36 35 0:30 /root /point rw,noatime shared:1 - cgroup cgroup rw,cpu`: any number of tags stands before the dash, and
    /// the source behind the kind may be empty. [KF-21]
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let dash = line.windows(3).position(|three| three == b" - ")?;
        let mut left = line[..dash].splitn(7, |byte| *byte == b' ');
        let mut right = line[dash + 3..].split(|byte| *byte == b' ');
        let (id, parent) = (number(left.next()?)?, number(left.next()?)?);
        let (major, minor) = std::str::from_utf8(left.next()?).ok()?.split_once(':')?;
        let (root, point, _) = (left.next()?, left.next()?, left.next()?);
        Some(Self {
            id,
            parent,
            device: (major.parse().ok()?, minor.parse().ok()?),
            root,
            point,
            tags: left.next().unwrap_or_default(),
            kind: right.next()?,
            options: right.nth(1)?,
        })
    }

    /// The number behind a tag: the peer group of `shared`, of `master`.
    pub fn group(&self, tag: &str) -> Option<u32> {
        let mut tags = self.tags.split(|byte| *byte == b' ').filter_map(|tag| std::str::from_utf8(tag).ok());
        tags.find_map(|one| one.strip_prefix(tag)?.strip_prefix(':')?.parse().ok())
    }
}

/// The mounts of a `mountinfo`, in the kernel's order. Lines that are none are left out.
#[derive(Debug)]
pub struct Mounts<'a>(Vec<Line<'a>>);

impl<'a> Mounts<'a> {
    /// Reads the whole file.
    pub fn parse(text: &'a [u8]) -> Self {
        Self(text.split(|byte| *byte == b'\n').filter_map(Line::parse).collect())
    }

    /// The mounts that no other mount hides: at their points a path leads to them.
    pub fn visible(&self) -> impl Iterator<Item = &Line<'a>> {
        self.0.iter().filter(|mount| self.is_visible(mount))
    }

    /// A mount is hidden by one on its own root, and by one on a directory above, of the mount that it is on or of one that
    /// that is on. What is mounted below a later mount has that one for a parent: its line says so, wherever it stands. [KF-156]
    fn is_visible(&self, mount: &Line<'_>) -> bool {
        // The root of everything is its own parent.
        let on_its_root =
            |other: &Line<'_>| other.parent == mount.id && other.id != mount.id && other.point == mount.point;
        if self.0.iter().any(on_its_root) {
            return false;
        }
        let mut below = *mount;
        // As many steps as there are mounts: a file with a loop in it is none of the kernel's.
        for _ in &self.0 {
            if below.parent == below.id {
                return true;
            }
            let above = |other: &Line<'_>| {
                let beside = other.parent == below.parent && other.id != other.parent && other.id != below.id;
                beside && is_above(other.point, below.point)
            };
            if self.0.iter().any(above) {
                return false;
            }
            match self.0.iter().find(|other| other.id == below.parent) {
                Some(parent) => below = *parent,
                None => return true,
            }
        }
        true
    }
}

/// Whether a path is this point or below it. Escapes are the same in both.
fn is_above(point: &[u8], path: &[u8]) -> bool {
    let point = point.strip_suffix(b"/").unwrap_or(point);
    path.strip_prefix(point).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

fn number(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Blank, tab, line feed and backslash stand as `\` and three octal digits. [KF-21]
pub fn unescape(field: &[u8]) -> Cow<'_, [u8]> {
    if !field.contains(&b'\\') {
        return Cow::Borrowed(field);
    }
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
    Cow::Owned(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn visible(text: &str) -> Vec<u64> {
        Mounts::parse(text.as_bytes()).visible().map(|mount| mount.id).collect()
    }

    #[test]
    fn a_line_is_read_with_any_number_of_tags() {
        for (tags, shared, master) in
            [("", None, None), ("shared:9 ", Some(9), None), ("master:1 propagate_from:2 unbindable ", None, Some(1))]
        {
            let line = format!("33 31 0:30 /a\\040b /sys/fs/cgroup/cpu rw,relatime {tags}- cgroup  rw,cpu,cpuacct");
            let line = Line::parse(line.as_bytes()).unwrap();
            assert_eq!((line.id, line.parent, line.device), (33, 31, (0, 30)));
            assert_eq!((unescape(line.root).as_ref(), line.point), (&b"/a b"[..], &b"/sys/fs/cgroup/cpu"[..]));
            assert_eq!((line.kind, line.options), (&b"cgroup"[..], &b"rw,cpu,cpuacct"[..]));
            assert_eq!((line.group("shared"), line.group("master")), (shared, master));
        }
    }

    #[test]
    fn broken_lines_are_none() {
        for line in ["", "1 2 0:3 / /x rw cgroup cgroup rw", "1 2 0 / /x rw - cgroup c rw", "a 2 0:3 / /x rw - t t rw"]
        {
            assert_eq!(Line::parse(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn escapes_are_undone() {
        for (field, plain) in
            [(r"/a\134040\011b", "/a\\040\tb"), (r"/with\040blank", "/with blank"), (r"/a\9", r"/a\9")]
        {
            assert_eq!(unescape(field.as_bytes()), plain.as_bytes());
        }
    }

    #[test]
    fn of_two_mounts_on_one_point_the_upper_is_seen() {
        assert_eq!(visible("1 0 8:1 / / rw - e e rw\n2 1 0:3 / /x rw - t t rw\n3 2 0:4 / /x rw - t t rw\n"), [1, 3]);
        // The order of lines is not the order of mounting.
        assert_eq!(visible("3 2 0:4 / /x rw - t t rw\n2 1 0:3 / /x rw - t t rw\n1 0 8:1 / / rw - e e rw\n"), [3, 1]);
    }

    #[test]
    fn a_mount_hides_what_is_below_its_point_and_not_what_is_on_itself() {
        let covered = "1 0 8:1 / / rw - e e rw\n2 1 0:3 / /x/y rw - t t rw\n3 2 0:3 / /x/y/z rw - t t rw\n";
        assert_eq!(visible(covered), [1, 2, 3]);
        assert_eq!(visible(&format!("{covered}4 1 0:4 / /x rw - t t rw\n5 4 0:5 / /x/y rw - t t rw\n")), [1, 4, 5]);
        assert_eq!(visible(&format!("{covered}4 1 0:4 / /x/yy rw - t t rw\n")), [1, 2, 3, 4]);
    }

    #[test]
    fn the_root_may_be_covered_too() {
        assert_eq!(
            visible("1 1 0:1 / / rw - rootfs rootfs rw\n2 1 8:1 / / rw - e e rw\n3 2 0:3 / /x rw - t t rw\n"),
            [2, 3]
        );
    }

    proptest! {
        #[test]
        fn no_text_panics_or_hangs(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Mounts::parse(&text).visible().count();
        }
    }
}
