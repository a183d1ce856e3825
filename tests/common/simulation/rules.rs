//! What must hold in every schedule.

use super::{Run, World};
use minion::task::life::COMMAND_GRACE;
use minion::task::state::Part;
use minion::task::{Restart, Role};
use std::time::Duration;

use super::seen::Finished;

/// What a simulated kernel takes to end a process.
const KILL_TIME: Duration = Duration::from_millis(2);

impl World {
    pub(super) fn check_spawn(&self, task: usize, part: Part) {
        let spec = &self.specs[task];
        let previous = self.runs[task].last();
        assert!(previous.is_none_or(super::Run::is_over), "two runs of one task");
        match part {
            Part::After => assert!(spec.after_stop.is_some(), "there is no such hook"),
            Part::Before | Part::Main => {
                assert!(self.stopping.is_none(), "nothing is started after the end began");
                assert!(!self.held[task], "a task that a command keeps down is started");
            }
        }
        if part == Part::Before {
            assert!(spec.before_start.is_some(), "there is no such hook");
        }
        if part == Part::Main {
            let hook_went_well = previous.is_some_and(|run| run.part == Part::Before);
            assert_eq!(spec.before_start.is_some(), hook_went_well, "the hook comes before each start");
        }
        let mains = self.runs[task].iter().filter(|run| run.part == Part::Main);
        assert!(mains.clone().all(|run| run.reported), "a run that was not reported is followed by another");
        if mains.clone().count() == 0 && part != Part::After {
            // A command may start a task before its turn.
            let waits = spec.after.iter().any(|name| !self.ready[self.id(name)]);
            assert!(!waits || self.touched[task], "started before what it waits for is ready");
        } else if part == Part::Main {
            assert_eq!(spec.role, Role::Helper, "the executor never restarts");
        }
        self.check_limit(task, part);
    }

    fn check_limit(&self, task: usize, part: Part) {
        let first = if self.specs[task].before_start.is_some() { Part::Before } else { Part::Main };
        let Some(limit) = self.specs[task].start_limit.filter(|_| part == first && !self.touched[task]) else {
            return;
        };
        let recent = self.runs[task].iter().filter(|run| run.part == first && run.since + limit.within > self.now);
        assert!(recent.count() < limit.starts as usize, "it started more often than its limit allows");
    }

    fn id(&self, name: &str) -> usize {
        self.specs.iter().position(|spec| spec.name == name).unwrap()
    }

    /// While everything ends, a task is told to only after those that waited for it are gone, or were killed.
    pub(super) fn check_order(&self, task: usize) {
        let run = self.runs[task].last().unwrap();
        if self.stopping.is_none() || run.judged || run.commanded || run.part != Part::Main {
            return;
        }
        for (other, spec) in self.specs.iter().enumerate() {
            let follows = spec.after.iter().any(|name| self.id(name) == task);
            let serving =
                self.runs[other].last().is_some_and(|run| run.part == Part::Main && run.main_alive && !run.forced);
            assert!(!follows || !serving, "{} is told to end before {}", self.specs[task].name, spec.name);
        }
    }

    pub(super) fn check_death(&self, task: usize, run: usize) {
        let run = &self.runs[task][run];
        if !run.nature.is_some_and(|nature| nature.killable) {
            return;
        }
        if let Some(told) = run.told.filter(|_| run.part == Part::Main) {
            assert!(self.now <= told + COMMAND_GRACE + KILL_TIME, "who does not obey a command is killed");
        }
        let hook = match run.part {
            Part::Before => self.specs[task].before_start.as_ref(),
            Part::After => self.specs[task].after_stop.as_ref(),
            Part::Main => None,
        };
        if let Some(hook) = hook {
            assert!(self.now <= run.since + hook.timeout + KILL_TIME, "a hook outlives its time");
        }
    }

    pub(super) fn check_report(&mut self, task: usize, restart: Option<Duration>, commanded: bool) {
        let held = self.held[task];
        let policy = self.specs[task].restart;
        let run: &mut Run = self.runs[task].last_mut().unwrap();
        assert!(run.is_over(), "an exit is reported when the run is over, whole");
        assert!(!run.reported, "an exit is reported once");
        run.reported = true;
        assert_ne!(run.part, Part::After, "a hook is not a run");
        assert!(run.commanded || !commanded, "nobody commanded that");
        assert!(!held || restart.is_none(), "it shall stay down");
        assert!(restart.is_none() || commanded || policy != Restart::Never, "it never restarts");
        self.commands.held += u64::from(commanded && restart.is_none());
        self.commands.started_again += u64::from(commanded && restart.is_some());
        assert!(restart.is_none() || self.specs[task].role == Role::Helper, "the executor never restarts");
    }

    pub(super) fn check_end(self) -> Finished {
        let outcome = self.over.expect("the loop ended by it");
        let (since, reason) = self.stopping.expect("the end was said to begin");
        assert_eq!(outcome.reason, reason);
        assert!(self.now <= since + self.budget, "it took longer than the budget");
        if let Some(died) = self.executor_died {
            let limit = Duration::from_secs(1).min(self.budget);
            assert!(self.now <= died.max(since) + limit, "the rest outlived the executor by too much");
        }
        let alive = self.runs.iter().flatten().any(|run| run.main_alive || !run.leftovers.is_empty());
        if outcome.everything_ended {
            assert!(!alive, "everything ended, it says");
            let mains = self.runs.iter().flatten().filter(|run| run.part == Part::Main);
            assert!(mains.clone().all(|run| run.reported), "every exit is reported");
        }
        assert_eq!(self.core.deadline(), None, "a timer is left armed");
        let mains = |runs: &Vec<Run>| runs.iter().filter(|run| run.part == Part::Main).count();
        let restarts = self.runs.iter().map(|runs| mains(runs).saturating_sub(1)).sum::<usize>();
        Finished {
            outcome,
            restarts: u32::try_from(restarts).unwrap(),
            swept_by_force: self.swept_by_force,
            killed: self.killed,
            commands: self.commands,
            ways: self.ways,
        }
    }
}
