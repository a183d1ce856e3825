//! The loop: readiness of fds in, system calls out. What to do is decided by [`crate::task::Core`] alone.
//!
//! ```text
//! signalfd, pidfds, exec reports, log thread, memory cgroup, timer
//!        │ reactor (epoll)
//!        ▼
//!   events ──▶ Core::step ──▶ perform (spawn, signal, sweep, report)
//! ```
//!
//! The thread that calls [`run`] forks every child and must be the main one. It never waits for a disk: files are the log
//! thread's business.

mod beside;
mod control;
mod life;
mod logs;
mod manager;
mod notify;
mod orphans;
mod perform;
mod place;
mod probe;
mod reactor;
mod run;
mod start;
mod words;

pub use beside::Work;
pub use control::About;
pub use manager::Manager;
pub use place::{Drifted, Surroundings};
pub use probe::connect_unix;

use crate::cgroup;
use crate::error::{Error, Result};
use crate::log::{LogId, LogThread};
use crate::process::signals::{self, Signals};
use crate::process::spawn::{self, Launcher};
use crate::process::tree::{self, Children};
use crate::process::{memory, reap};
use crate::task::spec::ReadyWay;
use crate::task::{Core, Input, Outcome, Output, TaskSpec};
use beside::Beside;
use notify::Notify;
use orphans::Owners;
use reactor::{Reactor, Source};
use run::Slot;
use rustix::event::epoll::EventFlags;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use tracing::{debug, error, info, warn};

/// How long the log thread may write nothing of its last bytes, once everything is over. This and what follows have to fit
/// into what the budget leaves of the agent's grace: [`Supervisor::last_moment`] ends them all.
const LAST_BYTES: Duration = Duration::from_millis(500);

/// How long the last try to end everything may take, when the loop failed or the time is over.
const LAST_KILLS: Duration = Duration::from_millis(300);

/// How long a run that has failed waits for what is done beside.
const LAST_CHECKS: Duration = Duration::from_millis(100);

/// So many signals are read in one wake: the rest is there in the next.
const SIGNALS_PER_WAKE: usize = 16;

/// When to look again at a dead child that a tracer holds.
const HELD: Duration = Duration::from_millis(10);

/// A task and where its output goes.
#[derive(Debug)]
pub struct Planned {
    /// What to run.
    pub spec: TaskSpec,
    /// The log of stderr, and of stdout where that has none of its own.
    pub log: LogId,
    /// What becomes of stdout.
    pub stdout: Stdout,
}

/// What becomes of a child's standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdout {
    /// It goes where stderr goes, through the same pipe, so that the order of lines is kept.
    Merged,
    /// It has a log of its own.
    Separate(LogId),
    /// It is `/dev/null`.
    Discarded,
}

/// Everything that a supervisor needs, set up and checked.
pub struct Plan {
    /// The tasks, started in this order.
    pub tasks: Vec<Planned>,
    /// From the first word to the end of everything, SIGKILL and reaping included.
    pub budget: Duration,
    /// The signals of the process, blocked since it began.
    pub signals: Signals,
    /// The log thread, with every log opened. It starts when the first children have: a fork of a process without threads is
    /// cheaper and safer, and their pipes hold what they write until then.
    pub logs: LogThread,
    /// The cgroups and the mount namespace that children belong in.
    pub surroundings: Surroundings,
    /// The service manager that started minion, where one did.
    pub manager: Option<Manager>,
    /// What operators are told beside.
    pub about: About,
    /// What is done on a thread of its own when the first children have started, whatever the loop does.
    pub beside: Option<Work>,
}

/// The supervisor at work.
struct Supervisor {
    core: Core,
    slots: Vec<Slot>,
    reactor: Reactor,
    signals: Signals,
    logs: LogThread,
    beside: Beside,
    surroundings: Surroundings,
    manager: Option<Manager>,
    children: Children,
    owners: Owners,
    /// When the leftovers are looked at again, without anything that tells.
    look_again: Option<Instant>,
    /// Whether more have died than were reaped; the signal that tells of deaths does not come again for them.
    more_dead: bool,
    desk: control::Desk,
    /// The hazards that were told.
    hazards: Vec<cgroup::Hazard>,
    launcher: Launcher,
    null: OwnedFd,
    inputs: VecDeque<Input>,
    last_stream: u64,
    last_run: u64,
    outcome: Option<Outcome>,
    /// Whether the time for asking is over.
    killing: bool,
    /// Whether a rest may begin that is worth giving memory back for.
    rests: bool,
    /// Whether a run has come and gone since the heap was last tidied.
    tidies: bool,
}

