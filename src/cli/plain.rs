//! The command line of every command but `run`: its own flags, and words.

use super::command::Row;
use super::flag::{Effect, Flag, Value};
use super::options::Command;
use super::partition::one_dash;
use super::usage::Usage;
use super::version_text;
use super::word::{Dashed, Word, Words};
use crate::hyperkube::value;
use crate::near;
use std::ffi::{OsStr, OsString};

/// What the arguments of a command came to.
pub(super) enum Plain {
    /// Its words in order. The flags are in the options.
    Words(Vec<OsString>),
    /// Help or version was asked for.
    Instead(Command),
}

/// Reads flags of `table` into `options`.
pub(super) fn parse<O>(
    row: &'static Row,
    table: &'static [Flag<O>],
    options: &mut O,
    args: Vec<OsString>,
) -> Result<Plain, Usage> {
    let mut words = Words::new(args);
    let mut plain = Vec::new();
    while let Some(word) = words.next() {
        match word {
            Word::Plain(word) => plain.push(word),
            Word::Rest(rest) => plain.extend(rest),
            Word::Short(dashed) => {
                let by_letter = |flag: &&Flag<O>| flag.about.short.is_some_and(|c| dashed.name == c.to_string());
                let flag = table.iter().find(by_letter).ok_or_else(|| one_dash(&dashed))?;
                if let Some(command) = apply(row, flag, dashed, &mut words, options)? {
                    return Ok(Plain::Instead(command));
                }
            }
            Word::Long(dashed) => {
                let flag = table.iter().find(|flag| flag.about.name == dashed.name);
                let flag = flag.ok_or_else(|| unknown(row, table, &dashed.name))?;
                if let Some(command) = apply(row, flag, dashed, &mut words, options)? {
                    return Ok(Plain::Instead(command));
                }
            }
        }
    }
    Ok(Plain::Words(plain))
}

fn apply<O>(
    row: &'static Row,
    flag: &Flag<O>,
    dashed: Dashed,
    words: &mut Words,
    options: &mut O,
) -> Result<Option<Command>, Usage> {
    let spelled = format!("--{}", flag.about.name);
    let value = match (dashed.value, flag.about.value) {
        (Some(value), _) => value,
        (None, Value::Switch) => OsString::from("true"),
        (None, Value::Choice(_) | Value::File | Value::Text(_)) => words
            .value()
            .ok_or_else(|| Usage::new(format!("{spelled}: no value"), format!("write it as {}", flag.about.long())))?,
    };
    let refused = |refusal| Usage::refused(&spelled, &value, refusal);
    let asked = |value: &OsStr| value::boolean(value).map_err(refused);
    match flag.effect {
        Effect::Set(set) | Effect::SetAndForward(set) => set(options, &value).map_err(refused).map(|()| None),
        Effect::Help => Ok(asked(&value)?.then(|| Command::Help(super::help::of(row)))),
        Effect::Version => Ok(asked(&value)?.then(|| Command::Version(version_text()))),
    }
}

fn unknown<O>(row: &Row, table: &'static [Flag<O>], name: &str) -> Usage {
    let hint = match near::nearest(name, table.iter().map(|flag| flag.about.name)) {
        Some(near) => format!("did you mean --{near}?"),
        None => format!("minion {} --help lists its flags", row.name),
    };
    Usage::new(format!("--{name}: no such flag of minion {}", row.name), hint)
}
