//! What goes into the core, and what comes out of it.

use super::outcome::{Outcome, Reason};
use super::state::{Action, Event, State};

/// Which task: its index in the plan.
pub type TaskId = usize;

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
    /// The answer to the command: what state the task is in now. Exactly one for each command.
    Answered(Result<State, Refusal>),
    /// Say that the end has begun, and why; once.
    Stopping(Reason),
    /// Say that the time for asking is over.
    Killing,
    /// Everything has ended, or the time is over: leave with this.
    Over(Outcome),
}
