//! The life of all tasks together: who starts, what stops everything, and when it is over. Pure, as [`super::state`] is.

use super::exit::Exit;
use super::outcome::{Outcome, Reason};
use super::spec::{Restart, Role, TaskSpec};
use super::state::{Action, Event, State, Task};
use std::time::{Duration, Instant};

/// Which task: its index in the plan.
pub type TaskId = usize;

/// After this long, a second TERM or INT means "now". Sooner it is an echo of the first: an agent's kill signals every process
/// of the tree, and the container's init forwards it once more. [ME-31]
pub const SECOND_SIGNAL_AFTER: Duration = Duration::from_millis(500);
/// What the rest gets once the executor is gone: the agent kills the container soon after, whatever the grace was. [ME-32]
pub const AFTER_EXECUTOR: Duration = Duration::from_secs(1);

/// What happens to the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Everything is set up: start.
    Begin,
    /// Something happened to one task.
    Task(TaskId, Event),
    /// A signal asks for the end: SIGTERM, SIGINT or SIGHUP.
    Stop(i32),
    /// A signal asks for the end at once: SIGQUIT.
    StopNow(i32),
    /// What all tasks need could not be set up: end everything at once.
    Fail,
    /// An operator asks something of one task.
    Command(TaskId, Command),
    /// Time has passed.
    Tick,
}

/// What an operator asks of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// End it, and start it again at once.
    Restart,
    /// End it, and leave it down until [`Command::Start`].
    Stop,
    /// Start it, now.
    Start,
}

/// Why a command is not obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The executor's end is the end of everything: that is asked for with a signal to minion.
    Executor,
    /// Everything is ending; nothing starts any more.
    Ending,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Something for one task.
    Task(TaskId, Action),
    /// Say that the end has begun, and why; once.
    Stopping(Reason),
    /// Say that the time for asking is over.
    Killing,
    /// The answer to the command: what state the task is in now. Exactly one for each command.
    Answered(Result<State, Refusal>),
    /// Everything has ended, or the time is over: leave with this.
    Over(Outcome),
}

