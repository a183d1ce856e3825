//! From options to the commands that look.

use minion::cli::{AttachOptions, DoctorOptions, LookOptions};
use minion::error::Result;
use minion::hyperkube;
use minion::inspect::doctor::{self, Depth, Subject};
use minion::inspect::{self, Answer, Errand, Form, Question};
use minion::render::Screen;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The hyperkube profile's: kube-proxy and the executor.
const TASKS: u32 = 2;

pub(crate) fn doctor(options: &DoctorOptions) -> Answer {
    let variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let subject = Subject {
        km: Some(km(options.km_binary.as_deref(), &variables)),
        variables: &variables,
        prefix: &options.mesos_cgroup_prefix,
        grace: options.grace,
        max_log_size: options.max_log_size,
        max_log_backups: options.max_log_backups,
        tasks: TASKS,
        private_mountns: options.private_mountns,
        depth: Depth::Full,
    };
    doctor::report(&doctor::examine(&subject), options.json, &Screen::of_stdout())
}

/// Looked for where `minion run` looks.
fn km(flag: Option<&Path>, variables: &[(OsString, OsString)]) -> Result<(PathBuf, String), String> {
    let variable = |name: &str| variables.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str());
    let (exe, cwd) = (std::env::current_exe().ok(), std::env::current_dir().ok());
    let sandbox = variable("MESOS_SANDBOX").map(Path::new).or(cwd.as_deref());
    let beside = exe.as_deref().and_then(Path::parent);
    hyperkube::locate_km(flag, beside, sandbox, variable("PATH"), &super::front::is_executable)
        .map(|(path, how)| (path, how.to_owned()))
        .map_err(|error| error.to_string().replace(" (hint: --km-binary=PATH names it)", ""))
}

pub(crate) fn look(options: LookOptions, whole: bool) -> Result<Answer> {
    let question = Question { prefix: options.mesos_cgroup_prefix, container: options.container };
    inspect::look(&options.word, &question, Form { whole, json: options.json }, &Screen::of_stdout())
}

pub(crate) fn attach(options: AttachOptions) -> Result<Answer> {
    let AttachOptions { pid, container, only, mesos_cgroup_prefix: prefix, json } = options;
    inspect::attach(&Errand { pid, container, only, prefix, json }, &Screen::of_stdout())
}
