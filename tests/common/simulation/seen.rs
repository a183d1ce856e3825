//! What the schedules were like: a generator that no longer makes the hard cases must be noticed.

use minion::task::{Outcome, Reason};

/// What a finished schedule was like.
pub struct Finished {
    pub(super) outcome: Outcome,
    pub(super) restarts: u32,
    pub(super) swept_by_force: bool,
    pub(super) killed: bool,
    pub(super) commands: Commands,
    pub(super) ways: Ways,
}

/// What became of readiness, health, hooks and limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ways {
    pub(super) ready: u64,
    pub(super) judged: u64,
    pub(super) limited: u64,
    pub(super) hooks_failed: u64,
}

/// What became of the commands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Commands {
    pub(super) obeyed: u64,
    pub(super) refused: u64,
    pub(super) started_again: u64,
    pub(super) held: u64,
}

/// How often each kind of end was met.
#[derive(Debug, Default)]
pub struct Seen {
    signal: u64,
    executor: u64,
    setup: u64,
    survivors: u64,
    pub(super) restarts: u64,
    pub(super) swept_by_force: u64,
    pub(super) killed: u64,
    failed: u64,
    pub(super) commands: Commands,
    pub(super) ways: Ways,
}

impl Seen {
    pub fn add(&mut self, run: &Finished) {
        match run.outcome.reason {
            Reason::Signal(_) => self.signal += 1,
            Reason::ExecutorEnded(_) => self.executor += 1,
            Reason::SetupFailed => self.setup += 1,
            Reason::Failed => self.failed += 1,
        }
        self.survivors += u64::from(!run.outcome.everything_ended);
        self.restarts += u64::from(run.restarts);
        self.swept_by_force += u64::from(run.swept_by_force);
        self.killed += u64::from(run.killed);
        self.commands.obeyed += run.commands.obeyed;
        self.commands.refused += run.commands.refused;
        self.commands.started_again += run.commands.started_again;
        self.commands.held += run.commands.held;
        self.ways.ready += run.ways.ready;
        self.ways.judged += run.ways.judged;
        self.ways.limited += run.ways.limited;
        self.ways.hooks_failed += run.ways.hooks_failed;
    }

    pub fn assert_all_kinds_were_met(&self) {
        let ends = [self.signal, self.executor, self.setup, self.failed, self.survivors];
        let ways = [self.restarts, self.swept_by_force, self.killed];
        let Commands { obeyed, refused, started_again, held } = self.commands;
        let Ways { ready, judged, limited, hooks_failed } = self.ways;
        let serving = [ready, judged, limited, hooks_failed];
        for count in ends.into_iter().chain(ways).chain([obeyed, refused, started_again, held]).chain(serving) {
            assert!(count > 50, "too few of one kind: {self:?}");
        }
    }
}
