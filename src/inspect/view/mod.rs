//! One process seen whole: everything that the findings are drawn from, collected once.
//!
//! Collecting reads `/proc` and the cgroup tree and changes nothing. Each value says itself when it could not be seen, so a
//! view can be taken as any user, of any process, with or without a minion. The findings look at the view only.

pub(super) mod cgroups;
pub(super) mod kin;
pub(super) mod kmsg;
pub(super) mod mounts;
pub(super) mod resources;

use super::proc::once::Once;
use super::proc::seen::{self, Seen};
use super::proc::stat::Stat;
use super::proc::status::{self, Limit, Status};
use super::proc::{self, NAMESPACES};
use crate::error::{Error, Result};
use crate::mesos::secret;
use cgroups::Cgroups;
use kin::Kin;
use mounts::Mounts;
use resources::Resources;
use std::path::PathBuf;
use std::time::Duration;

/// One process, and what is around it.
#[derive(Debug)]
pub struct View {
    pub(super) stat: Stat,
    pub(super) status: Seen<Status>,
    /// Without the secrets among them.
    pub(super) arguments: Seen<Vec<String>>,
    /// Whether it has a signalfd: then a blocked signal is one that it reads. Looked for where SIGTERM is blocked.
    pub(super) reads_signals: Seen<bool>,
    pub(super) limits: Seen<Vec<Limit>>,
    pub(super) age: Seen<Duration>,
    pub(super) executable: Seen<PathBuf>,
    pub(super) directory: Seen<PathBuf>,
    pub(super) oom_score: Seen<i32>,
    /// Where in the kernel it waits; empty where it waits nowhere that matters.
    pub(super) waits_in: Seen<String>,
    /// `MESOS_DIRECTORY` of its environment.
    pub(super) sandbox: Seen<Option<PathBuf>>,
    pub(super) kin: Kin,
    pub(super) cgroups: Cgroups,
    pub(super) namespaces: Vec<Namespace>,
    pub(super) mounts: Mounts,
    pub(super) resources: Resources,
}

/// One namespace of the process, and whose it is.
#[derive(Debug)]
pub(super) struct Namespace {
    pub(super) kind: &'static str,
    pub(super) own: Seen<u64>,
    /// Of pid 1: the host, unless the reader is in a pid namespace itself.
    pub(super) host: Seen<u64>,
    pub(super) minion: Option<Seen<u64>>,
    pub(super) agent: Option<Seen<u64>>,
}

/// What to look at, and against what.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// `--mesos-cgroup-prefix`: None takes it from the minion above the process, else `mesos`.
    pub prefix: Option<String>,
    /// The container that the process should be in: None takes it from its minion, the kernel and its environment.
    pub container: Option<String>,
}

impl View {
    /// Looks at a process. An error only where it does not exist.
    pub fn of(pid: i32, question: &Question) -> Result<Self> {
        Self::with(pid, question, &Once::default())
    }

    /// The same, with what was read on the way to the process.
    pub(super) fn with(pid: i32, question: &Question, once: &Once) -> Result<Self> {
        let stat = match once.stat(pid) {
            Seen::Known(stat) => stat,
            Seen::Unknown(why) => return Err(Error::new("look at", format!("pid {pid}"), why).hint("it has ended")),
        };
        let kin = Kin::of(&stat, once);
        let sandbox = kin::variables(pid, once).map(|variables| variables.directory);
        let cgroups = Cgroups::of(&stat, &kin, &sandbox, question, once)?;
        let namespaces = namespaces(pid, &kin);
        let mounts = Mounts::of(pid, &namespaces, &sandbox, once);
        let resources = Resources::of(&cgroups, is_real_time(&stat));
        let status = Status::read(pid);
        Ok(Self {
            reads_signals: reads_signals(pid, &status),
            status,
            arguments: proc::arguments(pid, once).map(|arguments| without_secrets(&arguments)),
            limits: status::limits(pid),
            age: age(&stat),
            executable: seen::link(&proc::path(pid, "exe")),
            directory: seen::link(&proc::path(pid, "cwd")),
            oom_score: seen::number(&proc::path(pid, "oom_score_adj")),
            waits_in: waits_in(&stat),
            sandbox,
            kin,
            cgroups,
            namespaces,
            mounts,
            resources,
            stat,
        })
    }

