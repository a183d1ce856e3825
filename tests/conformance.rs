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

use minion::cgroup::{self, Layout, Sources};
use minion::cli::{self, Command, RunOptions};
use minion::hyperkube::{CgroupRoot, Host, Profile, profile};
use minion::mesos::Environment;
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
    /// The agent's root and the container as the kernel tells them; None outside of a container.
    cgroup: Option<String>,
    unified: bool,
    files: Vec<(&'a str, &'a str)>,
}

impl<'a> Machine<'a> {
    /// With the environment that an agent gives.
    fn agent() -> Self {
        let env = vec![("PATH", "/usr/bin:/bin"), ("LIBPROCESS_IP", "10.0.0.7"), ("MESOS_DIRECTORY", DIRECTORY)];
        let cgroup = Some(format!("/mesos/{ID}"));
        Self { env, cwd: Some("/sandbox"), cgroup, unified: false, files: Vec::new() }
    }

    fn with_env(env: &[(&'a str, &'a str)]) -> Self {
        Self { env: env.to_vec(), cgroup: None, ..Self::agent() }
    }

    fn file(mut self, path: &'a str, text: &'a str) -> Self {
        self.files.push((path, text));
        self
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let found = self.files.iter().find(|(there, _)| path == Path::new(there));
        found.map(|(_, text)| text.as_bytes().to_vec()).ok_or(io::Error::from_raw_os_error(libc::ENOENT))
    }

    /// The kernel's texts of this machine.
    fn sources(&self) -> Sources {
        let cgroup = self.cgroup.as_deref().unwrap_or("/elsewhere");
        let (cgroup, mounts) = if self.unified {
            (format!("0::{cgroup}/leaf\n"), "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
        } else {
            let mounts = "30 1 0:26 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n";
            (format!("2:freezer:{cgroup}\n1:name=systemd:{cgroup}\n"), mounts)
        };
        Sources { mountinfo: mounts.into(), cgroup: cgroup.into() }
    }

    /// As the supervisor does: the container's id and cgroup from kernel and environment, then the profile.
    fn profile(&self, args: &[&str]) -> minion::error::Result<Profile> {
        let options = options(args);
        let env: Vec<(OsString, OsString)> = self.env.iter().map(|(k, v)| (k.into(), v.into())).collect();
        let prefix = &options.common.mesos_cgroup_prefix;
        let placement = cgroup::discover(&self.sources(), prefix, &Environment::from_vars(&env));
        let root = placement.cgroup_root().map(|root| root.to_str().unwrap().to_owned());
        let host = Host {
            km: "/sandbox/km".into(),
            cwd: self.cwd.map(Into::into),
            cgroup_root: match (root, placement.layout) {
                (None, _) => CgroupRoot::Unknown,
                (Some(root), Layout::Unified) => CgroupRoot::Unified(root),
                (Some(root), Layout::Legacy | Layout::Hybrid | Layout::None) => CgroupRoot::Path(root),
            },
            container: placement.container_id().map(|id| id.own().to_owned()),
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
