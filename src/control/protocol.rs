//! The lines of the control socket, version 1.
//!
//! A member that does not apply is left out. Readers ignore members that they do not know; a new member is no new version, a
//! changed or removed one is. Times are UTC in RFC 3339 with milliseconds, spans are seconds, sizes are bytes.

use serde::{Deserialize, Serialize};

/// The version of everything here.
pub const VERSION: u32 = 1;

/// What a client asks: one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// [`VERSION`].
    pub minion: u32,
    /// `status`, `events`, `restart`, `stop`, `start` or `signal`.
    pub request: String,
    /// The task's name, for the last four.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// For `signal`: `HUP`, `SIGHUP` or a number as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// [`VERSION`].
    pub minion: u32,
    /// What kind of failure.
    pub error: Kind,
    /// In words, with a hint.
    pub text: String,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Too many clients; the connection is closed. Also what a client is told whose place another one takes.
    Busy,
    /// Neither root nor minion's own user; the connection is closed.
    Forbidden,
    /// No request of this protocol; the connection is closed.
    Malformed,
    /// Another version; the connection is closed.
    Version,
    /// No such task, or no such signal.
    Unknown,
    /// It cannot be done now, or not at all.
    Refused,
    /// A kind that a later minion knows.
    #[serde(other)]
    Other,
}

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// [`VERSION`].
    pub minion: u32,
    /// In words.
    pub done: String,
    /// The task.
    pub task: String,
    /// Its state after the command: see [`Task::state`].
    pub state: String,
}

/// The first line of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// [`VERSION`].
    pub minion: u32,
    /// The number of the last event before: the next one is this plus 1.
    pub subscribed: u64,
}

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// [`VERSION`].
    pub minion: u32,
    /// The number of the event, from 1 in each minion. `lost` has none (0).
    pub seq: u64,
    /// When.
    pub time: String,
    /// What: `started`, `start-failed`, `start-limit`, `ready`, `not-ready`, `unhealthy`, `hook-failed`, `exited`, `backoff`,
    /// `down`, `command`, `cgroup-hazard`, `cgroup-drift`, `cgroup-reattach`, `oom`, `log-degraded`, `log-recovered`,
    /// `log-sacrificed`, `stopping`, `killing`; and `lost`, when this client read too slowly.
    pub event: String,
    /// The task, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The main process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// `exited`: the code as a shell gives it, 128+n after signal n, 127 when nothing ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u8>,
    /// `lost`: how many events this client did not get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// In words.
    pub text: String,
}

/// Everything that minion knows, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// [`VERSION`].
    pub minion: u32,
    /// minion's own version.
    pub version: String,
    /// minion's pid, in its own pid namespace.
    pub pid: i32,
    /// When this was.
    pub time: String,
    /// How long minion supervises.
    pub uptime_seconds: f64,
    /// What began the end, once it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopping: Option<String>,
    /// The working directory: logs and this socket are in it.
    pub sandbox: String,
    /// The container.
    pub container: Container,
    /// The cgroups that children are put into; empty where minion leaves them where it is.
    pub cgroups: Vec<Cgroup>,
    /// Whether the children have a mount namespace that minion made.
    pub private_mounts: bool,
    /// OOM kills in the container so far, where they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oom_kills: Option<u64>,
    /// The agent's grace period, or `--grace`.
    pub grace_seconds: f64,
    /// How much of it everything ends in.
    pub budget_seconds: f64,
    /// The tasks, in the order of starting.
    pub tasks: Vec<Task>,
    /// The last events, oldest first.
    pub events: Vec<Event>,
}

/// Which container this is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// Its id, nested ones with their parents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `agreement`, `disagreement` or `absence`: of what the kernel and `MESOS_DIRECTORY` say.
    pub verdict: String,
    /// Both, in words.
    pub evidence: String,
    /// `legacy`, `hybrid`, `unified` or `none`.
    pub layout: String,
}

/// A cgroup of the container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroup {
    /// `freezer`, `cpu,cpuacct`, `name=systemd`, `unified`.
    pub hierarchy: String,
    /// Below the root of the hierarchy.
    pub path: String,
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The name, as commands take it.
    pub name: String,
    /// `executor` or `helper`.
    pub role: String,
    /// `idle`, `starting`, `running`, `stopping`, `clearing` (dead, and what it left behind is being ended), `backoff`,
    /// `down` (by a command) or `ended`.
    pub state: String,
    /// `before-start` or `after-stop`, while it is that hook which the state speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// Whether it can serve, by its own word or by a probe; without either, whether it runs.
    #[serde(default)]
    pub ready: bool,
    /// What it says of itself (`STATUS=`, as `sd_notify` has it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// The main process, while there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// How long this run lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uptime_seconds: Option<f64>,
    /// `backoff`: how long until it starts again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_in_seconds: Option<f64>,
    /// How often it was started, but for the first time.
    pub restarts: u64,
    /// How its last finished run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_exit: Option<LastExit>,
    /// Resident memory of the main process (`/proc/<pid>/statm`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// Processor time of the main process, user and system (`/proc/<pid>/stat`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// Where the main process is not in the cgroup that it was put into; one sentence a hierarchy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<String>,
    /// Its logs: one, or a second one for stdout.
    pub logs: Vec<Log>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastExit {
    /// `exited with 3`, `killed by signal 9 (SIGKILL)`.
    pub text: String,
    /// The main process's pid; none where nothing ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// As a shell gives it: 128+n after signal n, 127 when nothing ran.
    pub code: u8,
    /// When it was told, everything of the run ended.
    pub time: String,
    /// How long the run had lasted.
    pub up_seconds: f64,
    /// Whether a command ended it.
    pub commanded: bool,
}

/// A log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// The file's name in the sandbox.
    pub file: String,
    /// Bytes that the task wrote into it, in the files of now and before.
    pub bytes: u64,
    /// Bytes that are in no file; the log says where they are missing.
    pub dropped: u64,
    /// Why it cannot be written, while that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
}

impl Failure {
    /// A failure of this version.
    pub fn new(error: Kind, text: impl Into<String>) -> Self {
        Self { minion: VERSION, error, text: text.into() }
    }
}
