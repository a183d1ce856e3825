//! Whether a running task can serve: its readiness, then its health. Pure.

use super::spec::{Health, Readiness, ReadyWay};
use std::time::{Duration, Instant};

/// How long the answer to a readiness probe may take at least.
const READY_PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// What a task's readiness and health depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchPlan {
    ready: ReadyPlan,
    within: Option<Duration>,
    health: Option<HealthPlan>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadyPlan {
    /// It is ready when it runs.
    Exec,
    /// It says so.
    Says,
    /// It is asked.
    Asked { every: Duration },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HealthPlan {
    /// Whether it is asked; otherwise it speaks.
    asked: bool,
    every: Duration,
    timeout: Duration,
    failures: u32,
}

impl WatchPlan {
    /// From the task's description.
    pub fn new(readiness: &Readiness, health: Option<&Health>) -> Self {
        let ready = match readiness.way {
            ReadyWay::Exec => ReadyPlan::Exec,
            ReadyWay::Notify | ReadyWay::Fd(_) => ReadyPlan::Says,
            ReadyWay::Probe { every, .. } => ReadyPlan::Asked { every },
        };
        let health = health.map(|health| HealthPlan {
            asked: health.probe.is_some(),
            every: health.every,
            timeout: health.timeout,
            failures: health.failures.max(1),
        });
        Self { ready, within: readiness.within, health }
    }
}

/// What a question is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Whether it is ready.
    Readiness,
    /// Whether it is healthy.
    Health,
}

/// Why a running task must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It did not get ready in time.
    NotReady,
    /// Its health check failed too often, or its watchdog was not heard in time.
    Unhealthy,
}

/// What comes out of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    Nothing,
    Ready,
    Ask(Purpose),
    Verdict(Verdict),
}

/// How far along a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    ready: bool,
    ask: Ask,
    failures: u32,
    /// When the task's watchdog was heard last.
    heard: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    Never,
    At(Instant),
    Pending { until: Instant },
}

impl Watch {
    /// At the moment in which exec is seen to have worked.
    pub(super) fn begin(plan: WatchPlan, now: Instant) -> (Self, Note) {
        let mut watch = Self { ready: false, ask: Ask::Never, failures: 0, heard: now };
        let note = match plan.ready {
            ReadyPlan::Exec => watch.becomes_ready(plan, now),
            ReadyPlan::Says => Note::Nothing,
            ReadyPlan::Asked { .. } => watch.asks(plan, now),
        };
        (watch, note)
    }

    /// Whether the task is ready.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    pub(super) fn deadline(&self, plan: WatchPlan, since: Instant) -> Option<Instant> {
        let ready_by = plan.within.filter(|_| !self.ready).map(|within| since + within);
        let ask = match self.ask {
            Ask::Never => None,
            Ask::At(at) | Ask::Pending { until: at } => Some(at),
        };
        [ready_by, ask, self.bark(plan)].into_iter().flatten().min()
    }

    /// When the watchdog must have been heard by.
    fn bark(&self, plan: WatchPlan) -> Option<Instant> {
        plan.health.filter(|health| self.ready && !health.asked).map(|health| self.heard + health.every)
    }

    /// Its deadline may have passed.
    pub(super) fn tick(&mut self, plan: WatchPlan, since: Instant, now: Instant) -> Note {
        if !self.ready && plan.within.is_some_and(|within| since + within <= now) {
            return Note::Verdict(Verdict::NotReady);
        }
        if self.bark(plan).is_some_and(|at| at <= now) {
            return Note::Verdict(Verdict::Unhealthy);
        }
        match self.ask {
            Ask::At(at) if at <= now => self.asks(plan, now),
            Ask::Pending { until } if until <= now => self.answered(plan, false, now),
            Ask::Never | Ask::At(_) | Ask::Pending { .. } => Note::Nothing,
        }
    }

    /// It says that it is ready.
    pub(super) fn says_ready(&mut self, plan: WatchPlan, now: Instant) -> Note {
        if self.ready || plan.ready != ReadyPlan::Says { Note::Nothing } else { self.becomes_ready(plan, now) }
    }

    /// Its watchdog is heard.
    pub(super) fn hears(&mut self, now: Instant) {
        self.heard = now;
    }

    /// A question is answered. An answer to a question that is not open any more means nothing.
    pub(super) fn answered(&mut self, plan: WatchPlan, good: bool, now: Instant) -> Note {
        if !matches!(self.ask, Ask::Pending { .. }) {
            return Note::Nothing;
        }
        if !self.ready {
            if good {
                return self.becomes_ready(plan, now);
            }
            self.ask = match plan.ready {
                ReadyPlan::Asked { every } => Ask::At(now + pause(every)),
                ReadyPlan::Exec | ReadyPlan::Says => Ask::Never,
            };
            return Note::Nothing;
        }
        let Some(health) = plan.health else { return Note::Nothing };
        self.ask = Ask::At(now + pause(health.every));
        self.failures = if good { 0 } else { self.failures + 1 };
        if self.failures >= health.failures { Note::Verdict(Verdict::Unhealthy) } else { Note::Nothing }
    }

    fn becomes_ready(&mut self, plan: WatchPlan, now: Instant) -> Note {
        self.ready = true;
        self.heard = now;
        self.ask = match plan.health {
            Some(health) if health.asked => Ask::At(now + pause(health.every)),
            Some(_) | None => Ask::Never,
        };
        Note::Ready
    }

    fn asks(&mut self, plan: WatchPlan, now: Instant) -> Note {
        let (purpose, timeout) = match (self.ready, plan.health, plan.ready) {
            (true, Some(health), _) => (Purpose::Health, health.timeout),
            (false, _, ReadyPlan::Asked { every }) => (Purpose::Readiness, every.max(READY_PROBE_TIMEOUT)),
            (true, None, _) | (false, _, ReadyPlan::Exec | ReadyPlan::Says) => {
                self.ask = Ask::Never;
                return Note::Nothing;
            }
        };
        self.ask = Ask::Pending { until: now + timeout.max(Duration::from_millis(1)) };
        Note::Ask(purpose)
    }
}

/// However short the pause is asked to be: a probe that fails at once must not become a busy loop.
fn pause(every: Duration) -> Duration {
    every.max(Duration::from_millis(1))
}
