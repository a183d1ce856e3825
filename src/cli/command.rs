//! The commands: one row each. A new command is a new row.

use super::flag::{About, Flag, Group, Value, help_flag, put, version_flag};
use super::json::Json;
use super::options::{Command, DemoOptions};
use super::plain::{self, Plain};
use super::run_flags::RUN;
use super::status::EXIT_CODES;
use super::supervise_flags::{self, SUPERVISE};
use super::usage::Usage;
use super::{complete, control, help, man, partition, tools, views};
use crate::hyperkube::value;
use crate::near;
use std::ffi::{OsStr, OsString};

/// A command: what every output says of it, and what reads its arguments.
pub struct Row {
    /// The word that calls it.
    pub name: &'static str,
    /// Left out of help, completions and manual: for minion's own use.
    pub hidden: bool,
    /// What follows the name in the usage line.
    pub synopsis: &'static str,
    /// A sentence without its full stop, for the list of commands.
    pub summary: &'static str,
    /// Paragraphs for its own help.
    pub text: &'static [&'static str],
    /// Headings and paragraphs behind the flags.
    pub sections: &'static [(&'static str, &'static [&'static str])],
    /// What it prints as JSON, and where it prints none, why.
    pub json: Json,
    /// Command lines with what they do. Two, at the end of its help.
    pub examples: &'static [(&'static str, &'static str)],
    /// What its words may be, for a shell.
    pub words: WordKind,
    /// What its flags say.
    pub flags: fn() -> Vec<&'static About>,
    /// Reads the arguments behind its name.
    pub parse: fn(Vec<OsString>) -> Result<Command, Usage>,
}

/// What the words of a command may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// It has none.
    None,
    /// One of the shells.
    Shell,
    /// The name of a command.
    Command,
}

/// The shells that completions are made for.
pub const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

static DEMO: [Flag<DemoOptions>; 3] = [
    About::new(Group::Demo, "keep", Value::Switch)
        .default("false")
        .help("Leave the sandbox with its logs where it is.")
        .sets(|o, v| put(&mut o.keep, value::boolean(v))),
    help_flag(),
    version_flag(),
];

const OWN_LINES: Json =
    Json::Never("it prints nothing on standard output; --log-format=json makes its own log lines of JSON");

static COMMON: [Flag<()>; 2] = [help_flag(), version_flag()];