/// How far along the whole is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Up,
    Stopping(Stop),
    Over(Reason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stop {
    reason: Reason,
    since: Instant,
    /// When everything still alive is killed; `None`: it was.
    kill_at: Option<Instant>,
    /// When we leave, whatever is alive.
    end_at: Instant,
}

#[derive(Debug)]
struct Member {
    role: Role,
    task: Task,
    /// Whether an exec of it ever worked: a failed start before that is a failed set-up.
    ran: bool,
    last: Option<Exit>,
}

/// All tasks and the phase of the whole.
#[derive(Debug)]
pub struct Core {
    members: Vec<Member>,
    phase: Phase,
    budget: Duration,
}

impl Core {
    /// The tasks of a plan, and the time from the first signal to the end of everything, SIGKILL included.
    pub fn new<'a>(specs: impl IntoIterator<Item = &'a TaskSpec>, budget: Duration) -> Self {
        Self::of(specs.into_iter().map(|spec| (spec.role, spec.restart)), budget)
    }

    /// As [`Core::new`], from role and restart alone.
    pub fn of(tasks: impl IntoIterator<Item = (Role, Restart)>, budget: Duration) -> Self {
        let member = |(role, restart)| Member { role, task: Task::new(restart), ran: false, last: None };
        Self { members: tasks.into_iter().map(member).collect(), phase: Phase::Up, budget }
    }

    /// The state of a task.
    pub fn state(&self, id: TaskId) -> Option<State> {
        self.members.get(id).map(|member| member.task.state())
    }

    /// Whether the end has begun.
    pub fn is_stopping(&self) -> bool {
        match self.phase {
            Phase::Up => false,
            Phase::Stopping(_) | Phase::Over(_) => true,
        }
    }

    /// What began the end, once it has begun.
    pub fn reason(&self) -> Option<Reason> {
        match self.phase {
            Phase::Stopping(stop) => Some(stop.reason),
            // The last report is performed when it is over already, and what it says depends on the reason.
            Phase::Over(reason) => Some(reason),
            Phase::Up => None,
        }
    }

    /// Whether the time for asking is over.
    pub fn is_killing(&self) -> bool {
        matches!(self.phase, Phase::Stopping(Stop { kill_at: None, .. }))
    }

    /// When [`Input::Tick`] is due. Nothing is armed once it is over.
    pub fn deadline(&self) -> Option<Instant> {
        let own = match self.phase {
            Phase::Up => None,
            Phase::Stopping(stop) => Some(stop.kill_at.unwrap_or(stop.end_at)),
            Phase::Over(_) => return None,
        };
        self.members.iter().filter_map(|member| member.task.deadline()).chain(own).min()
    }

    /// Takes an input and says what is to be done, in this order.
    pub fn step(&mut self, input: Input, now: Instant) -> Vec<Output> {
        let mut outputs = Vec::new();
        if let Phase::Over(_) = self.phase {
            if let Input::Command(..) = input {
                outputs.push(Output::Answered(Err(Refusal::Ending)));
            }
            return outputs;
        }
        match input {
            Input::Begin => self.all(Event::Start, now, &mut outputs),
            Input::Task(id, event) => self.task(id, event, now, &mut outputs),
            Input::Stop(signal) => self.signalled(signal, now, &mut outputs),
            Input::StopNow(signal) => {
                self.stop(Reason::Signal(signal), now, &mut outputs);
                self.kill(now, &mut outputs);
            }
            Input::Fail => {
                self.stop(Reason::SetupFailed, now, &mut outputs);
                self.kill(now, &mut outputs);
            }
            Input::Command(id, command) => self.command(id, command, now, &mut outputs),
            Input::Tick => self.tick(now, &mut outputs),
        }
        self.finish(now, &mut outputs);
        outputs
    }

    fn task(&mut self, id: TaskId, event: Event, now: Instant, outputs: &mut Vec<Output>) {
        self.one(id, event, now, outputs);
        let Some(member) = self.members.get_mut(id) else { return };
        match event {
            Event::Executed => member.ran = true,
            Event::Exited(exit) => {
                member.last = Some(exit);
                let (role, ran) = (member.role, member.ran);
                match (role, exit) {
                    (Role::Executor | Role::Helper, Exit::NotStarted) if !ran => {
                        self.stop(Reason::SetupFailed, now, outputs);
                    }
                    (Role::Executor, _) => self.stop(Reason::ExecutorEnded(exit), now, outputs),
                    (Role::Helper, _) => {}
                }
                if role == Role::Executor {
                    self.hurry(now);
                }
                // Asking its leftovers came with the exit; where the time for asking is over, force follows at once.
                if self.is_killing() {
                    self.one(id, Event::Kill, now, outputs);
                }
            }
            Event::Start
            | Event::Quiet
            | Event::Tick
            | Event::Stop
            | Event::Kill
            | Event::Restart
            | Event::StayDown => {}
        }
    }

    fn command(&mut self, id: TaskId, command: Command, now: Instant, outputs: &mut Vec<Output>) {
        let role = self.members.get(id).map(|member| member.role);
        let answer = match role {
            _ if self.is_stopping() => Err(Refusal::Ending),
            Some(Role::Executor) | None => Err(Refusal::Executor),
            Some(Role::Helper) => {
                let event = match command {
                    Command::Restart => Event::Restart,
                    Command::Stop => Event::StayDown,
                    Command::Start => Event::Start,
                };
                self.one(id, event, now, outputs);
                Ok(self.members[id].task.state())
            }
        };
        outputs.push(Output::Answered(answer));
    }

    /// Without the executor the rest has no purpose, and little time.
    fn hurry(&mut self, now: Instant) {
        let rest = self.budget.min(AFTER_EXECUTOR);
        if let Phase::Stopping(stop) = &mut self.phase {
            stop.end_at = stop.end_at.min(now + rest);
            stop.kill_at = stop.kill_at.map(|at| at.min(now + three_quarters(rest)));
        }
    }

    fn signalled(&mut self, signal: i32, now: Instant, outputs: &mut Vec<Output>) {
        let insists = match self.phase {
            Phase::Up | Phase::Over(_) => false,
            Phase::Stopping(stop) => signal != libc::SIGHUP && now >= stop.since + SECOND_SIGNAL_AFTER,
        };
        self.stop(Reason::Signal(signal), now, outputs);
        if insists {
            self.kill(now, outputs);
        }
    }

    /// Begins the end, unless it has begun: helpers are told first, so that none outlives what it serves.
    fn stop(&mut self, reason: Reason, now: Instant, outputs: &mut Vec<Output>) {
        if self.is_stopping() {
            return;
        }
        outputs.push(Output::Stopping(reason));
        self.phase = Phase::Stopping(Stop {
            reason,
            since: now,
            kill_at: Some(now + three_quarters(self.budget)),
            end_at: now + self.budget,
        });
        for role in [Role::Helper, Role::Executor] {
            for id in (0..self.members.len()).filter(|id| self.members[*id].role == role).collect::<Vec<_>>() {
                self.one(id, Event::Stop, now, outputs);
            }
        }
    }

    fn kill(&mut self, now: Instant, outputs: &mut Vec<Output>) {
        if let Phase::Stopping(stop @ Stop { kill_at: Some(_), .. }) = &mut self.phase {
            stop.kill_at = None;
            outputs.push(Output::Killing);
            self.all(Event::Kill, now, outputs);
        }
    }

    fn tick(&mut self, now: Instant, outputs: &mut Vec<Output>) {
        if let Phase::Stopping(Stop { kill_at: Some(at), .. }) = self.phase
            && at <= now
        {
            self.kill(now, outputs);
        }
        for id in 0..self.members.len() {
            if self.members[id].task.deadline().is_some_and(|at| at <= now) {
                self.one(id, Event::Tick, now, outputs);
            }
        }
    }

    /// Over, when all have ended or the time has.
    fn finish(&mut self, now: Instant, outputs: &mut Vec<Output>) {
        let Phase::Stopping(stop) = self.phase else { return };
        let all_ended = self.members.iter().all(|member| member.task.state() == State::Ended);
        if all_ended || stop.end_at <= now {
            self.phase = Phase::Over(stop.reason);
            let executor = self.members.iter().find(|member| member.role == Role::Executor);
            outputs.push(Output::Over(Outcome {
                reason: stop.reason,
                executor: executor.and_then(|member| member.last),
                everything_ended: all_ended,
            }));
        }
    }

    fn all(&mut self, event: Event, now: Instant, outputs: &mut Vec<Output>) {
        for id in 0..self.members.len() {
            self.one(id, event, now, outputs);
        }
    }

    fn one(&mut self, id: TaskId, event: Event, now: Instant, outputs: &mut Vec<Output>) {
        if let Some(member) = self.members.get_mut(id) {
            let actions = member.task.step(event, now);
            outputs.extend(actions.into_iter().flatten().map(|action| Output::Task(id, action)));
        }
    }
}

/// The time that everything has to end in, out of the agent's grace period: a second less, because the agent's SIGKILL must
/// find nothing to do; but never less than half of it.
pub fn budget(grace: Duration) -> Duration {
    grace.saturating_sub(Duration::from_secs(1)).max(grace / 2)
}

fn three_quarters(time: Duration) -> Duration {
    time * 3 / 4
}
