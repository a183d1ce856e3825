//! The commands that show containers and logs, and the one that enters a task. Their rows, flags and parsers.

use super::command::{Row, WordKind, abouts, read};
use super::flag::{About, Flag, Group, Value, help_flag, put, version_flag};
use super::json::{self, Json};
use super::options::{Command, ContainersOptions, EnterOptions, LogsOptions, Since, SortKey};
use super::plain::Plain;
use super::usage::Usage;
use crate::hyperkube::value::{self, Refusal};
use std::ffi::{OsStr, OsString};

const SORTS: &[&str] = &["id", "pids", "memory", "cpu", "oom"];

static CONTAINERS: [Flag<ContainersOptions>; 7] = [
    About::new(Group::Container, "mesos-cgroup-prefix", Value::Text("CGROUP"))
        .help("The agent's --cgroups_root. Without it: mesos, and every other cgroup that holds containers by their shape.")
        .sets(|o, v| put(&mut o.root, value::cgroup_prefix(v).map(Some))),
    About::new(Group::Container, "root", Value::Text("CGROUP"))
        .help("The same, shorter.")
        .sets(|o, v| put(&mut o.root, value::cgroup_prefix(v).map(Some))),
    About::new(Group::Minion, "sort", Value::Choice(SORTS))
        .default("id")
        .help("The order of the rows; all but id put the most first.")
        .sets(|o, v| put(&mut o.sort, sort_key(v))),
    About::new(Group::Minion, "watch", Value::Switch)
        .default("false")
        .help("Show them live, with the last minute of cpu, memory and pressure. Keys: i p m c o sort, q ends.")
        .sets(|o, v| put(&mut o.watch, value::boolean(v))),
    About::new(Group::Minion, "json", Value::Switch)
        .default("false")
        .help("Print one JSON object instead of text.")
        .sets(|o, v| put(&mut o.json, value::boolean(v))),
    help_flag(),
    version_flag(),
];

static LOGS: [Flag<LogsOptions>; 7] = [
    About::new(Group::Logs, "sandbox", Value::Text("DIR|TARGET"))
        .help("Where the logs are: a directory, the pid of minion or of a process below it, or a container's id or its beginning.")
        .sets(|o, v| put(&mut o.sandbox, Ok(Some(v.to_owned())))),
    About::new(Group::Logs, "follow", Value::Switch)
        .short('f')
        .default("false")
        .help("Go on with what is written, across rotations and restarts of minion.")
        .sets(|o, v| put(&mut o.follow, value::boolean(v))),
    About::new(Group::Logs, "lines", Value::Text("N"))
        .short('n')
        .help("Begin with the last N lines. Without it: with the first that there is.")
        .sets(|o, v| put(&mut o.lines, lines(v).map(Some))),
    About::new(Group::Logs, "since", Value::Text("TIME|DURATION"))
        .help(
            "Leave out the files whose last line is older: 10m, 2026-11-30 or 2026-11-30T01:18:34Z (UTC). Lines carry no time, \
             so this is as exact as the rotations are close.",
        )
        .sets(|o, v| put(&mut o.since, since(v).map(Some))),
    About::new(Group::Logs, "raw", Value::Switch)
        .default("false")
        .help("On a terminal: pass control characters on, instead of spelling them out. Elsewhere bytes are never changed.")
        .sets(|o, v| put(&mut o.raw, value::boolean(v))),
    help_flag(),
    version_flag(),
];

static ENTER: [Flag<EnterOptions>; 3] = [
    About::new(Group::Container, "user", Value::Switch)
        .default("false")
        .help("Be the task's user, with its groups, instead of root.")
        .sets(|o, v| put(&mut o.as_user, value::boolean(v))),
    help_flag(),
    version_flag(),
];

