//! argv to commands; flags, help, completions and man pages from one definition.
//!
//! ```text
//! run_flags (a row a flag) ─┬─ partition (run) ─ plain (other commands) ─ options
//! command (a row a command)─┴─ help ─ complete ─ man ─ markdown
//! ```
//!
//! Nothing here prints or exits: [`parse`] gives a [`Command`] or a [`Usage`].

mod command;
mod common_flags;
mod complete;
mod control;
mod flag;
mod help;
mod json;
mod man;
mod markdown;
mod options;
mod partition;
mod plain;
mod run_flags;
mod setting;
mod status;
mod supervise_flags;
mod tools;
mod usage;
mod views;
mod word;

pub use command::{COMMANDS, Row, SHELLS, WordKind, visible};
pub use flag::{About, Group, Value};
pub use json::{Json, Schema};
pub use markdown::flags_markdown;
pub use options::{
    AttachOptions, CgroupAttach, CgroupDrift, Command, CommonOptions, ControlOptions, DemoOptions, DoctorOptions,
    LogFormat, LookOptions, RunOptions, SuperviseOptions,
};
pub use options::{ContainersOptions, EnterOptions, LogsOptions, Since, SortKey};
pub use usage::Usage;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Reads a command line, without the program's own name (`std::env::args_os().skip(1)`).
///
/// The first word is the command; where it is a flag, the command is `run`.
pub fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Command, Usage> {
    let Some(first) = args.next() else {
        return Err(Usage::new("no command", "minion --help lists the commands and the flags of minion run"));
    };
    match first.to_str() {
        Some("--help" | "-h") => return Ok(Command::Help(help::overview())),
        Some("--version") => return Ok(Command::Version(version_text())),
        _ => {}
    }
    if first.len() > 1 && first.as_bytes()[0] == b'-' {
        return partition::parse(std::iter::once(first).chain(args).collect());
    }
    let row = match first.to_str().and_then(command::find) {
        Some(row) => row,
        None => command::named(&first)?,
    };
    (row.parse)(args.collect())
}

/// The help of a command, or of minion as a whole; None when there is no such command.
pub fn help_text(command: Option<&str>) -> Option<String> {
    match command {
        None => Some(help::overview()),
        Some(name) => visible().find(|row| row.name == name).map(help::of),
    }
}

fn version_text() -> String {
    concat!("minion ", env!("CARGO_PKG_VERSION"), "\n").to_owned()
}
