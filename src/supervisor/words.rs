//! What is said of ends: how a run ended, and what ended everything.

use super::Supervisor;
use crate::task::spec::{Health, ReadyWay};
use crate::task::state::Part;
use crate::task::watch::Verdict;
use crate::task::{Exit, Outcome, Reason, Role, TaskId};
use std::time::Duration;
use tracing::{debug, error, info, warn};

impl Supervisor {
    /// The end begins. A signal was said already, with its sender.
    pub(super) fn stopping(&self, reason: Reason) {
        if let Some(manager) = &self.manager {
            manager.stopping(&reason.to_string());
        }
        match reason {
            Reason::Signal(_) => debug!("stopping: {reason}"),
            Reason::ExecutorEnded(_) | Reason::SetupFailed | Reason::Failed => info!("stopping: {reason}"),
        }
    }

    /// A task can serve.
    pub(super) fn is_ready(&self, task: TaskId) {
        let slot = &self.slots[task];
        match slot.spec.readiness.way {
            // That it runs was said already.
            ReadyWay::Exec => {}
            ReadyWay::Notify | ReadyWay::Fd(_) | ReadyWay::Probe { .. } => info!(task = %slot.spec.name, "ready"),
        }
        if let Some(manager) = self.manager.as_ref().filter(|_| (0..self.slots.len()).all(|id| self.core.was_ready(id)))
        {
            manager.ready(self.slots.len());
        }
    }

    /// A task must end because it cannot serve.
    pub(super) fn judge(&mut self, task: TaskId, verdict: Verdict) {
        self.give_up_question(task, "it did not answer in time");
        let slot = &mut self.slots[task];
        if let Some(run) = &mut slot.run {
            run.judged = true;
        }
        let evidence = match (slot.evidence.as_str(), &slot.spec.health) {
            ("", Some(Health { probe: None, every, .. })) => format!("no WATCHDOG=1 for {every:?}"),
            ("", _) => "nothing was heard from it".to_owned(),
            (evidence, _) => evidence.to_owned(),
        };
        match verdict {
            Verdict::NotReady => {
                let within = slot.spec.readiness.within.unwrap_or_default();
                error!(task = %slot.spec.name, "not ready within {within:?}: {evidence}; ending it");
            }
            Verdict::Unhealthy => error!(task = %slot.spec.name, "unhealthy: {evidence}; ending it"),
        }
        slot.evidence.clear();
    }

    /// A task started too often.
    pub(super) fn limited(&self, task: TaskId) {
        error!(task = %self.slots[task].spec.name, "it started too often, and does not start again");
    }

    /// A hook failed; what that means was decided already.
    pub(super) fn hook_failed(&self, task: TaskId, part: Part, exit: Exit) {
        let slot = &self.slots[task];
        let which = if part == Part::Before { "before the start" } else { "after the end" };
        error!(task = %slot.spec.name, exit = exit.code(), "the hook {which} failed: {exit}");
        self.repeat_tail(task);
    }

    /// The last lines of the log, where they help to see why.
    fn repeat_tail(&self, task: TaskId) {
        let slot = &self.slots[task];
        let tail = slot.run.as_ref().map_or(&[][..], |run| &run.tail);
        for line in tail.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            error!(task = %slot.spec.name, "| {}", String::from_utf8_lossy(line));
        }
    }

    /// Says how a run ended; once for each, when it is over, whole.
    pub(super) fn report(&self, task: TaskId, exit: Exit, up: Duration, restart: Option<Duration>, commanded: bool) {
        let slot = &self.slots[task];
        let Some(run) = &slot.run else { return };
        let name = &slot.spec.name;
        let next = match restart {
            Some(Duration::ZERO) => ", starts again at once".to_owned(),
            Some(delay) => format!(", starts again in {delay:?}"),
            None if commanded => ", stays down until it is started".to_owned(),
            None => String::new(),
        };
        let oom = self.oom_words(exit, run.oom_kills);
        let up = Duration::from_millis(u64::try_from(up.as_millis()).unwrap_or(u64::MAX));
        let state = match restart {
            Some(_) => "backoff",
            None if commanded => "down",
            None => "ended",
        };
        if self.is_bad_news(slot.spec.role, exit) && !commanded {
            error!(task = %name, pid = run.pid, state, exit = exit.code(), "{exit} after {up:?}{oom}{next}");
        } else {
            info!(task = %name, pid = run.pid, state, exit = exit.code(), "{exit} after {up:?}{oom}{next}");
        }
        if run.dropped > 0 {
            warn!(task = %name, dropped = run.dropped, "its log lacks bytes; the log says where");
        }
        if run.judged || (slot.spec.role == Role::Executor && self.is_bad_news(slot.spec.role, exit)) {
            self.repeat_tail(task);
        }
    }

    /// An end that nobody asked for and that is no success; of a helper any that nobody asked for.
    fn is_bad_news(&self, role: Role, exit: Exit) -> bool {
        match role {
            Role::Executor => !exit.is_success() && !self.told_to_stop(),
            Role::Helper => !self.core.is_stopping(),
        }
    }

    fn told_to_stop(&self) -> bool {
        matches!(self.core.reason(), Some(Reason::Signal(_)))
    }

    /// A death by SIGKILL was the kernel's doing when the container's count of OOM kills moved meanwhile.
    pub(super) fn oom_words(&self, exit: Exit, kills_before: Option<u64>) -> String {
        let killed = matches!(exit, Exit::Signal { signal: libc::SIGKILL, .. });
        let watch = self.surroundings.oom.as_ref().filter(|_| killed);
        let Some(Ok(oom)) = watch.map(crate::cgroup::OomWatch::read) else { return String::new() };
        match (kills_before, oom.kills) {
            (Some(before), Some(now)) if now > before => {
                let bytes = |value: Option<u64>| value.map_or_else(|| "unknown".to_owned(), |value| value.to_string());
                format!(
                    ", by the kernel for lack of memory (limit {}, usage now {})",
                    bytes(oom.limit),
                    bytes(oom.usage)
                )
            }
            _ => String::new(),
        }
    }

    /// The last line: what ended the run, and with which exit of the executor.
    pub(super) fn last_words(&self, outcome: Outcome) {
        if !outcome.everything_ended {
            for pid in self.survivors() {
                error!(pid, "still alive after SIGKILL");
            }
        }
        let executor = match (outcome.reason, outcome.executor) {
            (Reason::ExecutorEnded(_), _) => String::new(),
            (_, Some(exit)) => format!("; executor {exit}"),
            (_, None) => "; the executor had not ended".to_owned(),
        };
        info!(code = outcome.code(), "ended: {}{executor}", outcome.reason);
    }
}
