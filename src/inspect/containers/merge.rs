//! From the cgroups of all trees to one row a container.

use super::Container;
use super::tree::{Branch, Tree};
use crate::mesos::{ContainerId, recovery};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Rows, and what the findings need besides.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) containers: Vec<Container>,
    /// Which processes a container that is not nested has in each tree, its nested ones' included.
    pub(super) places: Vec<Places>,
    /// The ids that the launcher knows.
    pub(super) launched: HashSet<String>,
}

/// A container that is not nested, in each tree where it has a cgroup.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Its row.
    pub(super) row: usize,
    /// Tree, and processes in ascending order.
    pub(super) by_tree: Vec<(usize, Vec<i32>)>,
}

/// Row by root and id.
type Index<'a> = HashMap<(&'a Path, String), usize>;

pub(super) fn merge(trees: &[Tree], branches: &[Branch]) -> Merged {
    let mut merged = Merged::default();
    let mut index = Index::new();
    let launchers = trees.iter().any(Tree::is_launchers);
    for branch in branches {
        let launcher = !launchers || trees[branch.tree].is_launchers();
        for group in &branch.groups {
            let Some((id, rest)) = recovery::enclosing(&group.path) else { continue };
            if rest.is_empty() && (launcher || id.parent().is_none()) {
                merged.row(&mut index, branch, &id, launcher);
            }
        }
    }
    merged.places = (0..merged.containers.len()).map(|row| Places { row, ..Places::default() }).collect();
    for branch in branches {
        merged.fill(&index, branch, &trees[branch.tree].label);
    }
    for places in &mut merged.places {
        let mut everyone = Vec::new();
        for (_, pids) in &mut places.by_tree {
            pids.sort_unstable();
            pids.dedup();
            everyone.extend_from_slice(pids);
        }
        everyone.sort_unstable();
        everyone.dedup();
        merged.containers[places.row].everyone = everyone;
    }
    for container in &mut merged.containers {
        container.own.sort_unstable();
        container.own.dedup();
        container.pids = container.own.len();
    }
    merged
}

impl Merged {
    fn row<'a>(&mut self, index: &mut Index<'a>, branch: &'a Branch, id: &ContainerId, launcher: bool) {
        let name = id.to_string();
        if launcher {
            self.launched.insert(name.clone());
        }
        index.entry((&branch.root, name.clone())).or_insert_with(|| {
            self.containers.push(Container {
                root: branch.root.display().to_string(),
                id: name,
                parent: id.parent().map(|parent| parent.to_string()),
                ..Container::default()
            });
            self.containers.len() - 1
        });
    }

    /// Gives each cgroup's processes and counts to its container: the innermost that has a row.
    fn fill(&mut self, index: &Index<'_>, branch: &Branch, label: &str) {
        let find = |id: &ContainerId| index.get(&(branch.root.as_path(), id.to_string())).copied();
        for group in &branch.groups {
            let Some((id, rest)) = recovery::enclosing(&group.path) else { continue };
            let mut ids = std::iter::successors(Some(id.clone()), ContainerId::parent);
            let Some(row) = ids.find_map(|id| find(&id)) else { continue };
            let container = &mut self.containers[row];
            if rest.is_empty() && container.id == id.to_string() {
                container.hierarchies.push(label.to_owned());
                container.count(group.numbers);
            }
            // Its own processes are those of the first tree that has it: in controllers nested ones may share its cgroup.
            if container.hierarchies.first().is_none_or(|first| first == label) {
                container.own.extend_from_slice(&group.pids);
            }
            let top = ids.last().unwrap_or(id);
            if let Some(top) = find(&top) {
                let by_tree = &mut self.places[top].by_tree;
                match by_tree.last_mut() {
                    Some((tree, pids)) if *tree == branch.tree => pids.extend_from_slice(&group.pids),
                    _ => by_tree.push((branch.tree, group.pids.clone())),
                }
            }
        }
    }
}
