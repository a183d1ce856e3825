//! Processes whose hierarchies disagree.

use super::Container;
use super::finding::{Finding, Kind, SHOWN, named_with};
use super::merge::Places;
use super::owner::{Owner, Seen};
use super::tree::Tree;
use crate::cgroup;
use crate::inspect::command;
use crate::inspect::proc::once::Once;
use crate::inspect::view::cgroups::Host;
use crate::process::procfs;
use crate::process::tree::Process;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A process that is in some trees of its container and was not seen in others.
#[derive(Debug)]
pub(super) struct Suspect {
    row: usize,
    pid: i32,
    /// The trees where it was not seen.
    absent: Vec<usize>,
}

/// Trees, and where a process is in them.
type Outside = Vec<(usize, PathBuf)>;

/// Where suspects belong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Home {
    /// Here.
    This,
    /// Here, but they are inside of another container too.
    Contested,
    /// In this other one: their environment says so.
    Other(String),
}

/// Trees are not read at one moment: who moved, forked or died meanwhile is among the suspects, and is looked at again.
pub(super) fn suspects(places: &[Places]) -> Vec<Suspect> {
    let mut suspects = Vec::new();
    for place in places {
        let Some(most) = place.by_tree.iter().map(|(_, pids)| pids.len()).max() else { continue };
        let mut same = place.by_tree.iter().all(|(_, pids)| pids.len() == most);
        same = same && place.by_tree.windows(2).all(|pair| pair[0].1 == pair[1].1);
        if same {
            continue;
        }
        let mut everyone: Vec<i32> = place.by_tree.iter().flat_map(|(_, pids)| pids.iter().copied()).collect();
        everyone.sort_unstable();
        everyone.dedup();
        for pid in everyone {
            let missing = place.by_tree.iter().filter(|(_, pids)| pids.binary_search(&pid).is_err());
            let absent: Vec<usize> = missing.map(|(tree, _)| *tree).collect();
            if !absent.is_empty() {
                suspects.push(Suspect { row: place.row, pid, absent });
            }
        }
    }
    suspects
}

/// The suspects that are outside still, those of one container in the same places as one finding.
pub(super) fn find(trees: &[Tree], suspects: &[Suspect], containers: &[Container]) -> Vec<Finding> {
    let once = Once::default();
    let mut together: BTreeMap<(usize, Outside, Home), Vec<i32>> = BTreeMap::new();
    for suspect in suspects {
        let container = &containers[suspect.row];
        let text = procfs::read_piece(format!("/proc/{}/cgroup", suspect.pid)).unwrap_or_default();
        let outside = outside(trees, suspect, container, &text);
        if !outside.is_empty() {
            let home = home(suspect.pid, container, &text, &once);
            together.entry((suspect.row, outside, home)).or_default().push(suspect.pid);
        }
    }
    let told = |((row, outside, home), pids): ((usize, Outside, Home), _)| {
        tell(trees, &containers[row], &outside, &home, pids)
    };
    together.into_iter().map(told).collect()
}

/// Which of two containers one belongs to that is inside of both.
fn home(pid: i32, container: &Container, text: &[u8], once: &Once) -> Home {
    let host = Host::read(Some(container.root.clone()), once);
    let elsewhere = host.map(|host| host.elsewhere(text, &container.id)).unwrap_or_default();
    let Some(first) = elsewhere.first() else { return Home::This };
    let owner = match Owner::of(pid) {
        Seen::Owner(owner) => owner,
        Seen::Denied | Seen::Nothing => Owner::default(),
    };
    let is_named = |id: &str| id.rsplit('.').next() == owner.container();
    match elsewhere.iter().find(|one| is_named(&one.container)).unwrap_or(first) {
        other if is_named(&other.container) => Home::Other(other.container.clone()),
        _ => Home::Contested,
    }
}

/// Where a suspect is in the trees where it was missed. Nothing for one that has ended.
fn outside(trees: &[Tree], suspect: &Suspect, container: &Container, text: &[u8]) -> Outside {
    if Process::read(suspect.pid).map_or(true, |process| process.is_zombie()) {
        return Vec::new();
    }
    let home = Path::new("/").join(&container.root).join(container.id.split('.').next().unwrap_or_default());
    let lines: Vec<(&[u8], &Path)> = cgroup::memberships(text).collect();
    let is_at = |tree: &usize| lines.iter().find(|(hierarchy, _)| trees[*tree].is(hierarchy)).map(|(_, path)| *path);
    let places = suspect.absent.iter().filter_map(|tree| Some((*tree, is_at(tree)?)));
    places.filter(|(_, path)| !path.starts_with(&home)).map(|(tree, path)| (tree, path.to_owned())).collect()
}

fn tell(trees: &[Tree], container: &Container, outside: &[(usize, PathBuf)], home: &Home, pids: Vec<i32>) -> Finding {
    let labels: Vec<&str> = outside.iter().map(|(tree, _)| trees[*tree].label.as_str()).collect();
    let places: Vec<String> =
        outside.iter().map(|(tree, path)| format!("in {} in {}", trees[*tree].label, path.display())).collect();
    let inside: Vec<&str> =
        container.hierarchies.iter().map(String::as_str).filter(|label| !labels.contains(label)).collect();
    let who = named_with(&pids, "is", "are");
    let text = format!("{who} inside in {}, but {}", inside.join(", "), places.join(", "));
    let effect = if labels.contains(&"freezer") {
        "The agent kills through freezer alone: this survives a destroy and makes it fail"
    } else {
        "Limits and accounting there do not hold"
    };
    let commands = pids.iter().take(SHOWN).flat_map(|pid| put_back(*pid, container, home, &labels)).collect();
    let each = if pids.len() == 1 { "it" } else { "each" };
    let remedy = match home {
        Home::This => format!("{effect}. Put {each} back"),
        Home::Contested => format!("{effect}. Put {each} back, out of the other container"),
        Home::Other(other) => format!("Put {each} back into {other}, where it was started"),
    };
    Finding::new(Kind::Drift, Some(&container.id), text, remedy).of_pids(pids).run(commands)
}

/// One hierarchy at a time where whole would be too much: a nested container's process keeps its own cgroups in the others.
fn put_back(pid: i32, container: &Container, home: &Home, labels: &[&str]) -> Vec<String> {
    let attach = |only| match home {
        Home::This => command::attach(pid, &container.id, only, &container.root),
        Home::Contested => command::take(pid, &container.id, only, &container.root),
        Home::Other(other) => command::take(pid, other, only, &container.root),
    };
    let is_whole = match home {
        Home::This => labels.len() > 1 && container.own.binary_search(&pid).is_ok(),
        Home::Contested => labels.len() > 1,
        Home::Other(_) => true,
    };
    if is_whole {
        return vec![attach(None)];
    }
    labels.iter().map(|label| attach(Some(*label))).collect()
}
