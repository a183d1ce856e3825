//! The flags of `minion supervise`, and how its command line is read.

use super::command::Row;
use super::common_flags as common;
use super::flag::{About, Flag, Group, Value, help_flag, put, version_flag};
use super::options::{Command, SuperviseOptions};
use super::plain::{self, Plain};
use super::usage::Usage;
use crate::config;
use crate::hyperkube::value;
use std::ffi::OsString;

const BOOL: Value = Value::Switch;
const DURATION: Value = Value::Text("DURATION");

/// What the parser fills in.
#[derive(Default)]
pub(super) struct Read {
    options: SuperviseOptions,
    schema: bool,
}

impl common::Common for Read {
    fn common(&mut self) -> &mut super::CommonOptions {
        &mut self.options.common
    }
}

/// Every flag, in the order of the help.
pub(super) static SUPERVISE: [Flag<Read>; 21] = [
    About::new(Group::File, "config", Value::File)
        .help("The file that names the sidecars, and the executor where the command line does not.")
        .sets(|o, v| put(&mut o.options.config, Ok(Some(v.into())))),
    About::new(Group::File, "check", BOOL)
        .default("false")
        .help("Check the file and print the plan, with all defaults, as it would be carried out here. Start nothing.")
        .sets(|o, v| put(&mut o.options.check, value::boolean(v))),
    About::new(Group::File, "print-schema", BOOL)
        .default("false")
        .help("Print the JSON schema of the file.")
        .sets(|o, v| put(&mut o.schema, value::boolean(v))),
    common::grace(),
    About::new(Group::Children, "restart-delay", DURATION)
        .default("5s")
        .help(
            "The wait before a sidecar starts again, where the file says nothing. It doubles from restart to restart; a \
             minute up resets it.",
        )
        .sets(|o, v| put(&mut o.options.restart_delay, value::span(v))),
    About::new(Group::Children, "restart-delay-max", DURATION)
        .default("1m")
        .help("The longest wait before a restart, where the file says nothing.")
        .sets(|o, v| put(&mut o.options.restart_delay_max, value::span(v))),
    common::mesos_cgroup_prefix(),
    common::cgroup_attach(),
    common::cgroup_drift(),
    common::private_mountns(),
    common::max_log_size(),
    common::max_log_age(),
    common::max_log_backups(),
    common::stdout(),
    common::log_gzip(),
    common::log_stall(),
    About::new(Group::Minion, "v", Value::Text("N"))
        .short('v')
        .default("0")
        .help("The verbosity of minion's own log.")
        .sets(|o, v| put(&mut o.options.common.verbosity, value::int32(v))),
    common::checks(),
    common::log_format(),
    help_flag(),
    version_flag(),
];

/// Reads the arguments of `supervise`. What stands behind the first `--` is the executor, unread.
pub(super) fn parse(row: &'static Row, mut args: Vec<OsString>) -> Result<Command, Usage> {
    let command = match args.iter().position(|word| word == "--") {
        Some(dashes) => args.drain(dashes..).skip(1).collect(),
        None => Vec::new(),
    };
    let mut read = Read::default();
    match plain::parse(row, &SUPERVISE, &mut read, args)? {
        Plain::Instead(command) => return Ok(command),
        Plain::Words(words) => {
            if let Some(stray) = words.first() {
                let hint = "the executor and its arguments stand behind --: minion supervise -- COMMAND [ARGS]";
                return Err(Usage::word("stray word", stray, hint));
            }
        }
    }
    if read.schema {
        return Ok(Command::Schema(config::schema()));
    }
    let options = SuperviseOptions { command, ..read.options };
    if options.command.is_empty() && options.config.is_none() {
        let hint = "minion supervise -- COMMAND [ARGS], or --config=FILE with an [executor]";
        return Err(Usage::new("supervise: nothing to run", hint));
    }
    if options.command.first().is_some_and(|program| program.is_empty()) {
        return Err(Usage::new("supervise: the executor has no name", "minion supervise -- COMMAND [ARGS]"));
    }
    Ok(Command::Supervise(Box::new(options)))
}
