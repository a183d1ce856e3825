//! The commands that talk to a running minion.

use super::command::{Row, WordKind, abouts, read};
use super::flag::{About, Flag, Group, Value, help_flag, put, version_flag};
use super::json::{self, Json};
use super::options::{Command, ControlOptions};
use super::plain::Plain;
use super::usage::Usage;
use crate::control::client::{Exposition, Verb};
use crate::hyperkube::value::{self, Refusal};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

const SANDBOX: About = About::new(Group::Which, "sandbox", Value::File)
    .help("The sandbox of the minion: the directory that minion.sock is in.");

static STATUS_FLAGS: [Flag<ControlOptions>; 5] = [
    json("Print JSON with exact values: bytes, seconds, UTC."),
    About::new(Group::Output, "watch", Value::Switch)
        .default("false")
        .help("Print it again each second, until interrupted.")
        .sets(|o, v| put(&mut o.watch, value::boolean(v))),
    sandbox(),
    help_flag(),
    version_flag(),
];

static EVENTS_FLAGS: [Flag<ControlOptions>; 4] =
    [json("Changes nothing: they are JSON in any case."), sandbox(), help_flag(), version_flag()];

static METRICS_FLAGS: [Flag<ControlOptions>; 4] = [
    About::new(Group::Output, "format", Value::Choice(&["openmetrics", "prometheus"]))
        .default("openmetrics")
        .help(
            "The form of the text: OpenMetrics 1.0, or the older one of Prometheus, which is all that the textfile collector \
             of a node exporter reads.",
        )
        .sets(|o, v| put(&mut o.form, exposition(v))),
    sandbox(),
    help_flag(),
    version_flag(),
];

fn exposition(value: &OsStr) -> Result<Exposition, Refusal> {
    match value.to_str() {
        Some("openmetrics") => Ok(Exposition::OpenMetrics),
        Some("prometheus") => Ok(Exposition::Prometheus),
        _ => Err(Refusal { wrong: "no such choice", takes: "openmetrics or prometheus" }),
    }
}

static COMMAND_FLAGS: [Flag<ControlOptions>; 5] = [
    json("Print minion's answer as it came, a line of JSON."),
    About::new(Group::Which, "target", Value::Text("MINION"))
        .help("Which minion: a pid of it or of a child, a container id or its beginning, or a sandbox.")
        .sets(|o, v| put(&mut o.which.target, Ok(Some(v.to_owned())))),
    sandbox(),
    help_flag(),
    version_flag(),
];

const fn sandbox() -> Flag<ControlOptions> {
    SANDBOX.sets(|o, v| put(&mut o.which.sandbox, Ok(Some(PathBuf::from(v)))))
}

const fn json(help: &'static str) -> Flag<ControlOptions> {
    let about = About::new(Group::Output, "json", Value::Switch).default("false").help(help);
    about.sets(|o, v| put(&mut o.json, value::boolean(v)))
}

/// How a minion is found; the same words for each command.
const WHICH: &str = "Which minion: TARGET is a pid of minion or of anything that it started, a container id or at least 4 \
                     characters of its beginning, or a sandbox (with a slash or a dot in it). Without one it is the minion \
                     of the current directory, or else the only one on this host that may be seen.";

const STATUS_CODES: &str =
    "Exit codes: 0 when all is well, 1 when something wants attention, 2 when no minion answers.";
const READ_CODES: &str = "Exit codes: 0, or 2 when no minion answers.";
const COMMAND_CODES: &str = "Exit codes: 0 when it is done, 1 when minion refuses, 2 when no minion answers.";

const fn row(
    name: &'static str,
    summary: &'static str,
    text: &'static [&'static str],
    examples: &'static [(&'static str, &'static str)],
) -> Row {
    Row {
        name,
        hidden: false,
        synopsis: "[FLAGS] TASK",
        summary,
        text,
        sections: &[],
        json: Json::Asked(&json::DONE),
        examples,
        words: WordKind::None,
        flags: || abouts(&COMMAND_FLAGS),
        parse: |_| Err(Usage::new("no such command", "minion --help lists the commands")),
    }
}

pub(super) const STATUS: Row = Row {
    synopsis: "[FLAGS] [TARGET]",
    json: Json::Asked(&json::STATUS),
    flags: || abouts(&STATUS_FLAGS),
    parse: |args| reading("status", &STATUS_FLAGS, args),
    ..row(
        "status",
        "Show a running minion: its container, its tasks, what happened last",
        &[
            "One screen: the container and how it is known, the tasks with what they use, what wants attention, and the \
           last events.",
            WHICH,
            STATUS_CODES,
        ],
        &[
            ("minion status", "the only minion on this host"),
            ("minion status --watch 5f0c7a52", "a container's, again each second"),
        ],
    )
};

pub(super) const EVENTS: Row = Row {
    synopsis: "[FLAGS] [TARGET]",
    json: Json::Always(&json::EVENTS),
    flags: || abouts(&EVENTS_FLAGS),
    parse: |args| reading("events", &EVENTS_FLAGS, args),
    ..row(
        "events",
        "Print what happens in a running minion, as it happens, as lines of JSON",
        &[
            "A line each for starts, exits, commands, cgroup drift, lack of memory, logs that cannot be written, and the \
           end. It ends when minion does. A reader that is too slow loses events and is told how many.",
            WHICH,
            READ_CODES,
        ],
        &[
            ("minion events", "the only minion on this host"),
            ("minion events --sandbox /var/lib/mesos/run/latest | grep exited", "exits alone, of one sandbox"),
        ],
    )
};

