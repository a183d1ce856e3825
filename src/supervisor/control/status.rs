//! Everything at one moment, for an operator.

use super::super::Stdout;
use super::super::Supervisor;
use super::super::run::Slot;
use super::usage::Usage;
use crate::control::protocol::{self, Status, VERSION};
use crate::control::time_now;
use crate::log::LogId;
use crate::task::state::{Part, State};
use crate::task::{Role, TaskId};
use std::path::Path;
use std::time::{Duration, Instant};

impl Supervisor {
    pub(super) fn status(&self) -> Status {
        let surroundings = &self.surroundings;
        let places = surroundings.cgroups.as_ref().map(|cgroups| cgroups.places.as_slice()).unwrap_or_default();
        let cgroup = |place: &crate::cgroup::Place| protocol::Cgroup {
            hierarchy: place.hierarchy.clone(),
            path: words_of(&place.path),
        };
        Status {
            minion: VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: self.children.parent(),
            time: time_now(),
            uptime_seconds: seconds(self.desk.since.elapsed()),
            stopping: self.core.reason().map(|reason| reason.to_string()),
            sandbox: std::env::current_dir().map(|path| words_of(&path)).unwrap_or_default(),
            container: self.desk.about.container.clone(),
            cgroups: places.iter().map(cgroup).collect(),
            private_mounts: surroundings.mounts.is_some(),
            oom_kills: surroundings.oom_kills(),
            grace_seconds: seconds(self.desk.about.grace),
            budget_seconds: seconds(self.desk.budget),
            tasks: (0..self.slots.len()).map(|task| self.task_status(task)).collect(),
            events: self.desk.journal.events.iter().cloned().collect(),
        }
    }

    fn task_status(&self, task: TaskId) -> protocol::Task {
        let (slot, record) = (&self.slots[task], &self.desk.journal.tasks[task]);
        let now = Instant::now();
        let state = self.core.state(task).unwrap_or(State::Idle);
        let (since, until) = match state {
            State::Starting { since, .. } | State::Running { since, .. } | State::Stopping { since, .. } => {
                (Some(since), None)
            }
            State::Backoff { until } => (None, Some(until)),
            State::Idle | State::Clearing { .. } | State::Down | State::Ended => (None, None),
        };
        let pid = slot.live_pid();
        let usage = pid.and_then(Usage::read);
        protocol::Task {
            name: slot.spec.name.clone(),
            role: match slot.spec.role {
                Role::Executor => "executor".to_owned(),
                Role::Helper => "helper".to_owned(),
            },
            state: word(state).to_owned(),
            hook: hook(state).map(str::to_owned),
            ready: matches!(state, State::Running { part: Part::Main, watch, .. } if watch.is_ready()),
            says: Some(slot.status.clone()).filter(|says| !says.is_empty()),
            pid,
            uptime_seconds: since.map(|since| seconds(now.saturating_duration_since(since))),
            starts_in_seconds: until.map(|until| seconds(until.saturating_duration_since(now))),
            restarts: record.starts.saturating_sub(1),
            last_exit: record.last_exit.clone(),
            rss_bytes: usage.map(|usage| usage.rss),
            cpu_seconds: usage.map(|usage| seconds(usage.cpu)),
            drift: pid.map(|pid| self.drift(pid)).unwrap_or_default(),
            logs: slot.logs().map(|(name, log)| self.log_status(task, &name, log)).collect(),
        }
    }

    /// Where a process is not where it was put. A process that is dying has left nothing.
    fn drift(&self, pid: i32) -> Vec<String> {
        let Some(cgroups) = &self.surroundings.cgroups else { return Vec::new() };
        cgroups.drift(pid).unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    fn log_status(&self, task: TaskId, name: &str, log: LogId) -> protocol::Log {
        let count = self.logs.count(log);
        let degraded = &self.desk.journal.tasks[task].degraded;
        protocol::Log {
            file: format!("{name}.log"),
            bytes: count.written,
            dropped: count.dropped,
            degraded: degraded.iter().find(|(log, _)| log == name).map(|(_, why)| why.clone()),
        }
    }
}

impl Slot {
    /// Its logs by name.
    fn logs(&self) -> impl Iterator<Item = (String, LogId)> {
        let name = &self.spec.name;
        let stdout = match self.stdout {
            Stdout::Separate(log) => Some((format!("{name}.stdout"), log)),
            Stdout::Merged | Stdout::Discarded => None,
        };
        std::iter::once((name.clone(), self.log)).chain(stdout)
    }

    /// Whether the log of this name is its own.
    pub(super) fn owns(&self, log: &str) -> bool {
        self.logs().any(|(name, _)| name == log)
    }
}

/// The state as the protocol calls it.
pub(super) fn word(state: State) -> &'static str {
    match state {
        State::Idle => "idle",
        State::Starting { .. } => "starting",
        State::Running { .. } => "running",
        State::Stopping { .. } => "stopping",
        State::Clearing { .. } => "clearing",
        State::Backoff { .. } => "backoff",
        State::Down => "down",
        State::Ended => "ended",
    }
}

/// Which hook a state speaks of.
fn hook(state: State) -> Option<&'static str> {
    let (State::Starting { part, .. }
    | State::Running { part, .. }
    | State::Stopping { part, .. }
    | State::Clearing { part, .. }) = state
    else {
        return None;
    };
    match part {
        Part::Before => Some("before-start"),
        Part::Main => None,
        Part::After => Some("after-stop"),
    }
}

/// Milliseconds are enough.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

fn words_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
