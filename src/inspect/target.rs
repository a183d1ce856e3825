//! From a word of the command line to processes: a pid, a container's id, or the name of a task of a living minion.

use super::proc::once::Once;
use super::view::cgroups::{Host, PREFIX};
use super::view::kin::{Marker, mains};
use super::{Absent, minion};
use crate::cgroup::{self, Validated};
use crate::error::{Error, Result};
use crate::mesos::recovery::above_leaf;
use crate::process::procfs;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Asks the minion of the working directory, else the only one of this host, for a task.
pub type Ask<'a> = &'a dyn Fn(&str) -> Told;

/// What a minion says of a task.
#[derive(Debug)]
pub enum Told {
    /// There is none to be asked, or it does not answer: why.
    Nothing(Error),
    /// It has no such task.
    Unknown,
    /// It runs, with this pid as the minion numbers it.
    Runs(i32),
    /// It does not run.
    Absent(Box<Absent>),
}

/// What a word names.
#[derive(Debug)]
pub(super) enum Target {
    /// One process.
    Process(i32),
    /// A task that has no process now.
    Absent(Absent),
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
    /// Finds what the word names: digits are a pid where there is one; then containers come before tasks, for they cost less to
    /// find, and last the beginning of a container's id.
    pub(super) fn find(word: &str, prefix: Option<&str>, ask: Ask<'_>, once: &Once) -> Result<Self> {
        let pid = word.parse().ok();
        if let Some(pid) = pid
            && once.stat(pid).known().is_some()
        {
            return Ok(Self::Process(pid));
        }
        if let Some(container) = Container::find(word, prefix, once)? {
            return Ok(Self::Container(container));
        }
        let last = || Ok(Container::begun(word, prefix, once)?.map(Self::Container));
        if let Some(pid) = pid {
            return Ok(last()?.unwrap_or(Self::Process(pid)));
        }
        match task(word, ask, once)? {
            Found::Main(pid) => Ok(Self::Process(pid)),
            Found::Absent(absent) => Ok(Self::Absent(*absent)),
            Found::Nothing(hint) => last()?.ok_or_else(|| {
                let actual = "it is no pid, no container and no task that is known here";
                Error::new("find", format!("{word:?}"), actual).hint(hint)
            }),
        }
    }
}

impl Container {
    /// The one container whose id begins so; None where there is none.
    fn begun(word: &str, prefix: Option<&str>, once: &Once) -> Result<Option<Self>> {
        let root = prefix.unwrap_or(PREFIX).trim_matches('/');
        let mountinfo = once.list("/proc/self/mountinfo".to_owned()).known().cloned().unwrap_or_default();
        let whole = cgroup::mounts(&mountinfo).into_iter().filter(|mount| mount.root == Path::new("/"));
        let names = whole.flat_map(|mount| procfs::directories(mount.point.join(root)).unwrap_or_default());
        let ids: BTreeSet<String> =
            names.filter_map(|name| name.into_string().ok()).filter(|id| begins(id, word)).collect();
        match ids.len() {
            0 | 1 => ids.first().map_or(Ok(None), |id| Self::find(id, prefix, once)),
            count => Err(Error::new("find", format!("container {word}"), format!("{count} have an id that begins so"))
                .hint(format!("take more of it: {}", ids.iter().take(5).cloned().collect::<Vec<_>>().join(", ")))),
        }
    }

    /// The container of this id; None where it has no cgroup.
    fn find(id: &str, prefix: Option<&str>, once: &Once) -> Result<Option<Self>> {
        let validated = validated(id, prefix, once)?;
        if validated.places.is_empty() {
            return Ok(None);
        }
        let mut container = Self { id: id.to_owned(), members: BTreeSet::new(), places: Vec::new() };
        for place in &validated.places {
            let top = above_leaf(&place.directory);
            let mut members = BTreeSet::new();
            members_of(top, &mut members);
            container.places.push((place.hierarchy.clone(), top.to_owned(), members.len()));
            container.members.extend(members);
        }
        Ok(Some(container))
    }
}

/// Whether a word stands for the id of a container: all of it, or at least 4 characters of its beginning, as for `minion status`.
pub(super) fn begins(id: &str, word: &str) -> bool {
    id == word || (word.len() >= 4 && id.starts_with(word))
}

