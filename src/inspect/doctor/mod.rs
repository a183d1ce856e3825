//! `minion doctor`: is this host, and this container, one in which minion can do its job?
//!
//! [`examine`] is a library function so that `minion run` asks the same questions first. Nothing here forks, creates or
//! changes anything.

mod access;
mod attributes;
mod cgroups;
mod elf;
mod kernel;
mod leftovers;
mod mounts;
mod programs;
mod report;
mod sandbox;

pub use access::{is_directory, is_executable};
pub use report::report;

use super::proc::seen::{self, Seen};
use super::proc::status::Status;
use crate::mesos::Environment;
use crate::process::own_pid;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is examined: this process, and the flags that minion runs with.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The environment of this process.
    pub variables: &'a [(OsString, OsString)],
    /// `--mesos-cgroup-prefix`.
    pub prefix: &'a str,
    /// What is to be started.
    pub children: Children,
    /// The grace period that minion is told, and by what: `--grace`.
    pub grace: Option<(Duration, &'a str)>,
    /// What each log may take.
    pub logs: &'a [LogBound],
    /// `--private-mountns`.
    pub private_mountns: bool,
    /// How much is looked at.
    pub depth: Depth,
}

/// What is to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Children {
    /// The two of `minion run`.
    Km {
        /// The km and how it was found, or why none was.
        found: Result<(PathBuf, String), String>,
        /// Whether it was named: then `minion run` is meant.
        told: bool,
    },
    /// Those of `minion supervise`.
    Tasks(Vec<Task>),
    /// Nothing, because the file or the command is wrong: a line each.
    Refused(Vec<String>),
}

/// One task of `minion supervise`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// The file to execute.
    pub program: PathBuf,
    /// The user that it is to be; None is minion's own.
    pub uid: Option<u32>,
    /// Its nice value.
    pub nice: Option<i32>,
    /// Its `oom_score_adj`.
    pub oom_score_adj: Option<i32>,
    /// Its limits: the name of the resource, its number, the hard limit, where None is unlimited.
    pub limits: Vec<(&'static str, u32, Option<u64>)>,
}

/// What a log may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBound {
    /// Bytes in a file before it is rotated; 0 never rotates.
    pub size: u64,
    /// So many backups are kept; 0 keeps all.
    pub backups: u32,
}

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What costs about a millisecond in all: for `minion run` itself, whose socket the one in the sandbox is by then.
    Quick,
    /// Everything, the socket in the sandbox and the processes of this host too.
    Full,
}

/// One line of the doctor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at; stable, for scripts.
    pub name: &'static str,
    /// How it is.
    pub health: Health,
    /// What was seen.
    pub evidence: String,
    /// What helps. Empty where all is well.
    pub remedy: String,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it should be.
    Ok,
    /// It could not be seen.
    Unknown,
    /// minion runs, and something will be missing or go wrong later.
    Warn,
    /// minion, or one of its tasks, will not run.
    Fail,
}

impl Health {
    /// The word that every output has for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

impl Check {
    // Never inlined: some sixty places would have its code each.
    #[inline(never)]
    fn ok(name: &'static str, evidence: impl Into<String>) -> Self {
        Self { name, health: Health::Ok, evidence: evidence.into(), remedy: String::new() }
    }

    #[inline(never)]
    fn unknown(name: &'static str, evidence: impl Into<String>) -> Self {
        Self { health: Health::Unknown, ..Self::ok(name, evidence) }
    }

    #[inline(never)]
    fn warn(name: &'static str, evidence: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { health: Health::Warn, remedy: remedy.into(), ..Self::ok(name, evidence) }
    }

    #[inline(never)]
    fn fail(name: &'static str, evidence: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { health: Health::Fail, remedy: remedy.into(), ..Self::ok(name, evidence) }
    }
}

impl Subject<'_> {
    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }
}

/// Every check, in the order in which they build on one another.
///
/// [`Depth::Quick`] makes some 150 system calls.
pub fn examine(subject: &Subject<'_>) -> Vec<Check> {
    let environment = Environment::from_vars(subject.variables);
    let status = Status::read(own_pid());
    let directory = seen::link("/proc/self/cwd");
    let mut checks = kernel::calls(subject.depth);
    checks.extend(kernel::privileges(&status, subject.private_mountns));
    checks.extend(cgroups::all(subject.prefix, &environment));
    let here = directory.known().map_or_else(|| Path::new("/"), PathBuf::as_path);
    checks.extend(mounts::all(here));
    checks.extend(sandbox::all(subject, &environment, &directory));
    checks.extend(programs::all(&subject.children, subject.variable("PATH")));
    if let (Children::Tasks(tasks), Seen::Known(status)) = (&subject.children, &status) {
        checks.extend(attributes::all(tasks, &attributes::Own::read(status)));
    }
    match subject.depth {
        Depth::Quick => {}
        Depth::Full => checks.extend([leftovers::socket(), leftovers::processes()]),
    }
    checks
}

/// A check of a value that may not be seen.
fn of_seen<T>(name: &'static str, seen: &Seen<T>, judge: impl FnOnce(&T) -> Check) -> Check {
    match seen {
        Seen::Known(value) => judge(value),
        Seen::Unknown(why) => Check::unknown(name, why),
    }
}
