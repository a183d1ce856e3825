//! What the file says, read but not yet resolved: names are names, and what is not given is not there.

use super::placed::Placed;
use crate::task::spec::{LogSettings, Probe, ResourceLimit, StartLimit};
use std::path::PathBuf;
use std::time::Duration;

/// The whole file.
#[derive(Default)]
pub(super) struct Document {
    pub(super) executor: Option<Task>,
    pub(super) sidecars: Vec<Task>,
    pub(super) log: Log,
    pub(super) grace: Option<Duration>,
}

/// `[executor]` or a `[[sidecar]]`.
#[derive(Default)]
pub(super) struct Task {
    /// Where its section begins.
    pub(super) at: usize,
    pub(super) name: Option<Placed<String>>,
    pub(super) command: Option<Placed<Vec<String>>>,
    /// Whether there is a command, be it a wrong one.
    pub(super) has_command: bool,
    pub(super) environment: Vec<(String, String)>,
    pub(super) environment_file: Option<Placed<PathBuf>>,
    pub(super) clear_environment: bool,
    pub(super) directory: Option<Placed<PathBuf>>,
    pub(super) user: Option<Placed<Account>>,
    pub(super) group: Option<Placed<Account>>,
    pub(super) limits: Vec<ResourceLimit>,
    pub(super) nice: Option<i32>,
    pub(super) oom_score_adj: Option<i32>,
    pub(super) stop_signal: Option<i32>,
    pub(super) restart: RestartWhen,
    pub(super) restart_delay: Option<Duration>,
    pub(super) restart_delay_max: Option<Placed<Duration>>,
    pub(super) start_limit: Option<StartLimit>,
    pub(super) after: Vec<Placed<String>>,
    pub(super) readiness: Option<Placed<Asking>>,
    pub(super) health: Option<Placed<Asking>>,
    pub(super) before_start: Option<Hook>,
    pub(super) after_stop: Option<Hook>,
    pub(super) log: LogSettings,
}

/// A user or a group as the file names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Account {
    Name(String),
    Number(u32),
}

/// `restart`, without its delays.
#[derive(Clone, Copy, Default)]
pub(super) enum RestartWhen {
    #[default]
    Always,
    OnFailure,
    Never,
}

/// `readiness` or `health`: exactly one way, and its times.
#[derive(Default)]
pub(super) struct Asking {
    pub(super) ways: Vec<Placed<(&'static str, Way)>>,
    pub(super) every: Option<Duration>,
    pub(super) within: Option<Duration>,
    pub(super) timeout: Option<Placed<Duration>>,
    pub(super) failures: Option<u32>,
}

/// How a task is known to be ready or healthy.
pub(super) enum Way {
    Notify,
    Watchdog,
    Fd(i32),
    Probe(Probe),
    /// A probe whose program is still to be found.
    Command(Placed<Vec<String>>),
}

/// `before-start` or `after-stop`.
#[derive(Default)]
pub(super) struct Hook {
    pub(super) command: Option<Placed<Vec<String>>>,
    pub(super) timeout: Option<Duration>,
}

/// `[log]`.
#[derive(Default)]
pub(super) struct Log {
    pub(super) settings: LogSettings,
    pub(super) stall: Option<Duration>,
}

/// `start-limit`, until it is seen whether it is whole.
#[derive(Default)]
pub(super) struct Limit {
    pub(super) starts: Option<u32>,
    pub(super) within: Option<Duration>,
    pub(super) gives_up: bool,
}