/// `minion containers`.
pub(super) const CONTAINERS_ROW: Row = Row {
    name: "containers",
    hidden: false,
    synopsis: "[FLAGS]",
    summary: "Show the Mesos containers of this host, and what is wrong with them",
    text: &[
        "Reads the cgroup trees, v1, hybrid or v2; no agent has to run. One row a container: processes, memory, cpu time, OOM \
         kills, pressure. Findings follow: processes whose hierarchies disagree, processes that left their container, cgroups \
         that would stop or mislead the agent's next recovery, containers whose minion is gone.",
        "Framework and executor come from the environment of the container's processes, which their user and root may read.",
        "STATE is the kind of a container's worst finding, a note's too. Exit codes: 0 when there is nothing but notes; 1 when \
         there is a warning or a problem; 2 when the trees cannot be read, or there is neither and some processes could not be \
         asked.",
    ],
    sections: &[],
    json: Json::Asked(&json::CONTAINERS),
    examples: &[("minion containers --sort=memory", "the largest first"), ("minion containers --watch", "live")],
    words: WordKind::None,
    flags: || abouts(&CONTAINERS),
    parse: containers,
};

/// `minion logs`.
pub(super) const LOGS_ROW: Row = Row {
    name: "logs",
    hidden: false,
    synopsis: "TASK [FLAGS]",
    summary: "Print the log of a task: rotated, compressed and current files as one stream",
    text: &[
        "TASK is the log's name: executor, proxy, or executor.stdout with --stdout=separate. Without --sandbox the logs are \
         looked for in the working directory, then with every minion that runs here.",
        "No line is left out or printed twice while files are rotated, for as long as the reader keeps up with retention: what \
         was removed before it was opened is gone.",
        "A rotated file that is broken is named, and what can be read of it and the others are printed all the same.",
        "Exit codes: 0; 2 when there is no such log, or a file of it could not be read.",
    ],
    sections: &[],
    json: Json::Never("its output is the log, byte for byte"),
    examples: &[
        ("minion logs executor -f -n 100", "the last lines, and those to come"),
        (
            "minion logs proxy --sandbox=3f2c6c1e-0b5e-4b7c-9d55-0b8e5d0c7a11 --since=2h",
            "of a container, the last two hours",
        ),
    ],
    words: WordKind::None,
    flags: || abouts(&LOGS),
    parse: logs,
};

/// `minion enter`.
pub(super) const ENTER_ROW: Row = Row {
    name: "enter",
    hidden: false,
    synopsis: "TASK|PID [FLAGS] [-- COMMAND [ARGS]]",
    summary: "Run a command, or a shell, where a task is: its namespaces, cgroups, environment and directory",
    text: &[
        "Joins every namespace of the process that is not ours, through its pidfd, and puts the command, and nothing else, into \
         its cgroups, so that its limits and accounting hold. Without a command: the task's $SHELL, else /bin/sh. It needs \
         root.",
        "The environment is the task's own where nobody but the command's user, or root, can have written it. Else, as for root \
         in a task of another user or in another user namespace, the command has a few names that the agent set, a fixed PATH, \
         and /bin/sh as its shell. minion says so in one line; with --user all of it is there.",
        "The command is executed from the task's own file system, in its directory: whoever may write there decides what root \
         executes, and no environment helps against that.",
        "A command of another user than the caller, with --user or in a user namespace, has a session of its own, and where the \
         caller has a terminal, one of its own that is relayed: it can neither type for the caller nor read what is typed \
         later. Jobs of a shell in there stop with Ctrl-Z; minion enter itself does not.",
        "When the command ends, what it left running is ended too: nothing stays behind in the container. So it is when minion \
         enter itself is killed, with SIGKILL too; and when its terminal hangs up, after the 5 s that the command has then. One thing escapes, in a task with a pid \
         namespace of its own, or when the keeper of the command is killed: a process that leaves its parent, clears its \
         environment and sets its limit on file locks (ulimit -x), all three.",
        "Where the task has a user namespace of its own, the command is root of that, or with --user the task's user, as far as \
         the maps of the namespace have numbers for them.",
        "Exit codes: the command's own (128+n when signal n killed it); 125 when the task could not be entered; 126 and 127 \
         when the command could not be executed or found.",
    ],
    sections: &[],
    json: Json::Never("its output is the command's"),
    examples: &[
        ("minion enter executor", "a shell beside the executor"),
        ("minion enter 4711 --user -- ls -l /mnt/mesos/sandbox", "a command, as the process's user"),
    ],
    words: WordKind::None,
    flags: || abouts(&ENTER),
    parse: enter,
};

