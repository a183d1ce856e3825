//! From options to a supervisor at work: every step that can fail before a child exists, in the order that the kernel asks for.
//!
//! 1. signals blocked (the caller did), fds close-on-exec, subreaper
//! 2. the private mount namespace: before any thread
//! 3. the placement, the tasks of the front end, the logs: all errors of set-up come from here, and nothing is started yet
//! 4. the loop: the first children, then the log thread

use crate::checks::Checks;
use crate::front::Machine;
use minion::cgroup::{OomWatch, Placement, Validated, Verdict};
use minion::cli::{CgroupAttach, CgroupDrift, CommonOptions, LogFormat};
use minion::config::{self, Keeping, Loaded};
use minion::control::protocol::Container;
use minion::error::{During, Error, Result};
use minion::log::{Diagnostics, LogThread, Policy};
use minion::mesos::Environment;
use minion::namespace;
use minion::process::{signals::Signals, startup};
use minion::supervisor::{self, About, Drifted, Manager, Plan, Planned, Surroundings, Work};
use minion::task::ending;
use minion::task::spec::{LogSettings, StdoutMode};
use minion::trace::{self, Format};
use rustix::fs::{CWD, Mode, OFlags};
use std::ffi::OsString;
use std::time::{Duration, Instant};
use tracing::{error, info, warn};

/// The agent's default, and ours where nobody says anything.
const DEFAULT_GRACE: Duration = Duration::from_secs(5);
/// How long the last lines may take.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Where the tasks come from.
pub(crate) struct FrontEnd<'a> {
    /// What is to be run on a machine, and how its logs are kept.
    pub(crate) load: &'a dyn Fn(&Machine) -> Result<Loaded>,
    /// Whether all of it are commands of km.
    pub(crate) needs_km: bool,
}

/// Sets everything up and supervises. Gives the exit code; an error is one that came before there was a log.
pub(crate) fn prepare(options: &CommonOptions, front: &FrontEnd<'_>, signals: Signals) -> Result<u8> {
    let format = match options.log_format {
        LogFormat::Text => Format::Text,
        LogFormat::Json => Format::Json,
    };
    let diagnostics = Diagnostics::new(trace::loss_notice(format))?;
    trace::init(format, options.verbosity, diagnostics.clone());
    trace::report_panics();
    options.notices.iter().for_each(|notice| warn!("{notice}"));
    let ended = set_up(options, front, signals, &diagnostics).and_then(supervisor::run);
    let limit = Instant::now() + LAST_LINES;
    let (code, limit) = match ended {
        Ok(ended) => (ended.outcome.code(), limit.min(ended.last_moment)),
        Err(failure) => {
            let code = minion::task::ExitCode::Setup as u8;
            error!(errno = failure.errno(), code, "{failure}");
            (code, limit)
        }
    };
    diagnostics.flush(limit);
    Ok(code)
}

fn set_up(options: &CommonOptions, front: &FrontEnd<'_>, signals: Signals, diagnostics: &Diagnostics) -> Result<Plan> {
    startup::close_inherited_fds_on_exec()?;
    startup::become_subreaper()?;
    startup::require_pidfds()?;
    let mounts = options.private_mountns.then(namespace::enter_private_mounts).transpose()?;
    let mut machine = Machine::discover(&options.mesos_cgroup_prefix)?;
    let cgroups = cgroups(options, &machine.placement)?;
    machine.has_cgroups = (options.cgroup_attach != CgroupAttach::Off).then_some(cgroups.is_some());
    let oom = cgroups.as_ref().and_then(watch_oom);
    let loaded = (front.load)(&machine)?;
    let beside = Checks::new(options, &loaded, front.needs_km)
        .map(|checks| -> Work { Box::new(move |silence| checks.say(silence)) });
    let given = loaded.grace;
    let (tasks, logs) = logs(loaded, diagnostics)?;
    let drifted = match options.cgroup_drift {
        CgroupDrift::Warn => Drifted::Warn,
        CgroupDrift::Reattach => Drifted::Reattach,
    };
    let grace = grace(given, &machine.environment);
    let (about, budget) = (About { container: container(&machine.placement), grace }, ending::budget(grace));
    let surroundings = Surroundings { cgroups, drifted, oom, mounts };
    Ok(Plan { tasks, budget, signals, logs, surroundings, manager: manager(&machine.variables), about, beside })
}

/// The service manager that started minion, where one did (`sd_notify(3)`).
fn manager(variables: &[(OsString, OsString)]) -> Option<Manager> {
    let value = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let number = |name: &str| value(name)?.to_str()?.parse::<u64>().ok();
    let is_ours = |pid| pid == u64::from(std::process::id());
    let watchdog = number("WATCHDOG_USEC").filter(|_| number("WATCHDOG_PID").is_none_or(is_ours));
    let manager = Manager::new(value("NOTIFY_SOCKET")?, watchdog.map(Duration::from_micros));
    manager.inspect_err(|error| warn!("{error}, ignoring")).ok()
}

