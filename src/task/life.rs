//! The life of one task: every state, every event, every pair. No I/O, no clock: time is an argument.

use super::exit::Exit;
use super::limit::Starts;
use super::spec::{Limited, Restart, TaskSpec};
use super::state::{Action, Actions, Event, NOTHING, Part, Rung, State, Then, one, two};
use super::watch::{Note, Watch, WatchPlan};
use std::time::{Duration, Instant};

/// How long leftovers of a run may take to obey SIGTERM.
pub const LEFTOVER_GRACE: Duration = Duration::from_secs(1);
/// How long a main process may take to obey a command or a verdict, before it is killed.
pub const COMMAND_GRACE: Duration = Duration::from_secs(5);
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

/// What a task's life depends on, out of its description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Whether and when it starts again.
    pub restart: Restart,
    /// What follows when it starts too often.
    pub limited: Limited,
    /// How long its hooks may take; `None` where there is none.
    pub before: Option<Duration>,
    /// The same for the one after its end.
    pub after: Option<Duration>,
    /// Its readiness and health.
    pub watch: WatchPlan,
}

/// A task's state and what its restarts depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    state: State,
    terms: Terms,
    starts: Starts,
    delay: Duration,
    /// Whether a verdict ended the run: then it is a failure, whatever its exit code is.
    judged: bool,
    /// What follows the hook after the end.
    next: Next,
}

/// What follows a run that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Start(Duration),
    Down,
    Ended,
}

impl Task {
    /// A task that was not started yet.
    pub fn new(spec: &TaskSpec) -> Self {
        let terms = Terms {
            restart: spec.restart,
            limited: spec.start_limit.map_or(Limited::GiveUp, |limit| limit.then),
            before: spec.before_start.as_ref().map(|hook| hook.timeout),
            after: spec.after_stop.as_ref().map(|hook| hook.timeout),
            watch: WatchPlan::new(&spec.readiness, spec.health.as_ref()),
        };
        let delay = first_delay(spec.restart);
        let starts = Starts::new(spec.start_limit);
        Self { state: State::Idle, terms, starts, delay, judged: false, next: Next::Ended }
    }

    /// Where it is in its life.
    pub fn state(&self) -> State {
        self.state
    }

    /// What follows when it starts too often.
    pub fn limited(&self) -> Limited {
        self.terms.limited
    }

