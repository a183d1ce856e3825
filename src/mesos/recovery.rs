//! What an agent that restarts makes of a cgroup that it finds below its root.
//!
//! It lists every cgroup there and reads container ids from the paths. What it takes for a container that it has no record
//! of is an orphan: v1 destroys it, v2 fails its recovery over it and exits. So a cgroup of the wrong shape is a hazard. [ME-05]

use super::id::{ContainerId, SEPARATOR};
use std::ffi::OsStr;
use std::path::{Component, Path};

/// The cgroup of a v2 container that holds its processes: its parent holds the limits. [ME-06]
pub const LEAF: &str = "leaf";

/// The container of the cgroup that a process of it is in: on v2 that is the one above the leaf. [ME-06]
pub fn above_leaf(cgroup: &Path) -> &Path {
    match cgroup.parent() {
        Some(container) if cgroup.ends_with(LEAF) => container,
        Some(_) | None => cgroup,
    }
}

/// The agent's own cgroup below its root: on v2, and on v1 with `--agent_subsystems`.
const AGENT_V2: &str = "agent";
const AGENT_V1: &str = "slave";

/// The agent's reading of one cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The root itself.
    Root,
    /// The agent's own cgroup, or one that it takes for that.
    Agent,
    /// Not shaped like one of its own: left alone.
    Ignored,
    /// This container's cgroup. An orphan, unless the agent knows the container.
    Container(ContainerId),
    /// A container, by its shape, with an id that no agent gives: always an orphan.
    Malformed,
}

/// The reading of a v1 agent from 1.10 on: `<id>[/mesos/<child>…]`, anything else is not its own. Before 1.10 the isolators
/// took the last component of any path for a container. [ME-40]
pub fn v1(below_root: &Path) -> Reading {
    let parts = components(below_root);
    match parts.as_slice() {
        [] => Reading::Root,
        [only] if *only == AGENT_V1 => Reading::Agent,
        // The directory that holds nested containers ends in the separator and is the parent's.
        parts if parts.len() % 2 == 0 => Reading::Ignored,
        parts if parts.iter().skip(1).step_by(2).any(|part| *part != SEPARATOR) => Reading::Ignored,
        parts => container(parts.iter().step_by(2)),
    }
}

/// The reading of a v2 agent: one `leaf` at the end and every `mesos` are dropped, and each component that is left is a
/// container nested in the one before. Nothing but a cgroup called `agent` is ignored. [ME-41]
pub fn v2(below_root: &Path) -> Reading {
    let parts = components(below_root);
    let parts = parts.strip_suffix(&[OsStr::new(LEAF)]).unwrap_or(&parts);
    match parts.last() {
        None => Reading::Root,
        Some(last) if *last == AGENT_V2 => Reading::Agent,
        Some(_) => container(parts.iter().filter(|part| **part != SEPARATOR)),
    }
}

/// The innermost container around a cgroup, and what follows its own cgroup in the path (`leaf`, a child's name, nothing).
///
/// `None` where the path is not inside a container's cgroup. The strict form of both readings: `<id>[/mesos/<child>…][/…]`.
pub fn enclosing(below_root: &Path) -> Option<(ContainerId, Vec<&OsStr>)> {
    let parts = components(below_root);
    let (first, mut rest) = parts.split_first()?;
    if *first == AGENT_V1 || *first == AGENT_V2 {
        return None;
    }
    let mut id = ContainerId::new(first).ok()?;
    while let [separator, child, below @ ..] = rest
        && *separator == SEPARATOR
    {
        id = id.nested(child).ok()?;
        rest = below;
    }
    Some((id, rest.to_vec()))
}

fn container<'a>(mut parts: impl Iterator<Item = &'a &'a OsStr>) -> Reading {
    let Some(first) = parts.next() else {
        return Reading::Root;
    };
    let root = ContainerId::new(first);
    match parts.fold(root, |id, part| id.and_then(|id| id.nested(part))) {
        Ok(id) => Reading::Container(id),
        Err(_) => Reading::Malformed,
    }
}

