//! What the main processes left behind: whose it is, and ending it.

use super::Supervisor;
use super::run::{MARKER, Slot};
use crate::error::Result;
use crate::process::tree::StartVariable;
use crate::process::{reap, tree};
use crate::task::state::{Event, State};
use crate::task::{Input, TaskId};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};
use tracing::{debug, warn};

/// So many deaths are looked at in one wake.
const DEATHS_PER_WAKE: usize = 256;

/// How often a sweep looks again for what was forked while it stopped everything.
const STOP_ROUNDS: usize = 16;

/// When to look again at an orphan that hides its environment: nothing tells when its exec is through.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Whose an orphan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Task(TaskId),
    /// Nobody can tell.
    Nobody,
    /// It hides its environment; until then, which is long for an exec, it is looked at again.
    Undecided {
        until: Instant,
    },
}

/// The orphans that we inherited, each with its owner.
///
/// An orphan is our own child: its pid stays its own until we reap it, so what was found out about it stays true so long, and
/// no longer.
#[derive(Debug, Default)]
pub(super) struct Owners {
    of: HashMap<i32, Owner>,
    /// The tasks of those that were undecided when their run was told to end, and belong to it.
    late: HashSet<TaskId>,
}

impl Owners {
    fn look_at(&mut self, slots: &[Slot], pid: i32) -> Owner {
        let before = self.of.get(&pid).copied();
        let until = match before {
            Some(known @ (Owner::Task(_) | Owner::Nobody)) => return known,
            Some(Owner::Undecided { until }) => until,
            None => tree::exec_end(),
        };
        let owner = match owner(slots, pid, until) {
            Owner::Undecided { until } if until <= Instant::now() => Owner::Nobody,
            owner @ (Owner::Task(_) | Owner::Nobody | Owner::Undecided { .. }) => owner,
        };
        if let (Some(_), Owner::Task(task)) = (before, owner) {
            self.late.insert(task);
        }
        self.of.insert(pid, owner);
        owner
    }

    /// When to look again, if there is somebody undecided.
    pub(super) fn look_again(&self) -> Option<Instant> {
        let undecided = self.of.values().any(|owner| matches!(owner, Owner::Undecided { .. }));
        undecided.then(|| Instant::now() + LOOK_AGAIN)
    }

    /// Whether somebody was found to be the task's since the last time that this was asked.
    pub(super) fn take_late(&mut self, task: TaskId) -> bool {
        self.late.remove(&task)
    }

    /// Forgets those that were reaped: their numbers are given away again.
    fn forget_all_but(&mut self, children: &[i32]) {
        let children: HashSet<i32> = children.iter().copied().collect();
        self.of.retain(|pid, _| children.contains(pid));
    }
}

impl Supervisor {
    /// Reaps dead children that no task holds a pidfd of; the others are handed to their tasks. Bounded: when they die faster
    /// than this, signals and deadlines come in between.
    pub(super) fn reap_orphans(&mut self) -> Result<()> {
        self.more_dead = false;
        for _ in 0..DEATHS_PER_WAKE {
            let pid = match reap::peek() {
                Ok(Some(pid)) => pid,
                Ok(None) => return Ok(()),
                Err(cause) => return Err(crate::error::Error::io("look for", "dead children", cause)),
            };
            if let Some(task) = self.slots.iter().position(|slot| slot.live_pid() == Some(pid)) {
                self.main_died(task);
            } else if let Some(task) = self.task_asked_by(pid) {
                self.read_answer(task);
            } else {
                // It is our child and dead, so this neither waits nor fails; a second look will tell if it does.
                let status = reap::reap(pid);
                debug!(pid, ?status, "reaped an orphan");
            }
        }
        self.more_dead = true;
        Ok(())
    }

    /// The orphans that belong to a task whose main process is dead.
    pub(super) fn leftovers(&mut self, task: TaskId) -> Result<Vec<i32>> {
        let mut found = Vec::new();
        let children = self.children.pids()?;
        self.owners.forget_all_but(&children);
        for pid in children {
            if self.is_known(pid) {
                continue;
            }
            let is_ours = match self.owners.look_at(&self.slots, pid) {
                Owner::Task(owner) => owner == task,
                Owner::Nobody | Owner::Undecided { .. } => self.nobody_else_could_own_it(task),
            };
            if is_ours {
                found.push(pid);
            }
        }
        Ok(found)
    }

    /// Whether it is no orphan: a task's main process, or the command of a question.
    pub(super) fn is_known(&self, pid: i32) -> bool {
        self.slots.iter().any(|slot| slot.live_pid() == Some(pid)) || self.task_asked_by(pid).is_some()
    }

