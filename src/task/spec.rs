//! What to run: a task as its front end describes it, before any process exists.
//!
//! The hyperkube profile fills the first half; the rest is for `minion supervise`.

use std::ffi::OsString;
use std::net::SocketAddr;
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
    /// The whole environment, in order. The supervisor adds `MINION_TASK` and what readiness needs, nothing else.
    pub env: Vec<(OsString, OsString)>,
    /// Whether and when it starts again after its end.
    pub restart: Restart,
    /// How often it may start, and what follows when that is too often.
    pub start_limit: Option<StartLimit>,
    /// What its processes are born with.
    pub attributes: Attributes,
    /// The signal that asks it to end: SIGTERM.
    pub stop_signal: i32,
    /// The names of the tasks that must be ready before it starts. It is told to end before they are.
    pub after: Vec<String>,
    /// How it says that it can serve.
    pub readiness: Readiness,
    /// How it is found out whether it still can.
    pub health: Option<Health>,
    /// What runs before each start; a failure of it is a failed start.
    pub before_start: Option<Hook>,
    /// What runs after each end.
    pub after_stop: Option<Hook>,
    /// How its log is kept, where that differs from the rest.
    pub log: LogSettings,
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
    /// After any other end than exit code 0, with the delays of [`Restart::Always`].
    OnFailure {
        /// The delay before the first restart. Zero restarts at once, and stays zero.
        delay: Duration,
        /// The longest delay.
        max: Duration,
    },
    /// Always, after a delay that doubles from `delay` to `max` and falls back after a minute up.
    Always {
        /// The delay before the first restart. Zero restarts at once, and stays zero.
        delay: Duration,
        /// The longest delay.
        max: Duration,
    },
}

/// How often a task may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartLimit {
    /// So many starts, at least 1,
    pub starts: u32,
    /// within this time are allowed.
    pub within: Duration,
    /// What follows one more.
    pub then: Limited,
}

/// What follows when a task starts too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// Everything ends.
    End,
    /// It stays down, the others go on.
    GiveUp,
}

/// What a task's processes are born with, where it differs from minion's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The working directory.
    pub directory: Option<PathBuf>,
    /// User, group and supplementary groups.
    pub user: Option<User>,
    /// `setrlimit`: resource, soft, hard; `None` is unlimited.
    pub limits: Vec<ResourceLimit>,
    /// The nice value, -20 to 19.
    pub nice: Option<i32>,
    /// `/proc/<pid>/oom_score_adj`, -1000 to 1000.
    pub oom_score_adj: Option<i32>,
}

/// Who a process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The uid.
    pub uid: u32,
    /// The gid.
    pub gid: u32,
    /// The supplementary groups.
    pub groups: Vec<u32>,
}

/// One `setrlimit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceLimit {
    /// `RLIMIT_NOFILE` and the like, as libc numbers them.
    pub resource: u32,
    /// The limit in force; `None` is unlimited.
    pub soft: Option<u64>,
    /// What it may be raised to; `None` is unlimited.
    pub hard: Option<u64>,
}

/// How a task says that it can serve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// The way.
    pub way: ReadyWay,
    /// When it does not come within this time after the start, the run has failed. `None` waits for ever.
    pub within: Option<Duration>,
}

/// The ways to be ready.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReadyWay {
    /// It is ready as soon as it runs.
    #[default]
    Exec,
    /// It sends `READY=1` to `NOTIFY_SOCKET` (`sd_notify(3)`).
    Notify,
    /// It writes a newline to this fd, which it finds open (s6).
    Fd(i32),
    /// A probe succeeds.
    Probe {
        /// The probe.
        probe: Probe,
        /// The pause between two tries.
        every: Duration,
    },
}

/// A question to the outside of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// A connection is accepted there.
    Tcp(SocketAddr),
    /// A connection is accepted there.
    Unix(PathBuf),
    /// `GET path` is answered with 200 to 399.
    Http {
        /// Where.
        address: SocketAddr,
        /// The path, with its query.
        path: String,
    },
    /// The command, run with the task's environment and attributes, exits with 0.
    Command(Vec<OsString>),
    /// The file exists.
    File(PathBuf),
}

/// How it is found out whether a task can still serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The question, asked again and again once the task is ready. `None`: it is the task that speaks (`WATCHDOG=1`).
    pub probe: Option<Probe>,
    /// The pause between two questions; without a probe, the longest time between two `WATCHDOG=1`.
    pub every: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// So many failures in a row, at least 1, are a verdict.
    pub failures: u32,
}

/// A command around a task's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The argument vector; the first is the file to execute.
    pub args: Vec<OsString>,
    /// How long it may take before it is killed.
    pub timeout: Duration,
}

/// How a task's log is kept, where that differs from the rest. `None`: as the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// Bytes in a file before it is rotated; 0 never rotates.
    pub max_size: Option<u64>,
    /// Backups older than this are removed; zero keeps them whatever their age.
    pub max_age: Option<Duration>,
    /// So many backups are kept; 0 keeps all.
    pub max_backups: Option<u32>,
    /// Backups are packed.
    pub gzip: Option<bool>,
    /// What becomes of stdout.
    pub stdout: Option<StdoutMode>,
}

/// What becomes of a child's standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StdoutMode {
    /// It goes where stderr goes, through the same pipe, so that the order of lines is kept.
    #[default]
    Merge,
    /// It has a log of its own.
    Separate,
    /// It is `/dev/null`.
    Discard,
}

impl StdoutMode {
    /// Each.
    pub const ALL: [Self; 3] = [Self::Merge, Self::Separate, Self::Discard];
    /// Their words in flags and files, in the same order.
    pub const WORDS: [&'static str; 3] = ["merge", "separate", "discard"];

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

impl TaskSpec {
    /// A task with nothing but a program: no argument but its own name, no environment, ready when it runs, SIGTERM to end.
    pub fn new(name: impl Into<String>, role: Role, program: impl Into<PathBuf>, restart: Restart) -> Self {
        let program = program.into();
        Self {
            name: name.into(),
            role,
            args: vec![program.clone().into_os_string()],
            program,
            env: Vec::new(),
            restart,
            start_limit: None,
            attributes: Attributes::default(),
            stop_signal: libc::SIGTERM,
            after: Vec::new(),
            readiness: Readiness::default(),
            health: None,
            before_start: None,
            after_stop: None,
            log: LogSettings::default(),
        }
    }
}
