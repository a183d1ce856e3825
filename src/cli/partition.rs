//! The command line of `run`: which words are minion's, which are the executor's, and which are a mistake. [GO-02]

use super::flag::{Effect, Flag, Setter, Value};
use super::options::{Command, RunOptions};
use super::run_flags::RUN;
use super::usage::Usage;
use super::word::{Dashed, Word, Words};
use super::{help, version_text};
use crate::hyperkube::executor;
use crate::hyperkube::value::{self, Kind};
use crate::mesos::secret::{is_secret, shown_word};
use crate::near;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

/// Reads the arguments of `run`, without the program's name and without the word `run`.
pub(super) fn parse(args: Vec<OsString>) -> Result<Command, Usage> {
    let mut words = Words::new(args);
    let mut partition = Partition::default();
    while let Some(word) = words.next() {
        let instead = match word {
            Word::Long(dashed) => partition.long(dashed, &mut words)?,
            Word::Short(dashed) => partition.short(dashed, &mut words)?,
            Word::Plain(word) => return Err(partition.stray(&word)),
            Word::Rest(rest) => {
                partition.options.profile.trailing_args = rest;
                None
            }
        };
        if let Some(command) = instead {
            return Ok(command);
        }
    }
    Ok(Command::Run(Box::new(partition.finish())))
}

#[derive(Default)]
struct Partition {
    options: RunOptions,
    /// The flags that nobody knows, for one warning.
    unknown: Vec<String>,
    /// The flag before the word at hand, when it took no value: a stray word may have been meant for it.
    before: Before,
}

#[derive(Default)]
enum Before {
    #[default]
    Complete,
    Switch(String),
    Unknown(String),
}

impl Partition {
    fn long(&mut self, dashed: Dashed, words: &mut Words) -> Result<Option<Command>, Usage> {
        self.before = Before::Complete;
        if let Some(flag) = RUN.iter().find(|flag| flag.about.name == dashed.name) {
            return self.own(flag, dashed, words);
        }
        if let Some(kind) = executor::kind(&dashed.name) {
            let (raw, value) = self.checked(kind, dashed, words)?;
            self.forward(raw, value);
        } else if let Some(kind) = executor::global(&dashed.name) {
            self.checked(kind, dashed, words)?;
        } else {
            self.unknown(dashed)?;
        }
        Ok(None)
    }

    fn short(&mut self, dashed: Dashed, words: &mut Words) -> Result<Option<Command>, Usage> {
        self.before = Before::Complete;
        let known = RUN.iter().find(|flag| flag.about.short.is_some_and(|short| dashed.name == short.to_string()));
        match known {
            Some(flag) if !is_long_with_one_dash(&dashed) => {
                // The executor has long forms only.
                let name = flag.about.name;
                let value = dashed.value.or_else(|| takes_word(flag).then(|| words.value()).flatten());
                let mut raw = OsString::from(format!("--{name}"));
                if let Some(value) = &value {
                    raw.push("=");
                    raw.push(value);
                }
                self.own(flag, Dashed { name: name.to_owned(), value, raw }, words)
            }
            _ => Err(one_dash(&dashed)),
        }
    }

    fn own(&mut self, flag: &Flag<RunOptions>, dashed: Dashed, words: &mut Words) -> Result<Option<Command>, Usage> {
        let Dashed { name, value, raw } = dashed;
        let spelled = format!("--{name}");
        if !takes_word(flag) {
            let on = value.as_deref().unwrap_or(OsStr::new("true"));
            if value.is_none() {
                self.before = Before::Switch(spelled.clone());
            }
            return self.switch(flag, &spelled, on);
        }
        // A value of its own word stays one on its way to the executor.
        let word = if value.is_none() { words.value() } else { None };
        let value = value.or_else(|| word.clone()).ok_or_else(|| missing(&flag.about.long()))?;
        match flag.effect {
            Effect::Set(set) => self.set(set, &spelled, &value)?,
            Effect::SetAndForward(set) => {
                self.set(set, &spelled, &value)?;
                self.forward(raw, word);
            }
            Effect::Help | Effect::Version => {}
        }
        Ok(None)
    }

    fn switch(&mut self, flag: &Flag<RunOptions>, spelled: &str, value: &OsStr) -> Result<Option<Command>, Usage> {
        let asked = || value::boolean(value).map_err(|refusal| Usage::refused(spelled, value, refusal));
        match flag.effect {
            Effect::Set(set) | Effect::SetAndForward(set) => self.set(set, spelled, value).map(|()| None),
            Effect::Help => Ok(asked()?.then(|| Command::Help(help::of_run()))),
            Effect::Version => Ok(asked()?.then(|| Command::Version(version_text()))),
        }
    }

