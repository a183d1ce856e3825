//! What the core tells the world to do.

use super::cast::{self, Nature, answer};
use super::{Happening, Run, World};
use minion::task::state::{Action, Part};

impl World {
    pub(super) fn act(&mut self, task: usize, action: Action) {
        match action {
            Action::Spawn(part) => self.spawn(task, part),
            Action::Terminate => {
                self.check_order(task);
                self.signal_main(task, false);
            }
            Action::Kill => {
                self.runs[task].last_mut().unwrap().forced = true;
                self.signal_main(task, true);
            }
            Action::SweepTerm => self.sweep(task, false),
            Action::SweepKill => {
                self.swept_by_force = true;
                self.sweep(task, true);
            }
            Action::CheckPlacement => assert!(self.runs[task].last().unwrap().main_alive, "nobody to look at"),
            Action::Ask(_) => self.asked(task),
            Action::Ready => {
                assert!(self.runs[task].last().unwrap().main_alive, "nobody to be ready");
                self.ready[task] = true;
                self.ways.ready += 1;
            }
            Action::Judge(_) => {
                let run = self.runs[task].last_mut().unwrap();
                assert!(run.main_alive && !run.judged, "one verdict on who is alive");
                run.judged = true;
                self.ways.judged += 1;
            }
            Action::Limit => {
                assert!(self.specs[task].start_limit.is_some(), "no limit was set");
                self.ways.limited += 1;
            }
            Action::HookFailed { part, .. } => {
                assert_eq!(self.runs[task].last().unwrap().part, part);
                self.ways.hooks_failed += 1;
            }
            Action::Report { restart, commanded, .. } => self.check_report(task, restart, commanded),
        }
    }

    /// A question, and when and how it is answered.
    fn asked(&mut self, task: usize) {
        let run = self.runs[task].len() - 1;
        assert!(self.runs[task][run].main_alive, "nobody to ask");
        let good = self.is_well(task, run);
        if !self.random.one_in(20) {
            let after = self.random.micros(200_000);
            self.later(after, Happening::Answers(task, run, good));
        }
    }

    fn spawn(&mut self, task: usize, part: Part) {
        self.check_spawn(task, part);
        let run = self.runs[task].len();
        let mut new = Run::new(part, self.now);
        if self.random.one_in(60) {
            new.drained = true;
            self.runs[task].push(new);
            let after = self.random.micros(3_000);
            return self.later(after, Happening::NeverStarts(task, run));
        }
        let nature = match part {
            Part::Before | Part::After => cast::hook(&mut self.random),
            Part::Main => cast::nature(&mut self.random),
        };
        new.main_alive = true;
        new.nature = Some(nature);
        self.runs[task].push(new);
        let exec = self.random.micros(2_000);
        self.later(exec, Happening::Executes(task, run));
        if let Some(lives) = nature.lives {
            self.later(exec + lives, Happening::Dies(task, run));
        }
    }

    fn signal_main(&mut self, task: usize, force: bool) {
        let run = self.runs[task].len() - 1;
        let current = &self.runs[task][run];
        // A start that is going to fail has no process to signal.
        let Some(nature) = current.nature.filter(|_| current.main_alive) else { return };
        if let Some(after) = answer(nature, force, &mut self.random) {
            self.later(after, Happening::Dies(task, run));
        }
    }

    fn sweep(&mut self, task: usize, force: bool) {
        let run = self.runs[task].len() - 1;
        assert!(!self.runs[task][run].main_alive, "leftovers are what is left when the main process is gone");
        for (id, nature) in self.runs[task][run].leftovers.clone() {
            if force && nature.forks > 0 && nature.killable {
                self.add_leftover(task, run, Nature { forks: nature.forks - 1, ..nature });
            }
            if let Some(after) = answer(nature, force, &mut self.random) {
                self.later(after, Happening::LeftoverDies(task, run, id));
            }
        }
    }
}
