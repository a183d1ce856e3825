//! The file of `minion supervise`: TOML to tasks. Pure: what has to be read is read through [`Context::read`].
//!
//! ```text
//! text ── toml ── key (rows: keys, nested) ── draft ── order ── resolve ── TaskSpec
//!                  └─ schema, --check and --print-schema read the same rows
//! ```
//!
//! Reading goes on behind each fault, so that all of them are told at once, each with its place. [CR-70]

mod account;
mod draft;
mod environment;
mod keeping;
mod key;
mod keys;
mod nested;
mod node;
mod order;
mod placed;
mod plan;
mod print;
mod resolve;
mod schema;
mod value;

pub use keeping::{Keeping, STALL, layered};
pub use key::{About, Takes};
pub use placed::{Fault, Problem};
pub use plan::plan;
pub use print::{Printed, print};
pub use schema::schema;
pub use value::resource_name;

use crate::mesos::secret;
use crate::task::spec::LogSettings;
use crate::task::{Role, TaskSpec};
use draft::{Document, Task};
use placed::{Findings, Placed};
use resolve::Resolver;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::de::DeTable;

/// What the file has to know of the machine and of the command line. The caller found it out.
pub struct Context<'a> {
    /// minion's own environment.
    pub environment: &'a [(OsString, OsString)],
    /// The working directory, where relative paths start; None when it was deleted.
    pub directory: Option<PathBuf>,
    /// The executor and its arguments, where the command line names them.
    pub command: &'a [OsString],
    /// `--restart-delay`, for sidecars that name none.
    pub restart_delay: Duration,
    /// `--restart-delay-max`, for sidecars that name none.
    pub restart_delay_max: Duration,
    /// Reads /etc/passwd, /etc/group and environment files.
    pub read: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
    /// Whether a path is a file that may be executed.
    pub is_executable: &'a dyn Fn(&Path) -> bool,
    /// Whether a path is a directory that may be entered.
    pub is_directory: &'a dyn Fn(&Path) -> bool,
}

/// What is to be run, and how, as far as the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The sidecars in the order of the file, then the executor.
    pub tasks: Vec<TaskSpec>,
    /// `[log]`.
    pub log: LogSettings,
    /// `stall` of `[log]`.
    pub stall: Option<Duration>,
    /// `grace` of `[stop]`.
    pub grace: Option<Duration>,
}

/// Reads `text`, which is the content of `path`. Empty text is the command line alone.
///
/// # Errors
/// Every problem that was found, in the order of the text: at least one.
pub fn load(text: &str, path: &Path, context: &Context<'_>) -> Result<Loaded, Vec<Problem>> {
    let mut findings = Findings::new(text, path);
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let at = error.span().map_or(0, |span| span.start);
        findings.add(at, error.message().lines().collect::<Vec<_>>().join(" "), "");
    }
    // What was read of a text that is no TOML is a guess: its faults would be guesses too.
    if findings.count() > 0 {
        return Err(findings.finish());
    }
    let document: Document = key::read(&keys::DOCUMENT, root.get_ref(), 0, &mut findings);
    let loaded = resolve(document, context, &mut findings);
    if findings.count() > 0 { Err(findings.finish()) } else { Ok(loaded) }
}

/// The rows of the file, for those who print them: each may lead to more.
pub fn keys() -> Vec<&'static About> {
    key::abouts(&keys::DOCUMENT)
}

fn resolve(document: Document, context: &Context<'_>, findings: &mut Findings<'_>) -> Loaded {
    let Document { executor, sidecars, log, grace } = document;
    let executor = executor.unwrap_or_default();
    let helpers = sidecars.iter().filter_map(|task| Some((task.name.as_ref()?.value.as_str(), task)));
    let helpers: Vec<(&str, &Task)> = helpers.collect();
    let mut named = helpers.clone();
    named.push((order::EXECUTOR, &executor));
    order::check(&named, findings);
    let mut tasks = Vec::with_capacity(named.len());
    for (name, draft) in helpers {
        let args = draft.command.as_ref().map(words).unwrap_or_default();
        tasks.push(Resolver { context, findings }.task(name, Role::Helper, draft, &args));
    }
    let args = executor_command(&executor, context, findings);
    tasks.push(Resolver { context, findings }.task(order::EXECUTOR, Role::Executor, &executor, &args));
    Loaded { tasks, log: log.settings, stall: log.stall, grace }
}

fn words(command: &Placed<Vec<String>>) -> Vec<OsString> {
    command.value.iter().map(OsString::from).collect()
}

/// The command line's, or the file's: exactly one of them.
fn executor_command(draft: &Task, context: &Context<'_>, findings: &mut Findings<'_>) -> Vec<OsString> {
    match (&draft.command, context.command) {
        // It was named and refused.
        (None, _) if draft.has_command => Vec::new(),
        (None, []) => {
            let hint = "[executor] command = [\"/bin/prog\"], or behind -- on the command line";
            findings.add(draft.at, "nothing says what the executor is", hint);
            Vec::new()
        }
        (None, given) => given.to_vec(),
        (Some(written), []) => words(written),
        (Some(written), given) => {
            let first = secret::shown_word(&given[0]);
            let message = format!("command: the command line names the executor too: {first:?}");
            findings.add(written.at, message, "leave one of them out");
            Vec::new()
        }
    }
}
