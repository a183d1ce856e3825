//! The life of one task: every state, every event, every pair. No I/O, no clock: time is an argument.
//!
//! ```text
//! Idle ── Start ─▶ Starting ─ Executed ─▶ Running ── Stop ─▶ Stopping
//!                     │                      │                  │
//!                     └───────── Exited ─────┴───── Exited ─────┤
//!                                                               ▼
//! Backoff ◀── Quiet, may restart ── Clearing ── Quiet, may not ─▶ Ended
//!    └─ Tick ─▶ Starting              │   └── Quiet, told to start again ─▶ Starting
//!                                     └── Quiet, told to stay down ─▶ Down ─ Start ─▶ Starting
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
/// How long a main process may take to obey a command to end, before it is killed.
pub const COMMAND_GRACE: Duration = Duration::from_secs(5);

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
        /// What follows.
        then: Then,
        /// When it is killed; `None` leaves that to the end of everything, or it was.
        kill_at: Option<Instant>,
    },
    /// Its main process is dead; what it left behind is being ended, its log drained.
    Clearing {
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

/// What follows when a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// What its [`Restart`] says.
    Policy,
    /// It starts again at once: a command said so.
    Again,
    /// It stays down: a command said so.
    Down,
    /// Nothing: everything is ending. No command changes that.
    End,
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
    /// A command: it shall end, and start again at once.
    Restart,
    /// A command: it shall end, and stay down until [`Event::Start`].
    StayDown,
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
        /// Whether a command ended it.
        commanded: bool,
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
        Self { state: State::Idle, restart, delay: first_delay(restart) }
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
            State::Stopping { kill_at, .. } => kill_at,
            State::Idle | State::Starting { .. } | State::Down | State::Ended => None,
        }
    }

    /// Takes an event and says what is to be done.
    pub fn step(&mut self, event: Event, now: Instant) -> Actions {
        let (state, actions) = match self.state {
            State::Idle => idle(event, now),
            State::Starting { since } => starting(since, event, now),
            State::Running { since, checks } => self.running(since, checks, event, now),
            State::Stopping { since, then, kill_at } => stopping((since, then, kill_at), event, now),
            State::Clearing { .. } => self.clearing(event, now),
            State::Backoff { until } => backoff(until, event, now),
            State::Down => down(event, now),
            State::Ended => ended(event, now),
        };
        if matches!(event, Event::Start | Event::Restart) {
            // Whoever starts it by hand has dealt with what made it wait.
            self.delay = first_delay(self.restart);
        }
        self.state = state;
        actions
    }

    fn running(&self, since: Instant, checks: usize, event: Event, now: Instant) -> (State, Actions) {
        match event {
            Event::Tick => match self.deadline() {
                Some(due) if due <= now => (State::Running { since, checks: checks + 1 }, one(Action::CheckPlacement)),
                Some(_) | None => (self.state, NOTHING),
            },
            Event::Exited(exit) => clear(exit, since, Then::Policy, now),
            Event::Stop | Event::Kill | Event::Restart | Event::StayDown => end(since, event, now),
            Event::Start | Event::Executed | Event::Quiet => (self.state, NOTHING),
        }
    }

    fn clearing(&mut self, event: Event, now: Instant) -> (State, Actions) {
        let State::Clearing { exit, up, then, rung } = self.state else { return (self.state, NOTHING) };
        let with = |then, rung| State::Clearing { exit, up, then, rung };
        match (event, rung) {
            (Event::Quiet, _) => self.quiet(exit, up, then, now),
            (Event::Tick, Rung::Term { until }) if until <= now => {
                (with(then, sweep_soon(now)), one(Action::SweepKill))
            }
            (Event::Tick, Rung::Kill { next, pause }) if next <= now => {
                let rung = Rung::Kill { next: now + pause, pause: (pause * 2).min(SLOWEST_SWEEP) };
                (with(then, rung), one(Action::SweepKill))
            }
            (Event::Stop | Event::Start | Event::Restart | Event::StayDown, _) => {
                (with(then.after(event), rung), NOTHING)
            }
            (Event::Kill, _) => (with(Then::End, sweep_soon(now)), one(Action::SweepKill)),
            (Event::Tick | Event::Executed | Event::Exited(_), _) => (self.state, NOTHING),
        }
    }

    /// The run is over, whole.
    fn quiet(&mut self, exit: Exit, up: Duration, then: Then, now: Instant) -> (State, Actions) {
        let (commanded, delay) = match then {
            Then::Policy => (false, self.next_delay(exit, up)),
            Then::Again => (true, Some(Duration::ZERO)),
            Then::Down => (true, None),
            Then::End => (false, None),
        };
        let report = Action::Report { exit, up, restart: delay, commanded };
        match delay {
            Some(Duration::ZERO) => (State::Starting { since: now }, [Some(report), Some(Action::Spawn)]),
            Some(delay) => (State::Backoff { until: now + delay }, one(report)),
            None if commanded => (State::Down, one(report)),
            None => (State::Ended, one(report)),
        }
    }

    /// The delay before the next start, and doubles it for the one after.
    fn next_delay(&mut self, exit: Exit, up: Duration) -> Option<Duration> {
        let (first, max) = match self.restart {
            Restart::Never => return None,
            Restart::OnFailure { .. } if exit.is_success() => return None,
            Restart::OnFailure { delay, max } | Restart::Always { delay, max } => (delay, max),
        };
        let delay = if up >= STEADY { first } else { self.delay };
        self.delay = (delay * 2).min(max.max(first));
        match exit {
            Exit::NotStarted => Some(delay.max(FAILED_START_DELAY)),
            Exit::Code(_) | Exit::Signal { .. } => Some(delay),
        }
    }
}

