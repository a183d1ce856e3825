//! The flags that `run` and `supervise` share.

use super::flag::{About, Flag, Group, Value, put};
use super::options::{CommonOptions, RunOptions, SuperviseOptions};
use super::setting;
use crate::hyperkube::value;
use crate::task::spec::StdoutMode;

const BOOL: Value = Value::Switch;
const NUMBER: Value = Value::Text("N");
const DURATION: Value = Value::Text("DURATION");

/// Options that hold what is common.
pub(super) trait Common {
    /// That part of them.
    fn common(&mut self) -> &mut CommonOptions;
}

impl Common for RunOptions {
    fn common(&mut self) -> &mut CommonOptions {
        &mut self.common
    }
}

impl Common for SuperviseOptions {
    fn common(&mut self) -> &mut CommonOptions {
        &mut self.common
    }
}

pub(super) const fn grace<O: Common>() -> Flag<O> {
    About::new(Group::Children, "grace", DURATION)
        .help(
            "The time from a stop to the end of everything, as Go (5s) or as Mesos (5secs) writes it. Without it: \
             what the agent says, or 5s.",
        )
        .sets(|o, v| put(&mut o.common().grace, value::span(v).map(Some)))
}

pub(super) const fn mesos_cgroup_prefix<O: Common>() -> Flag<O> {
    About::new(Group::Container, "mesos-cgroup-prefix", Value::Text("CGROUP"))
        .default("mesos")
        .help("The agent's --cgroups_root: containers are below it in every hierarchy.")
        .sets(|o, v| put(&mut o.common().mesos_cgroup_prefix, value::cgroup_prefix(v)))
}

pub(super) const fn cgroup_attach<O: Common>() -> Flag<O> {
    About::new(Group::Container, "cgroup-attach", Value::Choice(setting::CGROUP_ATTACH))
        .default("auto")
        .help(
            "Put children into the container's cgroups: where they are found (auto), or start nothing without them \
             (require), or never (off).",
        )
        .sets(|o, v| put(&mut o.common().cgroup_attach, setting::cgroup_attach(v)))
}

pub(super) const fn cgroup_drift<O: Common>() -> Flag<O> {
    About::new(Group::Container, "cgroup-drift", Value::Choice(setting::CGROUP_DRIFT))
        .default("warn")
        .help("What to do when a child has left the container's cgroups.")
        .sets(|o, v| put(&mut o.common().cgroup_drift, setting::cgroup_drift(v)))
}

pub(super) const fn private_mountns<O: Common>() -> Flag<O> {
    About::new(Group::Container, "private-mountns", BOOL)
        .default("false")
        .help("Start the children in a mount namespace of their own: the host's mounts come in, theirs stay inside.")
        .sets(|o, v| put(&mut o.common().private_mountns, value::boolean(v)))
}

pub(super) const fn max_log_size<O: Common>() -> Flag<O> {
    About::new(Group::Logs, "max-log-size", Value::Text("QUANTITY"))
        .default("10Mi")
        .help("The size at which a log is rotated, as Kubernetes writes quantities. 0 never rotates.")
        .sets(|o, v| put(&mut o.common().log.max_size, value::bytes(v).map(Some)))
}

pub(super) const fn max_log_age<O: Common>() -> Flag<O> {
    About::new(Group::Logs, "max-log-age", Value::Text("DAYS"))
        .default("7")
        .help("Rotated logs older than this are removed. 0 keeps them whatever their age.")
        .sets(|o, v| put(&mut o.common().log.max_age, setting::days(v).map(Some)))
}

pub(super) const fn max_log_backups<O: Common>() -> Flag<O> {
    About::new(Group::Logs, "max-log-backups", NUMBER)
        .default("5")
        .help("How many rotated logs of a child are kept. 0 keeps all.")
        .sets(|o, v| put(&mut o.common().log.max_backups, setting::count(v).map(Some)))
}

pub(super) const fn stdout<O: Common>() -> Flag<O> {
    About::new(Group::Logs, "stdout", Value::Choice(&StdoutMode::WORDS))
        .default("merge")
        .help("A child's standard output: into the same log as its standard error, into one of its own, or nowhere.")
        .sets(|o, v| put(&mut o.common().log.stdout, setting::stdout(v).map(Some)))
}

pub(super) const fn log_gzip<O: Common>() -> Flag<O> {
    About::new(Group::Logs, "log-gzip", BOOL)
        .default("false")
        .help("Compress rotated logs.")
        .sets(|o, v| put(&mut o.common().log.gzip, value::boolean(v).map(Some)))
}

pub(super) const fn log_stall<O: Common>() -> Flag<O> {
    About::new(Group::Logs, "log-stall", DURATION)
        .default("5s")
        .help(
            "How long a child waits when its log cannot be written. After that its output is dropped and counted until \
             there is space again.",
        )
        .sets(|o, v| put(&mut o.common().log_stall, value::span(v).map(Some)))
}

pub(super) const fn checks<O: Common>() -> Flag<O> {
    About::new(Group::Minion, "checks", BOOL)
        .default("true")
        .help("Make the checks of minion doctor when the children have started, and say on standard error what is not ok.")
        .sets(|o, v| put(&mut o.common().checks, value::boolean(v)))
}

pub(super) const fn log_format<O: Common>() -> Flag<O> {
    About::new(Group::Minion, "log-format", Value::Choice(setting::LOG_FORMAT))
        .default("text")
        .help("The form of minion's own log on standard error.")
        .sets(|o, v| put(&mut o.common().log_format, setting::log_format(v)))
}
