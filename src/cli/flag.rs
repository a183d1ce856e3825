//! One flag: the row that parser, help, completions, manual page and README all read.

use crate::hyperkube::value::Refusal;
use std::ffi::OsStr;

/// What every output says of a flag.
#[derive(Debug)]
pub struct About {
    /// Without the dashes.
    pub name: &'static str,
    /// The letter of the short form.
    pub short: Option<char>,
    /// What it takes.
    pub value: Value,
    /// The value that stands when it is not given; empty for none.
    pub default: &'static str,
    /// The heading it stands under.
    pub group: Group,
    /// One to three sentences.
    pub help: &'static str,
}

/// What a flag takes, for a person and for a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing, or `=true` and `=false`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The path of a file.
    File,
    /// Anything, called by this word.
    Text(&'static str),
}

/// The headings, in the order of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The configuration file.
    File,
    /// What is started and stopped.
    Children,
    /// The container around it.
    Container,
    /// The children's output.
    Logs,
    /// What kube-proxy is told.
    Proxy,
    /// What minion reads and the executor gets too.
    Shared,
    /// The demo.
    Demo,
    /// Which running minion.
    Which,
    /// The form of what is printed.
    Output,
    /// The program itself.
    Minion,
}

impl Group {
    /// Every group, in order.
    pub const ALL: [Self; 10] = [
        Self::File,
        Self::Children,
        Self::Container,
        Self::Logs,
        Self::Proxy,
        Self::Shared,
        Self::Demo,
        Self::Which,
        Self::Output,
        Self::Minion,
    ];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::File => "Configuration file",
            Self::Children => "Children",
            Self::Container => "Container",
            Self::Logs => "Logs of the children",
            Self::Proxy => "kube-proxy",
            Self::Shared => "Shared with the executor",
            Self::Demo => "Demo",
            Self::Which => "Which minion",
            Self::Output => "Output",
            Self::Minion => "minion itself",
        }
    }
}

/// A flag of a command whose options are `O`.
pub(super) struct Flag<O: 'static> {
    /// What every output says of it.
    pub(super) about: About,
    /// What the parser does with it.
    pub(super) effect: Effect<O>,
}

/// What a flag does.
pub(super) enum Effect<O: 'static> {
    /// Sets something.
    Set(Setter<O>),
    /// Sets something, and goes to the executor as written.
    SetAndForward(Setter<O>),
    /// Prints help instead.
    Help,
    /// Prints the version instead.
    Version,
}

/// Reads a value into the options.
pub(super) type Setter<O> = fn(&mut O, &OsStr) -> Result<(), Refusal>;

impl About {
    /// A row without short form, default and help.
    pub(super) const fn new(group: Group, name: &'static str, value: Value) -> Self {
        Self { name, short: None, value, default: "", group, help: "" }
    }

    pub(super) const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    pub(super) const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    pub(super) const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    pub(super) const fn sets<O>(self, set: Setter<O>) -> Flag<O> {
        Flag { about: self, effect: Effect::Set(set) }
    }

    pub(super) const fn sets_and_forwards<O>(self, set: Setter<O>) -> Flag<O> {
        Flag { about: self, effect: Effect::SetAndForward(set) }
    }

    /// Both forms as they are typed, with the word for the value: `-v, --v=N`.
    pub fn spelled(&self) -> String {
        let long = self.long();
        self.short.map_or_else(|| long.clone(), |short| format!("-{short}, {long}"))
    }

    /// The long form as it is typed, with the word for its value: `--grace=DURATION`.
    pub fn long(&self) -> String {
        let name = self.name;
        match self.value {
            Value::Switch => format!("--{name}"),
            Value::Choice(words) => format!("--{name}={}", words.join("|")),
            Value::File => format!("--{name}=FILE"),
            Value::Text(metavar) => format!("--{name}={metavar}"),
        }
    }
}

/// `-h, --help`: of every command.
pub(super) const fn help_flag<O>() -> Flag<O> {
    let about = About::new(Group::Minion, "help", Value::Switch).short('h').help("Print this text.");
    Flag { about, effect: Effect::Help }
}

/// `--version`: of every command.
pub(super) const fn version_flag<O>() -> Flag<O> {
    let about = About::new(Group::Minion, "version", Value::Switch).help("Print the version.");
    Flag { about, effect: Effect::Version }
}

/// Puts a value where it belongs, or says why not.
pub(super) fn put<T>(slot: &mut T, value: Result<T, Refusal>) -> Result<(), Refusal> {
    *slot = value?;
    Ok(())
}
