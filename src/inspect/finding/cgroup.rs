//! Why a process is not in the cgroup that it is expected in.

use super::Words;
use crate::cgroup::{Layout, Nowhere, Version};
use crate::inspect::command;
use crate::inspect::view::View;
use crate::inspect::view::cgroups::{Row, Standing};
use crate::mesos::recovery::{self, LEAF, Reading};
use std::path::Path;

/// The remedy of a process in the wrong place.
const PUT_BACK: &str = "put it back; its children stay where they are";

/// Something is mounted or linked over the cgroup tree.
pub(super) fn covered(view: &View) -> Option<Words> {
    let hidden = || hidden(view).map(|row| format!("no mount shows {}:{}", row.hierarchy, row.actual.display()));
    let trouble = view.cgroups.trouble.clone().or_else(hidden)?;
    Words::new(
        "the container's cgroup directories can be opened",
        trouble,
        "a mount, a file or a symbolic link stands in the place of the cgroup tree",
        "findmnt -R /sys/fs/cgroup shows what covers it; nothing can be attached until it is gone",
    )
}

/// A hierarchy in which the kernel has it in its container, and that is mounted nowhere that can be seen.
fn hidden(view: &View) -> Option<&Row> {
    let id = view.cgroups.container.as_deref()?.split('.').next()?;
    let is_there = |row: &&Row| row.actual.iter().any(|part| part == id);
    view.cgroups.rows.iter().filter(is_there).find(|row| row.standing == Standing::None(Some(Nowhere::NotMounted)))
}

/// In the cgroup of another container than its minion's.
pub(super) fn foreign(view: &View) -> Option<Words> {
    let (foreign, container) = (view.cgroups.foreign.as_ref()?, view.cgroups.container.as_ref()?);
    Words::new(
        format!("{} in container {container} ({})", view.who(), view.cgroups.evidence),
        format!("the kernel has it in container {foreign}"),
        "something moved it: limits and the end of the other container are its own now",
        PUT_BACK,
    )
    .map(|words| words.run(put_back(view, None)))
}

/// The container has no cgroup anywhere, and the process is still there.
pub(super) fn removed(view: &View) -> Option<Words> {
    let container = view.cgroups.container.as_ref()?;
    let nowhere = view.cgroups.rows.iter().all(|row| matches!(row.standing, Standing::None(_)));
    if !nowhere || covered(view).is_some() || view.cgroups.rows.is_empty() {
        return None;
    }
    Words::new(
        format!("a cgroup of container {container} in at least one hierarchy"),
        format!("there is none, and {} still runs; it is known by: {}", view.who(), view.cgroups.evidence),
        "the agent has destroyed the container and this process was outside of its freezer cgroup, so it was not killed; or \
         the agent runs with the posix launcher, which makes no cgroups; or --mesos-cgroup-prefix is not the agent's \
         --cgroups_root",
        format!("if no agent knows the container any more, end it: kill {}", view.stat.pid),
    )
}

/// In none of the container's cgroups.
pub(super) fn outside(view: &View) -> Option<Words> {
    let out = strays(view);
    if out.is_empty() || has_drifted(&out) || view.cgroups.rows.iter().any(Row::is_in) {
        return None;
    }
    let container = view.cgroups.container.as_ref()?;
    let cause = format!("it was never attached: {}", likely(view, &out));
    Words::new(expected(container, &out), actual(&out), cause, PUT_BACK).map(|words| words.run(put_back(view, None)))
}

/// In some of the container's cgroups and not in others.
pub(super) fn half_attached(view: &View) -> Option<Words> {
    let out = strays(view);
    let inside: Vec<&str> =
        view.cgroups.rows.iter().filter(|row| row.is_in()).map(|row| row.hierarchy.as_str()).collect();
    if out.is_empty() || inside.is_empty() || has_drifted(&out) {
        return None;
    }
    let container = view.cgroups.container.as_ref()?;
    let only = (out.len() == 1).then(|| out[0].hierarchy.as_str());
    Words::new(
        expected(container, &out),
        format!("{}; it is inside in {}", actual(&out), inside.join(", ")),
        format!("a part of the attach failed or was undone: {}", likely(view, &out)),
        PUT_BACK,
    )
    .map(|words| words.run(put_back(view, only)))
}

/// Its parent is inside and it is not: children are born where their parent is, so it was moved later.
pub(super) fn drifted(view: &View) -> Option<Words> {
    let out = strays(view);
    if !has_drifted(&out) {
        return None;
    }
    let (container, parent) = (view.cgroups.container.as_ref()?, view.kin.parent.as_ref()?);
    let only = (out.len() == 1).then(|| out[0].hierarchy.as_str());
    Words::new(
        expected(container, &out),
        format!("{}; its parent, pid {} ({}), is inside", actual(&out), parent.pid, parent.name),
        format!("it was moved after its start, by itself or from outside: {}", likely(view, &out)),
        PUT_BACK,
    )
    .map(|words| words.run(put_back(view, only)))
}

