//! Cgroups that an agent would misread when it starts again, by its own rules of reading.

use super::Container;
use super::finding::{Finding, Kind};
use super::tree::{Branch, Group, Tree};
use crate::cgroup::Version;
use crate::mesos::recovery::{self, LEAF, Reading};
use std::collections::HashSet;
use std::ffi::OsStr;

/// What the agent's next recovery would make of the cgroups of a branch that are not plainly a container's own.
///
/// `launched` are the ids that the launcher keeps: those with a cgroup in freezer or on v2.
pub(super) fn find(tree: &Tree, branch: &Branch, launched: &HashSet<String>) -> Vec<Finding> {
    branch.groups.iter().filter_map(|group| judge(tree, branch, group, launched)).collect()
}

fn judge(tree: &Tree, branch: &Branch, group: &Group, launched: &HashSet<String>) -> Option<Finding> {
    let directory = tree.point.join(&branch.root).join(&group.path).display().to_string();
    let enclosing = recovery::enclosing(&group.path);
    let owner = enclosing.as_ref().and_then(|(id, _)| id.parts().first().map(String::as_str));
    let own = enclosing.as_ref().is_some_and(|(_, rest)| rest.is_empty());
    let found = match (tree.version, if tree.version == Version::V1 { recovery::v1 } else { recovery::v2 }(&group.path))
    {
        (_, Reading::Root | Reading::Agent) | (Version::V2, Reading::Ignored) => return None,
        (_, Reading::Malformed) => Finding::new(
            Kind::RecoveryHazard,
            owner,
            format!("{directory} is shaped like a container's cgroup, with an id that no agent gives"),
            "remove it when nothing is in it: the agent destroys it, or fails to recover over it",
        ),
        (Version::V1, Reading::Ignored) => return foreign(&directory, owner, group),
        (Version::V1, Reading::Container(id)) => {
            let nested = id.parent().is_some();
            if tree.is_launchers() || launched.contains(&id.to_string()) {
                return None;
            }
            let kind = if nested { Kind::RecoveryHazard } else { Kind::Leftover };
            let text = format!("{directory} is read as container {id}, which has no cgroup in freezer");
            Finding::new(kind, owner, text, "the agent destroys it when it starts again; remove it if nothing is in it")
        }
        (Version::V2, Reading::Container(id)) => {
            if own || is_structure(group) {
                return None;
            }
            Finding::new(
                Kind::RecoveryHazard,
                owner,
                format!("{directory} is read as the nested container {id}, which nobody launched"),
                "remove it before the agent starts again: its recovery fails over it, and it exits",
            )
        }
    };
    Some(found.at(directory).of_pids(group.pids.clone()))
}

/// The leaf of a container, and the directory of its nested ones.
fn is_structure(group: &Group) -> bool {
    let rest = recovery::enclosing(&group.path).map(|(_, rest)| rest);
    rest.is_some_and(|rest| rest == [OsStr::new(LEAF)] || rest == [OsStr::new("mesos")])
}

/// Left alone by agents from 1.10 on; older ones took the last component of any path for a container. [ME-40]
fn foreign(directory: &str, owner: Option<&str>, group: &Group) -> Option<Finding> {
    if is_structure(group) && !group.path.ends_with(LEAF) {
        return None;
    }
    let text =
        format!("{directory} is no cgroup of the agent's. Agents from 1.10 on leave it alone, older ones may not");
    let remedy = "whoever made it removes it; the agent does so with the container";
    Some(Finding::new(Kind::ForeignCgroup, owner, text, remedy).at(directory.to_owned()).of_pids(group.pids.clone()))
}

/// A container without a process. One that its launcher does not know either is told as a leftover.
pub(super) fn empty(container: &Container, launched: &HashSet<String>) -> Option<Finding> {
    if !launched.contains(&container.id)
        || container.pids > 0
        || !container.everyone.is_empty()
        || container.parent.is_some()
    {
        return None;
    }
    Some(Finding::new(
        Kind::Empty,
        Some(&container.id),
        "no process is left in it. An agent that runs removes it within seconds".to_owned(),
        "if it stays, no agent knows it: one that starts takes it for an orphan and destroys it",
    ))
}
