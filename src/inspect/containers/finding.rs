//! What is wrong with a container, or with a process that should be in one.

use serde::Serialize;

/// What kind of thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A process is in some of the container's cgroups and not in others.
    Drift,
    /// A process was started in a container and is in none of its cgroups.
    Escaped,
    /// A process was started in a container that has no cgroups any more.
    Orphan,
    /// The minion that started the container's processes is gone.
    MinionGone,
    /// No process is left in the container.
    Empty,
    /// A cgroup that the agent's next recovery takes for a container that it does not know.
    RecoveryHazard,
    /// A cgroup of a container that its launcher has removed, or never made.
    Leftover,
    /// A cgroup that is not the agent's, and that it leaves alone.
    ForeignCgroup,
}

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Something is not as it should be.
    Warning,
    /// Something does not work, or will not.
    Problem,
}

/// One finding.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What kind.
    pub kind: Kind,
    /// How much it matters.
    pub severity: Severity,
    /// The container's id, where one is concerned.
    pub container: Option<String>,
    /// The processes.
    pub pids: Vec<i32>,
    /// The cgroup's directory, where one is concerned.
    pub cgroup: Option<String>,
    /// What is so.
    pub text: String,
    /// What can be done.
    pub remedy: String,
    /// The commands for it, ready to be pasted.
    pub commands: Vec<String>,
}

impl Kind {
    /// The word for it, the same in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Drift => "drift",
            Self::Escaped => "escaped",
            Self::Orphan => "orphan",
            Self::MinionGone => "minion-gone",
            Self::Empty => "empty",
            Self::RecoveryHazard => "recovery-hazard",
            Self::Leftover => "leftover",
            Self::ForeignCgroup => "foreign-cgroup",
        }
    }

    fn severity(self) -> Severity {
        match self {
            Self::RecoveryHazard => Severity::Problem,
            Self::Drift | Self::Escaped | Self::MinionGone | Self::Empty | Self::Leftover => Severity::Warning,
            Self::Orphan | Self::ForeignCgroup => Severity::Note,
        }
    }
}

impl Finding {
    pub(super) fn new(kind: Kind, container: Option<&str>, text: String, remedy: impl Into<String>) -> Self {
        Self {
            kind,
            severity: kind.severity(),
            container: container.map(str::to_owned),
            pids: Vec::new(),
            cgroup: None,
            text,
            remedy: remedy.into(),
            commands: Vec::new(),
        }
    }

    pub(super) fn of_pids(mut self, pids: Vec<i32>) -> Self {
        self.pids = pids;
        self
    }

    /// More than what its kind says.
    pub(super) fn warns(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }

    pub(super) fn run(mut self, commands: Vec<String>) -> Self {
        self.commands = commands;
        self
    }

    pub(super) fn at(mut self, cgroup: String) -> Self {
        self.cgroup = Some(cgroup);
        self
    }
}

/// How many processes are named.
pub(super) const SHOWN: usize = 5;

/// The same with its verb: `process 7 is`, `processes 7, 8 are`.
pub(super) fn named_with(pids: &[i32], one: &str, many: &str) -> String {
    format!("{} {}", named(pids), if pids.len() == 1 { one } else { many })
}

/// The first few pids, in words.
pub(super) fn named(pids: &[i32]) -> String {
    let shown: Vec<String> = pids.iter().take(SHOWN).map(i32::to_string).collect();
    match (pids.len(), pids.len().saturating_sub(SHOWN)) {
        (1, _) => format!("process {}", shown[0]),
        (_, 0) => format!("processes {}", shown.join(", ")),
        (_, more) => format!("processes {} and {more} more", shown.join(", ")),
    }
}
