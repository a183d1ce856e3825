//! Where children belong, and making sure that they are there.

use super::Supervisor;
use crate::cgroup::{OomWatch, Validated};
use crate::error::{Error, Result};
use crate::namespace::PrivateMounts;
use crate::task::TaskId;
use tracing::{info, warn};

/// What to do with a task that has left its cgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drifted {
    /// Say so.
    Warn,
    /// Say so, and put it back.
    Reattach,
}

/// The cgroups and the mount namespace that children belong in.
#[derive(Debug)]
pub struct Surroundings {
    /// The container's cgroups; `None` leaves children where minion is.
    pub cgroups: Option<Validated>,
    /// What to do with a task that has left them.
    pub drifted: Drifted,
    /// The container's count of OOM kills, where it can be watched.
    pub oom: Option<OomWatch>,
    /// The private mount namespace, where there is one.
    pub mounts: Option<PrivateMounts>,
}

impl Surroundings {
    /// Puts a child that has not executed anything yet where it belongs, and verifies it.
    pub(super) fn receive(&self, name: &str, pid: i32) -> Result<()> {
        if let Some(cgroups) = &self.cgroups {
            let attached = cgroups.attach(pid)?;
            if !attached.moved.is_empty() {
                info!(task = %name, pid, "attached: {attached}");
            }
        }
        match &self.mounts {
            Some(mounts) if !mounts.contains(pid)? => Err(Error::new(
                "start in the private mount namespace",
                format_args!("pid {pid}"),
                "it is in another one",
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// The container's OOM kills so far, where they are counted.
    pub(super) fn oom_kills(&self) -> Option<u64> {
        self.oom.as_ref().and_then(OomWatch::kills)
    }
}

impl Supervisor {
    /// Looks whether a task's main process still is in its cgroups; kube-proxy once moved itself out. [ME-33]
    pub(super) fn check_placement(&mut self, task: TaskId) {
        for (event, text) in self.look_at_placement(task) {
            self.note(event, Some(task), text);
        }
    }

    /// What is wrong with its placement, and what was done about it: events with their words.
    fn look_at_placement(&self, task: TaskId) -> Vec<(&'static str, String)> {
        let slot = &self.slots[task];
        let (Some(cgroups), Some(pid)) = (&self.surroundings.cgroups, slot.live_pid()) else { return Vec::new() };
        let drifts = match cgroups.drift(pid) {
            Ok(drifts) => drifts,
            // It may be dying at this moment; its exit is on the way.
            Err(error) => {
                tracing::debug!(task = %slot.spec.name, pid, "{error}, ignoring");
                return Vec::new();
            }
        };
        let mut noted = Vec::new();
        for drift in &drifts {
            warn!(task = %slot.spec.name, pid, event = "cgroup-drift", "left its cgroup: {drift}");
            noted.push(("cgroup-drift", drift.to_string()));
        }
        if drifts.is_empty() || self.surroundings.drifted == Drifted::Warn {
            return noted;
        }
        match cgroups.attach(pid) {
            Ok(attached) => {
                info!(task = %slot.spec.name, pid, event = "cgroup-reattach", "put back: {attached}");
                noted.push(("cgroup-reattach", format!("put back: {attached}")));
            }
            Err(error) => warn!(task = %slot.spec.name, pid, event = "cgroup-reattach", "{error}"),
        }
        noted
    }

    /// Says, once of each, which cgroups a child made that stop the agent's next recovery. Nothing of minion's removes them:
    /// they are in use, or the agent's destroy takes them. [ME-80]
    pub(super) fn check_hazards(&mut self) {
        let Some(cgroups) = &self.surroundings.cgroups else { return };
        for hazard in cgroups.hazards() {
            if !self.hazards.contains(&hazard) {
                let text = format!("a child made {hazard}: its recovery fails and it exits");
                warn!(event = "cgroup-hazard", "{text}");
                self.note("cgroup-hazard", None, text);
                self.hazards.push(hazard);
            }
        }
    }

    pub(super) fn read_oom(&mut self) {
        let Some(watch) = &mut self.surroundings.oom else { return };
        match watch.take() {
            Ok(None) => {}
            Ok(Some(oom)) => {
                warn!(
                    event = "oom",
                    kills = oom.kills,
                    limit = oom.limit,
                    usage = oom.usage,
                    "the container is out of memory"
                );
                self.note("oom", None, "the container is out of memory".to_owned());
            }
            // The cgroup was removed: its files say so for ever, and at once.
            Err(error) => {
                warn!(event = "oom", "{error}; lack of memory is not watched any more");
                self.reactor.remove(watch.fd());
                self.surroundings.oom = None;
            }
        }
    }
}