    /// When [`Event::Tick`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Starting { part, since } => self.hook_timeout(part).map(|timeout| since + timeout),
            State::Running { part: Part::Main, since, checks, watch } => {
                let check = PLACEMENT_CHECKS.get(checks).map(|after| since + *after);
                [check, watch.deadline(self.terms.watch, since)].into_iter().flatten().min()
            }
            State::Running { part, since, .. } => self.hook_timeout(part).map(|timeout| since + timeout),
            State::Clearing { rung: Rung::Term { until }, .. } | State::Backoff { until } => Some(until),
            State::Clearing { rung: Rung::Kill { next, .. }, .. } => Some(next),
            State::Stopping { kill_at, .. } => kill_at,
            State::Idle | State::Down | State::Ended => None,
        }
    }

    /// Takes an event and says what is to be done.
    pub fn step(&mut self, event: Event, now: Instant) -> Actions {
        if matches!(event, Event::Start | Event::Restart) {
            // Whoever starts it by hand has dealt with what made it wait.
            self.delay = first_delay(self.terms.restart);
        }
        let (state, actions) = match self.state {
            State::Idle | State::Down | State::Ended => self.resting(event, now),
            State::Starting { part, since } => self.starting(part, since, event, now),
            State::Running { part, since, checks, watch } => self.running(part, since, (checks, watch), event, now),
            State::Stopping { .. } => stopping(self.state, event, now),
            State::Clearing { .. } => self.clearing(event, now),
            State::Backoff { until } => self.backoff(until, event, now),
        };
        self.state = state;
        actions
    }

    fn hook_timeout(&self, part: Part) -> Option<Duration> {
        match part {
            Part::Before => self.terms.before,
            Part::Main => None,
            Part::After => self.terms.after,
        }
    }

    /// The core passes commands on only while nothing has begun to end.
    fn resting(&mut self, event: Event, now: Instant) -> (State, Actions) {
        match event {
            Event::Start | Event::Restart => {
                self.starts.forget();
                self.begin(now)
            }
            Event::StayDown => (State::Down, NOTHING),
            Event::Stop | Event::Kill => (State::Ended, NOTHING),
            Event::Executed
            | Event::Ready
            | Event::Alive
            | Event::Answered(_)
            | Event::Exited(_)
            | Event::Quiet
            | Event::Tick => (self.state, NOTHING),
        }
    }

    /// Starts a run, unless that is one too many.
    fn begin(&mut self, now: Instant) -> (State, Actions) {
        self.judged = false;
        if !self.starts.allow(now) {
            return (State::Ended, one(Action::Limit));
        }
        let part = if self.terms.before.is_some() { Part::Before } else { Part::Main };
        (State::Starting { part, since: now }, one(Action::Spawn(part)))
    }

    fn starting(&mut self, part: Part, since: Instant, event: Event, now: Instant) -> (State, Actions) {
        match event {
            Event::Executed => {
                let (watch, note) = Watch::begin(self.terms.watch, now);
                let state = State::Running { part, since, checks: 0, watch };
                match part {
                    Part::Main => self.noted(state, note, now),
                    Part::Before | Part::After => (state, NOTHING),
                }
            }
            Event::Exited(exit) => clear(part, exit, since, Then::Policy, now),
            Event::Tick => self.hook_is_late(part, since, now),
            Event::Stop | Event::Kill | Event::Restart | Event::StayDown => self.end(part, since, event, now),
            // Quiet speaks of a run whose main process is dead.
            Event::Start | Event::Ready | Event::Alive | Event::Answered(_) | Event::Quiet => (self.state, NOTHING),
        }
    }

    fn running(
        &mut self,
        part: Part,
        since: Instant,
        (checks, mut watch): (usize, Watch),
        event: Event,
        now: Instant,
    ) -> (State, Actions) {
        let plan = self.terms.watch;
        let note = match (part, event) {
            (_, Event::Exited(exit)) => return clear(part, exit, since, Then::Policy, now),
            (_, Event::Stop | Event::Kill | Event::Restart | Event::StayDown) => {
                return self.end(part, since, event, now);
            }
            (Part::Before | Part::After, Event::Tick) => return self.hook_is_late(part, since, now),
            (Part::Main, Event::Tick) => {
                let due = PLACEMENT_CHECKS.get(checks).is_some_and(|after| since + *after <= now);
                let note = watch.tick(plan, since, now);
                let state = State::Running { part, since, checks: checks + usize::from(due), watch };
                let (state, [first, second, _]) = self.noted(state, note, now);
                return (state, [due.then_some(Action::CheckPlacement), first, second]);
            }
            (Part::Main, Event::Ready) => watch.says_ready(plan, now),
            (Part::Main, Event::Answered(good)) => watch.answered(plan, good, now),
            (Part::Main, Event::Alive) => {
                watch.hears(now);
                Note::Nothing
            }
            (_, Event::Start | Event::Executed | Event::Quiet | Event::Ready | Event::Answered(_) | Event::Alive) => {
                Note::Nothing
            }
        };
        self.noted(State::Running { part, since, checks, watch }, note, now)
    }

    /// What the watch has to say.
    fn noted(&mut self, state: State, note: Note, now: Instant) -> (State, Actions) {
        match note {
            Note::Nothing => (state, NOTHING),
            Note::Ready => (state, one(Action::Ready)),
            Note::Ask(purpose) => (state, one(Action::Ask(purpose))),
            Note::Verdict(verdict) => {
                self.judged = true;
                let since = if let State::Running { since, .. } = state { since } else { now };
                let kill_at = Some(now + COMMAND_GRACE);
                let state = State::Stopping { part: Part::Main, since, then: Then::Policy, kill_at };
                (state, two(Action::Judge(verdict), Action::Terminate))
            }
        }
    }

    /// A hook that takes too long is killed.
    fn hook_is_late(&self, part: Part, since: Instant, now: Instant) -> (State, Actions) {
        match self.hook_timeout(part) {
            Some(timeout) if since + timeout <= now => {
                (State::Stopping { part, since, then: Then::Policy, kill_at: None }, one(Action::Kill))
            }
            Some(_) | None => (self.state, NOTHING),
        }
    }

    /// A program is told to end. A hook after the end is part of ending: only force and its own time cut it short.
    fn end(&self, part: Part, since: Instant, event: Event, now: Instant) -> (State, Actions) {
        let by_itself = self.hook_timeout(part).map(|timeout| since + timeout);
        let told = now + COMMAND_GRACE;
        let (actions, kill_at) = match (event, part) {
            (Event::Kill, _) => (one(Action::Kill), None),
            (_, Part::After) => (NOTHING, by_itself),
            (_, Part::Before) => (one(Action::Terminate), by_itself.map(|at| at.min(told))),
            (Event::Restart | Event::StayDown, Part::Main) => (one(Action::Terminate), Some(told)),
            (_, Part::Main) => (one(Action::Terminate), None),
        };
        (State::Stopping { part, since, then: Then::Policy.after(event), kill_at }, actions)
    }

    fn clearing(&mut self, event: Event, now: Instant) -> (State, Actions) {
        let State::Clearing { part, exit, up, then, rung } = self.state else { return (self.state, NOTHING) };
        let with = |then, rung| State::Clearing { part, exit, up, then, rung };
        match (event, rung) {
            (Event::Quiet, _) => self.quiet(part, exit, up, then, now),
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
            (Event::Kill, _) => (with(Then::Gone, sweep_soon(now)), one(Action::SweepKill)),
            (
                Event::Tick | Event::Executed | Event::Ready | Event::Alive | Event::Answered(_) | Event::Exited(_),
                _,
            ) => (self.state, NOTHING),
        }
    }

    /// A program of the run is over, whole.
    fn quiet(&mut self, part: Part, exit: Exit, up: Duration, then: Then, now: Instant) -> (State, Actions) {
        match part {
            Part::Before if exit.is_success() && then == Then::Policy => {
                (State::Starting { part: Part::Main, since: now }, one(Action::Spawn(Part::Main)))
            }
            Part::Before if then == Then::Policy => {
                let (state, [first, second, _]) = self.over(Exit::NotStarted, Duration::ZERO, then, now);
                (state, [Some(Action::HookFailed { part, exit }), first, second])
            }
            Part::Before => self.over(Exit::NotStarted, Duration::ZERO, then, now),
            Part::Main => self.over(exit, up, then, now),
            Part::After => {
                let next = match then {
                    Then::Policy => self.next,
                    Then::Again => Next::Start(Duration::ZERO),
                    Then::Down => Next::Down,
                    Then::End | Then::Gone => Next::Ended,
                };
                let (state, [first, second, _]) = self.goes_on(next, now);
                let failed = !exit.is_success() && then != Then::Gone;
                (state, [failed.then_some(Action::HookFailed { part, exit }), first, second])
            }
        }
    }

    /// The main part is over: reports it, and goes on, by way of the hook after the end where there is one.
    fn over(&mut self, exit: Exit, up: Duration, then: Then, now: Instant) -> (State, Actions) {
        let (commanded, next) = match then {
            Then::Policy => (false, self.next_start(exit, up).map_or(Next::Ended, Next::Start)),
            Then::Again => (true, Next::Start(Duration::ZERO)),
            Then::Down => (true, Next::Down),
            Then::End | Then::Gone => (false, Next::Ended),
        };
        let restart = if let Next::Start(delay) = next { Some(delay) } else { None };
        let report = Action::Report { exit, up, restart, commanded };
        if self.terms.after.is_some() && then != Then::Gone {
            self.next = next;
            return (State::Starting { part: Part::After, since: now }, two(report, Action::Spawn(Part::After)));
        }
        let (state, [first, second, _]) = self.goes_on(next, now);
        (state, [Some(report), first, second])
    }

    fn goes_on(&mut self, next: Next, now: Instant) -> (State, Actions) {
        match next {
            Next::Start(Duration::ZERO) => self.begin(now),
            Next::Start(delay) => (State::Backoff { until: now + delay }, NOTHING),
            Next::Down => (State::Down, NOTHING),
            Next::Ended => (State::Ended, NOTHING),
        }
    }

    /// The delay before the next start, and doubles it for the one after; `None` where there is no next start.
    fn next_start(&mut self, exit: Exit, up: Duration) -> Option<Duration> {
        let (first, max) = match self.terms.restart {
            Restart::Never => return None,
            Restart::OnFailure { .. } if exit.is_success() && !self.judged => return None,
            Restart::OnFailure { delay, max } | Restart::Always { delay, max } => (delay, max),
        };
        let delay = if up >= STEADY { first } else { self.delay };
        self.delay = (delay * 2).min(max.max(first));
        match exit {
            Exit::NotStarted => Some(delay.max(FAILED_START_DELAY)),
            Exit::Code(_) | Exit::Signal { .. } => Some(delay),
        }
    }

    fn backoff(&mut self, until: Instant, event: Event, now: Instant) -> (State, Actions) {
        match event {
            Event::Tick if now < until => (State::Backoff { until }, NOTHING),
            Event::Tick => self.begin(now),
            Event::Start | Event::Restart | Event::StayDown | Event::Stop | Event::Kill => self.resting(event, now),
            Event::Executed | Event::Ready | Event::Alive | Event::Answered(_) | Event::Exited(_) | Event::Quiet => {
                (State::Backoff { until }, NOTHING)
            }
        }
    }
}

