//! One key: the row that reader, schema, `--check` and README all use, as the flags of the command line have theirs.

use super::node::{Node, in_order};
use super::placed::{Findings, Wrong};
use crate::near;
use toml::de::DeTable;

/// What every output says of a key.
#[derive(Debug)]
pub struct About {
    /// As it is written.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// The value that stands when it is not given; empty for none.
    pub default: &'static str,
    /// Whether it must be given.
    pub required: bool,
    /// Whether it is one of several of which exactly one must be given.
    pub way: bool,
    /// One to three sentences.
    pub help: &'static str,
}

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// A string, described by these words.
    Text(&'static str),
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A whole number from one to the other.
    Integer(i64, i64),
    /// `true` or `false`.
    Switch,
    /// A span of time.
    Duration,
    /// A number of bytes.
    Size,
    /// The name or the number of a signal.
    Signal,
    /// A name or a number of the passwd or group file.
    Account,
    /// A list of strings.
    Words,
    /// A list of strings of which the first is a program.
    Command,
    /// A table of strings.
    Variables,
    /// A table of resource limits.
    Limits,
    /// A table of these keys.
    Table(fn() -> Vec<&'static About>),
    /// Any number of such tables.
    Tables(fn() -> Vec<&'static About>),
}

impl Takes {
    /// In words, behind "KEY takes".
    pub fn words(self) -> String {
        match self {
            Self::Text(words) => words.to_owned(),
            Self::Choice(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                match quoted.split_last() {
                    Some((last, [])) => last.clone(),
                    Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
                    None => String::new(),
                }
            }
            Self::Integer(least, most) => format!("a whole number from {least} to {most}"),
            Self::Switch => "true or false".to_owned(),
            Self::Duration => "a duration such as \"10s\", \"1m30s\", \"500ms\" or \"90secs\"".to_owned(),
            Self::Size => "a size such as \"10Mi\", \"1G\" or a number of bytes".to_owned(),
            Self::Signal => "a signal such as \"TERM\", \"SIGINT\" or 10".to_owned(),
            Self::Account => "a name or a number".to_owned(),
            Self::Words => "a list of texts such as [\"a\", \"b\"]".to_owned(),
            Self::Command => "a program and its arguments, such as [\"/bin/prog\", \"-v\"]".to_owned(),
            Self::Variables => "a table of texts such as { NAME = \"value\" }".to_owned(),
            Self::Limits => "a table such as { nofile = 1024, core = \"0:unlimited\" }".to_owned(),
            Self::Table(keys) => format!("a table of {}", names(&keys())),
            Self::Tables(keys) => format!("tables of {}", names(&keys())),
        }
    }
}

fn names(keys: &[&About]) -> String {
    keys.iter().map(|about| about.name).collect::<Vec<_>>().join(", ")
}

/// Reads a value into what the table is about.
pub(super) type Setter<T> = fn(&mut T, Node<'_>, &mut Findings<'_>) -> Result<(), Wrong>;

/// A key of a table that is about a `T`.
pub(super) struct Key<T: 'static> {
    pub(super) about: About,
    set: Setter<T>,
}

impl About {
    /// A row without default and help.
    pub(super) const fn new(name: &'static str, takes: Takes) -> Self {
        Self { name, takes, default: "", required: false, way: false, help: "" }
    }

    pub(super) const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    pub(super) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    pub(super) const fn way(self) -> Self {
        Self { way: true, ..self }
    }

    pub(super) const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    pub(super) const fn sets<T>(self, set: Setter<T>) -> Key<T> {
        Key { about: self, set }
    }
}

pub(super) fn abouts<T>(keys: &'static [Key<T>]) -> Vec<&'static About> {
    keys.iter().map(|key| &key.about).collect()
}

/// Puts a value where it belongs, or says why not.
pub(super) fn put<T>(slot: &mut T, value: Result<T, Wrong>) -> Result<(), Wrong> {
    *slot = value?;
    Ok(())
}

/// Reads a table by its keys. What is wrong goes into `findings`, and the rest is read all the same.
pub(super) fn read<T>(keys: &'static [Key<T>], table: &DeTable<'_>, place: usize, findings: &mut Findings<'_>) -> T
where
    T: Default,
{
    let mut result = T::default();
    let mut meant = Vec::new();
    for (name, node) in in_order(table) {
        let Some(key) = keys.iter().find(|key| key.about.name == name.value) else {
            let near = near::nearest(name.value, keys.iter().map(|key| key.about.name));
            let hint = match near {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known here: {}", names(&abouts(keys))),
            };
            findings.add(name.at, format!("{}: no such key", name.value), hint);
            meant.extend(near);
            continue;
        };
        if let Err(wrong) = (key.set)(&mut result, node, findings) {
            let hint = wrong.hint.unwrap_or_else(|| format!("{} takes {}", name.value, key.about.takes.words()));
            findings.add(wrong.at.unwrap_or_else(|| node.at()), format!("{}: {}", name.value, wrong.message), hint);
        }
    }
    for about in keys.iter().map(|key| &key.about).filter(|about| about.required) {
        // What was only misspelled is not missing too.
        if !table.contains_key(about.name) && !meant.contains(&about.name) {
            findings.add(place, format!("{}: missing", about.name), format!("it takes {}", about.takes.words()));
        }
    }
    result
}
