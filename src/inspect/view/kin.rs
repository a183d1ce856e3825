//! Who is around a process: its parent, the minion and the agent above it, its task, what descends from it.

use crate::inspect::minion::{self, Named};
use crate::inspect::proc::once::Once;
use crate::inspect::proc::seen::{self, Seen};
use crate::inspect::proc::stat::Stat;
use crate::inspect::proc::{self, children, children_of_thread};
use rustix::process::{Pid, getpgid};
use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The variable that a supervisor gives each child: `<task>.<pid of the minion>.<number of the run>`.
const MARKER: &[u8] = b"MINION_TASK=";
/// How far down and up a family is followed: enough for every container, and no fork bomb holds the tool.
const MOST: usize = 512;

/// The relations of one process.
#[derive(Debug)]
pub(in crate::inspect) struct Kin {
    pub(in crate::inspect) parent: Option<Stat>,
    /// The supervisor above it, or itself.
    pub(in crate::inspect) minion: Option<Stat>,
    /// The agent, where it is an ancestor; after the agent's restart it is not.
    pub(in crate::inspect) agent: Option<Stat>,
    /// What the marker in its environment says.
    pub(in crate::inspect) task: Option<Marker>,
    /// The minion that the marker names; None only where it is gone. Where that cannot be known, it is the process itself that
    /// stands here, and [`pipes`](Self::pipes) says why.
    pub(in crate::inspect) marked_minion: Option<Stat>,
    /// The main process of its task.
    pub(in crate::inspect) main: Option<Stat>,
    pub(in crate::inspect) descendants: Vec<Stat>,
    /// Pipes to the logs of other tasks that it holds open: the task, and its descriptor here.
    pub(in crate::inspect) pipes: Seen<Vec<HeldPipe>>,
    /// The arguments of the minion above.
    pub(in crate::inspect) minion_arguments: Vec<String>,
}

/// Which run of which task a process belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct Marker {
    pub(in crate::inspect) task: String,
    pub(in crate::inspect) minion: i32,
    pub(in crate::inspect) run: String,
}

/// The log pipe of a task in the hands of a process of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct HeldPipe {
    pub(in crate::inspect) task: String,
    pub(in crate::inspect) fd: i32,
    pub(in crate::inspect) pipe: String,
}

/// What is read from an environment, and nothing else of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::inspect) struct Variables {
    pub(in crate::inspect) directory: Option<PathBuf>,
    pub(in crate::inspect) marker: Option<Marker>,
}

/// The variables that a process was started with.
pub(in crate::inspect) fn variables(pid: i32, once: &Once) -> Seen<Variables> {
    once.environment(pid).map(|text| {
        let mut found = Variables::default();
        for entry in text.split(|byte| *byte == 0) {
            if let Some(value) = entry.strip_prefix(b"MESOS_DIRECTORY=") {
                found.directory = Some(OsString::from_vec(value.to_vec()).into());
            } else if let Some(value) = entry.strip_prefix(MARKER) {
                found.marker = Marker::parse(&String::from_utf8_lossy(value));
            }
        }
        found
    })
}

impl Marker {
    /// The task's name may hold dots: the two numbers are at the end.
    fn parse(text: &str) -> Option<Self> {
        let (rest, run) = text.rsplit_once('.')?;
        let (task, minion) = rest.rsplit_once('.')?;
        Some(Self { task: task.to_owned(), minion: minion.parse().ok()?, run: run.to_owned() })
    }
}

impl Kin {
    pub(in crate::inspect) fn of(stat: &Stat, once: &Once) -> Self {
        let ancestors = ancestors(stat, once);
        let task = variables(stat.pid, once).known().and_then(|variables| variables.marker.clone());
        let named = task.as_ref().map(|task| Named::of(stat, task.minion, once));
        let own_and_above = || std::iter::once(stat).chain(&ancestors);
        let minion = own_and_above()
            .find_map(|above| minion::arguments(above, once).map(|arguments| (above.clone(), arguments)));
        let (minion, minion_arguments) = minion.unzip();
        let agent = ancestors.iter().find(|above| is_agent(&above.name)).cloned();
        let tasks = named.as_ref().and_then(Named::alive).map_or_else(Vec::new, |minion| mains(minion.pid, once));
        let is_own = |marker: &Marker| task.as_ref().is_some_and(|task| task.task == marker.task);
        let main =
            tasks.iter().find(|(_, marker)| is_own(marker)).and_then(|(main, _)| once.stat(*main).known().cloned());
        let pipes = match &named {
            Some(Named::Unknown(why)) => Seen::Unknown(why.clone()),
            Some(Named::Alive(_) | Named::Gone) | None => held_pipes(stat.pid, &tasks, &is_own),
        };
        let marked_minion = named.and_then(|named| match named {
            Named::Alive(minion) => Some(minion),
            Named::Gone => None,
            Named::Unknown(_) => Some(stat.clone()),
        });
        Self {
            parent: ancestors.first().cloned(),
            minion,
            agent,
            task,
            marked_minion,
            main,
            descendants: descendants(stat, once),
            pipes,
            minion_arguments: minion_arguments.unwrap_or_default(),
        }
    }
}

