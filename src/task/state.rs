//! The states of one task, what can happen to it, and what is to be done then. The steps between them: [`super::life`].
//!
//! ```text
//! Idle ── Start ─▶ Starting ─ Executed ─▶ Running ── Stop, verdict ─▶ Stopping
//!                     │                      │                           │
//!                     └───────── Exited ─────┴────────── Exited ─────────┤
//!                                                                        ▼
//! Backoff ◀── Quiet, may restart ── Clearing ── Quiet, may not ──────▶ Ended
//!    └─ Tick ─▶ Starting              │   └── Quiet, told to start again ─▶ Starting
//!                                     └── Quiet, told to stay down ─▶ Down ─ Start ─▶ Starting
//! ```
//!
//! A hook before the start or after the end goes the same way from Starting to Clearing, as a [`Part`] of its own.
//!
//! `Clearing` is what other supervisors lack: the main process is dead, and neither its exit is reported nor the next run
//! started before nothing of the run is alive and every byte that it wrote is in its log.

use super::exit::Exit;
use super::watch::{Purpose, Verdict, Watch};
use std::time::{Duration, Instant};

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was never started.
    Idle,
    /// Its child exists; whether exec works is not known yet.
    Starting {
        /// Which program.
        part: Part,
        /// When the start was decided.
        since: Instant,
    },
    /// Its program runs.
    Running {
        /// Which program.
        part: Part,
        /// When the start was decided.
        since: Instant,
        /// How many of [`super::life::PLACEMENT_CHECKS`] are done.
        checks: usize,
        /// Its readiness and health; of the main part only.
        watch: Watch,
    },
    /// Its main process was told to end.
    Stopping {
        /// Which program.
        part: Part,
        /// When its start was decided.
        since: Instant,
        /// What follows.
        then: Then,
        /// When it is killed; `None` leaves that to the end of everything, or it was.
        kill_at: Option<Instant>,
    },
    /// Its main process is dead; what it left behind is being ended, its log drained.
    Clearing {
        /// Which program.
        part: Part,
        /// How the main process ended.
        exit: Exit,
        /// How long it had run.
        up: Duration,
        /// What follows.
        then: Then,
        /// How the leftovers are being ended.
        rung: Rung,
    },
    /// It waits to start again.
    Backoff {
        /// When it starts.
        until: Instant,
    },
    /// A command ended it, and it waits for one that starts it.
    Down,
    /// It does not start again by itself.
    Ended,
}

/// Which of a task's programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The hook before the start.
    Before,
    /// The task itself.
    Main,
    /// The hook after the end.
    After,
}

/// How leftovers are being ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// They were told to; after this deadline they are killed.
    Term {
        /// The end of their grace.
        until: Instant,
    },
    /// They are being killed, again and again, because they may be forking.
    Kill {
        /// The next sweep.
        next: Instant,
        /// The pause after that.
        pause: Duration,
    },
}

/// What follows when a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// What its [`super::spec::Restart`] says.
    Policy,
    /// It starts again at once: a command said so.
    Again,
    /// It stays down: a command said so.
    Down,
    /// Nothing but its hook: everything is ending. No command changes that.
    End,
    /// Nothing at all: everything is being killed.
    Gone,
}

/// What happens to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It shall run now.
    Start,
    /// Its exec worked.
    Executed,
    /// It says that it is ready.
    Ready,
    /// Its watchdog is heard.
    Alive,
    /// The question that [`Action::Ask`] asked is answered: good or not.
    Answered(bool),
    /// Its main process is dead and reaped, or none could be made ([`Exit::NotStarted`]).
    Exited(Exit),
    /// Nothing of the run is alive and its log has every byte.
    Quiet,
    /// Its deadline has passed.
    Tick,
    /// It shall end, in its grace.
    Stop,
    /// It shall end now.
    Kill,
    /// A command: it shall end, and start again at once.
    Restart,
    /// A command: it shall end, and stay down until [`Event::Start`].
    StayDown,
}

/// What is to be done for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start a child.
    Spawn(Part),
    /// The stop signal to the main process and its group (and SIGCONT, so that a stopped one can obey).
    Terminate,
    /// SIGKILL to the main process and its group.
    Kill,
    /// End what the run left behind, asking.
    SweepTerm,
    /// End what the run left behind, by force.
    SweepKill,
    /// Look whether the main process still is in its cgroups.
    CheckPlacement,
    /// Ask whether it can serve. A question that is still open is given up for it.
    Ask(Purpose),
    /// Say that it is ready.
    Ready,
    /// Say why it must end.
    Judge(Verdict),
    /// Say that it has started too often and stays down, or ends everything.
    Limit,
    /// Say that a hook failed.
    HookFailed {
        /// Which.
        part: Part,
        /// How it ended.
        exit: Exit,
    },
    /// Say how a run ended; once for each run.
    Report {
        /// How it ended.
        exit: Exit,
        /// How long it had run.
        up: Duration,
        /// When it starts again; `None` for never.
        restart: Option<Duration>,
        /// Whether a command ended it.
        commanded: bool,
    },
}

/// The actions of one step, in their order; at most three.
pub type Actions = [Option<Action>; 3];

/// No action.
pub(super) const NOTHING: Actions = [None; 3];

/// One action.
pub(super) const fn one(action: Action) -> Actions {
    [Some(action), None, None]
}

/// Two actions.
pub(super) const fn two(first: Action, second: Action) -> Actions {
    [Some(first), Some(second), None]
}

impl Then {
    /// What follows after another word on it.
    pub(super) fn after(self, event: Event) -> Self {
        match (self, event) {
            (Self::Gone, _) | (_, Event::Kill) => Self::Gone,
            (Self::End, _) | (_, Event::Stop) => Self::End,
            (Self::Policy | Self::Again | Self::Down, Event::Start | Event::Restart) => Self::Again,
            (Self::Policy | Self::Again | Self::Down, Event::StayDown) => Self::Down,
            (
                Self::Policy | Self::Again | Self::Down,
                Event::Executed
                | Event::Ready
                | Event::Alive
                | Event::Answered(_)
                | Event::Exited(_)
                | Event::Quiet
                | Event::Tick,
            ) => self,
        }
    }
}