fn components(path: &Path) -> Vec<&OsStr> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(part),
            // A cgroup path holds neither `..` nor a prefix below a root; a leading slash says nothing.
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(parts: &[&str]) -> ContainerId {
        let root = ContainerId::new(OsStr::new(parts[0])).unwrap();
        parts[1..].iter().fold(root, |id, part| id.nested(OsStr::new(part)).unwrap())
    }

    fn read(path: &str) -> (Reading, Reading) {
        (v1(Path::new(path)), v2(Path::new(path)))
    }

    fn of(parts: &[&str]) -> Reading {
        Reading::Container(id(parts))
    }

    #[test]
    fn a_containers_own_cgroups_are_read_as_that_container() {
        assert_eq!(read("ID"), (of(&["ID"]), of(&["ID"])));
        assert_eq!(v2(Path::new("ID/leaf")), of(&["ID"]));
        assert_eq!(read("ID/mesos/C"), (of(&["ID", "C"]), of(&["ID", "C"])));
        assert_eq!(v2(Path::new("ID/mesos/C/leaf")), of(&["ID", "C"]));
        assert_eq!(read(""), (Reading::Root, Reading::Root));
    }

    #[test]
    fn a_foreign_cgroup_is_ignored_by_v1_and_an_orphan_to_v2() {
        assert_eq!(read("ID/foo"), (Reading::Ignored, of(&["ID", "foo"])));
        assert_eq!(read("ID/foo/mesos/bar"), (Reading::Ignored, of(&["ID", "foo", "bar"])));
        assert_eq!(read("ID/leaf/foo"), (Reading::Ignored, of(&["ID", "leaf", "foo"])));
        assert_eq!(read("ID/leaf/leaf"), (Reading::Ignored, of(&["ID", "leaf"])));
        assert_eq!(read("ID/leaf/mesos"), (Reading::Ignored, of(&["ID", "leaf"])));
        assert_eq!(read("ID/mesos"), (Reading::Ignored, of(&["ID"])));
    }

    #[test]
    fn the_agents_own_cgroup_is_not_a_container() {
        assert_eq!(v1(Path::new("slave")), Reading::Agent);
        assert_eq!(v2(Path::new("agent")), Reading::Agent);
        assert_eq!(v2(Path::new("agent/leaf")), Reading::Agent);
        assert_eq!(read("ID/leaf/agent"), (Reading::Ignored, Reading::Agent));
    }

    #[test]
    fn a_cgroup_called_agent_is_nothing_special_to_v1() {
        assert_eq!(read("agent"), (of(&["agent"]), Reading::Agent));
        assert_eq!(read("ID/mesos/agent"), (of(&["ID", "agent"]), Reading::Agent));
        assert_eq!(read("ID/mesos/slave"), (of(&["ID", "slave"]), of(&["ID", "slave"])));
    }

    #[test]
    fn an_id_that_no_agent_gives_is_malformed() {
        assert_eq!(read("a b"), (Reading::Malformed, Reading::Malformed));
        assert_eq!(read("ID/mesos/a b"), (Reading::Malformed, Reading::Malformed));
    }

    #[test]
    fn the_innermost_container_encloses() {
        let enclosing = |path| enclosing(Path::new(path)).map(|(id, rest)| (id.to_string(), rest.len()));
        assert_eq!(enclosing("ID/leaf"), Some(("ID".into(), 1)));
        assert_eq!(enclosing("ID/mesos/C/leaf/x"), Some(("ID.C".into(), 2)));
        assert_eq!(enclosing("ID/mesos"), Some(("ID".into(), 1)));
        assert_eq!(enclosing("ID"), Some(("ID".into(), 0)));
        assert_eq!(enclosing("agent/leaf"), None);
        assert_eq!(enclosing(""), None);
    }

    fn names() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[a-z0-9-]{1,8}", 1..5)
            .prop_filter("reserved", |v| !v.iter().any(|n| [SEPARATOR, LEAF, AGENT_V1, AGENT_V2].contains(&n.as_str())))
    }

    proptest! {
        #[test]
        fn every_containers_path_is_read_back_as_its_id(names in names()) {
            let parts: Vec<&str> = names.iter().map(String::as_str).collect();
            let id = id(&parts);
            let path = id.cgroup_path();
            prop_assert_eq!(v1(&path), Reading::Container(id.clone()));
            prop_assert_eq!(v2(&path), Reading::Container(id.clone()));
            prop_assert_eq!(v2(&path.join(LEAF)), Reading::Container(id.clone()));
            prop_assert_eq!(enclosing(&path.join(LEAF)).unwrap().0, id);
        }

        #[test]
        fn no_path_panics(path in ".*") {
            let path = Path::new(&path);
            let _ = (v1(path), v2(path), enclosing(path));
        }
    }
}