fn first_delay(restart: Restart) -> Duration {
    match restart {
        Restart::Never => Duration::ZERO,
        Restart::OnFailure { delay, .. } | Restart::Always { delay, .. } => delay,
    }
}

fn stopping(state: State, event: Event, now: Instant) -> (State, Actions) {
    let State::Stopping { part, since, then, kill_at } = state else { return (state, NOTHING) };
    let with = |then, kill_at| State::Stopping { part, since, then, kill_at };
    match event {
        Event::Exited(exit) => clear(part, exit, since, then, now),
        Event::Tick if kill_at.is_some_and(|at| at <= now) => (with(then, None), one(Action::Kill)),
        Event::Kill => (with(Then::Gone, None), one(Action::Kill)),
        Event::Stop | Event::Start | Event::Restart | Event::StayDown => (with(then.after(event), kill_at), NOTHING),
        Event::Executed | Event::Ready | Event::Alive | Event::Answered(_) | Event::Quiet | Event::Tick => {
            (state, NOTHING)
        }
    }
}

/// The main process is dead: end what it left behind.
fn clear(part: Part, exit: Exit, since: Instant, then: Then, now: Instant) -> (State, Actions) {
    let rung = Rung::Term { until: now + LEFTOVER_GRACE };
    let up = now.saturating_duration_since(since);
    (State::Clearing { part, exit, up, then, rung }, one(Action::SweepTerm))
}

fn sweep_soon(now: Instant) -> Rung {
    Rung::Kill { next: now + FIRST_SWEEP, pause: FIRST_SWEEP * 2 }
}
