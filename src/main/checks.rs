//! What the doctor would find wrong, said at the start of `run` and `supervise`: one line each, nothing where all is well.
//!
//! The checks look at the disk, which may hang, and at so much else that they take as long as the whole start. So they are
//! made beside, when the first children have started. A set-up that fails says why in its one line.

use minion::cli::CommonOptions;
use minion::config::{Keeping, Loaded, layered, resource_name};
use minion::inspect::doctor::{self, Check, Children, Depth, Health, LogBound, Subject};
use minion::task::spec::{LogSettings, StdoutMode, TaskSpec};
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tracing::{error, info, warn};

/// What set-up says by itself.
const SAID: &str = "container id";

/// What the checks are about.
#[derive(Debug)]
pub(crate) struct Checks {
    prefix: String,
    private_mountns: bool,
    grace: Option<Duration>,
    logs: Vec<LogBound>,
    /// The executor's: its PATH is what counts.
    variables: Vec<(OsString, OsString)>,
    children: Children,
}

impl Checks {
    /// Of what flags and file came to. None where no checks are wanted.
    pub(crate) fn new(options: &CommonOptions, loaded: &Loaded, needs_km: bool) -> Option<Self> {
        let executor = loaded.tasks.last().filter(|_| options.checks)?;
        Some(Self {
            prefix: options.mesos_cgroup_prefix.clone(),
            private_mountns: options.private_mountns,
            grace: loaded.grace,
            logs: logs(loaded),
            variables: executor.env.clone(),
            children: if needs_km {
                Children::Km {
                    found: Ok((executor.program.clone(), "the one that was started".to_owned())),
                    told: true,
                }
            } else {
                tasks(loaded)
            },
        })
    }

    /// Looks, and says what is not ok, until it is silenced.
    pub(crate) fn say(&self, silence: &AtomicBool) {
        let subject = Subject {
            children: self.children.clone(),
            variables: &self.variables,
            prefix: &self.prefix,
            grace: self.grace.map(|grace| (grace, "--grace or the file")),
            logs: &self.logs,
            private_mountns: self.private_mountns,
            depth: Depth::Quick,
        };
        let checks = doctor::examine(&subject);
        let concerning = checks.iter().filter(|check| check.name != SAID);
        concerning.take_while(|_| !silence.load(Ordering::Acquire)).for_each(say);
    }
}

/// The program of each task, and what it is to be born with.
pub(crate) fn tasks(loaded: &Loaded) -> Children {
    let task = |task: &TaskSpec| doctor::Task {
        name: task.name.clone(),
        program: task.program.clone(),
        uid: task.attributes.user.as_ref().map(|user| user.uid),
        nice: task.attributes.nice,
        oom_score_adj: task.attributes.oom_score_adj,
        limits: task.attributes.limits.iter().map(|of| (resource_name(of.resource), of.resource, of.hard)).collect(),
    };
    Children::Tasks(loaded.tasks.iter().map(task).collect())
}

/// What each log may take: a stdout of its own is a log of its own.
pub(crate) fn logs(loaded: &Loaded) -> Vec<LogBound> {
    let own = loaded.tasks.iter().map(|task| layered(task.log, loaded.log));
    let files = |log: &LogSettings| if log.stdout == Some(StdoutMode::Separate) { 2 } else { 1 };
    own.flat_map(|log| std::iter::repeat_n(bound(log), files(&log))).collect()
}

/// What a log that is kept so may take.
pub(crate) fn bound(settings: LogSettings) -> LogBound {
    let keeping = Keeping::of(settings);
    LogBound { size: keeping.max_size, backups: keeping.max_backups }
}

fn say(check: &Check) {
    let Check { name, health, evidence, remedy } = check;
    let hint = if remedy.is_empty() { String::new() } else { format!(" (hint: {remedy})") };
    match health {
        Health::Ok => {}
        Health::Unknown => info!("doctor: {name}: {evidence}{hint}"),
        Health::Warn => warn!("doctor: {name}: {evidence}{hint}"),
        Health::Fail => error!("doctor: {name}: {evidence}{hint}"),
    }
}