/// Every command, in the order of the help.
pub static COMMANDS: &[Row] = &[
    Row {
        name: "run",
        hidden: false,
        synopsis: "[FLAGS] [EXECUTOR FLAGS] [-- EXECUTOR ARGS]",
        summary: "Start kube-proxy and the executor and keep them (the main job)",
        text: &[
            "Starts kube-proxy and the kubelet-executor inside the Mesos container that it was started in, keeps their \
             logs, starts kube-proxy again when it ends, and ends everything when the executor ends.",
            "The word run may be left out when the first argument is a flag: a Mesos command line that said \"km minion \
             --flags\" says \"minion --flags\".",
        ],
        sections: &[
            EXIT_CODES,
            (
                "Executor flags",
                &[
                    "minion knows the flags of the kubelet-executor by name and type. They are checked and go to the executor \
                 in their order, in front of --kubelet-cgroups, --cgroup-root and the two housekeeping intervals, which \
                 minion adds. A value may follow its flag behind = or as the next word; a boolean takes = only. The \
                 manual page (minion man run) lists the names.",
                    "A flag that neither minion nor the executor is known to have goes to the executor as written, with one \
                 warning. A slip of the pen in one of minion's flags is an error. What stands behind -- goes to the \
                 executor unread, as its last arguments.",
                    "The flags that every km command took for glog and cadvisor (--logtostderr, --vmodule, --docker_only and \
                 the like) are accepted and go nowhere, as before. -v and the two housekeeping intervals do go to the \
                 executor.",
                ],
            ),
        ],
        json: OWN_LINES,
        examples: &[
            (
                "minion --api-servers=http://10.0.0.1:8888 --hostname-override=agent7",
                "as a Mesos executor, with a km beside it",
            ),
            (
                "minion run --km-binary=/opt/km --api-servers=10.0.0.1:8888 -v 2 -- --max-pods=40",
                "with a last word for the executor",
            ),
        ],
        words: WordKind::None,
        flags: || abouts(&RUN),
        parse: partition::parse,
    },
    Row {
        name: "supervise",
        hidden: false,
        synopsis: "[FLAGS] [--config FILE] [-- COMMAND [ARGS]]",
        summary: "Start any executor with its sidecars and keep them (the main job without km)",
        text: &[
            "Starts COMMAND as the executor of the Mesos container that it was started in, and the sidecars of the file \
             beside it, in their order. The executor never starts again: its end is the end of everything. Sidecars are \
             kept running. Placement, logs, the grace period and the exit codes are those of minion run.",
            "A COMMAND without a slash is looked for in PATH. The children have minion's environment.",
        ],
        sections: &[
            EXIT_CODES,
            (
                "The file",
                &[
                    "TOML: [executor], any number of [[sidecar]], [log] and [stop]. Unknown keys are errors; all errors are told \
                 at once, each with line, column and what would be right. --check tells them too, and prints the plan; \
                 --print-schema describes every key.",
                    "Either COMMAND or the command of [executor] says what the executor is. A file that is wrong is exit code \
                 100; a program, user or file that this machine lacks is 111.",
                ],
            ),
        ],
        json: OWN_LINES,
        examples: &[
            ("minion supervise -- ./executor --verbose", "any executor, alone"),
            ("minion supervise --config=k3s.toml --check", "look at the plan of a file"),
        ],
        words: WordKind::None,
        flags: || abouts(&SUPERVISE),
        parse: |args| supervise_flags::parse(find("supervise").expect("supervise is a row of the table"), args),
    },
    Row {
        name: "demo",
        hidden: false,
        synopsis: "[FLAGS]",
        summary: "Show the main job on this machine, with nothing else installed",
        text: &[
            "Makes a sandbox, an environment and, where it may, real cgroups as a Mesos agent would, and runs minion in \
             them with stand-in children: a start, a crash and restart, a log rotation and a clean end, in under 15 s.",
            "Exit codes: 0 when all of it was seen, 1 when it was not.",
        ],
        sections: &[],
        json: Json::Never("it is for a person to watch; its exit code says whether all was seen"),
        examples: &[("minion demo", "watch it"), ("minion demo --keep", "and look at the logs afterwards")],
        words: WordKind::None,
        flags: || abouts(&DEMO),
        parse: demo,
    },
    control::STATUS,
    control::EVENTS,
    control::RESTART,
    control::STOP,
    control::START,
    control::SIGNAL,
    control::METRICS,
    tools::DOCTOR_ROW,
    tools::INSPECT_ROW,
    tools::WHY_ROW,
    tools::ATTACH_ROW,
    views::CONTAINERS_ROW,
    views::LOGS_ROW,
    views::ENTER_ROW,
    Row {
        name: "completions",
        hidden: false,
        synopsis: "bash|zsh|fish",
        summary: "Print a completion script for a shell",
        text: &["Prints a script that completes commands, flags and their values."],
        sections: &[],
        json: Json::Never("its output is a script for a shell"),
        examples: &[
            ("minion completions bash > /etc/bash_completion.d/minion", "for bash, every user"),
            ("minion completions fish | source", "for fish, this shell"),
        ],
        words: WordKind::Shell,
        flags: || abouts(&COMMON),
        parse: completions,
    },
    Row {
        name: "man",
        hidden: false,
        synopsis: "[COMMAND]",
        summary: "Print the manual page of minion or of a command, in roff",
        text: &["Prints minion(1) or, with a command, minion-COMMAND(1)."],
        sections: &[],
        json: Json::Never("its output is roff"),
        examples: &[
            ("minion man run | man -l -", "read the page of run"),
            ("minion man > /usr/local/share/man/man1/minion.1", "install the overview"),
        ],
        words: WordKind::Command,
        flags: || abouts(&COMMON),
        parse: manual,
    },
    Row {
        name: "help",
        hidden: false,
        synopsis: "[COMMAND]",
        summary: "Print help for minion or for a command",
        text: &["Prints what --help prints."],
        sections: &[],
        json: Json::Never("it is text for a person; the manual has the same"),
        examples: &[("minion help", "all commands, and the flags of run"), ("minion help demo", "one command")],
        words: WordKind::Command,
        flags: || abouts(&COMMON),
        parse: help_on,
    },
    hidden("stand-in", |args| Ok(Command::StandIn(args))),
    hidden("rehearsal-init", |args| Ok(Command::RehearsalInit(args))),
    hidden("enter-keeper", views::enter_keeper),
    hidden("probe-file", |args| Ok(Command::ProbeFile(args))),
    hidden("probe-unix", |args| Ok(Command::ProbeUnix(args))),
];

