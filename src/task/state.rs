//! The life of one task: every state, every event, every pair. No I/O, no clock: time is an argument.
//!
//! ```text
//! Idle ── Start ─▶ Starting ─ Executed ─▶ Running ── Stop ─▶ Stopping
//!                     │                      │                  │
//!                     └───────── Exited ─────┴───── Exited ─────┤
//!                                                               ▼
//! Backoff ◀── Quiet, may restart ── Clearing ── Quiet, may not ─▶ Ended
//!    └─ Tick ─▶ Starting
//! ```
//!
//! `Clearing` is what other supervisors lack: the main process is dead, and neither its exit is reported nor the next run
//! started before nothing of the run is alive and every byte that it wrote is in its log.

use super::exit::Exit;
use super::spec::Restart;
use std::time::{Duration, Instant};

/// How long leftovers of a run may take to obey SIGTERM.
pub const LEFTOVER_GRACE: Duration = Duration::from_secs(1);
/// A run this long counts as good: the restart delay falls back to its first value.
pub const STEADY: Duration = Duration::from_secs(60);
/// When the placement of a running task is checked again, after its start.
pub const PLACEMENT_CHECKS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(10), Duration::from_secs(60)];
/// The first pause between two sweeps with SIGKILL; it doubles up to [`SLOWEST_SWEEP`].
const FIRST_SWEEP: Duration = Duration::from_millis(5);
/// The longest pause between two sweeps with SIGKILL.
pub const SLOWEST_SWEEP: Duration = Duration::from_millis(640);
/// The shortest delay after a start that failed, so that `--restart-delay=0` cannot spin on a missing file.
const FAILED_START_DELAY: Duration = Duration::from_secs(1);

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was never started.
    Idle,
    /// Its child exists; whether exec works is not known yet.
    Starting {
        /// When the start was decided.
        since: Instant,
    },
    /// Its program runs.
    Running {
        /// When the start was decided.
        since: Instant,
        /// How many of [`PLACEMENT_CHECKS`] are done.
        checks: usize,
    },
    /// Its main process was told to end.
    Stopping {
        /// When its start was decided.
        since: Instant,
    },
    /// Its main process is dead; what it left behind is being ended, its log drained.
    Clearing {
        /// How the main process ended.
        exit: Exit,
        /// How long it had run.
        up: Duration,
        /// Whether it may start again.
        again: bool,
        /// How the leftovers are being ended.
        rung: Rung,
    },
    /// It waits to start again.
    Backoff {
        /// When it starts.
        until: Instant,
    },
    /// It will not run again.
    Ended,
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

/// What happens to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It shall run now.
    Start,
    /// Its exec worked.
    Executed,
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
}

/// What is to be done for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start a child.
    Spawn,
    /// SIGTERM to the main process and its group (and SIGCONT, so that a stopped one can obey).
    Terminate,
    /// SIGKILL to the main process and its group.
    Kill,
    /// End what the run left behind, asking.
    SweepTerm,
    /// End what the run left behind, by force.
    SweepKill,
    /// Look whether the main process still is in its cgroups.
    CheckPlacement,
    /// Say how a run ended; once for each run.
    Report {
        /// How it ended.
        exit: Exit,
        /// How long it had run.
        up: Duration,
        /// When it starts again; `None` for never.
        restart: Option<Duration>,
    },
}

/// The actions of one step, at most two.
pub type Actions = [Option<Action>; 2];

const NOTHING: Actions = [None, None];

const fn one(action: Action) -> Actions {
    [Some(action), None]
}

/// A task's state and what its restarts depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    state: State,
    restart: Restart,
    delay: Duration,
}

impl Task {
    /// A task that was not started yet.
    pub fn new(restart: Restart) -> Self {
        let delay = match restart {
            Restart::Never => Duration::ZERO,
            Restart::Always { delay, .. } => delay,
        };
        Self { state: State::Idle, restart, delay }
    }

    /// Where it is in its life.
    pub fn state(&self) -> State {
        self.state
    }

