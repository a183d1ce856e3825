//! What a command line comes to.

use crate::control::client::{Verb, Wanted};
use crate::hyperkube::Flags;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A command line, read and checked.
#[derive(Debug)]
pub enum Command {
    /// The main job.
    Run(Box<RunOptions>),
    /// The main job on a rehearsal agent.
    Demo(DemoOptions),
    /// Something of a running minion.
    Control(ControlOptions),
    /// Checks of this host and container.
    Doctor(DoctorOptions),
    /// A process or container seen whole.
    Inspect(LookOptions),
    /// The findings alone.
    Why(LookOptions),
    /// A stray process put back.
    Attach(AttachOptions),
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

/// What a command that talks to a running minion was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlOptions {
    /// What is wanted.
    pub verb: Verb,
    /// Of which minion.
    pub which: Wanted,
    /// `--json`; in the verb too, where it applies.
    pub json: bool,
    /// `--watch`; in the verb too, where it applies.
    pub watch: bool,
}

impl Default for ControlOptions {
    fn default() -> Self {
        let verb = Verb::Status { json: false, watch: false };
        Self { verb, which: Wanted::default(), json: false, watch: false }
    }
}

/// What `minion doctor` was told: flags of `minion run` that its checks depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorOptions {
    /// `--km-binary`.
    pub km_binary: Option<PathBuf>,
    /// `--grace`.
    pub grace: Option<Duration>,
    /// `--mesos-cgroup-prefix`.
    pub mesos_cgroup_prefix: String,
    /// `--private-mountns`.
    pub private_mountns: bool,
    /// `--max-log-size` in bytes; 0 never rotates.
    pub max_log_size: u64,
    /// `--max-log-backups`; 0 keeps all.
    pub max_log_backups: u32,
    /// `--json`.
    pub json: bool,
}

/// What `minion inspect` and `minion why` were told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookOptions {
    /// A pid, a task's name or a container's id.
    pub word: String,
    /// `--mesos-cgroup-prefix`; None leaves it to the minion above the process.
    pub mesos_cgroup_prefix: Option<String>,
    /// `--container`.
    pub container: Option<String>,
    /// `--json`.
    pub json: bool,
}

/// What `minion attach` was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttachOptions {
    /// The process.
    pub pid: i32,
    /// `--to`: the container's id.
    pub container: String,
    /// `--only`: a controller.
    pub only: Option<String>,
    /// `--mesos-cgroup-prefix`.
    pub mesos_cgroup_prefix: Option<String>,
    /// `--json`.
    pub json: bool,
}

impl Default for DoctorOptions {
    fn default() -> Self {
        let run = RunOptions::default();
        Self {
            km_binary: None,
            grace: None,
            mesos_cgroup_prefix: run.mesos_cgroup_prefix,
            private_mountns: false,
            max_log_size: run.log.max_size,
            max_log_backups: run.log.max_backups,
            json: false,
        }
    }
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