/// A command for minion's own use: its arguments are passed on unread.
const fn hidden(name: &'static str, parse: fn(Vec<OsString>) -> Result<Command, Usage>) -> Row {
    Row {
        name,
        hidden: true,
        synopsis: "",
        summary: "",
        text: &[],
        sections: &[],
        json: Json::Never(""),
        examples: &[],
        words: WordKind::None,
        flags: Vec::new,
        parse,
    }
}

/// The commands that a person may see.
pub fn visible() -> impl Iterator<Item = &'static Row> {
    COMMANDS.iter().filter(|row| !row.hidden)
}

/// The command of this name, hidden ones included.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    COMMANDS.iter().find(|row| row.name == name)
}

pub(super) fn abouts<O>(flags: &'static [Flag<O>]) -> Vec<&'static About> {
    flags.iter().map(|flag| &flag.about).collect()
}

fn demo(args: Vec<OsString>) -> Result<Command, Usage> {
    let mut options = DemoOptions::default();
    match read("demo", &DEMO, &mut options, args, 0)? {
        Plain::Words(_) => Ok(Command::Demo(options)),
        Plain::Instead(command) => Ok(command),
    }
}

fn completions(args: Vec<OsString>) -> Result<Command, Usage> {
    const HINT: &str = "minion completions bash, zsh or fish";
    let words = match read("completions", &COMMON, &mut (), args, 1)? {
        Plain::Words(words) => words,
        Plain::Instead(command) => return Ok(command),
    };
    let Some(shell) = words.first() else {
        return Err(Usage::new("completions: no shell", HINT));
    };
    match shell.to_str() {
        Some("bash") => Ok(Command::Completions(complete::bash())),
        Some("zsh") => Ok(Command::Completions(complete::zsh())),
        Some("fish") => Ok(Command::Completions(complete::fish())),
        _ => Err(Usage::word("completions: no such shell", shell, HINT)),
    }
}

fn manual(args: Vec<OsString>) -> Result<Command, Usage> {
    match read("man", &COMMON, &mut (), args, 1)? {
        Plain::Words(words) => match words.first() {
            None => Ok(Command::Man(man::overview())),
            Some(name) => Ok(Command::Man(man::of(named(name)?))),
        },
        Plain::Instead(command) => Ok(command),
    }
}

fn help_on(args: Vec<OsString>) -> Result<Command, Usage> {
    match read("help", &COMMON, &mut (), args, 1)? {
        Plain::Words(words) => match words.first() {
            None => Ok(Command::Help(help::overview())),
            Some(name) => Ok(Command::Help(help::of(named(name)?))),
        },
        Plain::Instead(command) => Ok(command),
    }
}

/// Flags, and at most so many words.
pub(super) fn read<O>(
    name: &str,
    table: &'static [Flag<O>],
    options: &mut O,
    args: Vec<OsString>,
    most: usize,
) -> Result<Plain, Usage> {
    let row = find(name).expect("a command's parser is called for a row of the table");
    let plain = plain::parse(row, table, options, args)?;
    if let Plain::Words(words) = &plain
        && let Some(stray) = words.get(most)
    {
        return Err(Usage::word("stray word", stray, format!("minion {name} {}", row.synopsis)));
    }
    Ok(plain)
}

/// The visible command of this name, or why there is none.
pub(super) fn named(name: &OsStr) -> Result<&'static Row, Usage> {
    if let Some(row) = visible().find(|row| name == row.name) {
        return Ok(row);
    }
    let hint = match near::nearest(&name.to_string_lossy(), visible().map(|row| row.name)) {
        _ if name == "minion" => {
            "\"km minion --flags\" becomes \"minion --flags\": leave the word minion out".to_owned()
        }
        Some(near) => format!("did you mean minion {near}?"),
        None => "minion --help lists the commands".to_owned(),
    };
    Err(Usage::word("no such command", name, hint))
}