    /// An orphan without any mark goes with the task that is ending when no other could have started it.
    fn nobody_else_could_own_it(&self, task: TaskId) -> bool {
        self.core.is_stopping()
            || self.slots.iter().enumerate().all(|(id, slot)| id == task || slot.live_pid().is_none())
    }

    /// Looks whether tasks whose main process is dead are quiet now.
    pub(super) fn settle(&mut self) -> Result<()> {
        self.look_again = None;
        for task in 0..self.slots.len() {
            if !matches!(self.core.state(task), Some(State::Clearing { .. })) {
                continue;
            }
            let leftovers = self.leftovers(task)?;
            if !leftovers.is_empty() {
                if self.owners.take_late(task) {
                    self.sweep_term(task)?;
                }
                continue;
            }
            // It may be of this run: nothing of it shall live on beside the next.
            self.look_again = self.owners.look_again();
            if self.look_again.is_some() {
                continue;
            }
            let Some(run) = &mut self.slots[task].run else { continue };
            // A full disk may hold the last bytes back for as long as it likes, but not the end of everything: what is still in
            // the pipe then is the log thread's to write, or to count, while it stops.
            if run.streams.is_empty() || self.killing {
                self.inputs.push_back(Input::Task(task, Event::Quiet));
                self.decide()?;
            } else if !run.finished {
                // Nothing of ours holds the pipes any more; a stranger that does must not hold us.
                run.finished = true;
                run.streams.iter().for_each(|stream| self.logs.finish(*stream));
            }
        }
        Ok(())
    }

    /// Asks everything that a dead main process left behind to end.
    pub(super) fn sweep_term(&mut self, task: TaskId) -> Result<()> {
        self.reap_orphans()?;
        let roots = self.leftovers(task)?;
        if roots.is_empty() {
            return Ok(());
        }
        let all = tree::with_descendants(roots)?;
        for &pid in &all {
            // A stopped process gets the signal when it goes on.
            tree::signal_descendant(pid, &[libc::SIGTERM, libc::SIGCONT]);
        }
        warn!(task = %self.slots[task].spec.name, count = all.len(), "the run left processes behind; told to end");
        Ok(())
    }

    /// Kills everything that a dead main process left behind: stops it all first, so that nothing forks away from the
    /// killing. What forks faster than that is left to the next sweep.
    pub(super) fn sweep_kill(&mut self, task: TaskId) -> Result<()> {
        self.reap_orphans()?;
        let mut stopped = HashSet::new();
        for _ in 0..STOP_ROUNDS {
            let roots = self.leftovers(task)?;
            let fresh: Vec<i32> =
                tree::with_descendants(roots)?.into_iter().filter(|pid| stopped.insert(*pid)).collect();
            if fresh.is_empty() {
                break;
            }
            for pid in fresh {
                tree::signal_descendant(pid, &[libc::SIGSTOP]);
            }
        }
        for &pid in &stopped {
            tree::signal_descendant(pid, &[libc::SIGKILL]);
        }
        if !stopped.is_empty() {
            warn!(task = %self.slots[task].spec.name, count = stopped.len(), "the run left processes behind; killed");
        }
        Ok(())
    }

    /// Who is still alive, for the last words.
    pub(super) fn survivors(&self) -> Vec<i32> {
        let roots = self.children.pids().unwrap_or_default();
        let all = tree::with_descendants(roots).unwrap_or_default();
        all.into_iter().filter(|pid| tree::Process::read(*pid).is_ok_and(|process| !process.is_zombie())).collect()
    }
}

/// By the marker in its environment, else by the group or the session that a main process led.
fn owner(slots: &[Slot], pid: i32, until: Instant) -> Owner {
    let of = |matches: &dyn Fn(&super::run::Run) -> bool| {
        let task = slots.iter().position(|slot| slot.run.as_ref().is_some_and(matches));
        task.map_or(Owner::Nobody, Owner::Task)
    };
    let variable = tree::start_variable(pid, MARKER, Instant::now());
    if let StartVariable::Value(marker) = variable {
        return of(&|run| run.marker.as_bytes() == marker);
    }
    let Ok(process) = tree::Process::read(pid) else { return Owner::Nobody };
    match of(&|run| run.pid != 0 && (process.group == run.pid || process.session == run.pid)) {
        Owner::Nobody if variable == StartVariable::Hidden => Owner::Undecided { until },
        owner @ (Owner::Task(_) | Owner::Nobody | Owner::Undecided { .. }) => owner,
    }
}
