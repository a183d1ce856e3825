//! What the cgroups around a process allow it, and how much of that is used.

use super::cgroups::{Cgroups, Row, Standing};
use super::kmsg::{self, Victims};
use crate::cgroup::Version;
use crate::inspect::proc::seen::{self, Seen};
use std::path::{Path, PathBuf};

/// v1 says "no limit" with the largest whole number of pages below 2^63.
const UNLIMITED: u64 = 0x7fff_ffff_ffff_0000;

/// Limits and states of the cgroups that the process is in.
#[derive(Debug, Default)]
pub(in crate::inspect) struct Resources {
    pub(in crate::inspect) memory: Option<Memory>,
    pub(in crate::inspect) pids: Option<Pids>,
    /// The cgroup that freezes it.
    pub(in crate::inspect) frozen: Option<PathBuf>,
    /// The container's cpuset, where it lacks cpus or memory nodes.
    pub(in crate::inspect) empty_cpuset: Option<PathBuf>,
    /// `cpu.rt_runtime_us` of the container's v1 cpu cgroup. Looked for where the process is a real-time one.
    pub(in crate::inspect) rt_runtime: Option<i64>,
    /// Throttled periods and all periods of its cpu cgroup.
    pub(in crate::inspect) throttled: Option<(u64, u64)>,
    /// Whom the kernel killed for memory where [`Memory::kills`] counts it.
    pub(in crate::inspect) kmsg: Seen<Victims>,
}

/// A memory cgroup.
#[derive(Debug)]
pub(in crate::inspect) struct Memory {
    pub(in crate::inspect) directory: PathBuf,
    pub(in crate::inspect) limit: Option<u64>,
    pub(in crate::inspect) usage: Option<u64>,
    pub(in crate::inspect) peak: Option<u64>,
    pub(in crate::inspect) kills: Option<u64>,
    /// v1: whether child cgroups are charged to it.
    pub(in crate::inspect) hierarchical: Option<bool>,
}

/// A pids cgroup with a limit.
#[derive(Debug)]
pub(in crate::inspect) struct Pids {
    pub(in crate::inspect) directory: PathBuf,
    pub(in crate::inspect) current: u64,
    pub(in crate::inspect) max: u64,
}

impl Default for Seen<Victims> {
    fn default() -> Self {
        Self::Known(Victims::default())
    }
}

impl Resources {
    pub(in crate::inspect) fn of(cgroups: &Cgroups, real_time: bool) -> Self {
        let directory = |controller: &str| {
            let row = cgroups.controller(controller)?;
            Some((row, limiting(row, row.directory.as_deref()?).to_owned()))
        };
        let memory = directory("memory").and_then(|(row, directory)| Memory::read(row, directory));
        let killed = memory.as_ref().is_some_and(|memory| memory.kills.is_some_and(|kills| kills > 0));
        let kmsg = match cgroups.controller("memory") {
            // The kernel's log is long: it is read where there is something to find.
            Some(row) if killed => kmsg::victims(limiting(row, &row.actual)),
            Some(_) | None => Seen::default(),
        };
        let container = |controller: &str| cgroups.controller(controller).filter(|row| row.version == Version::V1);
        Self {
            memory,
            pids: directory("pids").and_then(|(_, directory)| Pids::read(directory)),
            frozen: cgroups.controller("freezer").and_then(frozen),
            empty_cpuset: container("cpuset")
                .and_then(Row::container)
                .filter(|path| is_empty(path))
                .map(Path::to_owned),
            rt_runtime: real_time
                .then_some(())
                .and_then(|()| container("cpu"))
                .and_then(Row::container)
                .and_then(|path| number(path, "cpu.rt_runtime_us")),
            throttled: directory("cpu").and_then(|(_, directory)| throttled(&directory)),
            kmsg,
        }
    }
}

/// The cgroup that has the limits, of the one that the process is in: on v2 that is the one above the leaf. [ME-06]
fn limiting<'a>(row: &Row, own: &'a Path) -> &'a Path {
    match (row.version, &row.standing) {
        (Version::V2, Standing::Inside { .. }) => own.parent().unwrap_or(own),
        (Version::V1 | Version::V2, _) => own,
    }
}

impl Memory {
    fn read(row: &Row, directory: PathBuf) -> Option<Self> {
        let of = |name: &str| number::<u64>(&directory, name);
        let (limit, usage, peak, events) = match row.version {
            Version::V1 => {
                ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control")
            }
            Version::V2 => ("memory.max", "memory.current", "memory.peak", "memory.events"),
        };
        let usage = of(usage);
        let kills = text(&directory, events)
            .and_then(|text| text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()));
        let hierarchical = number::<u64>(&directory, "memory.use_hierarchy").map(|flag| flag == 1);
        // The root's files say nothing of a container.
        usage?;
        Some(Self {
            limit: of(limit).filter(|limit| *limit < UNLIMITED),
            peak: of(peak),
            usage,
            kills,
            hierarchical,
            directory,
        })
    }
}

impl Pids {
    fn read(directory: PathBuf) -> Option<Self> {
        let (current, max) = (number(&directory, "pids.current")?, number(&directory, "pids.max")?);
        Some(Self { directory, current, max })
    }
}

/// `freezer.state` or the `frozen` line of `cgroup.events`.
fn frozen(row: &Row) -> Option<PathBuf> {
    let directory = row.directory.clone()?;
    let frozen = match row.version {
        Version::V1 => text(&directory, "freezer.state").is_some_and(|state| state != "THAWED"),
        Version::V2 => {
            text(&directory, "cgroup.events").is_some_and(|events| events.lines().any(|line| line == "frozen 1"))
        }
    };
    frozen.then_some(directory)
}

fn is_empty(cpuset: &Path) -> bool {
    ["cpuset.cpus", "cpuset.mems"].iter().any(|file| text(cpuset, file).is_some_and(|list| list.is_empty()))
}

fn throttled(directory: &Path) -> Option<(u64, u64)> {
    let text = text(directory, "cpu.stat")?;
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some((value("nr_throttled ")?, value("nr_periods ")?))
}

fn text(directory: &Path, name: &str) -> Option<String> {
    seen::text(directory.join(name).to_str()?).known().cloned()
}

fn number<T: std::str::FromStr>(directory: &Path, name: &str) -> Option<T> {
    text(directory, name)?.parse().ok()
}
