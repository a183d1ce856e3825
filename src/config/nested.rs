//! The keys of the small tables: readiness, health, hooks, limits, logs, the stop.

use super::draft::{Asking, Hook, Limit, Log, Way};
use super::key::{About, Key, Takes, put, read};
use super::node::Node;
use super::placed::{Findings, Placed, Wrong};
use super::value;
use crate::task::spec::{Limited, LogSettings, Probe, StartLimit, StdoutMode};
use std::path::PathBuf;
use std::time::Duration;

pub(super) const PATH: Takes = Takes::Text("a path in quotes");
const ADDRESS: Takes = Takes::Text("an address such as \"127.0.0.1:80\", \"[::1]:80\" or \"localhost:80\"");
const URL: Takes = Takes::Text("a URL with an address, such as \"http://127.0.0.1:8080/healthz\"");
const THEN: &[&str] = &["end", "give-up"];
const COUNT: i64 = u32::MAX as i64;

/// The defaults of the times, where [`super::resolve`] takes them from. Each stands in words in its row.
pub(super) const READY_EVERY: Duration = Duration::from_millis(250);
pub(super) const READY_WITHIN: Duration = Duration::from_secs(60);
pub(super) const HEALTH_EVERY: Duration = Duration::from_secs(10);
pub(super) const HEALTH_TIMEOUT: Duration = Duration::from_secs(1);
pub(super) const HEALTH_FAILURES: u32 = 3;
pub(super) const HOOK_TIMEOUT: Duration = Duration::from_secs(30);
const LIMIT_WITHIN: Duration = Duration::from_secs(60);

/// `[stop]`.
#[derive(Default)]
pub(super) struct Stop {
    pub(super) grace: Option<Duration>,
}

pub(super) static STOP: [Key<Stop>; 1] = [About::new("grace", Takes::Duration)
    .help("The time from a stop to the end of everything. Without it: what the agent says, or 5s. A flag overrides it.")
    .sets(|stop, node, _| put(&mut stop.grace, value::span(node).map(Some)))];

pub(super) static READINESS: [Key<Asking>; 9] = [
    About::new("notify", Takes::Switch)
        .way()
        .help("It sends READY=1 to NOTIFY_SOCKET, as sd_notify does.")
        .sets(|asking, node, _| switch(asking, node, "notify", Way::Notify)),
    About::new("fd", Takes::Integer(3, 255))
        .way()
        .help("It writes a newline to this descriptor, which it finds open, as s6 has it.")
        .sets(|asking, node, _| {
            let fd = value::number(node, 3, 255)?;
            way(asking, node, "fd", Way::Fd(fd));
            Ok(())
        }),
    tcp(),
    unix(),
    http(),
    command(),
    file(),
    About::new("every", Takes::Duration)
        .default("250ms")
        .help("The pause between two tries of a probe.")
        .sets(|asking, node, _| put(&mut asking.every, value::pause(node).map(Some))),
    About::new("within", Takes::Duration)
        .default("1m")
        .help("The run has failed when it is not ready within this time after its start. 0s waits for ever.")
        .sets(|asking, node, _| put(&mut asking.within, value::span(node).map(Some))),
];

pub(super) static HEALTH: [Key<Asking>; 9] = [
    About::new("watchdog", Takes::Switch)
        .way()
        .help("It sends WATCHDOG=1 to NOTIFY_SOCKET, at the latest after each time of every.")
        .sets(|asking, node, _| switch(asking, node, "watchdog", Way::Watchdog)),
    tcp(),
    unix(),
    http(),
    command(),
    file(),
    About::new("every", Takes::Duration)
        .default("10s")
        .help("The pause between two questions; the longest silence of a watchdog.")
        .sets(|asking, node, _| put(&mut asking.every, value::pause(node).map(Some))),
    About::new("timeout", Takes::Duration).default("1s").help("How long an answer may take. Not for a watchdog.").sets(
        |asking, node, _| put(&mut asking.timeout, value::pause(node).map(|span| Some(Placed::new(node.at(), span)))),
    ),
    About::new("failures", Takes::Integer(1, COUNT))
        .default("3, or 1 for a watchdog")
        .help("So many failures in a row are a verdict.")
        .sets(|asking, node, _| put(&mut asking.failures, value::number(node, 1, COUNT).map(Some))),
];

