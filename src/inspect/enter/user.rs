//! Who the command is to be: where the task has a user namespace of its own, by the maps of that.

use super::target::Target;
use crate::error::{During, Error, Result};
use crate::process::procfs;
use std::fmt::Write as _;

/// User, group and supplementary groups.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// In the namespace where the command will be.
    pub(super) uid: u32,
    /// In the namespace where the command will be.
    pub(super) gid: u32,
    /// In ours: they are set before the namespace is joined. [KF-185]
    pub(super) groups: Vec<u32>,
}

impl Identity {
    /// Root's, or with `as_user` the task's. None changes nothing: we are root, and the task is in our user namespace.
    pub(super) fn of(target: &Target, as_user: bool, namespace: bool) -> Result<Option<Self>> {
        let (uid, gid, groups) = target.user();
        if !namespace {
            return Ok(as_user.then(|| Self { uid, gid, groups: groups.to_owned() }));
        }
        let (uids, gids) = (Map::of(target, "uid_map")?, Map::of(target, "gid_map")?);
        let inside = |map: &Map, own: u32, what: &str| {
            let root = (!as_user && map.has_root()).then_some(0);
            root.or_else(|| map.inside(own)).ok_or_else(|| {
                let cause = format!("{what} {own} has no number in its user namespace ({})", map.shown());
                Error::new("enter", format!("process {}", target.pid()), cause)
                    .hint("enter a process there whose user and group have one: user_namespaces(7)")
            })
        };
        Ok(Some(Self {
            uid: inside(&uids, uid, "user")?,
            gid: inside(&gids, gid, "group")?,
            groups: if as_user { groups.to_owned() } else { Vec::new() },
        }))
    }
}

/// `/proc/<pid>/uid_map`: first number inside, first number outside, how many.
struct Map(Vec<[u32; 3]>);

impl Map {
    fn of(target: &Target, name: &str) -> Result<Self> {
        let path = format!("/proc/{}/{name}", target.pid());
        let text = procfs::read(&path).during("read", path)?;
        Ok(Self::parse(&String::from_utf8_lossy(&text)))
    }

    fn parse(text: &str) -> Self {
        let number = |word: Option<&str>| word?.parse().ok();
        let line = |line: &str| {
            let mut words = line.split_ascii_whitespace();
            Some([number(words.next())?, number(words.next())?, number(words.next())?])
        };
        Self(text.lines().filter_map(line).collect())
    }

    fn has_root(&self) -> bool {
        self.0.iter().any(|[inside, _, count]| *inside == 0 && *count > 0)
    }

    fn inside(&self, outside: u32) -> Option<u32> {
        let of = |[first, from, count]: &[u32; 3]| Some((outside.checked_sub(*from)?, *first, *count));
        self.0
            .iter()
            .filter_map(of)
            .find(|(offset, _, count)| offset < count)
            .and_then(|(offset, first, _)| first.checked_add(offset))
    }

    /// `0-999 are 100000-100999`.
    fn shown(&self) -> String {
        let mut text = String::new();
        for [inside, outside, count] in &self.0 {
            let last = |first: &u32| first.saturating_add(count.saturating_sub(1));
            let separator = if text.is_empty() { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(text, "{separator}{inside}-{} are {outside}-{}", last(inside), last(outside));
        }
        if text.is_empty() { "its map is empty".to_owned() } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_are_found_inside_by_the_map() {
        let map = Map::parse("         1     100000        999\n      4000      1000          1\n");
        let found = [99_999, 100_000, 100_998, 100_999, 1000, 0].map(|outside| map.inside(outside));
        assert_eq!(found, [None, Some(1), Some(999), None, Some(4000), None]);
        assert_eq!(map.shown(), "1-999 are 100000-100998, 4000-4000 are 1000-1000");
        assert!(!map.has_root() && Map::parse("0 0 4294967295\n").has_root());
        assert_eq!(Map::parse("0 0 4294967295\n").inside(65_534), Some(65_534));
        assert_eq!((Map::parse("").inside(0), Map::parse("").shown().as_str()), (None, "its map is empty"));
    }
}
