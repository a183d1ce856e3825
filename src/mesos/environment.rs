//! The environment that an agent gives an executor.

use super::duration;
use crate::error::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// What an agent sets as PATH where nobody set one. [ME-42]
pub const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What the agent said in the environment, as far as a supervisor needs it.
///
/// Nothing here is trusted: hooks and tasks can override every variable, so paths and ids are checked where they are used.
#[derive(Debug, Default)]
pub struct Environment {
    /// `MESOS_DIRECTORY`: the sandbox as the host sees it. Absent in nested containers. [ME-02]
    pub directory: Option<PathBuf>,
    /// `MESOS_SANDBOX`: the sandbox as this process sees it; another path than the former in a container with an image.
    pub sandbox: Option<PathBuf>,
    /// `MESOS_CHECKPOINT=1`: the executor outlives a restart of the agent.
    pub checkpoint: bool,
    /// `MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD`: from the agent's word to its SIGKILL. `None` where it is absent.
    pub grace: Option<Result<Duration>>,
    /// `LIBPROCESS_IP`: the address the agent listens on, or `0.0.0.0` in a container with an own network.
    pub libprocess_ip: Option<OsString>,
    /// `MESOS_EXECUTOR_ID`: any bytes but control characters and slashes; spaces and non-UTF-8 are allowed.
    pub executor_id: Option<OsString>,
    /// `MESOS_FRAMEWORK_ID`.
    pub framework_id: Option<OsString>,
    /// `MESOS_SLAVE_ID`.
    pub agent_id: Option<OsString>,
    /// `MESOS_SLAVE_PID` (`slave(1)@ip:port`), or else `MESOS_AGENT_ENDPOINT` (`ip:port`).
    pub agent: Option<OsString>,
}

impl Environment {
    /// Reads the variables. Where one is given twice the last one counts, as it does for the agent's own launcher. [ME-03]
    pub fn from_vars(vars: &[(OsString, OsString)]) -> Self {
        let last = |name: &str| vars.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        Self {
            directory: last("MESOS_DIRECTORY").map(PathBuf::from),
            sandbox: last("MESOS_SANDBOX").map(PathBuf::from),
            checkpoint: last("MESOS_CHECKPOINT").is_some_and(|value| value == "1"),
            grace: last(GRACE).map(|value| grace(&value)),
            libprocess_ip: last("LIBPROCESS_IP"),
            executor_id: last("MESOS_EXECUTOR_ID"),
            framework_id: last("MESOS_FRAMEWORK_ID"),
            agent_id: last("MESOS_SLAVE_ID"),
            agent: last("MESOS_SLAVE_PID").or_else(|| last("MESOS_AGENT_ENDPOINT")),
        }
    }

    /// Whether an agent started this process as an executor, or as a task of the command executor, which passes its own
    /// environment on. A task nested in a pod gets none of these variables and is not recognised. [ME-02]
    pub fn is_under_agent(&self) -> bool {
        self.agent.is_some()
    }
}

const GRACE: &str = "MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD";

fn grace(value: &OsStr) -> Result<Duration> {
    let text = value.to_str().ok_or_else(|| Error::new("read duration", format!("{value:?}"), "it is not UTF-8"));
    text.and_then(duration::parse).map_err(|error| error.while_doing(GRACE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn environment(vars: &[(&str, &str)]) -> Environment {
        let vars: Vec<_> = vars.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        Environment::from_vars(&vars)
    }

    #[test]
    fn the_map_of_a_real_agent_is_read_whole() {
        let environment = environment(&[
            ("LIBPROCESS_IP", "127.0.0.1"),
            ("MESOS_FRAMEWORK_ID", "f-0000"),
            ("MESOS_EXECUTOR_ID", "e with a space"),
            ("MESOS_SLAVE_ID", "a-S0"),
            ("MESOS_DIRECTORY", "/w/runs/c1"),
            ("MESOS_SANDBOX", "/mnt/mesos/sandbox"),
            ("MESOS_SLAVE_PID", "slave(1)@127.0.0.1:5051"),
            ("MESOS_CHECKPOINT", "1"),
            ("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD", "1500ms"),
        ]);
        assert_eq!(environment.directory.as_deref(), Some(Path::new("/w/runs/c1")));
        assert_eq!(environment.sandbox.as_deref(), Some(Path::new("/mnt/mesos/sandbox")));
        assert!(environment.checkpoint);
        assert_eq!(environment.grace.unwrap().unwrap(), Duration::from_millis(1_500));
        assert_eq!(environment.executor_id.as_deref(), Some(OsStr::new("e with a space")));
        assert_eq!(environment.framework_id.as_deref(), Some(OsStr::new("f-0000")));
        assert_eq!(environment.agent_id.as_deref(), Some(OsStr::new("a-S0")));
        assert_eq!(environment.libprocess_ip.as_deref(), Some(OsStr::new("127.0.0.1")));
        assert_eq!(environment.agent.as_deref(), Some(OsStr::new("slave(1)@127.0.0.1:5051")));
    }

    #[test]
    fn the_last_of_two_variables_counts() {
        let environment = environment(&[("MESOS_DIRECTORY", "/a"), ("PATH", "/x"), ("MESOS_DIRECTORY", "/b")]);
        assert_eq!(environment.directory.as_deref(), Some(Path::new("/b")));
    }

    #[test]
    fn an_absent_grace_is_not_a_malformed_one() {
        assert!(environment(&[]).grace.is_none());
        let error = environment(&[(GRACE, "5s")]).grace.unwrap().unwrap_err().to_string();
        assert!(error.contains(GRACE) && error.contains("\"5s\""), "{error}");
    }

    #[test]
    fn an_executor_is_under_an_agent_and_a_shell_is_not() {
        assert!(environment(&[("MESOS_AGENT_ENDPOINT", "127.0.0.1:5051")]).is_under_agent());
        assert!(!environment(&[("PATH", "/bin"), ("MESOS_SANDBOX", "/mnt/mesos/sandbox")]).is_under_agent());
    }
}