fn containers(args: Vec<OsString>) -> Result<Command, Usage> {
    let mut options = ContainersOptions::default();
    match read("containers", &CONTAINERS, &mut options, args, 0)? {
        Plain::Words(_) if options.watch && options.json => {
            Err(Usage::new("containers: --watch and --json", "one of the two: --json prints once"))
        }
        Plain::Words(_) => Ok(Command::Containers(options)),
        Plain::Instead(command) => Ok(command),
    }
}

fn logs(args: Vec<OsString>) -> Result<Command, Usage> {
    const HINT: &str = "minion logs executor";
    let mut options = LogsOptions::default();
    let words = match read("logs", &LOGS, &mut options, args, 1)? {
        Plain::Words(words) => words,
        Plain::Instead(command) => return Ok(command),
    };
    let word = words.first().ok_or_else(|| Usage::new("logs: no task", HINT))?;
    let name = word.to_str().filter(|name| !name.is_empty() && !name.contains('/') && !name.starts_with('.'));
    name.ok_or_else(|| Usage::word("logs: no name of a task", word, HINT))?.clone_into(&mut options.task);
    Ok(Command::Logs(options))
}

fn enter(args: Vec<OsString>) -> Result<Command, Usage> {
    enter_as(None, args)
}

fn enter_as(mark: Option<String>, args: Vec<OsString>) -> Result<Command, Usage> {
    const HINT: &str = "minion enter executor -- ps";
    let at = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let mut own = args;
    let behind = own.split_off(at);
    let command = behind.into_iter().skip(1).collect();
    let mut options = EnterOptions { command, mark, ..EnterOptions::default() };
    let words = match read("enter", &ENTER, &mut options, own, 1)? {
        Plain::Words(words) => words,
        Plain::Instead(command) => return Ok(command),
    };
    let word = words.first().ok_or_else(|| Usage::new("enter: no task and no pid", HINT))?;
    let target = word.to_str().filter(|target| !target.is_empty());
    target.ok_or_else(|| Usage::word("enter: no such thing", word, HINT))?.clone_into(&mut options.target);
    Ok(Command::Enter(options))
}

/// The process that `minion enter` starts for itself: the mark, then its own words.
pub(super) fn enter_keeper(mut args: Vec<OsString>) -> Result<Command, Usage> {
    let mark = if args.is_empty() { OsString::new() } else { args.remove(0) };
    enter_as(Some(mark.to_string_lossy().into_owned()), args)
}

fn sort_key(value: &OsStr) -> Result<SortKey, Refusal> {
    match value.to_str() {
        Some("id") => Ok(SortKey::Id),
        Some("pids") => Ok(SortKey::Pids),
        Some("memory") => Ok(SortKey::Memory),
        Some("cpu") => Ok(SortKey::Cpu),
        Some("oom") => Ok(SortKey::Oom),
        _ => Err(Refusal { wrong: "not a key", takes: "id, pids, memory, cpu or oom" }),
    }
}

fn lines(value: &OsStr) -> Result<u64, Refusal> {
    u64::try_from(value::int64(value)?).map_err(|_| Refusal { wrong: "negative", takes: "a number of lines" })
}

fn since(value: &OsStr) -> Result<Since, Refusal> {
    if let Some(moment) = value.to_str().and_then(crate::log::Stamp::parse_utc) {
        return Ok(Since::Moment(moment.millis()));
    }
    value::span(value).map(Since::Ago).map_err(|refusal| Refusal {
        takes: "a span such as 10m or 2h, or a time in UTC such as 2026-11-30 or 2026-11-30T01:18:34Z",
        ..refusal
    })
}
