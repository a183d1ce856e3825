//! What a command line comes to.

use crate::control::client::{Exposition, Verb, Wanted};
use crate::hyperkube::Flags;
use crate::task::spec::LogSettings;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A command line, read and checked.
#[derive(Debug)]
pub enum Command {
    /// The main job.
    Run(Box<RunOptions>),
    /// The main job for any executor.
    Supervise(Box<SuperviseOptions>),
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
    /// The JSON schema of the configuration file, for standard output.
    Schema(String),
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
    /// Hidden: exits with 0 when the unix socket that is its argument accepts, else with the errno.
    ProbeUnix(Vec<OsString>),
}

/// What `minion run` was told. [`Default`] is the command line without a flag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// What decides arguments and environment of the children.
    pub profile: Flags,
    /// `--print-config`: print the two tasks as a configuration file instead.
    pub print_config: bool,
    /// What has nothing to do with the profile.
    pub common: CommonOptions,
}

/// What `minion supervise` was told. [`Default`] is the command line without a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuperviseOptions {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--check`: print the plan instead.
    pub check: bool,
    /// What stood behind `--`: the executor and its arguments.
    pub command: Vec<OsString>,
    /// `--restart-delay`, for sidecars that name none.
    pub restart_delay: Duration,
    /// `--restart-delay-max`, for sidecars that name none.
    pub restart_delay_max: Duration,
    /// What `run` has too.
    pub common: CommonOptions,
}

/// What `run` and `supervise` have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonOptions {
    /// `--mesos-cgroup-prefix`: a relative path without `.`, `..` and empty components.
    pub mesos_cgroup_prefix: String,
    /// `--private-mountns`.
    pub private_mountns: bool,
    /// `--cgroup-attach`.
    pub cgroup_attach: CgroupAttach,
    /// `--cgroup-drift`.
    pub cgroup_drift: CgroupDrift,
    /// `--grace`; None leaves it to the configuration file and the agent.
    pub grace: Option<Duration>,
    /// The children's log files, as far as flags say.
    pub log: LogSettings,
    /// `--log-stall`: how long a child is held back before its output is dropped, when its log cannot be written.
    pub log_stall: Option<Duration>,
    /// `--checks`: what `minion doctor` would find wrong is said at the start.
    pub checks: bool,
    /// `--log-format`: minion's own log.
    pub log_format: LogFormat,
    /// `-v`: minion's own verbosity.
    pub verbosity: i32,
    /// Warnings of the parser, to be logged once there is a log.
    pub notices: Vec<String>,
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
    /// `--format`; in the verb too, where it applies.
    pub form: Exposition,
}

impl Default for ControlOptions {
    fn default() -> Self {
        let verb = Verb::Status { json: false, watch: false };
        Self { verb, which: Wanted::default(), json: false, watch: false, form: Exposition::default() }
    }
}

/// What `minion doctor` was told: flags of `minion run` and `minion supervise` that its checks depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorOptions {
    /// `--km-binary`.
    pub km_binary: Option<PathBuf>,
    /// `--config`.
    pub config: Option<PathBuf>,
    /// The executor and its arguments, behind `--`.
    pub command: Vec<OsString>,
    /// `--grace`.
    pub grace: Option<Duration>,
    /// `--mesos-cgroup-prefix`.
    pub mesos_cgroup_prefix: String,
    /// `--private-mountns`.
    pub private_mountns: bool,
    /// `--max-log-size` and `--max-log-backups`.
    pub log: LogSettings,
    /// `--json`.
    pub json: bool,
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
    /// The mark of a keeper: for minion's own use.
    pub mark: Option<String>,
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
    /// `--move`: out of another container too.
    pub take: bool,
    /// `--mesos-cgroup-prefix`.
    pub mesos_cgroup_prefix: Option<String>,
    /// `--json`.
    pub json: bool,
}

impl Default for DoctorOptions {
    fn default() -> Self {
        Self {
            km_binary: None,
            config: None,
            command: Vec::new(),
            grace: None,
            mesos_cgroup_prefix: CommonOptions::default().mesos_cgroup_prefix,
            private_mountns: false,
            log: LogSettings::default(),
            json: false,
        }
    }
}

impl Default for SuperviseOptions {
    fn default() -> Self {
        let profile = Flags::default();
        Self {
            config: None,
            check: false,
            command: Vec::new(),
            restart_delay: profile.restart_delay,
            restart_delay_max: profile.restart_delay_max,
            common: CommonOptions::default(),
        }
    }
}

impl Default for CommonOptions {
    fn default() -> Self {
        Self {
            mesos_cgroup_prefix: "mesos".to_owned(),
            private_mountns: false,
            cgroup_attach: CgroupAttach::Auto,
            cgroup_drift: CgroupDrift::Warn,
            grace: None,
            log: LogSettings::default(),
            log_stall: None,
            checks: true,
            log_format: LogFormat::Text,
            verbosity: 0,
            notices: Vec::new(),
        }
    }
}
