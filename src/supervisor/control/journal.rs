//! What happened: the last events, and what became of each task.

use super::super::Supervisor;
use crate::control::protocol::{Event, LastExit, VERSION};
use crate::control::time_now;
use crate::task::spec::ReadyWay;
use crate::task::state::{self, Action, Part};
use crate::task::watch::Verdict;
use crate::task::{Exit, Input, Output, TaskId};
use std::collections::VecDeque;
use std::time::Duration;

/// How many events are kept for those who ask later.
pub(super) const KEPT: usize = 32;

/// The last events and a record of each task.
pub(super) struct Journal {
    pub(super) events: VecDeque<Event>,
    pub(super) last: u64,
    pub(super) tasks: Vec<Record>,
}

/// What became of a task.
#[derive(Default)]
pub(super) struct Record {
    pub(super) starts: u64,
    pub(super) last_exit: Option<LastExit>,
    /// Logs that cannot be written, and why.
    pub(super) degraded: Vec<(String, String)>,
}

impl Journal {
    pub(super) fn new(tasks: usize) -> Self {
        Self { events: VecDeque::new(), last: 0, tasks: (0..tasks).map(|_| Record::default()).collect() }
    }

    fn keep(&mut self, event: Event) {
        if self.events.len() == KEPT {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

impl Supervisor {
    /// Keeps an event, and tells it to those who listen.
    pub(in super::super) fn note(&mut self, event: &'static str, task: Option<TaskId>, text: String) {
        self.note_with(event, task, text, None);
    }

    fn note_with(&mut self, event: &'static str, task: Option<TaskId>, text: String, code: Option<u8>) {
        self.desk.journal.last += 1;
        let slot = task.map(|task| &self.slots[task]);
        let event = Event {
            minion: VERSION,
            seq: self.desk.journal.last,
            time: time_now(),
            event: event.to_owned(),
            task: slot.map(|slot| slot.spec.name.clone()),
            pid: task.and_then(|task| self.pid_of(task)),
            code,
            count: None,
            text,
        };
        if let Some(server) = &mut self.desk.server {
            server.publish(&event);
        }
        self.desk.journal.keep(event);
    }

    /// Notes what an input says by itself.
    pub(in super::super) fn note_input(&mut self, input: Input) {
        if let Input::Task(task, state::Event::Executed) = input
            && self.is_main(task)
        {
            self.note("started", Some(task), "its program runs".to_owned());
        }
    }

    /// Notes what the core decided, before it is done.
    pub(in super::super) fn note_output(&mut self, output: Output) {
        match output {
            Output::Task(task, Action::Spawn(Part::Main)) => self.desk.journal.tasks[task].starts += 1,
            Output::Task(task, Action::Report { exit, up, restart, commanded }) => {
                self.note_exit(task, exit, up, commanded);
                match restart {
                    Some(Duration::ZERO) => {}
                    Some(delay) => self.note("backoff", Some(task), format!("starts again in {delay:?}")),
                    None if commanded => self.note("down", Some(task), "it stays down until it is started".to_owned()),
                    None => {}
                }
            }
            Output::Task(task, Action::Ready) => match self.slots[task].spec.readiness.way {
                // That it runs was noted already.
                ReadyWay::Exec => {}
                ReadyWay::Notify | ReadyWay::Fd(_) | ReadyWay::Probe { .. } => {
                    self.note("ready", Some(task), "it can serve".to_owned());
                }
            },
            Output::Task(task, Action::Judge(verdict)) => self.note_verdict(task, verdict),
            Output::Task(task, Action::Limit) => {
                self.note("start-limit", Some(task), "it started too often, and does not start again".to_owned());
            }
            Output::Task(task, Action::HookFailed { part, exit }) => {
                let when = if part == Part::Before { "before the start" } else { "after the end" };
                self.note("hook-failed", Some(task), format!("the hook {when} {exit}"));
            }
            Output::Stopping(reason) => self.note("stopping", None, reason.to_string()),
            Output::Killing => self.note("killing", None, "the time for asking is over".to_owned()),
            Output::Answered(answer) => self.desk.answer = Some(answer),
            Output::Task(
                _,
                Action::Spawn(Part::Before | Part::After)
                | Action::Terminate
                | Action::Kill
                | Action::SweepTerm
                | Action::SweepKill
                | Action::CheckPlacement
                | Action::Ask(_),
            )
            | Output::Over(_) => {}
        }
    }

    fn note_verdict(&mut self, task: TaskId, verdict: Verdict) {
        let evidence = &self.slots[task].evidence;
        let why = if evidence.is_empty() { String::new() } else { format!(": {evidence}") };
        match verdict {
            Verdict::NotReady => self.note("not-ready", Some(task), format!("not ready in time{why}")),
            Verdict::Unhealthy => self.note("unhealthy", Some(task), format!("it cannot serve{why}")),
        }
    }

    /// Of the run that there is, where it has come to a process.
    fn pid_of(&self, task: TaskId) -> Option<i32> {
        self.slots[task].run.as_ref().map(|run| run.pid).filter(|pid| *pid != 0)
    }

    fn is_main(&self, task: TaskId) -> bool {
        self.slots[task].run.as_ref().is_some_and(|run| run.part == Part::Main)
    }

    fn note_exit(&mut self, task: TaskId, exit: Exit, up: Duration, commanded: bool) {
        let oom_kills = self.slots[task].run.as_ref().and_then(|run| run.oom_kills);
        let text = format!("{exit}{}", self.oom_words(exit, oom_kills));
        let up = Duration::from_millis(u64::try_from(up.as_millis()).unwrap_or(u64::MAX));
        self.note_with("exited", Some(task), format!("{text} after {up:?}"), Some(exit.code()));
        self.desk.journal.tasks[task].last_exit = Some(LastExit {
            text,
            pid: self.pid_of(task),
            code: exit.code(),
            time: time_now(),
            up_seconds: up.as_secs_f64(),
            commanded,
        });
    }

    /// A log cannot be written any more, or can be again (`None`).
    pub(in super::super) fn note_log(&mut self, log: &str, degraded: Option<&str>, text: String) {
        let task = self.slots.iter().position(|slot| slot.owns(log));
        if let Some(task) = task {
            let known = &mut self.desk.journal.tasks[task].degraded;
            known.retain(|(name, _)| name != log);
            known.extend(degraded.iter().map(|why| (log.to_owned(), (*why).to_owned())));
        }
        self.note(if degraded.is_some() { "log-degraded" } else { "log-recovered" }, task, text);
    }
}