/// A run that is over.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// How.
    pub outcome: Outcome,
    /// When the agent's patience is over: minion should be gone before it.
    pub last_moment: Instant,
}

/// Runs the plan to its end.
///
/// An error means that the loop itself could not go on; everything that was started is dead then, as far as that can be had.
pub fn run(plan: Plan) -> Result<Ended> {
    let mut supervisor = Supervisor::new(plan)?;
    supervisor.inputs.push_back(Input::Begin);
    // A panic is a mistake of ours, and no reason to leave anything alive; its own line is written already.
    let supervised = catch_unwind(AssertUnwindSafe(|| supervisor.supervise()));
    let outcome = supervised.unwrap_or_else(|_| Err(Error::new("supervise", "the tasks", "minion made a mistake")));
    let last_moment = supervisor.last_moment();
    let at_most = |time| last_moment.min(Instant::now() + time);
    match &outcome {
        Ok(outcome) => {
            // What is odd here may be why it failed. Afterwards the last word is ours.
            let patience = if outcome.code() == 0 { Duration::ZERO } else { LAST_CHECKS };
            supervisor.beside.finish(patience.min(last_moment.saturating_duration_since(Instant::now())));
            supervisor.check_hazards();
            supervisor.last_words(*outcome);
        }
        Err(_) if tree::kill_all(at_most(LAST_KILLS)) => {}
        Err(_) => error!("something is still alive after SIGKILL"),
    }
    if !supervisor.logs.stop(LAST_BYTES, last_moment) {
        error!("the log thread does not end: its disk or the reader of stderr hangs");
        supervisor.leave_desk();
    }
    outcome.map(|outcome| Ended { outcome, last_moment })
}

impl Supervisor {
    fn new(plan: Plan) -> Result<Self> {
        let reactor = Reactor::new()?;
        reactor.add(&plan.signals, Source::Signals, EventFlags::IN)?;
        reactor.add(plan.logs.doorbell(), Source::Logs, EventFlags::IN)?;
        if let Some(oom) = &plan.surroundings.oom {
            reactor.add(oom.fd(), Source::Memory, oom.interest())?;
        }
        if let Some(pulse) = plan.manager.as_ref().and_then(Manager::pulse) {
            reactor.add(pulse, Source::Pulse, EventFlags::IN)?;
        }
        let children = Children::open();
        let core = Core::new(plan.tasks.iter().map(|task| &task.spec), plan.budget);
        let mut slots = Vec::with_capacity(plan.tasks.len());
        for planned in plan.tasks {
            let speaks = planned.spec.readiness.way == ReadyWay::Notify
                || planned.spec.health.as_ref().is_some_and(|health| health.probe.is_none());
            let notify = if speaks { Some(Notify::open()?) } else { None };
            slots.push(Slot::new(planned, notify));
        }
        let supervisor = Self {
            desk: control::Desk::new(plan.about, plan.budget, slots.len()),
            core,
            slots,
            reactor,
            signals: plan.signals,
            logs: plan.logs,
            beside: Beside::new(plan.beside),
            surroundings: plan.surroundings,
            manager: plan.manager,
            children,
            owners: Owners::default(),
            look_again: None,
            more_dead: false,
            hazards: Vec::new(),
            launcher: Launcher::without_heap(),
            null: spawn::Stdio::null()?,
            inputs: VecDeque::new(),
            last_stream: 0,
            last_run: 0,
            outcome: None,
            killing: false,
            rests: false,
            tidies: false,
        };
        supervisor.watch_notify()?;
        Ok(supervisor)
    }

    fn supervise(&mut self) -> Result<Outcome> {
        // The children first: nobody waits for the socket, or for the log thread.
        self.decide()?;
        self.open_desk();
        // The children have the processors to themselves until the first of them has something to say; what they write is in
        // their pipes meanwhile.
        self.turn()?;
        if let Err(failure) = self.logs.start() {
            error!("{failure}");
            self.inputs.push_back(Input::Fail);
        }
        loop {
            self.decide()?;
            if self.beside.is_waiting() && !self.slots.iter().any(Slot::is_at_gate) {
                self.beside.begin();
            }
            if let Some(outcome) = self.outcome {
                return self.last_look(outcome);
            }
            self.turn()?;
        }
    }