/// The cgroups of a container, by its name.
pub(super) fn validated(id: &str, prefix: Option<&str>, once: &Once) -> Result<Validated> {
    let host = Host::read(prefix.map(str::to_owned), once)?;
    let own = once.piece("/proc/self/cgroup".to_owned()).known().cloned().unwrap_or_default();
    host.container(id, &own).validate().whole()
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

/// What a name is, if it is a task's.
enum Found {
    Main(i32),
    Absent(Box<Absent>),
    /// No task that is known here; and what may help.
    Nothing(String),
}

/// The task of the minion whose sandbox this is; where that has none of this name, or there is no minion, of any living one.
fn task(name: &str, ask: Ask<'_>, once: &Once) -> Result<Found> {
    let is_meant = |marker: &Marker| marker.task == name;
    let error = |actual: String| Error::new("find", format!("task {name:?}"), actual);
    let unseen = |pid: i32| {
        error(format!("its minion says that it runs as pid {pid} there, and it is not to be seen"))
            .hint("it is being started, or not for this user to look at: try again, or take its pid")
    };
    let here = here(once);
    if let Some(main) = here.and_then(|minion| main_of(minion, name, once)) {
        return Ok(Found::Main(main));
    }
    // Another minion's task of this name is not meant while this one has such a task, or may have one.
    let mut doubt = None;
    if let Some(minion) = here {
        match ask(name) {
            Told::Absent(absent) => return Ok(Found::Absent(absent)),
            Told::Runs(pid) => return Err(unseen(pid)),
            Told::Nothing(why) => doubt = Some(format!("minion {minion} of this directory does not answer: {why}")),
            Told::Unknown => {}
        }
    }
    let (mut minions, mut tasks) = (0, Vec::new());
    // A task is among the first but in odd cases.
    for programs in minion::all(once) {
        let living = programs.into_iter().filter(|pid| minion::live(*pid, once).is_some());
        for minion in living {
            minions += 1;
            tasks.extend(mains(minion, once));
        }
        if tasks.iter().any(|(_, marker)| is_meant(marker)) {
            break;
        }
    }
    let meant: Vec<i32> = tasks.iter().filter(|(_, marker)| is_meant(marker)).map(|(main, _)| *main).collect();
    match (meant.as_slice(), doubt) {
        ([main], Some(doubt)) => {
            Err(error(format!("another minion has one; {doubt}")).hint(format!("take its pid: {main}")))
        }
        ([main], None) => Ok(Found::Main(*main)),
        ([], Some(doubt)) => Ok(Found::Nothing(doubt)),
        ([], None) if here.is_some() => Ok(Found::Nothing(others(minions, &tasks))),
        ([], None) => match ask(name) {
            Told::Absent(absent) => Ok(Found::Absent(absent)),
            Told::Runs(pid) => Err(unseen(pid)),
            Told::Nothing(_) | Told::Unknown => Ok(Found::Nothing(others(minions, &tasks))),
        },
        (several, _) => Err(error(format!("{} minions have one", several.len()))
            .hint(format!("take a pid: {}", several.iter().map(i32::to_string).collect::<Vec<_>>().join(", ")))),
    }
}

/// The main process of a task, for who can do nothing with one that does not run.
pub(super) fn main_of_task(name: &str, ask: Ask<'_>) -> Result<i32> {
    match task(name, ask, &Once::default())? {
        Found::Main(pid) => Ok(pid),
        Found::Absent(absent) => {
            let actual = format!("it has no process: minion {} says that its state is {}", absent.minion, absent.state);
            Err(Error::new("find", format!("task {name:?}"), actual).hint(absent.remedy().1))
        }
        Found::Nothing(hint) => {
            Err(Error::new("find", format!("{name:?}"), "it is no pid and no task that is known here").hint(hint))
        }
    }
}

fn main_of(minion: i32, name: &str, once: &Once) -> Option<i32> {
    mains(minion, once).into_iter().find(|(_, marker)| marker.task == name).map(|(main, _)| main)
}

/// What there is instead.
fn others(minions: usize, tasks: &[(i32, Marker)]) -> String {
    match (minions, tasks) {
        (0, _) => "no minion is running, or none that this user may look into".to_owned(),
        (_, []) => "minions are running, and none has a task that this user may see".to_owned(),
        _ => format!("tasks that run are: {}", names(tasks)),
    }
}

/// The minion that listens in the working directory.
fn here(once: &Once) -> Option<i32> {
    let pid = minion::listener(Path::new("."), once)?;
    minion::live(pid, once).map(|minion| minion.pid)
}

fn names(tasks: &[(i32, Marker)]) -> String {
    let mut names: Vec<&str> = tasks.iter().map(|(_, marker)| marker.task.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
