//! The life of all tasks together: who starts when, what ends everything, and when it is over. Pure, as [`super::life`] is.

use super::ending::Stop;
use super::exit::Exit;
use super::input::{Command, Input, Output, Refusal, TaskId};
use super::life::Task;
use super::order::Order;
use super::outcome::{Outcome, Reason};
use super::spec::{Limited, Role, TaskSpec};
use super::state::{Action, Event, Part, State};
use std::time::{Duration, Instant};

/// How far along the whole is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Up,
    Stopping(Stop),
    /// Why, and when the end began.
    Over(Reason, Instant),
}

#[derive(Debug)]
struct Member {
    role: Role,
    task: Task,
    /// Whether an exec of it ever worked: a failed start before that is a failed set-up.
    ran: bool,
    /// Whether it ever was ready: what waits for it may start.
    ready: bool,
    /// Whether its time to end by itself is over.
    killed: bool,
    last: Option<Exit>,
}

/// All tasks and the phase of the whole.
#[derive(Debug)]
pub struct Core {
    members: Vec<Member>,
    order: Order,
    phase: Phase,
    budget: Duration,
}

impl Core {
    /// The tasks of a plan, and the time from the first signal to the end of everything, SIGKILL included.
    pub fn new<'a>(specs: impl IntoIterator<Item = &'a TaskSpec>, budget: Duration) -> Self {
        let specs: Vec<&TaskSpec> = specs.into_iter().collect();
        let id = |name: &String| specs.iter().position(|spec| spec.name == *name);
        let after = specs.iter().map(|spec| spec.after.iter().filter_map(id).collect()).collect();
        let member = |spec: &&TaskSpec| Member {
            role: spec.role,
            task: Task::new(spec),
            ran: false,
            ready: false,
            killed: false,
            last: None,
        };
        Self { members: specs.iter().map(member).collect(), order: Order::new(after), phase: Phase::Up, budget }
    }

    /// The state of a task.
    pub fn state(&self, id: TaskId) -> Option<State> {
        self.members.get(id).map(|member| member.task.state())
    }

    /// Whether a task ever was ready.
    pub fn was_ready(&self, id: TaskId) -> bool {
        self.members.get(id).is_some_and(|member| member.ready)
    }

    /// Whether the end has begun.
    pub fn is_stopping(&self) -> bool {
        match self.phase {
            Phase::Up => false,
            Phase::Stopping(_) | Phase::Over(..) => true,
        }
    }

    /// What began the end, once it has begun.
    pub fn reason(&self) -> Option<Reason> {
        match self.phase {
            Phase::Stopping(stop) => Some(stop.reason),
            // The last report is performed when it is over already, and what it says depends on the reason.
            Phase::Over(reason, _) => Some(reason),
            Phase::Up => None,
        }
    }

    /// When the end began.
    pub fn stopping_since(&self) -> Option<Instant> {
        match self.phase {
            Phase::Stopping(stop) => Some(stop.since),
            Phase::Over(_, since) => Some(since),
            Phase::Up => None,
        }
    }

    /// When [`Input::Tick`] is due. Nothing is armed once it is over.
    pub fn deadline(&self) -> Option<Instant> {
        let own = match self.phase {
            Phase::Up => None,
            Phase::Stopping(stop) => Some(stop.deadline()),
            Phase::Over(..) => return None,
        };
        self.members.iter().filter_map(|member| member.task.deadline()).chain(own).min()
    }

    /// Takes an input and says what is to be done, in this order.
    pub fn step(&mut self, input: Input, now: Instant) -> Vec<Output> {
        let mut outputs = Vec::new();
        if let Phase::Over(..) = self.phase {
            if let Input::Command(..) = input {
                outputs.push(Output::Answered(Err(Refusal::Ending)));
            }
            return outputs;
        }
        match input {
            Input::Begin => self.start_what_may(now, &mut outputs),
            Input::Task(id, event) => self.happens(id, event, now, &mut outputs),
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
        self.advance(now, &mut outputs);
        self.finish(now, &mut outputs);
        outputs
    }

    /// Starts every task that never was started and whose predecessors are ready.
    fn start_what_may(&mut self, now: Instant, outputs: &mut Vec<Output>) {
        if self.is_stopping() {
            return;
        }
        for id in 0..self.members.len() {
            let waiting = self.members[id].task.state() == State::Idle;
            if waiting && self.order.waits_for(id).iter().all(|before| self.members[*before].ready) {
                self.one(id, Event::Start, now, outputs);
            }
        }
    }

    fn happens(&mut self, id: TaskId, event: Event, now: Instant, outputs: &mut Vec<Output>) {
        let Some(state) = self.state(id) else { return };
        let part = part(state);
        self.one(id, event, now, outputs);
        let member = &mut self.members[id];
        match (event, part) {
            (Event::Executed, Some(Part::Main)) => member.ran = true,
            (Event::Exited(exit), part) => {
                let killed = member.killed;
                if part == Some(Part::Main) {
                    member.last = Some(exit);
                    self.main_ended(id, exit, now, outputs);
                }
                // Asking its leftovers came with the exit; where the time for asking is over, force follows at once. And
                // whatever ends while everything ends does not start again, also if its turn to be told had not come.
                if killed {
                    self.one(id, Event::Kill, now, outputs);
                } else if self.is_stopping() {
                    self.one(id, Event::Stop, now, outputs);
                }
            }
            (
                Event::Executed
                | Event::Start
                | Event::Ready
                | Event::Alive
                | Event::Answered(_)
                | Event::Quiet
                | Event::Tick
                | Event::Stop
                | Event::Kill
                | Event::Restart
                | Event::StayDown,
                _,
            ) => {}
        }
    }

    fn main_ended(&mut self, id: TaskId, exit: Exit, now: Instant, outputs: &mut Vec<Output>) {
        let (role, ran) = (self.members[id].role, self.members[id].ran);
        match (role, exit) {
            (Role::Executor | Role::Helper, Exit::NotStarted) if !ran => self.stop(Reason::SetupFailed, now, outputs),
            (Role::Executor, _) => self.stop(Reason::ExecutorEnded(exit), now, outputs),
            (Role::Helper, _) => {}
        }
        if role == Role::Executor
            && let Phase::Stopping(stop) = &mut self.phase
        {
            stop.hurry(now, self.budget);
        }
    }

    /// What an action of a task means for the whole.
    fn consequence(&mut self, id: TaskId, action: Action, now: Instant, outputs: &mut Vec<Output>) {
        let (role, ran) = (self.members[id].role, self.members[id].ran);
        match (action, role) {
            (Action::Ready, _) => {
                self.members[id].ready = true;
                self.start_what_may(now, outputs);
            }
            (Action::Limit, Role::Helper) if self.members[id].task.limited() == Limited::GiveUp => {
                self.nobody_waits_in_vain(id, now, outputs);
            }
            (Action::Limit, _) | (Action::Judge(_), Role::Executor) => self.stop(Reason::Failed, now, outputs),
            (Action::HookFailed { part: Part::Before, .. }, _) if !ran => {
                self.stop(Reason::SetupFailed, now, outputs);
            }
            (Action::Report { restart: None, commanded: false, .. }, Role::Helper) => {
                self.nobody_waits_in_vain(id, now, outputs);
            }
            (
                Action::Judge(_)
                | Action::HookFailed { .. }
                | Action::Report { .. }
                | Action::Spawn(_)
                | Action::Terminate
                | Action::Kill
                | Action::SweepTerm
                | Action::SweepKill
                | Action::CheckPlacement
                | Action::Ask(_),
                _,
            ) => {}
        }
    }

    /// A task that ended for good and never was ready leaves those that wait for it waiting for ever: that is no set-up.
    fn nobody_waits_in_vain(&mut self, id: TaskId, now: Instant, outputs: &mut Vec<Output>) {
        let waited_for = (0..self.members.len()).any(|other| self.order.waits_for(other).contains(&id));
        if waited_for && !self.members[id].ready {
            self.stop(Reason::SetupFailed, now, outputs);
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

    fn signalled(&mut self, signal: i32, now: Instant, outputs: &mut Vec<Output>) {
        let insists = match self.phase {
            Phase::Up | Phase::Over(..) => false,
            Phase::Stopping(stop) => signal != libc::SIGHUP && stop.is_insisted(now),
        };
        self.stop(Reason::Signal(signal), now, outputs);
        if insists {
            self.kill(now, outputs);
        }
    }

    /// Begins the end, unless it has begun. What serves nobody is told at once, the rest level by level.
    fn stop(&mut self, reason: Reason, now: Instant, outputs: &mut Vec<Output>) {
        if self.is_stopping() {
            return;
        }
        outputs.push(Output::Stopping(reason));
        self.phase = Phase::Stopping(Stop::new(reason, now, self.budget, self.order.last_level()));
        for id in 0..self.members.len() {
            if !is_serving(self.members[id].task.state()) {
                self.one(id, Event::Stop, now, outputs);
            }
        }
        self.tell_level(0, now, outputs);
    }

    /// Tells one level to end: helpers first, so that none outlives what it serves.
    fn tell_level(&mut self, level: usize, now: Instant, outputs: &mut Vec<Output>) {
        for role in [Role::Helper, Role::Executor] {
            for id in 0..self.members.len() {
                if self.members[id].role == role && self.order.level(id) == level {
                    self.one(id, Event::Stop, now, outputs);
                }
            }
        }
    }

    /// Goes on to the next level when those before it have ended, or their share of the time has; behind the last, kills.
    fn advance(&mut self, now: Instant, outputs: &mut Vec<Output>) {
        while let Phase::Stopping(mut stop) = self.phase {
            if stop.is_last() {
                if stop.share_is_used(now) {
                    self.kill(now, outputs);
                }
                return;
            }
            let ended = |id: usize| self.members[id].task.state() == State::Ended;
            let level_is_done = (0..self.members.len()).all(|id| self.order.level(id) > stop.level() || ended(id));
            if !level_is_done && !stop.share_is_used(now) {
                return;
            }
            self.kill_levels(stop.level(), now, outputs);
            stop.next_level(now);
            self.phase = Phase::Stopping(stop);
            self.tell_level(stop.level(), now, outputs);
        }
    }

    fn kill(&mut self, now: Instant, outputs: &mut Vec<Output>) {
        let Phase::Stopping(stop) = &mut self.phase else { return };
        if stop.kill() {
            outputs.push(Output::Killing);
            self.kill_levels(usize::MAX, now, outputs);
        }
    }

    fn kill_levels(&mut self, last: usize, now: Instant, outputs: &mut Vec<Output>) {
        for id in 0..self.members.len() {
            if self.order.level(id) <= last && !self.members[id].killed {
                self.members[id].killed = true;
                self.one(id, Event::Kill, now, outputs);
            }
        }
    }

    fn tick(&mut self, now: Instant, outputs: &mut Vec<Output>) {
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
        if all_ended || stop.is_over(now) {
            self.phase = Phase::Over(stop.reason, stop.since);
            let executor = self.members.iter().find(|member| member.role == Role::Executor);
            outputs.push(Output::Over(Outcome {
                reason: stop.reason,
                executor: executor.and_then(|member| member.last),
                everything_ended: all_ended,
            }));
        }
    }

    fn one(&mut self, id: TaskId, event: Event, now: Instant, outputs: &mut Vec<Output>) {
        let Some(member) = self.members.get_mut(id) else { return };
        for action in member.task.step(event, now).into_iter().flatten() {
            outputs.push(Output::Task(id, action));
            self.consequence(id, action, now, outputs);
        }
    }
}

/// Which program of the task is in the air, if any.
fn part(state: State) -> Option<Part> {
    match state {
        State::Starting { part, .. }
        | State::Running { part, .. }
        | State::Stopping { part, .. }
        | State::Clearing { part, .. } => Some(part),
        State::Idle | State::Backoff { .. } | State::Down | State::Ended => None,
    }
}

/// Whether its main process is alive: others may depend on it.
fn is_serving(state: State) -> bool {
    match state {
        State::Starting { part, .. } | State::Running { part, .. } | State::Stopping { part, .. } => part == Part::Main,
        State::Idle | State::Clearing { .. } | State::Backoff { .. } | State::Down | State::Ended => false,
    }
}
