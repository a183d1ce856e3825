//! From options to the commands that look.

use crate::checks;
use minion::cli::{AttachOptions, CommonOptions, DoctorOptions, LookOptions, SuperviseOptions};
use minion::control::client::{self, Wanted};
use minion::control::protocol::{Cgroup, Event};
use minion::error::Result;
use minion::hyperkube;
use minion::inspect::doctor::{self, Children, Depth, LogBound, Subject};
use minion::inspect::{self, Absent, Answer, Errand, Form, LastExit, Question, Told};
use minion::render::Screen;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The hyperkube profile's: kube-proxy and the executor.
const TASKS: usize = 2;

pub(crate) fn doctor(options: &DoctorOptions) -> Answer {
    let variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let (children, log, grace) = if options.config.is_some() || !options.command.is_empty() {
        supervised(options)
    } else {
        let found = km(options.km_binary.as_deref(), &variables);
        (Children::Km { found, told: options.km_binary.is_some() }, vec![checks::bound(options.log); TASKS], None)
    };
    let subject = Subject {
        children,
        logs: &log,
        variables: &variables,
        prefix: &options.mesos_cgroup_prefix,
        grace: options.grace.map(|told| (told, "--grace")).or(grace.map(|told| (told, "the file"))),
        private_mountns: options.private_mountns,
        depth: Depth::Full,
    };
    doctor::report(&doctor::examine(&subject), options.json, &Screen::of_stdout())
}

/// What `minion supervise` would start, and its logs. A file that is wrong has neither.
fn supervised(options: &DoctorOptions) -> (Children, Vec<LogBound>, Option<Duration>) {
    let common = CommonOptions { log: options.log, ..CommonOptions::default() };
    let DoctorOptions { config, command, .. } = options;
    let told =
        SuperviseOptions { config: config.clone(), command: command.clone(), common, ..SuperviseOptions::default() };
    match super::front::configured(&told) {
        Err(refused) => (Children::Refused(refused.lines), Vec::new(), None),
        Ok(loaded) => (checks::tasks(&loaded), checks::logs(&loaded), loaded.grace),
    }
}

/// Looked for where `minion run` looks.
fn km(flag: Option<&Path>, variables: &[(OsString, OsString)]) -> Result<(PathBuf, String), String> {
    let variable = |name: &str| variables.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str());
    let (exe, cwd) = (std::env::current_exe().ok(), std::env::current_dir().ok());
    let sandbox = variable("MESOS_SANDBOX").map(Path::new).or(cwd.as_deref());
    let beside = exe.as_deref().and_then(Path::parent);
    hyperkube::locate_km(flag, beside, sandbox, variable("PATH"), &doctor::is_executable)
        .map(|(path, how)| (path, how.to_owned()))
        .map_err(|error| error.to_string().replace(" (hint: --km-binary=PATH names it)", ""))
}

pub(crate) fn look(options: LookOptions, whole: bool) -> Result<Answer> {
    let question = Question { prefix: options.mesos_cgroup_prefix, container: options.container };
    let (form, screen) = (Form { whole, json: options.json }, Screen::of_stdout());
    inspect::look(&options.word, &question, form, &screen, &ask)
}

/// What the minion here, or the only one of this host, says of a task.
pub(crate) fn ask(name: &str) -> Told {
    let status = match client::status(&Wanted::default()) {
        Ok(status) => status,
        Err(why) => return Told::Nothing(why),
    };
    let Some(task) = status.tasks.into_iter().find(|task| task.name == name) else { return Told::Unknown };
    if let Some(pid) = task.pid {
        return Told::Runs(pid);
    }
    let signalled = signalled(&status.events, name);
    let counts = |cgroup: &&Cgroup| cgroup.hierarchy.split(',').any(|name| name == "memory" || name == "unified");
    Told::Absent(Box::new(Absent {
        task: task.name,
        minion: status.pid,
        sandbox: status.sandbox,
        state: task.state,
        exit: task.last_exit.map(|exit| LastExit {
            text: exit.text,
            pid: exit.pid,
            code: exit.code,
            time: exit.time,
            up: Duration::try_from_secs_f64(exit.up_seconds).unwrap_or_default(),
            commanded: exit.commanded,
        }),
        signalled,
        oom_kills: status.oom_kills,
        memory: status.cgroups.iter().find(counts).map(|cgroup| PathBuf::from(&cgroup.path)),
    }))
}

/// What a command sent last to the run of this task that ended last, as far as the events go back.
fn signalled(events: &[Event], task: &str) -> Option<String> {
    let mut events = events.iter().rev().filter(|event| event.task.as_deref() == Some(task));
    let end = events.find(|event| event.event == "exited")?;
    let mut of_run = events.take_while(|event| event.event != "exited" && event.pid == end.pid);
    let sent = of_run.find(|event| event.event == "command" && event.text.starts_with("signal "))?;
    Some(sent.text.clone())
}

pub(crate) fn attach(options: AttachOptions) -> Result<Answer> {
    let AttachOptions { pid, container, only, take, mesos_cgroup_prefix: prefix, json } = options;
    inspect::attach(&Errand { pid, container, only, take, prefix, json }, &Screen::of_stdout())
}
