//! The container's cgroups: layout, id, isolators, memory and cpuset.

use super::Check;
use crate::cgroup::{self, Kernel, Layout, Placement, Sources, Validated, Verdict, Version};
use crate::inspect::proc::seen;
use crate::mesos::{Environment, SEPARATOR};
use crate::process::procfs;
use std::path::{Path, PathBuf};

/// So many leftover cgroups are named.
const SHOWN: usize = 8;

/// All checks of cgroups; one line of trouble where they cannot be read.
pub(super) fn all(prefix: &str, environment: &Environment) -> Vec<Check> {
    let sources = match Sources::read() {
        Ok(sources) => sources,
        Err(error) => return vec![Check::unknown("cgroup layout", error.to_string())],
    };
    let placement = cgroup::discover(&sources, prefix, environment);
    let mut checks = vec![layout(&placement), container(&placement, environment)];
    let validated = placement.validate();
    checks.extend(validated.refused.iter().map(|(hierarchy, error)| {
        let remedy = "remove what covers the cgroup tree; until then children stay where minion is in that hierarchy";
        Check::fail("cgroup directories", format!("{hierarchy}: {error}"), remedy)
    }));
    checks.extend([isolators(&placement, &validated), memory(&validated), cpuset(&validated), left(&validated)]);
    checks
}

fn layout(placement: &Placement) -> Check {
    let name = "cgroup layout";
    match placement.layout {
        Layout::Legacy => Check::ok(name, "legacy: v1 only"),
        Layout::Hybrid => Check::ok(name, "hybrid: v1 has the controllers, v2 is beside it and is left alone"),
        Layout::Unified => Check::ok(name, "unified: v2; a container's processes are in its leaf"),
        Layout::None => Check::warn(name, "no cgroups that this process can see", "mount /sys/fs/cgroup"),
    }
}

/// The id with the evidence of either side, and what a disagreement means.
fn container(placement: &Placement, environment: &Environment) -> Check {
    let (name, evidence) = ("container id", placement.identity.to_string());
    match (placement.identity.verdict(), &placement.identity.kernel) {
        (Verdict::Agreement, _) | (Verdict::Absence, Kernel::Inside { .. }) => Check::ok(name, evidence),
        (Verdict::Disagreement, _) => Check::warn(
            name,
            evidence,
            "a hook or the task overrides MESOS_DIRECTORY, or minion was moved to another container's cgroup; minion believes \
             the kernel",
        ),
        (Verdict::Absence, Kernel::Outside { .. }) if environment.is_under_agent() => Check::warn(
            name,
            evidence,
            "give the agent's --cgroups_root as --mesos-cgroup-prefix; an agent with the posix launcher makes no cgroups",
        ),
        (Verdict::Absence, Kernel::Outside { .. }) => Check::warn(
            name,
            evidence,
            "no agent started this process: run the doctor as a task, or minion demo to see the main job without an agent",
        ),
    }
}

/// Where the container has cgroups. Freezer is what an agent on v1 kills through. [ME-08]
fn isolators(placement: &Placement, validated: &Validated) -> Check {
    let name = "isolators";
    let there: Vec<&str> = validated.places.iter().map(|place| place.hierarchy.as_str()).collect();
    let inherited: Vec<&str> = validated.inherited.iter().map(|inherited| inherited.hierarchy.as_str()).collect();
    let evidence = match (there.as_slice(), inherited.as_slice()) {
        ([], _) => "the container has no cgroup in any hierarchy".to_owned(),
        (there, []) => format!("the container has cgroups in {}", there.join(", ")),
        (there, rest) => format!("the container has cgroups in {}; none in {}", there.join(", "), rest.join(", ")),
    };
    match (placement.container_id(), there.as_slice()) {
        (Some(_), []) => {
            Check::warn(name, evidence, "the agent has destroyed it, or runs without the linux launcher and isolators")
        }
        (Some(_), there) if placement.layout != Layout::Unified && !there.contains(&"freezer") => Check::warn(
            name,
            evidence,
            "without a freezer cgroup the agent cannot end what minion leaves: does the agent run with --launcher=linux?",
        ),
        (Some(_) | None, _) => Check::ok(name, evidence),
    }
}