/// In a cgroup of another container, where its own has none: it cannot be put back there.
pub(super) fn two_containers(view: &View) -> Option<Words> {
    let left = |row: &&Row| matches!(row.standing, Standing::None(_)) && row.other.is_some();
    let left: Vec<&Row> = view.cgroups.rows.iter().filter(left).collect();
    let (container, other) = (view.cgroups.container.as_ref()?, left.first()?.other.as_ref()?);
    let sandbox = view.sandbox.known().is_some_and(Option::is_some);
    let is_settled = view.cgroups.referred || (sandbox && !view.cgroups.disagreement);
    let (remedy, command) = if is_settled {
        let remedy = format!(
            "{container} has no cgroup there to put it in: write {} to cgroup.procs where the other processes of {container} \
             are, which is mostly where the agent is",
            view.stat.pid
        );
        (remedy, None)
    } else {
        // The one that has a cgroup wherever the process is in one of the two.
        let remedy = format!("put it back into {other}, where it was, unless it is known to be of {container}");
        (remedy, Some(command::take(view.stat.pid, other, None, &view.cgroups.prefix)))
    };
    Words::new(
        format!("in container {container} and in no other ({})", view.cgroups.evidence),
        format!("in the cgroups of another in {}", places(&left)),
        format!(
            "something moved it from one container to the other, and {container} has no cgroup in these: there the limits and \
             the accounting of {other} are its own"
        ),
        remedy,
    )
    .map(|words| words.run(command))
}

/// In the container's v2 cgroup itself.
pub(super) fn inner(view: &View) -> Option<Words> {
    let row = view.cgroups.rows.iter().find(|row| matches!(row.standing, Standing::Inner { .. }))?;
    let Standing::Inner { expected } = &row.standing else { return None };
    Words::new(
        format!("processes of a v2 container in {}", expected.display()),
        format!("it is in {}, which has the limits", row.actual.display()),
        "something other than the agent attached it; the kernel allows that only while no controller is enabled for the \
         cgroup's children, and as long as it stays the agent cannot enable one",
        PUT_BACK,
    )
    .map(|words| words.run(put_back(view, None)))
}

/// In a cgroup that somebody made below the container's.
pub(super) fn child(view: &View) -> Option<Words> {
    let row = view.cgroups.rows.iter().find(|row| matches!(row.standing, Standing::Below { .. }))?;
    let Standing::Below { expected } = &row.standing else { return None };
    let container = match row.version {
        Version::V2 if expected.ends_with(LEAF) => expected.parent()?,
        Version::V1 | Version::V2 => expected,
    };
    let below = Path::new(container.file_name()?).join(row.actual.strip_prefix(container).ok()?);
    Words::new(
        format!("no cgroup below the container's own, {}", expected.display()),
        format!("{}: it is in {}", row.hierarchy, row.actual.display()),
        format!("the process or its supervisor made a child cgroup; {}", hazard(row.version, &below)),
        "let the program run without child cgroups, or move it back before the agent restarts",
    )
    .map(|words| words.run(put_back(view, Some(&row.hierarchy))))
}

/// What the agent's restart makes of a cgroup. [ME-05]
fn hazard(version: Version, below: &Path) -> &'static str {
    let reading = match version {
        Version::V1 => recovery::v1(below),
        Version::V2 => recovery::v2(below),
    };
    match (reading, version) {
        (Reading::Container(_) | Reading::Malformed, Version::V2) => {
            "the agent takes it for a container that it does not know: its next recovery fails, and it exits"
        }
        (Reading::Container(_) | Reading::Malformed, Version::V1) => {
            "the agent takes it for a nested container that it does not know, and destroys it at its next restart"
        }
        (Reading::Root | Reading::Agent | Reading::Ignored, Version::V1 | Version::V2) => {
            "an agent from 1.10 on leaves it alone"
        }
    }
}

/// The kernel and `MESOS_DIRECTORY` name different containers.
pub(super) fn disagreement(view: &View) -> Option<Words> {
    view.cgroups.disagreement.then_some(())?;
    let sandbox = view.sandbox.known()?.as_ref()?;
    Words::new(
        format!("the container that MESOS_DIRECTORY={sandbox:?} names"),
        view.cgroups.evidence.clone(),
        "a hook or the task overrides the variable, or the process was moved to another container's cgroup",
        "believe the kernel; look for MESOS_DIRECTORY in the task's environment and in the agent's hooks",
    )
}