const fn tcp() -> Key<Asking> {
    About::new("tcp", ADDRESS).way().help("A connection is accepted at this address.").sets(|asking, node, _| {
        let address = value::address(node)?;
        way(asking, node, "tcp", Way::Probe(Probe::Tcp(address)));
        Ok(())
    })
}

const fn unix() -> Key<Asking> {
    About::new("unix", PATH).way().help("A connection is accepted at this socket.").sets(|asking, node, _| {
        let path = path(node)?;
        way(asking, node, "unix", Way::Probe(Probe::Unix(path)));
        Ok(())
    })
}

const fn http() -> Key<Asking> {
    About::new("http", URL).way().help("GET is answered with 200 to 399.").sets(|asking, node, _| {
        let probe = value::http(node)?;
        way(asking, node, "http", Way::Probe(probe));
        Ok(())
    })
}

const fn command() -> Key<Asking> {
    About::new("command", Takes::Command)
        .way()
        .help("This command, with the task's environment and user, exits with 0.")
        .sets(|asking, node, _| {
            let command = value::command(node)?;
            way(asking, node, "command", Way::Command(command));
            Ok(())
        })
}

const fn file() -> Key<Asking> {
    About::new("file", PATH).way().help("This file is there.").sets(|asking, node, _| {
        let path = path(node)?;
        way(asking, node, "file", Way::Probe(Probe::File(path)));
        Ok(())
    })
}

/// A way that is only named; `false` is as good as nothing.
fn switch(asking: &mut Asking, node: Node<'_>, name: &'static str, named: Way) -> Result<(), Wrong> {
    if node.boolean()? {
        way(asking, node, name, named);
    }
    Ok(())
}

fn way(asking: &mut Asking, node: Node<'_>, name: &'static str, way: Way) {
    asking.ways.push(Placed::new(node.at(), (name, way)));
}

/// A table of one way and its times.
pub(super) fn asking(
    keys: &'static [Key<Asking>],
    node: Node<'_>,
    findings: &mut Findings<'_>,
) -> Result<Option<Placed<Asking>>, Wrong> {
    let before = findings.count();
    let asking: Asking = read(keys, node.table()?, node.at(), findings);
    match asking.ways.as_slice() {
        // A way that was refused is not missing.
        [] if findings.count() > before => Ok(None),
        [] => Err(Wrong::new("no way")),
        [_] => Ok(Some(Placed::new(node.at(), asking))),
        [first, second, ..] => {
            let (first, second) = (first.value.0, second.at);
            Err(Wrong::new(format!("more than one way: {first} is another")).at(second))
        }
    }
}

pub(super) static HOOK: [Key<Hook>; 2] = [
    About::new("command", Takes::Command)
        .required()
        .help("The program and its arguments, found as the task's is. It has the task's environment and user.")
        .sets(|hook, node, _| put(&mut hook.command, value::command(node).map(Some))),
    About::new("timeout", Takes::Duration)
        .default("30s")
        .help("How long it may take before it is killed.")
        .sets(|hook, node, _| put(&mut hook.timeout, value::pause(node).map(Some))),
];

pub(super) static LIMIT: [Key<Limit>; 3] = [
    About::new("starts", Takes::Integer(1, COUNT))
        .required()
        .help("So many starts are allowed within the time.")
        .sets(|limit, node, _| put(&mut limit.starts, value::number(node, 1, COUNT).map(Some))),
    About::new("within", Takes::Duration)
        .default("1m")
        .help("The time.")
        .sets(|limit, node, _| put(&mut limit.within, value::pause(node).map(Some))),
    About::new("then", Takes::Choice(THEN))
        .default("end")
        .help("What follows one start more: everything ends, or this task alone stays down.")
        .sets(|limit, node, _| put(&mut limit.gives_up, value::choice(node, THEN).map(|nth| nth == 1))),
];

/// A start limit, when it is whole.
pub(super) fn start_limit(node: Node<'_>, findings: &mut Findings<'_>) -> Result<Option<StartLimit>, Wrong> {
    let limit: Limit = read(&LIMIT, node.table()?, node.at(), findings);
    let then = if limit.gives_up { Limited::GiveUp } else { Limited::End };
    let within = limit.within.unwrap_or(LIMIT_WITHIN);
    Ok(limit.starts.map(|starts| StartLimit { starts, within, then }))
}

