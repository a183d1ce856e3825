//! One run of a task: the process, what it says about its exec, its pipes, its end.

use super::Stdout;
use crate::log::{LogId, StreamId};
use crate::process::Pidfd;
use crate::process::spawn::{Program, Report};
use crate::task::{Exit, TaskSpec};

/// The variable that every child gets: which run it belongs to. A descendant that changed session and group still has it.
pub(super) const MARKER: &str = "MINION_TASK";

/// A task of the plan with its log and its current run.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) spec: TaskSpec,
    pub(super) log: LogId,
    pub(super) stdout: Stdout,
    pub(super) run: Option<Run>,
}

/// A run, from its fork until nothing of it is left.
#[derive(Debug)]
pub(super) struct Run {
    /// The value of [`MARKER`] in its environment.
    pub(super) marker: String,
    /// For words and for matching groups and sessions; 0 when there never was a process.
    pub(super) pid: i32,
    /// The main process, until it is reaped.
    pub(super) main: Option<Pidfd>,
    /// Whether its exec worked, until that is known.
    pub(super) report: Option<Report>,
    /// Whether a step before or at exec failed.
    pub(super) failed: bool,
    /// The pipes that the log thread has not seen the end of.
    pub(super) streams: Vec<StreamId>,
    /// Whether the log thread was told to wait for nobody.
    pub(super) finished: bool,
    /// The last lines that it wrote.
    pub(super) tail: Vec<u8>,
    /// Bytes of it that are in no log.
    pub(super) dropped: u64,
    /// How the main process ended.
    pub(super) exit: Option<Exit>,
    /// How many OOM kills its container had seen before.
    pub(super) oom_kills: Option<u64>,
}

impl Run {
    /// A run whose child could not be made: over before it began.
    pub(super) fn not_started(marker: String) -> Self {
        Self {
            marker,
            pid: 0,
            main: None,
            report: None,
            failed: true,
            streams: Vec::new(),
            finished: false,
            tail: Vec::new(),
            dropped: 0,
            exit: Some(Exit::NotStarted),
            oom_kills: None,
        }
    }
}

impl Slot {
    /// The pid of the main process while it is not reaped.
    pub(super) fn live_pid(&self) -> Option<i32> {
        self.run.as_ref().filter(|run| run.main.is_some()).map(|run| run.pid)
    }

    /// The program in the form that `execve` takes, with the marker in its environment.
    pub(super) fn program(&self, marker: &str) -> crate::error::Result<Program> {
        let mut env = self.spec.env.clone();
        env.retain(|(name, _)| name != MARKER);
        env.push((MARKER.into(), marker.into()));
        Program::new(&self.spec.program, &self.spec.args, &env)
    }
}
