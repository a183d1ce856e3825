//! The environment of an executor: a map that the agent builds from empty. Nothing of its own environment goes in. [ME-42]

use super::sandbox::Ids;
use crate::mesos::{DEFAULT_PATH, duration};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

/// Name to value. A later value replaces an earlier one of the same name.
pub(super) type Environment = BTreeMap<OsString, OsString>;

/// What decides an executor's environment.
pub(super) struct Facts<'a> {
    pub(super) ids: &'a Ids,
    pub(super) sandbox: &'a Path,
    pub(super) grace: Duration,
    pub(super) checkpoint: bool,
    /// The framework's own entries (`CommandInfo.environment`): they come last and win.
    pub(super) command: &'a [(OsString, OsString)],
}

/// The whole environment, `PATH` added only when nobody gave one.
pub(super) fn build(facts: &Facts<'_>) -> Environment {
    let flag = |on: bool| if on { "1" } else { "0" };
    let grace = duration::format(facts.grace);
    let mut environment = Environment::new();
    let mut set = |name: &str, value: &OsStr| drop(environment.insert(name.into(), value.into()));
    set("LIBPROCESS_IP", OsStr::new("127.0.0.1"));
    set("LIBPROCESS_PORT", OsStr::new("0"));
    set("MESOS_FRAMEWORK_ID", OsStr::new(&facts.ids.framework));
    set("MESOS_EXECUTOR_ID", OsStr::new(&facts.ids.executor));
    set("MESOS_SLAVE_ID", OsStr::new(&facts.ids.agent));
    set("MESOS_SLAVE_PID", OsStr::new("slave(1)@127.0.0.1:5051"));
    set("MESOS_AGENT_ENDPOINT", OsStr::new("127.0.0.1:5051"));
    set("MESOS_DIRECTORY", facts.sandbox.as_os_str());
    set("MESOS_SANDBOX", facts.sandbox.as_os_str());
    set("MESOS_CHECKPOINT", OsStr::new(flag(facts.checkpoint)));
    set("MESOS_HTTP_COMMAND_EXECUTOR", OsStr::new("0"));
    set("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD", OsStr::new(&grace));
    if facts.checkpoint {
        set("MESOS_RECOVERY_TIMEOUT", OsStr::new("15mins"));
        set("MESOS_SUBSCRIPTION_BACKOFF_MAX", OsStr::new("2secs"));
    }
    environment.extend(facts.command.iter().cloned());
    environment.entry("PATH".into()).or_insert_with(|| DEFAULT_PATH.into());
    environment
}

/// That of a nested container: nothing of the agent's but the sandbox. [ME-82]
pub(super) fn nested(sandbox: &Path, command: &[(OsString, OsString)]) -> Environment {
    let mut environment = Environment::from([("MESOS_SANDBOX".into(), sandbox.into())]);
    environment.extend(command.iter().cloned());
    environment.entry("PATH".into()).or_insert_with(|| DEFAULT_PATH.into());
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_added_only_when_nobody_gave_one() {
        let ids = Ids { agent: "a-S0".into(), framework: "f-0000".into(), executor: "e 1".into() };
        let command = [("PATH".into(), "/opt/bin".into()), ("MESOS_CHECKPOINT".into(), "x".into())];
        let mut facts = Facts {
            ids: &ids,
            sandbox: Path::new("/w/runs/c"),
            grace: Duration::from_secs(5),
            checkpoint: false,
            command: &command,
        };
        let environment = build(&facts);
        assert_eq!(environment[OsStr::new("PATH")], "/opt/bin");
        assert_eq!(environment[OsStr::new("MESOS_CHECKPOINT")], "x", "the framework's entries win");
        facts.command = &[];
        assert_eq!(build(&facts)[OsStr::new("PATH")], DEFAULT_PATH);
    }
}