pub(super) static LOG: [Key<Log>; 6] = [
    max_size(),
    max_age(),
    max_backups(),
    gzip(),
    stdout(),
    About::new("stall", Takes::Duration)
        .default("5s")
        .help("How long a task waits when its log cannot be written, before its output is dropped and counted.")
        .sets(|log, node, _| put(&mut log.stall, value::span(node).map(Some))),
];

pub(super) static TASK_LOG: [Key<LogSettings>; 5] = [max_size(), max_age(), max_backups(), gzip(), stdout()];

/// What has log settings in it: `[log]` and a task's own.
trait Settings {
    fn settings(&mut self) -> &mut LogSettings;
}

impl Settings for Log {
    fn settings(&mut self) -> &mut LogSettings {
        &mut self.settings
    }
}

impl Settings for LogSettings {
    fn settings(&mut self) -> &mut LogSettings {
        self
    }
}

const fn max_size<T: Settings>() -> Key<T> {
    About::new("max-size", Takes::Size)
        .default("10Mi")
        .help("The size at which a log is rotated. 0 never rotates.")
        .sets(|log, node, _| put(&mut log.settings().max_size, value::size(node).map(Some)))
}

const fn max_age<T: Settings>() -> Key<T> {
    About::new("max-age", Takes::Duration)
        .default("7days")
        .help("Rotated logs older than this are removed. 0s keeps them whatever their age.")
        .sets(|log, node, _| put(&mut log.settings().max_age, value::span(node).map(Some)))
}

const fn max_backups<T: Settings>() -> Key<T> {
    About::new("max-backups", Takes::Integer(0, COUNT))
        .default("5")
        .help("How many rotated logs are kept. 0 keeps all.")
        .sets(|log, node, _| put(&mut log.settings().max_backups, value::number(node, 0, COUNT).map(Some)))
}

const fn gzip<T: Settings>() -> Key<T> {
    About::new("gzip", Takes::Switch)
        .default("false")
        .help("Compress rotated logs.")
        .sets(|log, node, _| put(&mut log.settings().gzip, node.boolean().map(Some)))
}

const fn stdout<T: Settings>() -> Key<T> {
    About::new("stdout", Takes::Choice(&StdoutMode::WORDS))
        .default("merge")
        .help("Standard output: into the same log as standard error, into one of its own, or nowhere.")
        .sets(|log, node, _| {
            let chosen = value::choice(node, &StdoutMode::WORDS);
            put(&mut log.settings().stdout, chosen.map(|nth| Some(StdoutMode::ALL[nth])))
        })
}

/// A name that a log file may have.
pub(super) fn name(node: Node<'_>) -> Result<Placed<String>, Wrong> {
    const LONGEST: usize = 100;
    let text = node.filled()?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if text.starts_with(['.', '-']) || text.len() > LONGEST || !text.chars().all(allowed) {
        return Err(Wrong::new(format!("no name of a log: {text:?}")));
    }
    if text.ends_with(".stdout") {
        let hint = "that is where a task's standard output goes, with stdout = \"separate\"";
        return Err(Wrong::new(format!("the name of another log: {text:?}")).hint(hint));
    }
    if let Some(log) = backup_of(text) {
        return Err(Wrong::new(format!("the name of another log: {text:?}"))
            .hint(format!("that is where the log of {log:?} goes when it is rotated")));
    }
    Ok(Placed::new(node.at(), text.to_owned()))
}

/// The log whose backup has this name: `executor` of `executor-2026-11-30T01-18-34.945`. [GO-40]
fn backup_of(name: &str) -> Option<&str> {
    const STAMP: &[u8] = b"-0000-00-00T00-00-00.000";
    let (log, stamp) = name.split_at_checked(name.len().checked_sub(STAMP.len())?)?;
    let shape = stamp.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    shape.eq(STAMP.iter().copied()).then_some(log)
}

fn path(node: Node<'_>) -> Result<PathBuf, Wrong> {
    node.filled().map(PathBuf::from)
}

pub(super) fn placed_path(node: Node<'_>) -> Result<Option<Placed<PathBuf>>, Wrong> {
    Ok(Some(Placed::new(node.at(), path(node)?)))
}