    /// A namespace by its kind.
    pub(super) fn namespace(&self, kind: &str) -> Option<&Namespace> {
        self.namespaces.iter().find(|namespace| namespace.kind == kind)
    }

    /// What could not be seen, each once.
    pub(super) fn unseen(&self) -> Vec<&str> {
        let links = [self.executable.why(), self.directory.why(), self.sandbox.why(), self.mounts.own.why()];
        let files = [
            self.status.why(),
            self.limits.why(),
            self.oom_score.why(),
            self.kin.pipes.why().or(self.reads_signals.why()),
        ];
        let all = links.into_iter().chain(files).chain([self.mounts.host.why(), self.resources.kmsg.why()]);
        // One of them stands for all: they are behind the same door.
        let spaces =
            self.namespace("mnt").into_iter().flat_map(|namespace| [namespace.own.why(), namespace.host.why()]);
        let mut unseen: Vec<&str> = all.chain(spaces).flatten().collect();
        unseen.sort_unstable();
        unseen.dedup();
        unseen
    }

    /// Whether it is scheduled as `SCHED_FIFO` or `SCHED_RR`.
    pub(super) fn is_real_time(&self) -> bool {
        is_real_time(&self.stat)
    }

    /// The name of its scheduling policy.
    pub(super) fn policy(&self) -> &'static str {
        [
            "SCHED_OTHER",
            "SCHED_FIFO",
            "SCHED_RR",
            "SCHED_BATCH",
            "SCHED_ISO",
            "SCHED_IDLE",
            "SCHED_DEADLINE",
            "SCHED_EXT",
        ]
        .get(self.stat.policy as usize)
        .unwrap_or(&"unknown")
    }

    /// Its name in words: `pid 4711 (km)`.
    pub(super) fn who(&self) -> String {
        format!("pid {} ({})", self.stat.pid, self.stat.name)
    }
}

/// `SCHED_FIFO` is 1, `SCHED_RR` 2.
fn is_real_time(stat: &Stat) -> bool {
    matches!(stat.policy, 1 | 2)
}

fn reads_signals(pid: i32, status: &Seen<Status>) -> Seen<bool> {
    if !status.known().is_some_and(|status| status::holds(status.blocked, libc::SIGTERM)) {
        return Seen::Known(false);
    }
    let is_signalfd = |(_, target): &(i32, PathBuf)| target.as_os_str() == "anon_inode:[signalfd]";
    proc::fd_targets(pid).map(|targets| targets.iter().any(is_signalfd))
}

fn namespaces(pid: i32, kin: &Kin) -> Vec<Namespace> {
    let of = |kind: &'static str| Namespace {
        kind,
        own: proc::namespace(pid, kind),
        host: proc::namespace(1, kind),
        minion: kin.minion.as_ref().map(|minion| proc::namespace(minion.pid, kind)),
        agent: kin.agent.as_ref().map(|agent| proc::namespace(agent.pid, kind)),
    };
    NAMESPACES.into_iter().map(of).collect()
}

/// `/proc/<pid>/wchan`, where it is of interest: in state D.
fn waits_in(stat: &Stat) -> Seen<String> {
    if stat.state == 'D' { seen::text(&proc::path(stat.pid, "wchan")) } else { Seen::Known(String::new()) }
}

/// How long it has been there.
fn age(stat: &Stat) -> Seen<Duration> {
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    seen::text("/proc/uptime").and_then(|text| {
        let first = text.split(' ').next().and_then(|seconds| seconds.parse().ok());
        let uptime = first.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let uptime = uptime.ok_or_else(|| "/proc/uptime holds no number".to_owned())?;
        Ok(uptime.saturating_sub(Duration::from_millis(stat.start.saturating_mul(1000) / ticks)))
    })
}

/// The arguments without what is a secret. [ME-04]
fn without_secrets(arguments: &[String]) -> Vec<String> {
    secret::shown(arguments).into_iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen_whole() {
        let view = View::of(i32::try_from(std::process::id()).unwrap(), &Question::default()).unwrap();
        assert!(view.namespace("mnt").unwrap().own.known().is_some());
        assert!(view.status.known().is_some_and(|status| status.threads > 0));
        assert!(!view.who().is_empty());
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        let error = View::of(i32::MAX, &Question::default()).unwrap_err().to_string();
        assert!(error.contains("ENOENT") && error.contains("ended"), "{error}");
    }
}