/// Which container this is, for those who ask.
fn container(placement: &Placement) -> Container {
    let verdict = match placement.identity.verdict() {
        Verdict::Agreement => "agreement",
        Verdict::Disagreement => "disagreement",
        Verdict::Absence => "absence",
    };
    Container {
        id: placement.container_id().map(ToString::to_string),
        verdict: verdict.to_owned(),
        evidence: placement.identity.to_string(),
        layout: placement.layout.to_string(),
    }
}

/// The container's cgroups, opened and checked, and a word on how they are known.
fn cgroups(options: &CommonOptions, placement: &Placement) -> Result<Option<Validated>> {
    if options.cgroup_attach == CgroupAttach::Off {
        info!("cgroups are left alone: --cgroup-attach=off");
        return Ok(None);
    }
    match placement.identity.verdict() {
        Verdict::Agreement => info!("{}", placement.identity),
        Verdict::Disagreement | Verdict::Absence => warn!("{}", placement.identity),
    }
    let mut validated = placement.validate();
    for place in &validated.places {
        info!("children belong in {place}");
    }
    for (hierarchy, error) in std::mem::take(&mut validated.refused) {
        if options.cgroup_attach == CgroupAttach::Require {
            return Err(error);
        }
        warn!("{error}; children stay where minion is in {hierarchy}");
    }
    if !validated.places.is_empty() {
        return Ok(Some(validated));
    }
    match options.cgroup_attach {
        CgroupAttach::Require => {
            Err(Error::new("find the container's cgroup below", placement.root.display(), "there is none")
                .hint("--cgroup-attach=auto starts without; --mesos-cgroup-prefix is the agent's --cgroups_root"))
        }
        CgroupAttach::Auto | CgroupAttach::Off => {
            warn!("no cgroup of a container below {:?}: children stay where minion is", placement.root);
            Ok(None)
        }
    }
}

/// Best effort: without the watch a death for lack of memory is just a SIGKILL.
fn watch_oom(cgroups: &Validated) -> Option<OomWatch> {
    OomWatch::open(cgroups).unwrap_or_else(|error| {
        info!("no watch for lack of memory: {error}");
        None
    })
}

/// The log of each task, opened and checked, and the log thread that is to start.
fn logs(loaded: Loaded, diagnostics: &Diagnostics) -> Result<(Vec<Planned>, LogThread)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let sandbox =
        rustix::fs::openat(CWD, ".", flags, Mode::empty()).during("open", "the sandbox (working directory)")?;
    let common = Keeping::of(loaded.log);
    let policy = Policy {
        max_size: common.max_size,
        max_age: common.max_age,
        max_backups: common.max_backups,
        gzip: common.gzip,
        stall: loaded.stall.unwrap_or(config::STALL),
    };
    let mut logs = LogThread::prepare(sandbox, policy, diagnostics.clone())?;
    let mut tasks = Vec::with_capacity(loaded.tasks.len());
    for spec in loaded.tasks {
        let own = own_policy(&spec.log, policy);
        let log = logs.open_with(&spec.name, Some(own))?;
        let stdout = match spec.log.stdout.unwrap_or(common.stdout) {
            StdoutMode::Merge => supervisor::Stdout::Merged,
            StdoutMode::Discard => supervisor::Stdout::Discarded,
            StdoutMode::Separate => {
                supervisor::Stdout::Separate(logs.open_with(&format!("{}.stdout", spec.name), Some(own))?)
            }
        };
        tasks.push(Planned { spec, log, stdout });
    }
    logs.make_ready()?;
    Ok((tasks, logs))
}

/// How a task's log is kept: as all are, but for what it says itself.
fn own_policy(settings: &LogSettings, common: Policy) -> Policy {
    Policy {
        max_size: settings.max_size.unwrap_or(common.max_size),
        max_age: settings.max_age.map_or(common.max_age, |age| (!age.is_zero()).then_some(age)),
        max_backups: settings.max_backups.unwrap_or(common.max_backups),
        gzip: settings.gzip.unwrap_or(common.gzip),
        stall: common.stall,
    }
}

/// What flag or file say, or what the agent says, or its default.
fn grace(given: Option<Duration>, environment: &Environment) -> Duration {
    match (given, &environment.grace) {
        (Some(grace), _) => grace,
        (None, Some(Ok(grace))) => *grace,
        (None, None) => DEFAULT_GRACE,
        (None, Some(Err(error))) => {
            warn!("{error}; using {DEFAULT_GRACE:?}");
            DEFAULT_GRACE
        }
    }
}