/// Hierarchies where the container has no cgroup of its own.
pub(super) fn no_isolator(view: &View) -> Option<Words> {
    let inside = view.cgroups.rows.iter().any(|row| row.is_in() || row.is_out());
    // On a unified host the v1 hierarchies beside it, and on a hybrid one v2, are nobody's.
    let counts = |row: &&Row| match view.cgroups.layout {
        Layout::Hybrid | Layout::Legacy => row.version == Version::V1,
        Layout::Unified => row.version == Version::V2,
        Layout::None => false,
    };
    let none = |row: &&Row| row.standing == Standing::None(Some(Nowhere::NoIsolator)) && row.other.is_none();
    let rows: Vec<&Row> = view.cgroups.rows.iter().filter(counts).filter(none).collect();
    if rows.is_empty() || !inside {
        return None;
    }
    let container = view.cgroups.container.as_ref()?;
    let places: Vec<String> = rows.iter().map(|row| format!("{} in {}", row.hierarchy, row.actual.display())).collect();
    Words::new(
        format!("container {container} in every hierarchy, by its name"),
        places.join(", "),
        "the agent's --isolation has no isolator for these: it makes no cgroup there, and every process stays where the agent \
         is",
        "nothing is wrong; add cgroups/CONTROLLER to the agent's --isolation where a limit is wanted",
    )
}

/// A container inside another.
pub(super) fn nested(view: &View) -> Option<Words> {
    let container = view.cgroups.container.as_ref().filter(|_| view.cgroups.nested)?;
    Words::new(
        "one container",
        format!("{container} is nested: {}", view.cgroups.evidence),
        "it belongs to a pod (a task group): on v1 it has freezer and systemd cgroups of its own and shares the others with its \
         parent, unless share_cgroups is false",
        "look for limits and OOM kills at the parent container too",
    )
}

/// Not in a container at all.
pub(super) fn no_container(view: &View) -> Option<Words> {
    if view.cgroups.container.is_some() {
        return None;
    }
    Words::new(
        "a Mesos container",
        view.cgroups.evidence.clone(),
        "no agent started it, or it was started through another service (systemd, docker), or --mesos-cgroup-prefix is not the \
         agent's --cgroups_root",
        "see which containers there are; with --container=ID this command compares it with one",
    )
    .map(|words| words.run([command::containers(&view.cgroups.prefix)]))
}

fn strays(view: &View) -> Vec<&Row> {
    view.cgroups.rows.iter().filter(|row| row.is_out()).collect()
}

/// In every hierarchy where it is out, its parent is in.
fn has_drifted(out: &[&Row]) -> bool {
    let parent_in = |row: &&&Row| {
        let Standing::Outside { expected, .. } = &row.standing else { return false };
        row.parent.as_ref().is_some_and(|parent| parent.starts_with(expected))
    };
    !out.is_empty() && out.iter().filter(parent_in).count() == out.len()
}

fn expected(container: &str, out: &[&Row]) -> String {
    let places: Vec<String> = out
        .iter()
        .filter_map(|row| match &row.standing {
            Standing::Outside { expected, .. } => Some(format!("{}:{}", row.hierarchy, expected.display())),
            Standing::Inside { .. } | Standing::Below { .. } | Standing::Inner { .. } | Standing::None(_) => None,
        })
        .collect();
    format!("in the cgroups of container {container}: {}", places.join(", "))
}

fn actual(out: &[&Row]) -> String {
    format!("outside in {}", places(out))
}

/// `memory:/, cpu:/mesos/c2 (container c2)`
fn places(rows: &[&Row]) -> String {
    let place = |row: &&Row| {
        let other = row.other.as_ref().map(|other| format!(" (container {other})")).unwrap_or_default();
        format!("{}:{}{other}", row.hierarchy, row.actual.display())
    };
    rows.iter().map(place).collect::<Vec<_>>().join(", ")
}

/// The likely reason, from what is known of each hierarchy.
fn likely(view: &View, out: &[&Row]) -> String {
    let has = |row: &&&Row, name: &str| row.hierarchy.split(',').any(|controller| controller == name);
    let mut reasons = Vec::new();
    if out.iter().any(|row| has(&row, "cpu")) && view.is_real_time() && view.resources.rt_runtime == Some(0) {
        reasons.push("a real-time process is refused by a v1 cpu cgroup with cpu.rt_runtime_us 0 (EINVAL)".to_owned());
    }
    if out.iter().any(|row| has(&row, "cpuset")) && view.resources.empty_cpuset.is_some() {
        reasons.push("the container's cpuset is empty and takes nobody (ENOSPC)".to_owned());
    }
    if out
        .iter()
        .any(|row| row.actual.to_string_lossy().contains(".service") || row.actual.to_string_lossy().contains(".scope"))
    {
        reasons.push("systemd has it in a unit: a delegated unit needs Delegate=yes and KillMode=process".to_owned());
    }
    if out.iter().any(|row| has(&row, "freezer")) {
        reasons.push(
            "outside of the freezer cgroup the agent's destroy does not kill it and then fails with EBUSY".to_owned(),
        );
    }
    if reasons.is_empty() {
        reasons.push("the kernel keeps no record of who moved it".to_owned());
    }
    reasons.join("; ")
}

pub(super) fn put_back(view: &View, only: Option<&str>) -> Option<String> {
    let container = view.cgroups.container.as_deref()?;
    let elsewhere = view.cgroups.rows.iter().any(|row| row.other.is_some());
    let attach = if elsewhere { command::take } else { command::attach };
    Some(attach(view.stat.pid, container, only, &view.cgroups.prefix))
}