pub(super) const METRICS: Row = Row {
    synopsis: "[FLAGS] [TARGET]",
    json: Json::Never("this text is for programs already, and minion status --json has the same figures"),
    flags: || abouts(&METRICS_FLAGS),
    parse: |args| reading("metrics", &METRICS_FLAGS, args),
    ..row(
        "metrics",
        "Print the state of a running minion as OpenMetrics or Prometheus text",
        &[
            "OpenMetrics for whoever asks for it, or for a person. --format=prometheus is for the textfile collector of a node \
           exporter: states and info are gauges, and each sample names its container, since the collector puts the files of \
           all minions together. Give it whole files: write beside, then rename.",
            WHICH,
            READ_CODES,
        ],
        &[
            ("minion metrics", "the only minion on this host"),
            ("minion metrics --format=prometheus 4711 > a.new && mv a.new a.prom", "for a collector, by pid"),
        ],
    )
};

pub(super) const RESTART: Row = Row {
    parse: |args| commanding("restart", args),
    ..row(
        "restart",
        "End a helper and start it again at once",
        &[
            "Sends SIGTERM, SIGKILL 5 s later, ends whatever the run leaves behind, and starts the task without a delay. \
           The executor cannot be restarted: its end is the end of everything.",
            WHICH,
            COMMAND_CODES,
        ],
        &[
            ("minion restart proxy", "in the only minion on this host"),
            ("minion restart proxy --target 5f0c7a52", "in a container"),
        ],
    )
};

pub(super) const STOP: Row = Row {
    parse: |args| commanding("stop", args),
    ..row(
        "stop",
        "End a helper and keep it down until minion start",
        &[
            "Sends SIGTERM, SIGKILL 5 s later, and ends whatever the run leaves behind. The executor cannot be stopped \
           alone: kill -TERM of minion's pid ends everything in order.",
            WHICH,
            COMMAND_CODES,
        ],
        &[
            ("minion stop proxy", "in the only minion on this host"),
            ("minion stop proxy --sandbox .", "in the sandbox that is the current directory"),
        ],
    )
};

pub(super) const START: Row = Row {
    parse: |args| commanding("start", args),
    ..row(
        "start",
        "Start a helper that is down, or waits to start again",
        &["Starts it now. Its restart delay falls back to the first one.", WHICH, COMMAND_CODES],
        &[
            ("minion start proxy", "in the only minion on this host"),
            ("minion start proxy --target 4711", "in the minion with this pid, or above it"),
        ],
    )
};

pub(super) const SIGNAL: Row = Row {
    synopsis: "[FLAGS] TASK SIGNAL",
    parse: |args| commanding("signal", args),
    ..row(
        "signal",
        "Send a signal to the main process of a task",
        &[
            "By name (HUP, SIGHUP) or by number, through the pidfd that minion holds: it reaches this run of the task or \
           nobody.",
            WHICH,
            COMMAND_CODES,
        ],
        &[
            ("minion signal executor USR1", "by name"),
            ("minion signal proxy 34 --target 5f0c7a52", "a real-time signal, in a container"),
        ],
    )
};

/// `[TARGET]`.
fn reading(name: &'static str, flags: &'static [Flag<ControlOptions>], args: Vec<OsString>) -> Result<Command, Usage> {
    let mut options = ControlOptions::default();
    let mut words = match read(name, flags, &mut options, args, 1)? {
        Plain::Words(words) => words,
        Plain::Instead(command) => return Ok(command),
    };
    options.which.target = words.pop();
    if options.which.target.is_some() && options.which.sandbox.is_some() {
        return Err(Usage::new("two minions: TARGET and --sandbox", format!("minion {name} --help")));
    }
    options.verb = match name {
        "events" => Verb::Events,
        "metrics" => Verb::Metrics { form: options.form },
        _ => Verb::Status { json: options.json, watch: options.watch },
    };
    Ok(Command::Control(options))
}

/// `TASK`, or `TASK SIGNAL`.
fn commanding(name: &'static str, args: Vec<OsString>) -> Result<Command, Usage> {
    let mut options = ControlOptions::default();
    let wanted = if name == "signal" { 2 } else { 1 };
    let words = match read(name, &COMMAND_FLAGS, &mut options, args, wanted)? {
        Plain::Words(words) => words,
        Plain::Instead(command) => return Ok(command),
    };
    let mut words = words.into_iter().map(|word| word.to_string_lossy().into_owned());
    let task = words.next().ok_or_else(|| Usage::new(format!("{name}: no task"), format!("minion {name} proxy")))?;
    let signal = words.next();
    if wanted == 2 && signal.is_none() {
        return Err(Usage::new("signal: no signal", format!("minion signal {task} HUP")));
    }
    if options.which.target.is_some() && options.which.sandbox.is_some() {
        return Err(Usage::new("two minions: --target and --sandbox", format!("minion {name} --help")));
    }
    options.verb = Verb::Command { request: name, task, signal, json: options.json };
    Ok(Command::Control(options))
}
