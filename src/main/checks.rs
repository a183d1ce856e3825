//! What the doctor would find wrong, said at the start of `run` and `supervise`: one line each, nothing where all is well.
//!
//! The checks look at the disk, which may hang, and at so much else that they take as long as the whole start. So they are
//! made beside, when the first children have started. A set-up that fails says why in its one line.

use minion::cli::CommonOptions;
use minion::config::{Keeping, Loaded};
use minion::inspect::doctor::{self, Check, Depth, Health, Subject};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tracing::{error, info, warn};

/// What set-up says by itself.
const SAID: &str = "container id";
/// What km needs and nobody else may.
const OF_KM: &str = "programs in PATH";

/// What the checks are about.
#[derive(Debug)]
pub(crate) struct Checks {
    prefix: String,
    private_mountns: bool,
    grace: Option<Duration>,
    keeping: Keeping,
    tasks: u32,
    /// The executor's: its PATH is what counts.
    variables: Vec<(OsString, OsString)>,
    /// The executor's program, where the children are commands of km.
    km: Option<PathBuf>,
}

impl Checks {
    /// Of what flags and file came to. None where no checks are wanted.
    pub(crate) fn new(options: &CommonOptions, loaded: &Loaded, needs_km: bool) -> Option<Self> {
        let executor = loaded.tasks.last().filter(|_| options.checks)?;
        Some(Self {
            prefix: options.mesos_cgroup_prefix.clone(),
            private_mountns: options.private_mountns,
            grace: loaded.grace,
            keeping: Keeping::of(loaded.log),
            tasks: u32::try_from(loaded.tasks.len()).unwrap_or(u32::MAX),
            variables: executor.env.clone(),
            km: needs_km.then(|| executor.program.clone()),
        })
    }

    /// Looks, and says what is not ok, until it is silenced.
    pub(crate) fn say(&self, silence: &AtomicBool) {
        let km = self.km.as_ref().map(|km| Ok((km.clone(), "the one that was started".to_owned())));
        let subject = Subject {
            km,
            variables: &self.variables,
            prefix: &self.prefix,
            grace: self.grace,
            max_log_size: self.keeping.max_size,
            max_log_backups: self.keeping.max_backups,
            tasks: self.tasks,
            private_mountns: self.private_mountns,
            depth: Depth::Quick,
        };
        let concerns = |name| name != SAID && (self.km.is_some() || name != OF_KM);
        let checks = doctor::examine(&subject);
        let concerning = checks.iter().filter(|check| concerns(check.name));
        concerning.take_while(|_| !silence.load(Ordering::Acquire)).for_each(say);
    }
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
