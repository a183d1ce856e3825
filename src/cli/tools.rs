//! The commands that look: doctor, inspect, why, attach. Their rows, flags and parsers.

use super::command::{Row, WordKind, abouts, read};
use super::flag::{About, Flag, Group, Value, help_flag, put, version_flag};
use super::json::{self, Json};
use super::options::{AttachOptions, Command, DoctorOptions, LookOptions};
use super::plain::Plain;
use super::setting;
use super::usage::Usage;
use crate::hyperkube::value;
use std::ffi::{OsStr, OsString};

const JSON: About =
    About::new(Group::Minion, "json", Value::Switch).default("false").help("Print one JSON object instead of text.");

const PREFIX: About = About::new(Group::Container, "mesos-cgroup-prefix", Value::Text("CGROUP"))
    .help("The agent's --cgroups_root. Without it: what the minion above a process was told; else mesos.");

static DOCTOR: [Flag<DoctorOptions>; 10] = [
    About::new(Group::Children, "km-binary", Value::File)
        .help("The km that minion run would be told to start. Without it: looked for in the same places.")
        .sets(|o, v| put(&mut o.km_binary, Ok(Some(v.into())))),
    About::new(Group::File, "config", Value::File)
        .help("The file of minion supervise: then its programs and logs are looked at, and no km is needed.")
        .sets(|o, v| put(&mut o.config, Ok(Some(v.into())))),
    About::new(Group::Children, "grace", Value::Text("DURATION"))
        .help("The grace period that minion run would be given, against the agent's.")
        .sets(|o, v| put(&mut o.grace, value::span(v).map(Some))),
    About::new(Group::Container, "mesos-cgroup-prefix", Value::Text("CGROUP"))
        .default("mesos")
        .help("The agent's --cgroups_root: containers are below it in every hierarchy.")
        .sets(|o, v| put(&mut o.mesos_cgroup_prefix, value::cgroup_prefix(v))),
    About::new(Group::Container, "private-mountns", Value::Switch)
        .default("false")
        .help("Check also whether a mount namespace of its own can be had.")
        .sets(|o, v| put(&mut o.private_mountns, value::boolean(v))),
    About::new(Group::Logs, "max-log-size", Value::Text("QUANTITY"))
        .default("10Mi")
        .help("The size at which a log would be rotated: for the space that logs can take.")
        .sets(|o, v| put(&mut o.log.max_size, value::bytes(v).map(Some))),
    About::new(Group::Logs, "max-log-backups", Value::Text("N"))
        .default("5")
        .help("How many rotated logs of a child would be kept.")
        .sets(|o, v| put(&mut o.log.max_backups, setting::count(v).map(Some))),
    JSON.sets(|o, v| put(&mut o.json, value::boolean(v))),
    help_flag(),
    version_flag(),
];

static LOOK: [Flag<LookOptions>; 5] = [
    PREFIX.sets(|o, v| put(&mut o.mesos_cgroup_prefix, value::cgroup_prefix(v).map(Some))),
    About::new(Group::Container, "container", Value::Text("ID"))
        .help("Compare with this container, and not with the one that the process is found to belong to.")
        .sets(|o, v| put(&mut o.container, value::utf8(v).map(|id| Some(id.to_owned())))),
    JSON.sets(|o, v| put(&mut o.json, value::boolean(v))),
    help_flag(),
    version_flag(),
];

static ATTACH: [Flag<AttachOptions>; 7] = [
    About::new(Group::Container, "to", Value::Text("CONTAINER"))
        .help("The container's id; parent.child for a nested one. Required.")
        .sets(|o, v| put(&mut o.container, value::utf8(v).map(str::to_owned))),
    About::new(Group::Container, "only", Value::Text("CONTROLLER"))
        .help("Attach in the hierarchy of this controller only; systemd and unified name the two without one.")
        .sets(|o, v| put(&mut o.only, value::utf8(v).map(|name| Some(name.to_owned())))),
    About::new(Group::Container, "move", Value::Switch)
        .default("false")
        .help("Take it out of the other container that it is inside of. Without it such a process is left where it is.")
        .sets(|o, v| put(&mut o.take, value::boolean(v))),
    PREFIX.sets(|o, v| put(&mut o.mesos_cgroup_prefix, value::cgroup_prefix(v).map(Some))),
    JSON.sets(|o, v| put(&mut o.json, value::boolean(v))),
    help_flag(),
    version_flag(),
];

