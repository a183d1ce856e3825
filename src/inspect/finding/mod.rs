//! What is odd about a process: one small pure function a kind, each from a [`View`] to at most one [`Finding`].
//!
//! A finding says what was expected, what is, why that usually comes about and what to do. Causes are the likely ones and
//! say so where the kernel keeps no record.

mod cgroup;
mod family;
mod memory;
mod namespace;
mod privilege;
mod resource;
mod signal;

pub(super) use namespace::in_words as mount_words;

use super::view::View;
use serde::Serialize;

/// Something that a reader should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its kind, for scripts: `cgroup-half-attached`.
    pub kind: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What should be so.
    pub expected: String,
    /// What is so, with the evidence.
    pub actual: String,
    /// How it comes about.
    pub cause: String,
    /// What to do.
    pub remedy: String,
    /// The commands for it, ready to be pasted one after the other. Empty where no command alone is the remedy.
    pub commands: Vec<String>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Good to know; it may be meant so.
    Note,
    /// It will hurt under some conditions.
    Warning,
    /// It is wrong now.
    Problem,
}

impl Level {
    /// The word that every output has for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// A kind of finding.
struct Kind {
    name: &'static str,
    level: Level,
    look: fn(&View) -> Option<Words>,
}

/// The sentences of a finding: expected, actual, cause, remedy.
struct Words {
    expected: String,
    actual: String,
    cause: String,
    remedy: String,
    commands: Vec<String>,
}

impl Words {
    #[expect(clippy::unnecessary_wraps, reason = "it is what each kind's function ends with")]
    fn new(
        expected: impl Into<String>,
        actual: impl Into<String>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Option<Self> {
        let (expected, actual, cause, remedy) = (expected.into(), actual.into(), cause.into(), remedy.into());
        Some(Self { expected, actual, cause, remedy, commands: Vec::new() })
    }

    /// With commands to paste.
    fn run(self, commands: impl IntoIterator<Item = String>) -> Self {
        Self { commands: commands.into_iter().collect(), ..self }
    }
}

const fn problem(name: &'static str, look: fn(&View) -> Option<Words>) -> Kind {
    Kind { name, level: Level::Problem, look }
}

const fn warning(name: &'static str, look: fn(&View) -> Option<Words>) -> Kind {
    Kind { name, level: Level::Warning, look }
}

const fn note(name: &'static str, look: fn(&View) -> Option<Words>) -> Kind {
    Kind { name, level: Level::Note, look }
}

/// Every kind, in the order in which a reader wants them.
static KINDS: [Kind; 45] = [
    problem("zombie", signal::zombie),
    problem("frozen", resource::frozen),
    problem("stopped", signal::stopped),
    warning("traced", signal::traced),
    warning("uninterruptible", signal::uninterruptible),
    problem("cgroup-tree-covered", cgroup::covered),
    problem("cgroup-foreign-container", cgroup::foreign),
    problem("cgroup-removed", cgroup::removed),
    problem("cgroup-outside", cgroup::outside),
    problem("cgroup-half-attached", cgroup::half_attached),
    problem("cgroup-drifted", cgroup::drifted),
    problem("cgroup-two-containers", cgroup::two_containers),
    problem("cgroup-v2-inner", cgroup::inner),
    warning("cgroup-child", cgroup::child),
    problem("cpu-real-time", resource::real_time),
    problem("cpuset-empty", resource::empty_cpuset),
    problem("container-id-disagrees", cgroup::disagreement),
    note("cgroup-no-isolator", cgroup::no_isolator),
    note("container-nested", cgroup::nested),
    note("container-none", cgroup::no_container),
    problem("oom-killed", memory::killed),
    warning("memory-at-limit", memory::at_limit),
    warning("memory-not-hierarchical", memory::not_hierarchical),
    problem("pids-at-max", resource::pids),
    note("cpu-throttled", resource::throttled),
    problem("mount-namespace-not-minions", namespace::not_minions),
    note("mount-namespace-own", namespace::own),
    warning("mounts-private", namespace::private),
    warning("mounts-leak", namespace::leak),
    note("mounts-differ", namespace::mounts_differ),
    note("namespaces-differ", namespace::others),
    warning("term-blocked", signal::term_blocked),
    warning("term-ignored", signal::term_ignored),
    problem("minion-gone", family::minion_gone),
    warning("session-escaped", family::escaped),
    warning("descendants-outlive", family::outlive),
    warning("log-pipe-held", family::holds_pipe),
    note("seccomp-filter", privilege::seccomp),
    note("no-new-privs", privilege::no_new_privs),
    note("no-sys-admin", privilege::no_sys_admin),
    warning("few-open-files", privilege::few_files),
    warning("few-processes", privilege::few_processes),
    warning("executable-deleted", privilege::executable_deleted),
    problem("sandbox-deleted", privilege::sandbox_deleted),
    warning("oom-score-unusual", memory::unusual_score),
];

/// All findings of a view, the worst first, in the order of the kinds.
pub fn of(view: &View) -> Vec<Finding> {
    let found = |kind: &Kind| {
        let words = (kind.look)(view)?;
        let Words { expected, actual, cause, remedy, commands } = words;
        Some(Finding { kind: kind.name, level: kind.level, expected, actual, cause, remedy, commands })
    };
    let mut findings: Vec<Finding> = KINDS.iter().filter_map(found).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    findings
}

/// The names of all kinds.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::view::Question;

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let mut names: Vec<&str> = kinds().collect();
        assert!(names.len() >= 25);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KINDS.len());
    }

    #[test]
    fn findings_of_this_process_come_with_the_worst_first() {
        let view = View::of(i32::try_from(std::process::id()).unwrap(), &Question::default()).unwrap();
        let levels: Vec<Level> = of(&view).iter().map(|finding| finding.level).collect();
        assert!(levels.is_sorted_by(|a, b| a >= b), "{levels:?}");
    }
}
