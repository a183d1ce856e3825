//! What is said of ends: how a run ended, and what ended everything.

use super::Supervisor;
use crate::task::{Exit, Outcome, Reason, Role, TaskId};
use std::time::Duration;
use tracing::{error, info, warn};

impl Supervisor {
    /// Says how a run ended; once for each, when it is over, whole.
    pub(super) fn report(&self, task: TaskId, exit: Exit, up: Duration, restart: Option<Duration>) {
        let slot = &self.slots[task];
        let Some(run) = &slot.run else { return };
        let name = &slot.spec.name;
        let next = match restart {
            Some(delay) => format!(", starts again in {delay:?}"),
            None => String::new(),
        };
        let oom = self.oom_words(exit, run.oom_kills);
        let up = Duration::from_millis(u64::try_from(up.as_millis()).unwrap_or(u64::MAX));
        let state = if restart.is_some() { "backoff" } else { "ended" };
        if self.is_bad_news(slot.spec.role, exit) {
            error!(task = %name, pid = run.pid, state, exit = exit.code(), "{exit} after {up:?}{oom}{next}");
        } else {
            info!(task = %name, pid = run.pid, state, exit = exit.code(), "{exit} after {up:?}{oom}{next}");
        }
        if run.dropped > 0 {
            warn!(task = %name, dropped = run.dropped, "its log lacks bytes; the log says where");
        }
        if slot.spec.role == Role::Executor && self.is_bad_news(slot.spec.role, exit) {
            for line in run.tail.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                error!(task = %name, "| {}", String::from_utf8_lossy(line));
            }
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
    fn oom_words(&self, exit: Exit, kills_before: Option<u64>) -> String {
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