/// `minion doctor`.
pub(super) const DOCTOR_ROW: Row = Row {
    name: "doctor",
    hidden: false,
    synopsis: "[FLAGS] [-- COMMAND [ARGS]]",
    summary: "Check this host and this container before anything starts",
    text: &[
        "Tries the kernel calls that minion makes, looks at privileges, cgroups, mounts, the sandbox, PATH and km, and at \
         what an earlier run has left. Each line says ok, warn, fail or unknown, with its evidence and a remedy. Nothing is \
         started and nothing is changed.",
        "minion run needs a km; minion supervise does not. Without a word on which it is, a km that is not found is a warning. \
         With --config, or with the executor behind --, it is minion supervise: each program of the file is looked at.",
        "Run it where minion would run: in the sandbox, with the agent's environment, as the same user.",
        "Exit codes: 0 when all is ok; 1 when something is not; 2 when all that could be seen is ok and something could not.",
    ],
    sections: &[],
    json: Json::Asked(&json::DOCTOR),
    examples: &[
        ("minion doctor --km-binary=/opt/km --max-log-size=100Mi --json", "with flags of minion run, for a script"),
        ("minion doctor --config=node.toml -- bin/executor", "what minion supervise would start"),
    ],
    words: WordKind::None,
    flags: || abouts(&DOCTOR),
    parse: doctor,
};

const WHO: &str = "A word of digits is a pid, where there is one. Other words are a container's id, or else the name of a task of a \
                   running minion, or else at least 4 characters of the beginning of a container's id. Any process can be \
                   looked at, with or without a minion; what this user may not see is said to be unknown.";

const LOOK_CODES: &str = "Exit codes: 0 when there is nothing but notes; 1 when there is a warning or a problem; 2 when what was \
                          asked for does not exist, or nothing was found and not everything could be seen.";

/// `minion inspect`.
pub(super) const INSPECT_ROW: Row = Row {
    name: "inspect",
    hidden: false,
    synopsis: "PID|TASK|CONTAINER [FLAGS]",
    summary: "Show a process or a container whole, with what is odd about it",
    text: &[
        "Shows each cgroup hierarchy against where the process should be, each namespace against host, minion and agent, the \
         mounts that matter, privileges, signals, limits, memory and OOM kills. Findings in plain words follow: expected, \
         actual, cause, remedy.",
        WHO,
        LOOK_CODES,
    ],
    sections: &[],
    json: Json::Asked(&json::INSPECT),
    examples: &[
        ("minion inspect proxy", "a task by its name"),
        (
            "minion inspect 4711 --container 3f2c6c1e-0b5e-4b7c-9d55-0b8e5d0c7a11 --json",
            "a pid against a container, for a script",
        ),
    ],
    words: WordKind::None,
    flags: || abouts(&LOOK),
    parse: |args| look("inspect", args).map(|parsed| parsed.map_or_else(|c| c, Command::Inspect)),
};

/// `minion why`.
pub(super) const WHY_ROW: Row = Row {
    name: "why",
    hidden: false,
    synopsis: "PID|TASK|CONTAINER [FLAGS]",
    summary: "Say what is odd about a process or a container, and what to do",
    text: &["Prints the findings of minion inspect alone.", WHO, LOOK_CODES],
    sections: &[],
    json: Json::Asked(&json::WHY),
    examples: &[
        ("minion why 4711", "why is this process where it is?"),
        ("minion why 3f2c6c1e-0b5e-4b7c-9d55-0b8e5d0c7a11", "all processes of a container"),
    ],
    words: WordKind::None,
    flags: || abouts(&LOOK),
    parse: |args| look("why", args).map(|parsed| parsed.map_or_else(|c| c, Command::Why)),
};