    /// When the time is over, one look counts: on a busy machine the dead may not have been reaped yet.
    fn last_look(&mut self, outcome: Outcome) -> Result<Outcome> {
        self.reap_orphans()?;
        // Whoever is left escaped a sweep: for lack of a descriptor or of time, or because /proc did not show it.
        let limit = self.last_moment().min(Instant::now() + LAST_KILLS);
        let everything_ended = !reap::has_children() || tree::kill_all(limit);
        Ok(Outcome { everything_ended, ..outcome })
    }

    /// A twentieth of the grace before the agent kills what is left of us. While nobody asked for the end, from now on.
    fn last_moment(&self) -> Instant {
        let grace = self.desk.grace();
        self.core.stopping_since().unwrap_or_else(Instant::now) + grace.saturating_sub(grace / 20)
    }

    /// Waits for something to happen, and deals with it.
    fn turn(&mut self) -> Result<()> {
        if self.outcome.is_some() {
            return Ok(());
        }
        self.logs.tell();
        let more_dead = self.more_dead.then(Instant::now);
        let held = self.slots.iter().any(Slot::is_held).then(|| Instant::now() + HELD);
        let own = [self.look_again, more_dead, held];
        self.reactor.arm(self.core.deadline().into_iter().chain(own.into_iter().flatten()).min())?;
        if std::mem::take(&mut self.tidies) || self.rests {
            memory::release_heap();
        }
        if std::mem::take(&mut self.rests) {
            // The last thing before the rest, for all that is done comes back. Best effort: it only saves memory.
            let _ = memory::release_text();
        }
        for source in self.reactor.wait()? {
            self.dispatch(source)?;
            self.decide()?;
        }
        self.settle()
    }

    /// Lets the core decide on every input that waits, and does what it says.
    fn decide(&mut self) -> Result<()> {
        while let Some(input) = self.inputs.pop_front() {
            self.note_input(input);
            for output in self.core.step(input, Instant::now()) {
                self.note_output(output);
                match output {
                    Output::Task(task, action) => self.perform(task, action)?,
                    Output::Stopping(reason) => self.stopping(reason),
                    Output::Killing => {
                        warn!("the time for asking is over: killing what is alive");
                        self.killing = true;
                    }
                    Output::Answered(_) => {}
                    Output::Over(outcome) => self.outcome = Some(outcome),
                }
            }
        }
        Ok(())
    }

    fn dispatch(&mut self, source: Source) -> Result<()> {
        match source {
            Source::Signals => self.read_signals()?,
            Source::Report(task) => self.read_report(task),
            Source::Child(task) => self.main_died(task),
            Source::Logs => self.read_log_reports(),
            Source::Memory => self.read_oom(),
            Source::Notify(task) => self.hear(task),
            Source::Ready(task) => self.read_ready(task),
            Source::Question(task) => self.read_answer(task),
            Source::Pulse => {
                if let Some(manager) = &self.manager {
                    manager.alive();
                }
            }
            Source::Control => self.serve_control()?,
            Source::Timer => {
                self.reactor.timer_went_off();
                self.inputs.push_back(Input::Tick);
                if self.more_dead {
                    self.reap_orphans()?;
                }
                self.look_at_held();
            }
        }
        Ok(())
    }

    /// Bounded, and at its end where the end begins: a flood must not come between a SIGTERM and what it asks for.
    fn read_signals(&mut self) -> Result<()> {
        for _ in 0..SIGNALS_PER_WAKE {
            let Some(received) = self.signals.read()? else { return Ok(()) };
            let (signal, sender) = (received.signal, received.sender);
            match signal {
                libc::SIGCHLD => self.reap_orphans()?,
                libc::SIGTERM | libc::SIGINT | libc::SIGHUP => {
                    info!(signal = %signals::name(signal), sender, "told to stop");
                    self.inputs.push_back(Input::Stop(signal));
                    return Ok(());
                }
                libc::SIGQUIT => {
                    info!(signal = %signals::name(signal), sender, "told to stop at once");
                    self.inputs.push_back(Input::StopNow(signal));
                    return Ok(());
                }
                libc::SIGUSR1 => {
                    info!(signal = %signals::name(signal), sender, "rotating the logs");
                    self.logs.rotate();
                }
                _ => debug!(signal = %signals::name(signal), sender, "a signal without a meaning here"),
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Supervisor").field("core", &self.core).finish_non_exhaustive()
    }
}