/// v1: whether child cgroups are charged to the container. [ME-60]
fn memory(validated: &Validated) -> Check {
    let name = "memory hierarchy";
    let Some(directory) = v1(validated, "memory") else {
        return Check::ok(name, "no v1 memory cgroup of the container");
    };
    match text(directory, "memory.use_hierarchy").as_deref() {
        Some("0") => Check::warn(
            name,
            format!("memory.use_hierarchy is 0 in {}", directory.display()),
            "what child cgroups use is not charged to the container: write 1 in the agent's root cgroup before it starts",
        ),
        Some(_) => Check::ok(name, "memory.use_hierarchy is 1: child cgroups are charged to the container"),
        None => Check::ok(name, "memory.use_hierarchy is gone from this kernel: always 1"),
    }
}

/// v1: a cpuset without cpus or memory nodes takes no process.
fn cpuset(validated: &Validated) -> Check {
    let name = "cpuset";
    let Some(directory) = v1(validated, "cpuset") else { return Check::ok(name, "no v1 cpuset of the container") };
    let lists = ["cpuset.cpus", "cpuset.mems"].map(|file| text(directory, file));
    match &lists {
        [Some(cpus), Some(mems)] if cpus.is_empty() || mems.is_empty() => Check::fail(
            name,
            format!("cpus {cpus:?}, memory nodes {mems:?} in {}", directory.display()),
            "nothing can be attached there (ENOSPC): copy cpuset.mems and cpuset.cpus from the cgroup above",
        ),
        [Some(cpus), Some(mems)] => Check::ok(name, format!("cpus {cpus}, memory nodes {mems}")),
        _ => Check::unknown(name, format!("cpuset.cpus and cpuset.mems in {}", directory.display())),
    }
}

/// Cgroups in the container that are not the agent's. [ME-05]
fn left(validated: &Validated) -> Check {
    let name = "leftover cgroups";
    let mut hazards: Vec<PathBuf> = validated.hazards().into_iter().map(|hazard| hazard.directory).collect();
    let remedy = if hazards.is_empty() {
        "a v1 agent takes each for a container that its launcher does not know, and destroys it at its next start: rmdir what \
         is empty"
    } else {
        "an agent takes each for a container that it does not know, and fails at its next start: rmdir what is empty"
    };
    if let Some(launchers) = v1(validated, "freezer") {
        let others =
            validated.places.iter().filter(|place| place.version == Version::V1 && place.directory != launchers);
        others.for_each(|place| unlaunched(&place.directory, launchers, &mut hazards));
    }
    if hazards.is_empty() {
        return Check::ok(name, "none in the container that an agent would stumble over");
    }
    let shown: Vec<String> = hazards.iter().take(SHOWN).map(|directory| directory.display().to_string()).collect();
    let more = hazards.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Check::warn(name, shown.join(", ") + &more, remedy)
}

/// v1: what is shaped like a nested container here, and is none in the launcher's hierarchy, which is freezer's.
fn unlaunched(directory: &Path, launchers: &Path, found: &mut Vec<PathBuf>) {
    for name in procfs::directories(directory.join(SEPARATOR)).unwrap_or_default() {
        let nested = |container: &Path| container.join(SEPARATOR).join(&name);
        if !nested(launchers).is_dir() {
            found.push(nested(directory));
        }
        unlaunched(&nested(directory), &nested(launchers), found);
    }
}

fn v1<'a>(validated: &'a Validated, controller: &str) -> Option<&'a Path> {
    let has = |hierarchy: &str| hierarchy.split(',').any(|name| name == controller);
    let place = validated.places.iter().find(|place| place.version == Version::V1 && has(&place.hierarchy))?;
    Some(&place.directory)
}

fn text(directory: &Path, file: &str) -> Option<String> {
    seen::text(directory.join(file).to_str()?).known().cloned()
}
