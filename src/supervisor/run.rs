//! A task of the plan and its current run: the process, what it says about itself, its pipes, its end.

use super::notify::Notify;
use super::probe::Question;
use super::{Planned, Stdout};
use crate::error::{Error, Result};
use crate::log::{LogId, StreamId};
use crate::process::Pidfd;
use crate::process::spawn::{Program, Report};
use crate::task::spec::Hook;
use crate::task::state::Part;
use crate::task::{Exit, TaskSpec};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The variable that every child gets: which run it belongs to. A descendant that changed session and group still has it.
pub(super) const MARKER: &str = "MINION_TASK";

/// What a service manager gave minion is minion's own: a child that spoke there would speak for minion.
const NOT_INHERITED: [&str; 4] = [MARKER, "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// A task of the plan with its log and its current run.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) spec: TaskSpec,
    pub(super) log: LogId,
    pub(super) stdout: Stdout,
    pub(super) run: Option<Run>,
    /// Where it says that it is ready and alive.
    pub(super) notify: Option<Notify>,
    /// What it says of itself (`STATUS=`).
    pub(super) status: String,
    /// The question to it that is not answered yet.
    pub(super) question: Option<Question>,
    /// The connection that the last answer came by.
    pub(super) answering: Option<OwnedFd>,
    /// Why the last question had no good answer.
    pub(super) evidence: String,
    /// How its last run ended, for the hook after the end.
    pub(super) last: Option<Exit>,
}

/// A run of one of a task's programs, from its fork until nothing of it is left.
#[derive(Debug)]
pub(super) struct Run {
    /// Which program.
    pub(super) part: Part,
    /// The value of [`MARKER`] in its environment.
    pub(super) marker: String,
    /// For words and for matching groups and sessions; 0 when there never was a process.
    pub(super) pid: i32,
    /// The main process, until it is reaped.
    pub(super) main: Option<Pidfd>,
    /// The pid that is to be the main process when this one has ended (`MAINPID=`).
    pub(super) announced: Option<i32>,
    /// Whether its exec worked, until that is known.
    pub(super) report: Option<Report>,
    /// Where it says that it is ready, until it did.
    pub(super) ready: Option<OwnedFd>,
    /// Whether its main process is dead and a tracer has not let go of it.
    pub(super) held: bool,
    /// Whether a step before or at exec failed.
    pub(super) failed: bool,
    /// Whether a verdict ended it.
    pub(super) judged: bool,
    /// The pipes that the log thread has not seen the end of.
    pub(super) streams: Vec<StreamId>,
    /// Whether the log thread was told to wait for nobody.
    pub(super) finished: bool,
    /// The last lines that it wrote.
    pub(super) tail: Vec<u8>,
    /// Bytes of it that are in no log.
    pub(super) dropped: u64,
    /// How many OOM kills its container had seen before.
    pub(super) oom_kills: Option<u64>,
}

impl Run {
    pub(super) fn new(part: Part, marker: String) -> Self {
        Self {
            part,
            marker,
            pid: 0,
            main: None,
            announced: None,
            report: None,
            ready: None,
            held: false,
            failed: false,
            judged: false,
            streams: Vec::new(),
            finished: false,
            tail: Vec::new(),
            dropped: 0,
            oom_kills: None,
        }
    }

    /// A run whose child could not be made: over before it began.
    pub(super) fn not_started(part: Part, marker: String) -> Self {
        Self { failed: true, ..Self::new(part, marker) }
    }
}

impl Slot {
    pub(super) fn new(planned: Planned, notify: Option<Notify>) -> Self {
        Self {
            spec: planned.spec,
            log: planned.log,
            stdout: planned.stdout,
            run: None,
            notify,
            status: String::new(),
            question: None,
            answering: None,
            evidence: String::new(),
            last: None,
        }
    }

    /// Whether it is not decided whether its program runs.
    pub(super) fn is_at_gate(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.report.is_some())
    }

    /// Whether a tracer holds its dead main process.
    pub(super) fn is_held(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.held)
    }

    /// The pid of the main process while it is not reaped.
    pub(super) fn live_pid(&self) -> Option<i32> {
        self.run.as_ref().filter(|run| run.main.is_some()).map(|run| run.pid)
    }

    /// One of the task's programs in the form that `execve` takes, with the marker in its environment.
    pub(super) fn program(&self, part: Part, marker: &str) -> Result<Program> {
        let hook = match part {
            Part::Before => self.spec.before_start.as_ref(),
            Part::After => self.spec.after_stop.as_ref(),
            Part::Main => return self.command(&self.spec.program, &self.spec.args, &self.environment(part, marker)),
        };
        let args = hook.map_or(&[][..], |Hook { args, .. }| args);
        self.any_command(args, &self.environment(part, marker))
    }

    /// A command with the task's attributes; its first word is the file to execute.
    pub(super) fn any_command(&self, args: &[OsString], env: &[(OsString, OsString)]) -> Result<Program> {
        let Some(program) = args.first() else {
            return Err(Error::new("run", "a command", "it has no words"));
        };
        self.command(Path::new(program), args, env)
    }

    fn command(&self, program: &Path, args: &[OsString], env: &[(OsString, OsString)]) -> Result<Program> {
        let mut program = Program::new(program, args, env)?;
        if let Some(directory) = &self.spec.attributes.directory {
            program = program.in_directory(directory)?;
        }
        if let Some(user) = &self.spec.attributes.user {
            program = program.as_user(user.uid, user.gid, &user.groups);
        }
        Ok(program)
    }

    /// The environment of one of its programs.
    pub(super) fn environment(&self, part: Part, marker: &str) -> Vec<(OsString, OsString)> {
        let mut env = self.spec.env.clone();
        env.retain(|(name, _)| !NOT_INHERITED.iter().any(|own| name == own));
        let mut add = |name: &str, value: String| env.push((name.into(), value.into()));
        add(MARKER, marker.to_owned());
        if let (Part::Main, Some(notify)) = (part, &self.notify) {
            add("NOTIFY_SOCKET", notify.address());
            if let Some(every) =
                self.spec.health.as_ref().filter(|health| health.probe.is_none()).map(|health| health.every)
            {
                add("WATCHDOG_USEC", every.as_micros().to_string());
            }
        }
        if let (Part::After, Some(exit)) = (part, self.last) {
            add("MINION_EXIT", exit.to_string());
            add("MINION_EXIT_CODE", exit.code().to_string());
        }
        env
    }
}
