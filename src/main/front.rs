//! The two front ends of the one supervisor: the hyperkube profile, and any executor with the sidecars of a file.

use super::file;
use minion::cgroup::{self, Layout, Placement};
use minion::cli::{CommonOptions, RunOptions, SuperviseOptions};
use minion::config::{self, Context, Fault, Loaded, Printed, Problem};
use minion::error::{Error, Result};
use minion::hyperkube::{self, CgroupRoot, Host, Notice};
use minion::inspect::doctor::{is_directory, is_executable};
use minion::mesos::Environment;
use minion::task::ExitCode as Code;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use tracing::{info, warn};

/// Bytes of a file that `--config` names; one with a hundred sidecars has a tenth of it.
const CONFIG: u64 = 1 << 20;

/// What a front end has to know of the machine.
pub(crate) struct Machine {
    /// minion's own environment.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// What the agent said in it.
    pub(crate) environment: Environment,
    /// The container's cgroups.
    pub(crate) placement: Placement,
    /// Whether there are any; None where nobody looked.
    pub(crate) has_cgroups: Option<bool>,
}

impl Machine {
    /// Reads the environment and /proc. Containers are below `prefix` in each hierarchy.
    pub(crate) fn discover(prefix: &str) -> Result<Self> {
        let variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let environment = Environment::from_vars(&variables);
        let placement = cgroup::discover(&cgroup::Sources::read()?, prefix, &environment);
        Ok(Self { variables, environment, placement, has_cgroups: None })
    }
}

/// The two tasks of the original. What is to be known of them goes to the log.
pub(crate) fn profile(options: &RunOptions, machine: &Machine) -> Result<Loaded> {
    let (loaded, notices) = profile_and_notices(options, machine)?;
    for notice in &notices {
        if notice.warn { warn!("{}", notice.text) } else { info!("{}", notice.text) }
    }
    Ok(loaded)
}

fn profile_and_notices(options: &RunOptions, machine: &Machine) -> Result<(Loaded, Vec<Notice>)> {
    let cwd = std::env::current_dir().ok();
    let path = machine.variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    // Where a flag names km, nobody asks where minion is.
    let exe = options.profile.km_binary.is_none().then(|| std::env::current_exe().ok()).flatten();
    let (km, why) = hyperkube::locate_km(
        options.profile.km_binary.as_deref(),
        exe.as_deref().and_then(Path::parent),
        machine.environment.sandbox.as_deref().or(cwd.as_deref()),
        path,
        &is_executable,
    )?;
    let found = Notice { warn: false, text: format!("the children are commands of {km:?}, found by: {why}") };
    let host = Host {
        km,
        cwd,
        cgroup_root: cgroup_root(machine),
        container: machine.placement.container_id().map(|id| id.own().to_owned()),
        read: &|path| file::read(path, file::MOST),
    };
    let profile = hyperkube::profile(&options.profile, &machine.variables, &host)?;
    let CommonOptions { log, log_stall, grace, .. } = &options.common;
    let loaded = Loaded { tasks: profile.tasks, log: *log, stall: *log_stall, grace: *grace };
    Ok((loaded, std::iter::once(found).chain(profile.notices).collect()))
}

/// `minion run --print-config`: the file, and lines for who reads it on standard error, without line ends.
pub(crate) fn print_config(options: &RunOptions) -> Result<(String, Vec<String>)> {
    let mut machine = Machine::discover(&options.common.mesos_cgroup_prefix)?;
    machine.has_cgroups = Some(!machine.placement.validate().places.is_empty());
    let (loaded, notices) = profile_and_notices(options, &machine)?;
    let Printed { text, left_out } = config::print(&loaded, &machine.variables)?;
    let warnings = notices.into_iter().filter(|notice| notice.warn).map(|notice| notice.text);
    let secrets = left_out.iter().map(|secret| format!("a secret is left out of the file: {secret}"));
    Ok((text, options.common.notices.iter().cloned().chain(warnings).chain(secrets).collect()))
}

fn cgroup_root(machine: &Machine) -> CgroupRoot {
    let root = machine.placement.cgroup_root().map(PathBuf::into_os_string).and_then(|root| root.into_string().ok());
    match (root, machine.placement.layout) {
        (None, _) => CgroupRoot::Unknown,
        (Some(root), Layout::Unified) => CgroupRoot::Unified(root),
        (Some(root), Layout::Legacy | Layout::Hybrid | Layout::None) if machine.has_cgroups == Some(false) => {
            CgroupRoot::Absent(root)
        }
        (Some(root), Layout::Legacy | Layout::Hybrid | Layout::None) => CgroupRoot::Path(root),
    }
}

/// Why there is nothing to run: lines for standard error, and the exit code.
pub(crate) struct Refused {
    /// Without `minion:` and without line ends.
    pub(crate) lines: Vec<String>,
    /// Of the usage, where the text is wrong; of the set-up, where the machine lacks something.
    pub(crate) code: Code,
}

/// The executor and the sidecars of the command line and its file. Flags override `[log]` and `[stop]`.
pub(crate) fn configured(options: &SuperviseOptions) -> Result<Loaded, Refused> {
    let SuperviseOptions { config, common, .. } = options;
    let (path, text) = match config {
        None => (Path::new("command line"), String::new()),
        Some(path) => (path.as_path(), text_of(path)?),
    };
    let variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let loaded = config::load(&text, path, &context(options, &variables)).map_err(|problems| refused(&problems))?;
    let log = config::layered(common.log, loaded.log);
    Ok(Loaded { log, stall: common.log_stall.or(loaded.stall), grace: common.grace.or(loaded.grace), ..loaded })
}

/// `minion supervise --check`.
pub(crate) fn check(options: &SuperviseOptions) -> Result<String, Refused> {
    let variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    configured(options).map(|loaded| config::plan(&loaded, &context(options, &variables)))
}

fn context<'a>(options: &'a SuperviseOptions, variables: &'a [(OsString, OsString)]) -> Context<'a> {
    Context {
        environment: variables,
        directory: std::env::current_dir().ok(),
        command: &options.command,
        restart_delay: options.restart_delay,
        restart_delay_max: options.restart_delay_max,
        read: &|path| file::read(path, file::MOST),
        is_executable: &is_executable,
        is_directory: &is_directory,
    }
}

fn text_of(path: &Path) -> Result<String, Refused> {
    let bytes = file::read(path, CONFIG).map_err(|error| unreadable(path, error))?;
    String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|byte| *byte == b'\n').count();
        Refused { lines: vec![format!("{}:{}: not UTF-8", path.display(), line)], code: Code::Usage }
    })
}

fn unreadable(path: &Path, error: io::Error) -> Refused {
    let absent = error.kind() == io::ErrorKind::NotFound;
    let error = Error::io("read", format!("--config={}", path.display()), error);
    let error = if absent { error.hint("is it among the URIs of the command?") } else { error };
    Refused { lines: vec![error.to_string()], code: Code::Setup }
}

fn refused(problems: &[Problem]) -> Refused {
    let lines = problems.iter().map(Problem::to_string).collect();
    let text = problems.iter().any(|problem| problem.fault == Fault::Text);
    Refused { lines, code: if text { Code::Usage } else { Code::Setup } }
}
