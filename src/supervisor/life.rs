//! The main process of a run: whether its exec worked, its end, and who takes its place.

use super::Supervisor;
use super::reactor::Source;
use crate::process::{Pidfd, WaitStatus, spawn, tree};
use crate::task::state::{Event, Part};
use crate::task::{Exit, Input, TaskId};
use rustix::event::epoll::EventFlags;
use tracing::{error, info};

impl Supervisor {
    /// Hears from a starting child.
    pub(super) fn read_report(&mut self, task: TaskId) {
        let slot = &mut self.slots[task];
        let Some(run) = &mut slot.run else { return };
        let Some(report) = &run.report else { return };
        let mut failed = None;
        match report.read() {
            spawn::Progress::Pending => return,
            // Killed at the gate, by whomever: how it ended comes with its death.
            spawn::Progress::Executed if tree::Process::read(run.pid).is_ok_and(|process| !process.executed) => {}
            spawn::Progress::Executed => {
                match run.part {
                    Part::Before => info!(task = %slot.spec.name, pid = run.pid, "runs its hook before the start"),
                    Part::Main => info!(task = %slot.spec.name, pid = run.pid, state = "running", "started"),
                    Part::After => info!(task = %slot.spec.name, pid = run.pid, "runs its hook after the end"),
                }
                self.inputs.push_back(Input::Task(task, Event::Executed));
            }
            spawn::Progress::Failed(failure) => {
                run.failed = true;
                let step = failure.while_doing(format_args!("start {}", slot.spec.name));
                error!(task = %slot.spec.name, pid = run.pid, errno = step.errno(), "{step}");
                failed = Some(step.to_string());
            }
        }
        if let Some(report) = run.report.take() {
            self.reactor.remove(&report);
        }
        if let Some(text) = failed {
            self.note("start-failed", Some(task), text);
        }
    }

    /// The main process is dead: reaps it.
    pub(super) fn main_died(&mut self, task: TaskId) {
        // Its last words first: whether exec failed, and whether another process is to take its place, decide what kind of
        // end this is.
        self.read_report(task);
        self.hear(task);
        let slot = &mut self.slots[task];
        let Some(run) = &mut slot.run else { return };
        let Some(main) = &run.main else { return };
        let exit = match main.reap() {
            Ok(None) => {
                // Dead for everybody but us: a tracer holds it, and nothing tells when it lets go.
                self.reactor.remove(main);
                run.held = true;
                return;
            }
            Ok(Some(_)) if run.failed => Exit::NotStarted,
            Ok(Some(WaitStatus::Exited(code))) => Exit::Code(code),
            Ok(Some(WaitStatus::Killed { signal, core })) => Exit::Signal { signal, core },
            Err(cause) => {
                // Nobody else reaps our children; but were it so, the task must not hang on it.
                error!(task = %slot.spec.name, "reap: {cause}");
                Exit::Signal { signal: 0, core: false }
            }
        };
        if let Some(main) = run.main.take() {
            self.reactor.remove(&main);
        }
        if let Some(ready) = run.ready.take() {
            self.reactor.remove(&ready);
        }
        if exit.is_success() && self.adopt(task) {
            return;
        }
        if self.slots[task].run.as_ref().is_some_and(|run| run.part == Part::Main) {
            self.slots[task].last = Some(exit);
        }
        self.give_up_question(task, "it has ended");
        self.slots[task].answering = None;
        self.inputs.push_back(Input::Task(task, Event::Exited(exit)));
    }

    /// Looks whether tracers have let go of those that they hold.
    pub(super) fn look_at_held(&mut self) {
        for task in 0..self.slots.len() {
            let is_held = self.slots[task].run.as_mut().is_some_and(|run| std::mem::take(&mut run.held));
            if is_held {
                self.main_died(task);
            }
        }
    }

    /// A daemon that forked away and named its main process (`MAINPID=`): that one takes the place of the dead one.
    fn adopt(&mut self, task: TaskId) -> bool {
        let announced = self.slots[task].run.as_mut().and_then(|run| run.announced.take());
        // Whoever is somebody's already is not free to be this one's.
        let Some(pid) = announced.filter(|pid| !self.is_known(*pid)) else { return false };
        let slot = &mut self.slots[task];
        let Some(run) = &mut slot.run else { return false };
        // An orphan is our child by now, and ours alone to reap: its number is pinned.
        let is_child = tree::Process::read(pid).is_ok_and(|process| process.parent == self.children.parent());
        let Some(main) = Pidfd::open(pid).ok().filter(|_| is_child) else { return false };
        if let Err(failure) = self.reactor.add(&main, Source::Child(task), EventFlags::IN) {
            error!(task = %slot.spec.name, pid, "{failure}");
            return false;
        }
        info!(task = %slot.spec.name, pid, "its main process is this one now");
        run.pid = pid;
        run.main = Some(main);
        true
    }
}