/// The parents up to pid 1, the nearest first.
pub(in crate::inspect) fn ancestors(stat: &Stat, once: &Once) -> Vec<Stat> {
    let mut above = Vec::new();
    let mut next = stat.parent;
    while next > 0 && above.len() < MOST {
        let Seen::Known(parent) = once.stat(next) else { break };
        next = parent.parent;
        above.push(parent);
    }
    above
}

/// The descendants, at most so many.
fn descendants(stat: &Stat, once: &Once) -> Vec<Stat> {
    let mut pids = children(stat, once);
    let mut seen: HashSet<i32> = pids.iter().copied().collect();
    let mut found = Vec::new();
    let mut next = 0;
    while let Some(child) = pids.get(next).copied().filter(|_| next < MOST) {
        next += 1;
        let Seen::Known(stat) = once.stat(child) else { continue };
        pids.extend(children(&stat, once).into_iter().filter(|pid| seen.insert(*pid)));
        found.push(stat);
    }
    found
}

/// The main process of each task of a minion: children of its first thread, which alone starts any.
pub(in crate::inspect) fn mains(minion: i32, once: &Once) -> Vec<(i32, Marker)> {
    let leads = |pid: i32| getpgid(Pid::from_raw(pid)).is_ok_and(|group| group.as_raw_nonzero().get() == pid);
    // As it sees itself: in a pid namespace of its own that is another number.
    let own = minion::numbers(minion, once).last().copied();
    let main = |pid: i32| {
        let marker = variables(pid, once).known()?.marker.clone()?;
        // An orphan that came back to the minion has the marker too, but never led the group.
        (own == Some(marker.minion) && leads(pid)).then_some((pid, marker))
    };
    children_of_thread(minion, minion, once).into_iter().filter_map(main).collect()
}

/// The agent's names in packages and builds: 0.x said slave. A name is 15 bytes long at most.
fn is_agent(name: &str) -> bool {
    ["mesos-agent", "mesos-slave", "lt-mesos-agent", "lt-mesos-slave"].contains(&name)
}

/// Descriptors of `pid` that are the standard output or error of another task's main process.
fn held_pipes(pid: i32, tasks: &[(i32, Marker)], is_own: &dyn Fn(&Marker) -> bool) -> Seen<Vec<HeldPipe>> {
    let others: Vec<_> = tasks.iter().filter(|(main, marker)| *main != pid && !is_own(marker)).collect();
    if others.is_empty() {
        return Seen::Known(Vec::new());
    }
    let logs: Vec<(PathBuf, &str)> = others
        .iter()
        .flat_map(|(main, marker)| {
            let pipe = |fd: &str| seen::link(&proc::path(*main, fd)).known().cloned();
            ["fd/1", "fd/2"].into_iter().filter_map(pipe).map(|pipe| (pipe, marker.task.as_str()))
        })
        .filter(|(pipe, _)| pipe.to_string_lossy().starts_with("pipe:"))
        .collect();
    proc::fd_targets(pid).map(|targets| {
        let held = |(fd, target): (i32, PathBuf)| {
            let (pipe, task) = logs.iter().find(|(pipe, _)| *pipe == target)?;
            Some(HeldPipe { task: (*task).to_owned(), fd, pipe: pipe.to_string_lossy().into_owned() })
        };
        targets.into_iter().filter_map(held).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_from_its_end() {
        let marker = Marker::parse("kube.proxy.4711.3").unwrap();
        assert_eq!((marker.task.as_str(), marker.minion, marker.run.as_str()), ("kube.proxy", 4711, "3"));
        assert_eq!(Marker::parse("proxy.x.3"), None);
        assert_eq!(Marker::parse("proxy"), None);
    }

    #[test]
    fn this_process_has_ancestors_and_its_parent_is_no_minion() {
        let Seen::Known(stat) = Stat::read(i32::try_from(std::process::id()).unwrap()) else { panic!("not seen") };
        let once = Once::default();
        let kin = Kin::of(&stat, &once);
        assert_eq!(kin.parent.unwrap().pid, stat.parent);
        // Not this process itself: the program of these tests is called after the crate.
        let Seen::Known(parent) = Stat::read(stat.parent) else { panic!("not seen") };
        assert_eq!(minion::arguments(&parent, &once), None);
    }
}
