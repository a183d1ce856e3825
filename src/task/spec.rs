//! What to run: a task as its front end describes it, before any process exists.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// One program to keep running, whole: everything that `exec` needs and what to do when it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSpec {
    /// The name in logs, in commands and of the log file (`proxy` writes `proxy.log`).
    pub name: String,
    /// What the task is to the container.
    pub role: Role,
    /// The file to execute, as `execve` takes it.
    pub program: PathBuf,
    /// The argument vector, `argv[0]` included.
    pub args: Vec<OsString>,
    /// The whole environment, in order. The supervisor adds `MINION_TASK`, nothing else.
    pub env: Vec<(OsString, OsString)>,
    /// Whether and when it starts again after its end.
    pub restart: Restart,
}

/// What a task is to the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The container lives for it: its end is the end of everything, its exit code is minion's.
    Executor,
    /// It serves the executor: it may end and start again.
    Helper,
}

/// Whether a task starts again after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Its first end is its last.
    Never,
    /// Always, after a delay that doubles from `delay` to `max` and falls back after a minute up.
    Always {
        /// The delay before the first restart. Zero restarts at once, and stays zero.
        delay: Duration,
        /// The longest delay.
        max: Duration,
    },
}
