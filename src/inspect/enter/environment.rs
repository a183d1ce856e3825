//! The variables of the command: the task's own, or where another user than the command's may have written those, a few.
//!
//! What executes is decided by variables: `PATH`, `SHELL`, `LD_PRELOAD`, `BASH_ENV`, `PYTHONPATH`, … Nobody knows them all, so
//! it is not a list of the bad ones.

use super::mark::VARIABLE;
use super::target::Target;
use crate::mesos::DEFAULT_PATH;
use std::env;
use std::ffi::{OsStr, OsString};

/// What an agent or minion sets and what only names things. Not all that begins with `MESOS_` or `LIBPROCESS_`: `MESOS_MODULES`
/// and `MESOS_NATIVE_JAVA_LIBRARY` name libraries to load. Nor `HOME`, for what a program executes lies there: `.bashrc`.
const NAMES: [&str; 7] = [
    "MESOS_SANDBOX",
    "MESOS_DIRECTORY",
    "MESOS_FRAMEWORK_ID",
    "MESOS_EXECUTOR_ID",
    "MESOS_TASK_ID",
    "MESOS_SLAVE_ID",
    "MINION_TASK",
];

/// The environment of the command.
pub(super) struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// The task's own, with `mark`, and with the name of our terminal where it knows none.
    pub(super) fn whole(target: &Target, mark: &str) -> Self {
        let own = target.environment().iter().filter(|(name, _)| name != VARIABLE).cloned().collect();
        let mut environment = Self { variables: own };
        if environment.get("TERM").is_none() {
            environment.take_ours("TERM");
        }
        environment.with(VARIABLE, mark)
    }

    /// What no other user can have written, but for some names of things; with `mark`.
    pub(super) fn safe(target: &Target, mark: &str) -> Self {
        let names = |name: &OsStr| NAMES.iter().any(|known| name == *known);
        let variables = target.environment().iter().filter(|(name, _)| names(name)).cloned().collect();
        let mut environment = Self { variables };
        environment.take_ours("TERM");
        environment.take_ours("LANG");
        environment.with("PATH", DEFAULT_PATH).with(VARIABLE, mark)
    }

    pub(super) fn get(&self, name: &str) -> Option<&OsString> {
        self.variables.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(super) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    fn take_ours(&mut self, name: &str) {
        self.variables.extend(env::var_os(name).map(|value| (name.into(), value)));
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }
}
