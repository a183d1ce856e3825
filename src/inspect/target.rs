//! From a word of the command line to processes: a pid, a container's id, or the name of a task of a living minion.

use super::proc::{self, everyone, seen, seen::Seen, stat::Stat};
use super::view::cgroups::Host;
use super::view::kin;
use crate::cgroup::Validated;
use crate::error::{Error, Result};
use crate::mesos::recovery::LEAF;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a word names.
#[derive(Debug)]
pub(super) enum Target {
    /// One process.
    Process(i32),
    /// A container, with the pids in any of its cgroups.
    Container(Container),
}

/// A container that has cgroups.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) id: String,
    pub(super) members: BTreeSet<i32>,
    /// Its directory in each hierarchy, and how many processes are in it and below.
    pub(super) places: Vec<(String, PathBuf, usize)>,
}

impl Target {
    /// Finds what the word names: digits are a pid; then containers come before tasks, for they cost less to find.
    pub(super) fn find(word: &str, prefix: Option<&str>) -> Result<Self> {
        if let Ok(pid) = word.parse() {
            return Ok(Self::Process(pid));
        }
        match Container::find(word, prefix)? {
            Some(container) => Ok(Self::Container(container)),
            None => task(word).map(Self::Process),
        }
    }
}

impl Container {
    /// The container of this id; None where it has no cgroup.
    fn find(id: &str, prefix: Option<&str>) -> Result<Option<Self>> {
        let validated = validated(id, prefix)?;
        if validated.places.is_empty() {
            return Ok(None);
        }
        let mut container = Self { id: id.to_owned(), members: BTreeSet::new(), places: Vec::new() };
        for place in &validated.places {
            let top = match place.directory.parent() {
                Some(container) if place.directory.ends_with(LEAF) => container,
                Some(_) | None => &place.directory,
            };
            let mut members = BTreeSet::new();
            members_of(top, &mut members);
            container.places.push((place.hierarchy.clone(), top.to_owned(), members.len()));
            container.members.extend(members);
        }
        Ok(Some(container))
    }
}

/// The cgroups of a container, by its name.
pub(super) fn validated(id: &str, prefix: Option<&str>) -> Result<Validated> {
    let host = Host::read(prefix.map(str::to_owned))?;
    let own = seen::read("/proc/self/cgroup").known().cloned().unwrap_or_default();
    host.container(id, &own).validate()
}

/// The processes of a cgroup and of those below it. Best effort: what goes meanwhile is missing.
fn members_of(cgroup: &Path, members: &mut BTreeSet<i32>) {
    let procs = std::fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    members.extend(procs.lines().filter_map(|line| line.parse::<i32>().ok()));
    for entry in std::fs::read_dir(cgroup).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            members_of(&entry.path(), members);
        }
    }
}

/// The main process of a task, among the children of every living minion.
fn task(name: &str) -> Result<i32> {
    // One call tells a kernel thread, and most of a host's processes are: it has no program.
    let has_program = |pid: &i32| {
        let program = seen::link(&proc::path(*pid, "exe"));
        program.why().is_none_or(|why| !why.starts_with("ENOENT"))
    };
    let living = |pid: i32| match Stat::read(pid) {
        Seen::Known(stat) if stat.name.starts_with("minion") => kin::minion_arguments(&stat).map(|_| stat.pid),
        Seen::Known(_) | Seen::Unknown(_) => None,
    };
    let minions: Vec<i32> = everyone().into_iter().filter(has_program).filter_map(living).collect();
    let tasks: Vec<(Stat, kin::Marker)> = minions.iter().flat_map(|minion| kin::mains(*minion)).collect();
    let mains: Vec<&Stat> = tasks.iter().filter(|(_, marker)| marker.task == name).map(|(main, _)| main).collect();
    match mains.as_slice() {
        [main] => Ok(main.pid),
        [] => Err(Error::new("find", format!("{name:?}"), "it is no pid, no container and no task of a living minion")
            .hint(match (minions.as_slice(), tasks.as_slice()) {
                ([], _) => "no minion is running, or none that this user may look into".to_owned(),
                (_, []) => "minions are running, and none has a task that this user may see".to_owned(),
                _ => format!("tasks are: {}", names(&tasks)),
            })),
        several => Err(Error::new("find", format!("task {name:?}"), format!("{} minions have one", several.len()))
            .hint(format!(
                "take a pid: {}",
                several.iter().map(|main| main.pid.to_string()).collect::<Vec<_>>().join(", ")
            ))),
    }
}

fn names(tasks: &[(Stat, kin::Marker)]) -> String {
    let mut names: Vec<&str> = tasks.iter().map(|(_, marker)| marker.task.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
