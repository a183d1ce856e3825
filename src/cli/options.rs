//! What a command line comes to.

use crate::hyperkube::Flags;
use std::ffi::OsString;
use std::time::Duration;

/// A command line, read and checked.
#[derive(Debug)]
pub enum Command {
    /// The main job.
    Run(Box<RunOptions>),
    /// The main job on a rehearsal agent.
    Demo(DemoOptions),
    /// The containers of this host.
    Containers(ContainersOptions),
    /// The log of a task.
    Logs(LogsOptions),
    /// A command where a task is.
    Enter(EnterOptions),
    /// Text that was asked for, for standard output.
    Help(String),
    /// Name and version, for standard output.
    Version(String),
    /// A completion script, for standard output.
    Completions(String),
    /// A manual page in roff, for standard output.
    Man(String),
    /// Hidden: a child of the demo. Its arguments are its own to read.
    StandIn(Vec<OsString>),
    /// Hidden: the container's init under the rehearsal agent. Its arguments are its own to read.
    RehearsalInit(Vec<OsString>),
    /// Hidden: exits with 0 when the file that is its argument exists.
    ProbeFile(Vec<OsString>),
}

/// What `minion run` was told. [`Default`] is the command line without a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// What decides arguments and environment of the children.
    pub profile: Flags,
    /// `--mesos-cgroup-prefix`: a relative path without `.`, `..` and empty components.
    pub mesos_cgroup_prefix: String,
    /// `--private-mountns`.
    pub private_mountns: bool,
    /// `--cgroup-attach`.
    pub cgroup_attach: CgroupAttach,
    /// `--cgroup-drift`.
    pub cgroup_drift: CgroupDrift,
    /// `--grace`; None leaves it to the agent.
    pub grace: Option<Duration>,
    /// The children's log files.
    pub log: LogOptions,
    /// `--log-format`: minion's own log.
    pub log_format: LogFormat,
    /// `-v`: minion's own verbosity.
    pub verbosity: i32,
    /// Warnings of the parser, to be logged once there is a log.
    pub notices: Vec<String>,
}

/// How the children's log files are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// The size in bytes beyond which a file is rotated; 0 never rotates.
    pub max_size: u64,
    /// The age beyond which a rotated file is removed; None keeps it whatever its age.
    pub max_age: Option<Duration>,
    /// How many rotated files are kept; 0 keeps all.
    pub max_backups: u32,
    /// Whether rotated files are compressed.
    pub gzip: bool,
    /// How long a child is held back before its output is dropped, when its log cannot be written.
    pub stall: Duration,
    /// What becomes of a child's standard output.
    pub stdout: Stdout,
}

/// What becomes of a child's standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdout {
    /// Into the same log as standard error.
    Merge,
    /// Into a log of its own.
    Separate,
    /// Nowhere.
    Discard,
}

/// Whether children are put into the container's cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupAttach {
    /// Where one is found; a warning where none is.
    Auto,
    /// Nothing starts where none is found.
    Require,
    /// Cgroups are not touched.
    Off,
}

/// What is done when a task has left its cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupDrift {
    /// It is told.
    Warn,
    /// It is told, and the task is put back.
    Reattach,
}

/// The form of minion's own log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// A line of words.
    Text,
    /// A JSON object a line.
    Json,
}

/// What `minion demo` was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DemoOptions {
    /// `--keep`: the sandbox stays when the demo is over.
    pub keep: bool,
}

/// What `minion containers` was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainersOptions {
    /// `--mesos-cgroup-prefix`; None looks for containers by their shape.
    pub root: Option<String>,
    /// `--sort`.
    pub sort: SortKey,
    /// `--watch`.
    pub watch: bool,
    /// `--json`.
    pub json: bool,
}

/// The order of containers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortKey {
    /// By root and id.
    #[default]
    Id,
    /// Most processes first.
    Pids,
    /// Most memory first.
    Memory,
    /// Most cpu time first.
    Cpu,
    /// Most OOM kills first.
    Oom,
}

/// What `minion logs` was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogsOptions {
    /// The log's name.
    pub task: String,
    /// `--sandbox`: a directory, a pid or a container's id.
    pub sandbox: Option<OsString>,
    /// `--follow`.
    pub follow: bool,
    /// `--lines`.
    pub lines: Option<u64>,
    /// `--since`.
    pub since: Option<Since>,
    /// `--raw`.
    pub raw: bool,
}

/// A moment, as `--since` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// Milliseconds of the Unix epoch.
    Moment(i64),
    /// So long before now.
    Ago(Duration),
}

/// What `minion enter` was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnterOptions {
    /// A task's name or a pid.
    pub target: String,
    /// `--user`: be the task's user.
    pub as_user: bool,
    /// What stands behind `--`; empty for a shell.
    pub command: Vec<OsString>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            profile: Flags::default(),
            mesos_cgroup_prefix: "mesos".to_owned(),
            private_mountns: false,
            cgroup_attach: CgroupAttach::Auto,
            cgroup_drift: CgroupDrift::Warn,
            grace: None,
            log: LogOptions::default(),
            log_format: LogFormat::Text,
            verbosity: 0,
            notices: Vec::new(),
        }
    }
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            max_size: 10 << 20,
            max_age: Some(Duration::from_secs(7 * 24 * 60 * 60)),
            max_backups: 5,
            gzip: false,
            stall: Duration::from_secs(5),
            stdout: Stdout::Merge,
        }
    }
}