impl Then {
    /// What follows after another word on it.
    fn after(self, event: Event) -> Self {
        match (self, event) {
            (Self::End, _) | (_, Event::Stop | Event::Kill) => Self::End,
            (Self::Policy | Self::Again | Self::Down, Event::Start | Event::Restart) => Self::Again,
            (Self::Policy | Self::Again | Self::Down, Event::StayDown) => Self::Down,
            (
                Self::Policy | Self::Again | Self::Down,
                Event::Executed | Event::Exited(_) | Event::Quiet | Event::Tick,
            ) => self,
        }
    }
}

fn first_delay(restart: Restart) -> Duration {
    match restart {
        Restart::Never => Duration::ZERO,
        Restart::OnFailure { delay, .. } | Restart::Always { delay, .. } => delay,
    }
}

fn idle(event: Event, now: Instant) -> (State, Actions) {
    match event {
        Event::Start | Event::Restart => (State::Starting { since: now }, one(Action::Spawn)),
        Event::StayDown => (State::Down, NOTHING),
        Event::Stop | Event::Kill => (State::Ended, NOTHING),
        Event::Executed | Event::Exited(_) | Event::Quiet | Event::Tick => (State::Idle, NOTHING),
    }
}

fn starting(since: Instant, event: Event, now: Instant) -> (State, Actions) {
    match event {
        Event::Executed => (State::Running { since, checks: 0 }, NOTHING),
        Event::Exited(exit) => clear(exit, since, Then::Policy, now),
        Event::Stop | Event::Kill | Event::Restart | Event::StayDown => end(since, event, now),
        // Quiet speaks of a run whose main process is dead.
        Event::Start | Event::Quiet | Event::Tick => (State::Starting { since }, NOTHING),
    }
}

/// Its main process is told to end.
fn end(since: Instant, event: Event, now: Instant) -> (State, Actions) {
    let then = Then::Policy.after(event);
    let (action, kill_at) = match event {
        Event::Kill => (Action::Kill, None),
        Event::Restart | Event::StayDown => (Action::Terminate, Some(now + COMMAND_GRACE)),
        Event::Stop | Event::Start | Event::Executed | Event::Exited(_) | Event::Quiet | Event::Tick => {
            (Action::Terminate, None)
        }
    };
    (State::Stopping { since, then, kill_at }, one(action))
}

fn stopping((since, then, kill_at): (Instant, Then, Option<Instant>), event: Event, now: Instant) -> (State, Actions) {
    let with = |then, kill_at| State::Stopping { since, then, kill_at };
    match event {
        Event::Exited(exit) => clear(exit, since, then, now),
        Event::Tick if kill_at.is_some_and(|at| at <= now) => (with(then, None), one(Action::Kill)),
        Event::Kill => (with(Then::End, None), one(Action::Kill)),
        Event::Stop | Event::Start | Event::Restart | Event::StayDown => (with(then.after(event), kill_at), NOTHING),
        Event::Executed | Event::Quiet | Event::Tick => (with(then, kill_at), NOTHING),
    }
}

fn backoff(until: Instant, event: Event, now: Instant) -> (State, Actions) {
    match event {
        Event::Tick if now < until => (State::Backoff { until }, NOTHING),
        Event::Tick | Event::Start | Event::Restart => (State::Starting { since: now }, one(Action::Spawn)),
        Event::StayDown => (State::Down, NOTHING),
        Event::Stop | Event::Kill => (State::Ended, NOTHING),
        Event::Executed | Event::Exited(_) | Event::Quiet => (State::Backoff { until }, NOTHING),
    }
}

fn down(event: Event, now: Instant) -> (State, Actions) {
    match event {
        Event::Start | Event::Restart => (State::Starting { since: now }, one(Action::Spawn)),
        Event::Stop | Event::Kill => (State::Ended, NOTHING),
        Event::StayDown | Event::Executed | Event::Exited(_) | Event::Quiet | Event::Tick => (State::Down, NOTHING),
    }
}

/// The core passes commands on only while nothing has begun to end.
fn ended(event: Event, now: Instant) -> (State, Actions) {
    match event {
        Event::Start | Event::Restart => (State::Starting { since: now }, one(Action::Spawn)),
        Event::StayDown => (State::Down, NOTHING),
        Event::Stop | Event::Kill | Event::Executed | Event::Exited(_) | Event::Quiet | Event::Tick => {
            (State::Ended, NOTHING)
        }
    }
}

/// The main process is dead: end what it left behind.
fn clear(exit: Exit, since: Instant, then: Then, now: Instant) -> (State, Actions) {
    let rung = Rung::Term { until: now + LEFTOVER_GRACE };
    let up = now.saturating_duration_since(since);
    (State::Clearing { exit, up, then, rung }, one(Action::SweepTerm))
}

fn sweep_soon(now: Instant) -> Rung {
    Rung::Kill { next: now + FIRST_SWEEP, pause: FIRST_SWEEP * 2 }
}