    fn set(&mut self, set: Setter<RunOptions>, spelled: &str, value: &OsStr) -> Result<(), Usage> {
        set(&mut self.options, value).map_err(|refusal| Usage::refused(spelled, value, refusal))
    }

    /// A flag of the executor or of `km` as it stands, with its value where that is a word of its own.
    fn checked(
        &mut self,
        kind: Kind,
        dashed: Dashed,
        words: &mut Words,
    ) -> Result<(OsString, Option<OsString>), Usage> {
        let spelled = format!("--{}", dashed.name);
        let check = |value: &OsStr| kind.check(value).map_err(|refusal| Usage::refused(&spelled, value, refusal));
        if let Some(value) = dashed.value {
            check(&value)?;
            return Ok((dashed.raw, None));
        }
        if kind == Kind::Bool {
            self.before = Before::Switch(spelled);
            return Ok((dashed.raw, None));
        }
        let word = words.value().ok_or_else(|| missing(&format!("{spelled}={}", kind.metavar())))?;
        check(&word)?;
        Ok((dashed.raw, Some(word)))
    }

    fn unknown(&mut self, dashed: Dashed) -> Result<(), Usage> {
        let name = &dashed.name;
        if let Some(near) = near::nearest(name, RUN.iter().map(|flag| flag.about.name)) {
            return Err(Usage::new(
                format!("--{name}: no such flag"),
                format!("did you mean --{near}? An executor flag of that name goes behind --"),
            ));
        }
        let mut told = format!("--{name}");
        if let Some(near) = near::nearest(name, executor::names().map(|(name, _)| name)) {
            // Writing to a String cannot fail.
            let _ = write!(told, " (did you mean --{near}?)");
        }
        self.unknown.push(told);
        if dashed.value.is_none() {
            self.before = Before::Unknown(format!("--{name}"));
        }
        self.forward(dashed.raw, None);
        Ok(())
    }

    fn forward(&mut self, raw: OsString, value: Option<OsString>) {
        self.options.profile.executor_args.push(raw);
        self.options.profile.executor_args.extend(value);
    }

    /// A word that belongs to no flag, with the likeliest reason.
    fn stray(&self, word: &OsStr) -> Usage {
        // Bytes that are not text are shown escaped, a plain word as it would be typed.
        let typed = shown_word(word).into_string().unwrap_or_else(|shown| format!("{shown:?}"));
        let hint = match &self.before {
            Before::Unknown(flag) if is_secret(flag) => {
                return Usage::new(
                    format!("stray word behind {flag}"),
                    format!("{flag} is not known to minion: its value is written behind ="),
                );
            }
            Before::Switch(flag) => format!("{flag} is a boolean: its value is written {flag}={typed}"),
            Before::Unknown(flag) => {
                format!("{flag} is not known to minion: with a value it is written {flag}={typed}")
            }
            Before::Complete => "minion run takes flags only; words for the executor go behind --".to_owned(),
        };
        Usage::word("stray word", word, hint)
    }

    fn finish(mut self) -> RunOptions {
        if !self.unknown.is_empty() {
            let names = self.unknown.join(", ");
            self.options
                .common
                .notices
                .push(format!("not known to minion, forwarded to the executor as written: {names}"));
        }
        self.options
    }
}

fn takes_word<O>(flag: &Flag<O>) -> bool {
    match flag.about.value {
        Value::Switch => false,
        Value::Choice(_) | Value::File | Value::Text(_) => true,
    }
}

fn missing(spelled: &str) -> Usage {
    let name = spelled.split('=').next().unwrap_or(spelled);
    Usage::new(format!("{name}: no value"), format!("write it as {spelled}"))
}

/// `-verbose`: neither `-v`, nor `-v 2`, `-v2`, `-v=2`.
fn is_long_with_one_dash(dashed: &Dashed) -> bool {
    let value = dashed.value.as_ref().map_or(b"".as_slice(), |value| value.as_encoded_bytes());
    let written_apart = dashed.raw.as_encoded_bytes().get(2) == Some(&b'=');
    !written_apart && value.first().is_some_and(|byte| !byte.is_ascii_digit() && *byte != b'-' && *byte != b'+')
}

pub(super) fn one_dash(dashed: &Dashed) -> Usage {
    let raw = shown_word(&dashed.raw);
    if dashed.value.is_none() {
        return Usage::new(format!("{raw:?}: no such flag"), "minion --help lists the flags");
    }
    let long = raw.to_str().map_or_else(|| format!("-{raw:?}"), |text| format!("-{text}"));
    Usage::new(format!("{raw:?}: a long flag with one dash"), format!("write it as {long}"))
}
