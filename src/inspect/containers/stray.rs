//! Processes that were started in a container and are in none of its cgroups.

use super::Container;
use super::finding::{Finding, Kind, SHOWN, named};
use super::owner::{Owner, Seen};
use crate::cgroup;
use crate::inspect::command;
use crate::inspect::minion::Named;
use crate::inspect::proc::once::Once;
use crate::process::procfs;
use std::collections::{BTreeMap, HashMap};
use std::fs;

/// What the processes outside of all containers say, and how many would not say anything to us.
pub(super) fn find(containers: &[Container], root: &str) -> (Vec<Finding>, usize) {
    let outermost = || containers.iter().enumerate().filter(|(_, container)| container.parent.is_none());
    let homes: HashMap<i32, usize> =
        outermost().flat_map(|(row, container)| container.everyone.iter().map(move |pid| (*pid, row))).collect();
    let ids: HashMap<&str, usize> = containers
        .iter()
        .enumerate()
        .map(|(row, container)| (container.id.rsplit('.').next().unwrap_or_default(), row))
        .collect();
    let own = std::process::id().cast_signed();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let (mut unseen, once) = (0, Once::default());
    let mut strays: BTreeMap<(Stray, String, String), Vec<i32>> = BTreeMap::new();
    for pid in pids.filter(|pid| *pid != own && !homes.contains_key(pid)) {
        let owner = match Owner::of(pid) {
            Seen::Owner(owner) => owner,
            Seen::Denied => {
                unseen += 1;
                continue;
            }
            Seen::Nothing => continue,
        };
        let minion = owner.minion(&once);
        let by_minion = minion.as_ref().and_then(Named::alive).and_then(|minion| homes.get(&minion.pid)).copied();
        let home = owner.container().and_then(|id| ids.get(id)).copied().or(by_minion);
        match (home, owner.container()) {
            (Some(row), _) if !is_inside(pid, &containers[row].id) => {
                let home = (Stray::Escaped, containers[row].id.clone(), containers[row].root.clone());
                strays.entry(home).or_default().push(pid);
            }
            // Inside a container of another root is where it should be.
            (None, Some(id)) if !is_inside(pid, id) => {
                let kind = if minion == Some(Named::Gone) { Stray::Left } else { Stray::Unplaced };
                strays.entry((kind, id.to_owned(), root.to_owned())).or_default().push(pid);
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }
    (strays.into_iter().map(|((kind, id, root), pids)| tell(kind, &id, &root, pids)).collect(), unseen)
}

/// What a stray is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stray {
    /// The container is there.
    Escaped,
    /// It is not, and neither is the minion.
    Left,
    /// It is not: it has ended, or was never given cgroups.
    Unplaced,
}

fn tell(kind: Stray, id: &str, root: &str, pids: Vec<i32>) -> Finding {
    let who = named(&pids);
    // Without a launcher there are no cgroups; without a minion there is nobody.
    let is_left = kind == Stray::Left;
    let look = |pid: &i32| command::inspect(&pid.to_string(), root);
    let shown = pids.iter().take(SHOWN);
    let (kind, text, remedy, commands) = match kind {
        Stray::Escaped => (
            Kind::Escaped,
            format!("{who}, started in it, in none of its cgroups"),
            format!(
                "its limits do not hold and its end is not theirs. Put {} back",
                if pids.len() == 1 { "it" } else { "each" }
            ),
            shown.map(|pid| command::attach(*pid, id, None, root)).collect(),
        ),
        Stray::Left => (
            Kind::Orphan,
            format!("{who}: started by a minion in it that is gone, and so are its cgroups"),
            "nobody ends what is left. See what it is".to_owned(),
            shown.map(look).collect(),
        ),
        Stray::Unplaced => (
            Kind::Orphan,
            format!("{who}: started in it, and it has no cgroups"),
            "as it should be where the agent has no Linux launcher; else what an ended container left".to_owned(),
            Vec::new(),
        ),
    };
    let finding = Finding::new(kind, Some(id), text, remedy).of_pids(pids).run(commands);
    if is_left { finding.warns() } else { finding }
}

/// Also one that was born after the trees were read.
fn is_inside(pid: i32, id: &str) -> bool {
    let text = procfs::read_piece(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let first = id.split('.').next().unwrap_or_default();
    cgroup::memberships(&text).any(|(_, path)| path.iter().any(|part| part == first))
}
