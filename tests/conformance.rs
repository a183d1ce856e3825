//! The original (`km minion`) beside minion: a test for each thing that it was seen to do with flags and environment, kept
//! or changed as the design says. The facts are in vendor-notes/go-minion.md.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test fail as the test does")]

#[path = "conformance/api.rs"]
mod api;
#[path = "conformance/argv.rs"]
mod argv;
#[path = "conformance/environment.rs"]
mod environment;
#[path = "conformance/flags.rs"]
mod flags;
#[path = "common/scheduler.rs"]
mod scheduler;
#[path = "conformance/weaknesses.rs"]
mod weaknesses;

use minion::cli::{self, Command, RunOptions};
use minion::hyperkube::{CgroupRoot, Host, Profile, profile};
use minion::mesos::ContainerId;
use minion::task::TaskSpec;
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// The container of the tests.
const ID: &str = "3f0d5c1e-8a44-4b0e-9d0c-5b6f7a120a11";
/// Its sandbox, as `MESOS_DIRECTORY` names it.
const DIRECTORY: &str = "/w/slaves/S/frameworks/F/executors/E/runs/3f0d5c1e-8a44-4b0e-9d0c-5b6f7a120a11";

/// A machine without a file: the profile reads what a test puts into `files`.
struct Machine<'a> {
    env: Vec<(&'a str, &'a str)>,
    cwd: Option<&'a str>,
    unified: bool,
    files: Vec<(&'a str, &'a str)>,
}

impl<'a> Machine<'a> {
    /// With the environment that an agent gives.
    fn agent() -> Self {
        let env = vec![("PATH", "/usr/bin:/bin"), ("LIBPROCESS_IP", "10.0.0.7"), ("MESOS_DIRECTORY", DIRECTORY)];
        Self { env, cwd: Some("/sandbox"), unified: false, files: Vec::new() }
    }

    fn with_env(env: &[(&'a str, &'a str)]) -> Self {
        Self { env: env.to_vec(), ..Self::agent() }
    }

    fn file(mut self, path: &'a str, text: &'a str) -> Self {
        self.files.push((path, text));
        self
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let found = self.files.iter().find(|(there, _)| path == Path::new(there));
        found.map(|(_, text)| text.as_bytes().to_vec()).ok_or(io::Error::from_raw_os_error(libc::ENOENT))
    }

    /// As the supervisor would: the container's id and cgroup from the environment, then the profile.
    fn profile(&self, args: &[&str]) -> minion::error::Result<Profile> {
        let options = options(args);
        let env: Vec<(OsString, OsString)> = self.env.iter().map(|(k, v)| (k.into(), v.into())).collect();
        let directory = self.env.iter().find(|(name, _)| *name == "MESOS_DIRECTORY");
        let container = directory.and_then(|(_, path)| ContainerId::from_directory(Path::new(path)).ok());
        let prefix = &options.common.mesos_cgroup_prefix;
        let path = container.as_ref().map(|id| format!("/{prefix}/{}", id.cgroup_path().display()));
        let host = Host {
            km: "/sandbox/km".into(),
            cwd: self.cwd.map(Into::into),
            cgroup_root: match path {
                None => CgroupRoot::Unknown,
                Some(path) if self.unified => CgroupRoot::Unified(path),
                Some(path) => CgroupRoot::Path(path),
            },
            container: container.map(|id| id.own().to_owned()),
            read: &|path| self.read(path),
        };
        profile(&options.profile, &env, &host)
    }

    /// The tasks for a command line that names an API server and what the test adds.
    fn tasks(&self, args: &[&str]) -> Vec<TaskSpec> {
        self.profile(&[&["--api-servers=http://10.0.0.1:8888"], args].concat()).unwrap().tasks
    }

    fn proxy(&self, args: &[&str]) -> Vec<String> {
        text(&self.tasks(args)[0])
    }

    /// The executor's arguments between `--api-servers` and minion's own.
    fn executor(&self, args: &[&str]) -> Vec<String> {
        text(self.tasks(args).last().unwrap())
    }
}

fn options(args: &[&str]) -> RunOptions {
    match cli::parse(args.iter().map(OsString::from)) {
        Ok(Command::Run(options)) => *options,
        other => panic!("{args:?}: {other:?}"),
    }
}

fn refusal(args: &[&str]) -> String {
    match cli::parse(args.iter().map(OsString::from)) {
        Err(usage) => usage.to_string().lines().next().unwrap().to_owned(),
        Ok(command) => panic!("{args:?}: {command:?}"),
    }
}

/// The arguments of a task, without the path of km.
fn text(task: &TaskSpec) -> Vec<String> {
    task.args[1..].iter().map(|arg| arg.to_str().unwrap().to_owned()).collect()
}

fn has(args: &[String], arg: &str) -> bool {
    args.iter().any(|given| given == arg)
}
