//! What an agent's restart makes of the cgroups that it finds below its root.

use super::cgroups::Layout;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

/// A cgroup that the agent would take for a container that nobody knows: v1 destroys it, v2 fails its whole recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// The container id that the agent would read out of the path, as it prints it: `parent.child`.
    pub id: String,
    /// The cgroup's directory.
    pub directory: PathBuf,
}

impl fmt::Display for Orphan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.directory.display())
    }
}

/// The orphans among `found`: pairs of a cgroup's path below the root and its directory.
pub(super) fn orphans(layout: Layout, known: &BTreeSet<String>, found: &[(String, PathBuf)]) -> Vec<Orphan> {
    let id = |path: &str| match layout {
        Layout::V1 => v1(path),
        Layout::V2 => v2(path),
    };
    found
        .iter()
        .filter_map(|(path, directory)| Some(Orphan { id: id(path)?, directory: directory.clone() }))
        .filter(|orphan| !known.contains(&orphan.id))
        .collect()
}

/// v1: ids and the literal `mesos` take turns; a path that breaks the turn is "not recovered", that is left alone. [ME-40]
fn v1(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.last() == Some(&"agent") || parts.iter().skip(1).step_by(2).any(|part| *part != "mesos") {
        return None;
    }
    let ids: Vec<&str> = parts.into_iter().step_by(2).collect();
    (!ids.is_empty()).then(|| ids.join("."))
}

/// v2: a last `leaf` is cut off, `mesos` is dropped wherever it stands, and everything that is left is an id. [ME-41]
fn v2(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.last() == Some(&"leaf") {
        parts.pop();
    }
    if parts.last() == Some(&"agent") {
        return None;
    }
    parts.retain(|part| *part != "mesos");
    (!parts.is_empty()).then(|| parts.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(layout: Layout, path: &str) -> Option<String> {
        let known = BTreeSet::from(["ID".to_owned()]);
        let orphans = orphans(layout, &known, &[(path.to_owned(), PathBuf::from(path))]);
        orphans.into_iter().next().map(|orphan| orphan.id)
    }

    #[test]
    fn v1_takes_only_what_follows_the_separator_for_a_container() {
        assert_eq!(found(Layout::V1, "ID"), None);
        assert_eq!(found(Layout::V1, "ID/foo"), None);
        assert_eq!(found(Layout::V1, "ID/foo/mesos/bar"), None);
        assert_eq!(found(Layout::V1, "ID/mesos"), None);
        assert_eq!(found(Layout::V1, "ID/mesos/foo").as_deref(), Some("ID.foo"));
        assert_eq!(found(Layout::V1, "ID/leaf/foo"), None);
        assert_eq!(found(Layout::V1, "ID/leaf/agent"), None);
        assert_eq!(found(Layout::V1, "stranger").as_deref(), Some("stranger"));
    }

    #[test]
    fn v2_takes_nearly_everything_for_a_container() {
        assert_eq!(found(Layout::V2, "ID"), None);
        assert_eq!(found(Layout::V2, "ID/leaf"), None);
        assert_eq!(found(Layout::V2, "agent/leaf"), None);
        assert_eq!(found(Layout::V2, "ID/mesos"), None);
        assert_eq!(found(Layout::V2, "ID/leaf/agent"), None);
        assert_eq!(found(Layout::V2, "ID/foo").as_deref(), Some("ID.foo"));
        assert_eq!(found(Layout::V2, "ID/mesos/foo").as_deref(), Some("ID.foo"));
        assert_eq!(found(Layout::V2, "ID/leaf/foo").as_deref(), Some("ID.leaf.foo"));
        assert_eq!(found(Layout::V2, "ID/leaf/leaf").as_deref(), Some("ID.leaf"));
        assert_eq!(found(Layout::V2, "ID/leaf/mesos").as_deref(), Some("ID.leaf"));
    }
}
