//! What the cgroups around a process do to it.

use super::Words;
use super::cgroup::put_back;
use crate::inspect::command;
use crate::inspect::view::View;
use crate::render::unit::percent;

/// A frozen cgroup: nothing in it runs, or dies on v1.
pub(super) fn frozen(view: &View) -> Option<Words> {
    let cgroup = view.resources.frozen.as_ref()?;
    Words::new(
        "its cgroup is thawed",
        format!("{} is frozen", cgroup.display()),
        "the agent freezes a container to destroy it; if it stays, the agent was stopped in between, or a person froze it",
        format!(
            "if no agent is destroying it: write THAWED to {0}/freezer.state (v1) or 0 to {0}/cgroup.freeze (v2). On v1 a kill \
             takes effect only then",
            cgroup.display()
        ),
    )
}

/// A real-time process cannot be in the container's cpu cgroup.
pub(super) fn real_time(view: &View) -> Option<Words> {
    let cpu = view.cgroups.controller("cpu").filter(|row| row.is_out())?;
    if !view.is_real_time() || view.resources.rt_runtime != Some(0) {
        return None;
    }
    Words::new(
        "a process of ordinary scheduling, or a cpu cgroup with real-time runtime",
        format!(
            "scheduling policy {}, and cpu.rt_runtime_us is 0 in the container's cgroup; it is in {}:{}",
            view.policy(),
            cpu.hierarchy,
            cpu.actual.display()
        ),
        "a v1 cpu cgroup refuses a real-time process with EINVAL while it has no real-time runtime of its own",
        "give it ordinary scheduling and then its place; or give the cgroup cpu.rt_runtime_us",
    )
    .map(|words| {
        let ordinary = format!("chrt --other --pid 0 {}", view.stat.pid);
        words.run(std::iter::once(ordinary).chain(put_back(view, Some("cpu"))))
    })
}

/// The container's cpuset takes nobody.
pub(super) fn empty_cpuset(view: &View) -> Option<Words> {
    let cpuset = view.resources.empty_cpuset.as_ref()?;
    Words::new(
        "cpus and memory nodes in the container's cpuset",
        format!("cpuset.cpus or cpuset.mems in {} is empty", cpuset.display()),
        "a new v1 cpuset starts empty; whoever made it did not copy both from its parent, so an attach answers ENOSPC",
        format!("copy both files from the cgroup above into {}, the mems first", cpuset.display()),
    )
}

/// No further process can be made.
pub(super) fn pids(view: &View) -> Option<Words> {
    let pids = view.resources.pids.as_ref().filter(|pids| pids.current >= pids.max)?;
    Words::new(
        "room for another process",
        format!("pids.current is {} and pids.max {} in {}", pids.current, pids.max, pids.directory.display()),
        "fork and thread creation answer EAGAIN in this cgroup; too low a limit, or processes that are not reaped",
        "raise pids.max there, or look for zombies and forking children in the container",
    )
    .map(|words| {
        words.run(view.cgroups.container.as_deref().map(|container| command::inspect(container, &view.cgroups.prefix)))
    })
}

/// Its cgroup ran out of cpu time often.
pub(super) fn throttled(view: &View) -> Option<Words> {
    let (throttled, periods) = view.resources.throttled.filter(|(throttled, _)| *throttled > 0)?;
    Words::new(
        "cpu time whenever it is asked for",
        format!("throttled in {} of its scheduling periods ({throttled} of {periods})", percent(throttled, periods)),
        "the container has a CFS quota (--cgroups_enable_cfs) and used it up",
        "give the task more cpus, or run the agent without --cgroups_enable_cfs",
    )
}
