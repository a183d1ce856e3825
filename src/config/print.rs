//! Tasks as a file that gives these tasks again: what `minion run --print-config` prints.

use super::Loaded;
use crate::error::{Error, Result};
use crate::hyperkube::duration::GoDuration;
use crate::mesos::secret;
use crate::task::spec::LogSettings;
use crate::task::{Restart, Role, TaskSpec};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::time::Duration;

const HEAD: &str = "\
# The two children of `minion run` with this command line, for `minion supervise --config FILE`.
# Their arguments name this container and this machine: its id, its cgroup, where km is.
# Flags that are not about the children (--private-mountns, --cgroup-attach, --log-format and the like) stay flags.
";

/// A file, and what it is not whole without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The file.
    pub text: String,
    /// The flags and variables with a secret in their values: [`secret::MARK`] stands in its place.
    pub left_out: Vec<String>,
}

/// Writes a file for tasks of the hyperkube profile, which have nothing but a command, an environment and a restart.
/// Variables that minion itself has, `inherited`, are not written: they are there when the file is read. [CR-72]
///
/// # Errors
/// An argument or a variable that is not UTF-8: TOML has no way to write it.
pub fn print(loaded: &Loaded, inherited: &[(OsString, OsString)]) -> Result<Printed> {
    let mut printed = Printed { text: HEAD.to_owned(), left_out: Vec::new() };
    // Writing to a String cannot fail, here and below.
    if let Some(grace) = loaded.grace {
        let _ = writeln!(printed.text, "\n[stop]\ngrace = {}", span(grace));
    }
    printed.text.push_str(&log(loaded.log, loaded.stall));
    for task in &loaded.tasks {
        printed.task(task, inherited).map_err(|error| error.while_doing("print the configuration"))?;
    }
    Ok(printed)
}

impl Printed {
    fn task(&mut self, task: &TaskSpec, inherited: &[(OsString, OsString)]) -> Result<()> {
        let section = match task.role {
            Role::Executor => "executor",
            Role::Helper => "sidecar",
        };
        let _ = match task.role {
            Role::Executor => writeln!(self.text, "\n[executor]\n# It never starts again: its end is the end."),
            Role::Helper => writeln!(self.text, "\n[[sidecar]]\nname = {}", quoted(&task.name)),
        };
        self.text.push_str("command = [\n");
        for word in self.without_secrets(&task.args)? {
            let _ = writeln!(self.text, "    {},", quoted(&word));
        }
        self.text.push_str("]\n");
        self.restart(task.restart, task.role);
        let own: Vec<_> = task.env.iter().filter(|variable| !inherited.contains(variable)).collect();
        if !own.is_empty() {
            let _ = writeln!(self.text, "\n# Everything else is minion's own environment.\n[{section}.environment]");
        }
        for (name, value) in own {
            let shown = secret::shown_variable(name, value);
            if shown != *value {
                self.left_out.push(utf8(name)?.to_owned());
            }
            let _ = writeln!(self.text, "{} = {}", quoted(utf8(name)?), quoted(utf8(&shown)?));
        }
        Ok(())
    }

    fn restart(&mut self, restart: Restart, role: Role) {
        let (word, delays) = match restart {
            Restart::Never => ("never", None),
            Restart::OnFailure { delay, max } => ("on-failure", Some((delay, max))),
            Restart::Always { delay, max } => ("always", Some((delay, max))),
        };
        if role == Role::Executor {
            return;
        }
        let _ = writeln!(self.text, "restart = {}", quoted(word));
        if let Some((delay, max)) = delays {
            let _ = writeln!(self.text, "restart-delay = {}\nrestart-delay-max = {}", span(delay), span(max));
        }
    }

    /// The words without what is nobody's business. Where a word differs, the flag that it belongs to is noted.
    fn without_secrets(&mut self, words: &[OsString]) -> Result<Vec<String>> {
        let shown = secret::shown(words);
        let mut before = "";
        let mut texts = Vec::with_capacity(words.len());
        for (word, shown) in words.iter().zip(&shown) {
            let (word, shown) = (utf8(word)?, utf8(shown)?);
            let flag = word.split('=').next().filter(|flag| flag.starts_with('-')).unwrap_or(before);
            if shown != word {
                self.left_out.push(if flag.is_empty() { "a word of the command" } else { flag }.to_owned());
            }
            before = if word.contains('=') { "" } else { flag };
            texts.push(shown.to_owned());
        }
        Ok(texts)
    }
}

fn log(log: LogSettings, stall: Option<Duration>) -> String {
    let mut keys = String::new();
    if let Some(size) = log.max_size {
        let _ = writeln!(keys, "max-size = {size}");
    }
    if let Some(age) = log.max_age {
        let _ = writeln!(keys, "max-age = {}", span(age));
    }
    if let Some(backups) = log.max_backups {
        let _ = writeln!(keys, "max-backups = {backups}");
    }
    if let Some(gzip) = log.gzip {
        let _ = writeln!(keys, "gzip = {gzip}");
    }
    if let Some(stdout) = log.stdout {
        let _ = writeln!(keys, "stdout = {}", quoted(stdout.word()));
    }
    if let Some(stall) = stall {
        let _ = writeln!(keys, "stall = {}", span(stall));
    }
    if keys.is_empty() { keys } else { format!("\n[log]\n{keys}") }
}

fn utf8(text: &OsStr) -> Result<&str> {
    text.to_str().ok_or_else(|| Error::new("write", format!("{text:?}"), "not UTF-8").hint("TOML has no other text"))
}

/// As a duration that is read back exactly.
fn span(span: Duration) -> String {
    quoted(&GoDuration::from_nanos(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)).to_string())
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