    /// When [`Event::Tick`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Running { since, checks } => PLACEMENT_CHECKS.get(checks).map(|after| since + *after),
            State::Clearing { rung: Rung::Term { until }, .. } | State::Backoff { until } => Some(until),
            State::Clearing { rung: Rung::Kill { next, .. }, .. } => Some(next),
            State::Idle | State::Starting { .. } | State::Stopping { .. } | State::Ended => None,
        }
    }

    /// Takes an event and says what is to be done.
    pub fn step(&mut self, event: Event, now: Instant) -> Actions {
        let (state, actions) = match self.state {
            State::Idle => idle(event, now),
            State::Starting { since } => self.starting(since, event, now),
            State::Running { since, checks } => self.running(since, checks, event, now),
            State::Stopping { since } => stopping(since, event, now),
            State::Clearing { .. } => self.clearing(event, now),
            State::Backoff { until } => backoff(until, event, now),
            State::Ended => (State::Ended, NOTHING),
        };
        self.state = state;
        actions
    }

    fn may_restart(&self) -> bool {
        match self.restart {
            Restart::Never => false,
            Restart::Always { .. } => true,
        }
    }

    fn starting(&self, since: Instant, event: Event, now: Instant) -> (State, Actions) {
        match event {
            Event::Executed => (State::Running { since, checks: 0 }, NOTHING),
            Event::Exited(exit) => clear(exit, since, self.may_restart(), now),
            Event::Stop => (State::Stopping { since }, one(Action::Terminate)),
            Event::Kill => (State::Stopping { since }, one(Action::Kill)),
            // Quiet speaks of a run whose main process is dead.
            Event::Start | Event::Quiet | Event::Tick => (State::Starting { since }, NOTHING),
        }
    }

    fn running(&self, since: Instant, checks: usize, event: Event, now: Instant) -> (State, Actions) {
        match event {
            Event::Exited(exit) => clear(exit, since, self.may_restart(), now),
            Event::Tick => match self.deadline() {
                Some(due) if due <= now => (State::Running { since, checks: checks + 1 }, one(Action::CheckPlacement)),
                Some(_) | None => (self.state, NOTHING),
            },
            Event::Stop => (State::Stopping { since }, one(Action::Terminate)),
            Event::Kill => (State::Stopping { since }, one(Action::Kill)),
            Event::Start | Event::Executed | Event::Quiet => (self.state, NOTHING),
        }
    }

    fn clearing(&mut self, event: Event, now: Instant) -> (State, Actions) {
        let State::Clearing { exit, up, again, rung } = self.state else { return (self.state, NOTHING) };
        let with = |again, rung| State::Clearing { exit, up, again, rung };
        match (event, rung) {
            (Event::Quiet, _) => self.quiet(exit, up, again, now),
            (Event::Tick, Rung::Term { until }) if until <= now => {
                (with(again, sweep_soon(now)), one(Action::SweepKill))
            }
            (Event::Tick, Rung::Kill { next, pause }) if next <= now => {
                let rung = Rung::Kill { next: now + pause, pause: (pause * 2).min(SLOWEST_SWEEP) };
                (with(again, rung), one(Action::SweepKill))
            }
            (Event::Stop, _) => (with(false, rung), NOTHING),
            (Event::Kill, _) => (with(false, sweep_soon(now)), one(Action::SweepKill)),
            (Event::Tick | Event::Start | Event::Executed | Event::Exited(_), _) => (self.state, NOTHING),
        }
    }

    /// The run is over, whole.
    fn quiet(&mut self, exit: Exit, up: Duration, again: bool, now: Instant) -> (State, Actions) {
        let Some(delay) = self.next_delay(exit, up).filter(|_| again) else {
            return (State::Ended, one(Action::Report { exit, up, restart: None }));
        };
        let report = Action::Report { exit, up, restart: Some(delay) };
        if delay.is_zero() {
            (State::Starting { since: now }, [Some(report), Some(Action::Spawn)])
        } else {
            (State::Backoff { until: now + delay }, one(report))
        }
    }

    /// The delay before the next start, and doubles it for the one after.
    fn next_delay(&mut self, exit: Exit, up: Duration) -> Option<Duration> {
        let Restart::Always { delay: first, max } = self.restart else { return None };
        let delay = if up >= STEADY { first } else { self.delay };
        self.delay = (delay * 2).min(max.max(first));
        match exit {
            Exit::NotStarted => Some(delay.max(FAILED_START_DELAY)),
            Exit::Code(_) | Exit::Signal { .. } => Some(delay),
        }
    }
}

fn idle(event: Event, now: Instant) -> (State, Actions) {
    match event {
        Event::Start => (State::Starting { since: now }, one(Action::Spawn)),
        Event::Stop | Event::Kill => (State::Ended, NOTHING),
        Event::Executed | Event::Exited(_) | Event::Quiet | Event::Tick => (State::Idle, NOTHING),
    }
}

fn stopping(since: Instant, event: Event, now: Instant) -> (State, Actions) {
    match event {
        Event::Exited(exit) => clear(exit, since, false, now),
        Event::Kill => (State::Stopping { since }, one(Action::Kill)),
        Event::Start | Event::Executed | Event::Quiet | Event::Tick | Event::Stop => {
            (State::Stopping { since }, NOTHING)
        }
    }
}

fn backoff(until: Instant, event: Event, now: Instant) -> (State, Actions) {
    match event {
        Event::Tick if now < until => (State::Backoff { until }, NOTHING),
        Event::Tick | Event::Start => (State::Starting { since: now }, one(Action::Spawn)),
        Event::Stop | Event::Kill => (State::Ended, NOTHING),
        Event::Executed | Event::Exited(_) | Event::Quiet => (State::Backoff { until }, NOTHING),
    }
}

/// The main process is dead: end what it left behind.
fn clear(exit: Exit, since: Instant, again: bool, now: Instant) -> (State, Actions) {
    let rung = Rung::Term { until: now + LEFTOVER_GRACE };
    let up = now.saturating_duration_since(since);
    (State::Clearing { exit, up, again, rung }, one(Action::SweepTerm))
}

fn sweep_soon(now: Instant) -> Rung {
    Rung::Kill { next: now + FIRST_SWEEP, pause: FIRST_SWEEP * 2 }
}