/// `minion attach`.
pub(super) const ATTACH_ROW: Row = Row {
    name: "attach",
    hidden: false,
    synopsis: "PID --to CONTAINER [FLAGS]",
    summary: "Put a stray process back into its container's cgroups",
    text: &[
        "Writes the pid to cgroup.procs of the container in each hierarchy where the container has a cgroup and the process is \
         not in it, reads back that it is there, and says of each hierarchy what was done or why it could not be. Children of \
         the process stay where they are.",
        "A process that is inside another container is refused, unless --move is given. In a hierarchy where that one has a \
         cgroup and CONTAINER has none it stays there, and is then in two containers: this is said, and the exit code is 1.",
        "Exit codes: 0 when it is in all of them, and in no other container; 1 when it is not; 2 when there is no such process \
         or container, or it is inside another one.",
    ],
    sections: &[],
    json: Json::Asked(&json::ATTACH),
    examples: &[
        ("minion attach 4711 --to 3f2c6c1e-0b5e-4b7c-9d55-0b8e5d0c7a11", "in every hierarchy"),
        ("minion attach 4711 --to 3f2c6c1e-0b5e-4b7c-9d55-0b8e5d0c7a11 --only memory", "in one"),
    ],
    words: WordKind::None,
    flags: || abouts(&ATTACH),
    parse: attach,
};

fn doctor(mut args: Vec<OsString>) -> Result<Command, Usage> {
    let mut options = DoctorOptions::default();
    if let Some(dashes) = args.iter().position(|word| word == "--") {
        options.command = args.drain(dashes..).skip(1).collect();
    }
    match read("doctor", &DOCTOR, &mut options, args, 0)? {
        Plain::Words(_) if options.km_binary.is_some() && (options.config.is_some() || !options.command.is_empty()) => {
            let hint = "--km-binary is of minion run, --config and a command behind -- of minion supervise";
            Err(Usage::new("doctor: which of the two is to be checked?", hint))
        }
        Plain::Words(_) => Ok(Command::Doctor(options)),
        Plain::Instead(command) => Ok(command),
    }
}

/// The options, or what was asked for instead.
fn look(name: &'static str, args: Vec<OsString>) -> Result<Result<LookOptions, Command>, Usage> {
    let mut options = LookOptions::default();
    let words = match read(name, &LOOK, &mut options, args, 1)? {
        Plain::Words(words) => words,
        Plain::Instead(command) => return Ok(Err(command)),
    };
    only_word(name, &words, "PID|TASK|CONTAINER")?.clone_into(&mut options.word);
    Ok(Ok(options))
}

fn attach(args: Vec<OsString>) -> Result<Command, Usage> {
    const HINT: &str = "minion attach PID --to CONTAINER";
    let mut options = AttachOptions::default();
    let words = match read("attach", &ATTACH, &mut options, args, 1)? {
        Plain::Words(words) => words,
        Plain::Instead(command) => return Ok(command),
    };
    let word = only_word("attach", &words, "PID --to CONTAINER")?;
    options.pid = word.parse().map_err(|_| Usage::word("attach: not a pid", OsStr::new(word), HINT))?;
    if options.container.is_empty() {
        return Err(Usage::new("attach: no container", HINT));
    }
    Ok(Command::Attach(options))
}

fn only_word<'a>(name: &str, words: &'a [OsString], synopsis: &str) -> Result<&'a str, Usage> {
    let hint = || format!("minion {name} {synopsis}");
    let word = words.first().ok_or_else(|| Usage::new(format!("{name}: nothing to look at"), hint()))?;
    let text = OsStr::to_str(word).filter(|text| !text.is_empty());
    text.ok_or_else(|| Usage::word(&format!("{name}: no such thing"), word, hint()))
}
