//! Memory: who was killed for it, and who may be next.

use super::Words;
use crate::inspect::proc::seen::Seen;
use crate::inspect::view::View;
use crate::inspect::view::kmsg::{Kill, Victims};
use crate::inspect::view::resources::Memory;
use crate::render::unit::{bytes, counted, percent, span};
use std::time::Duration;

/// The share of the limit, in per cent, from which on the next allocation may be the last.
const NEAR: u64 = 95;
/// No process can be picked by the OOM killer with this score.
const NEVER: i32 = -1000;
/// It is picked before any other.
const FIRST: i32 = 1000;

/// The kernel killed in this memory cgroup.
pub(super) fn killed(view: &View) -> Option<Words> {
    let memory = view.resources.memory.as_ref()?;
    let kills = memory.kills.filter(|kills| *kills > 0 && memory.limit.is_some())?;
    let victims = match &view.resources.kmsg {
        Seen::Known(victims) => told(victims),
        Seen::Unknown(why) => format!("the victim is unknown: {why}"),
    };
    Words::new(
        "no process killed for memory",
        format!("{kills} killed in {}: {}; {victims}", memory.directory.display(), usage(memory)),
        "the cgroup reached its limit and nothing could be reclaimed; the agent then destroys the container if the limit is its \
         own",
        "give the task more memory, or find what grows: memory.stat there, and the peak above",
    )
}

/// The last one here, and what the kernel killed after it without a report: here, or somewhere else. [KF-100]
fn told(victims: &Victims) -> String {
    let words = |kill: &Kill| {
        format!("pid {} ({}), {} after boot", kill.pid, kill.name, span(Duration::from_micros(kill.when)))
    };
    let last = victims.reported.last();
    let is_later = |kill: &&Kill| last.is_none_or(|last| last.kill.when < kill.when);
    let later: Vec<&Kill> = victims.unreported.iter().filter(is_later).collect();
    match (last, later.as_slice()) {
        (Some(last), []) => format!("the last was {}, by the limit of {}", words(&last.kill), last.limiter),
        (Some(last), [.., latest]) => format!(
            "the last that the kernel reports was {}, by the limit of {}; {} here or elsewhere without a report, the last \
             pid {} ({})",
            words(&last.kill),
            last.limiter,
            counted(later.len(), "later kill was", "later kills were"),
            latest.pid,
            latest.name
        ),
        (None, [.., latest]) => format!(
            "the kernel's log does not report them: it does not reach back, or they are among the {} without a report, here \
             or elsewhere, the last of pid {} ({})",
            counted(later.len(), "kill", "kills"),
            latest.pid,
            latest.name
        ),
        (None, []) => "the kernel's log does not reach back to it".to_owned(),
    }
}

/// Close to the limit.
pub(super) fn at_limit(view: &View) -> Option<Words> {
    let memory = view.resources.memory.as_ref()?;
    let (limit, used) = (memory.limit?, memory.usage?);
    (used >= limit / 100 * NEAR).then_some(())?;
    Words::new(
        format!("less than {NEAR}% of the memory limit in use"),
        format!("{} in {}", usage(memory), memory.directory.display()),
        "page cache counts too and is given back under pressure; what is anonymous is not, and then the OOM killer comes",
        "compare rss and cache in memory.stat there",
    )
}

/// v1 without `use_hierarchy`: children are not charged. [ME-60]
pub(super) fn not_hierarchical(view: &View) -> Option<Words> {
    let memory = view.resources.memory.as_ref().filter(|memory| memory.hierarchical == Some(false))?;
    Words::new(
        "memory.use_hierarchy 1",
        format!("it is 0 in {}", memory.directory.display()),
        "an old kernel's default: what child cgroups use is not charged to the container, so its limit does not hold",
        "write 1 to memory.use_hierarchy of the agent's root cgroup before containers are made",
    )
}

/// The kernel's choice of a victim is bent.
pub(super) fn unusual_score(view: &View) -> Option<Words> {
    let score = *view.oom_score.known()?;
    let cause = match score {
        NEVER => "the OOM killer never takes it: where it is what grows, others of its container die in its place",
        FIRST.. => "the OOM killer takes it first, whatever it uses: so a kubelet marks pods without requests",
        ..0 => "the OOM killer takes others of the container first; it is inherited from whoever started the agent",
        _ => return None,
    };
    Words::new(
        "oom_score_adj of 0",
        format!("oom_score_adj is {score}"),
        cause,
        format!(
            "echo 0 > /proc/{}/oom_score_adj; for all later ones, OOMScoreAdjust= of the agent's unit",
            view.stat.pid
        ),
    )
}

fn usage(memory: &Memory) -> String {
    let (limit, used) = (memory.limit.unwrap_or(0), memory.usage.unwrap_or(0));
    let peak = memory.peak.map(|peak| format!(", peak {}", bytes(peak))).unwrap_or_default();
    format!("{} of {} in use ({}{peak})", bytes(used), bytes(limit), percent(used, limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::view::kmsg::Victim;

    #[test]
    fn the_last_victim_is_told_and_what_came_after_it_without_a_report() {
        let kill = |pid, when| Kill { pid, name: "km".into(), when };
        let told = |reported: &[(i32, u64)], unreported: &[(i32, u64)]| {
            let reported = reported.iter().map(|(pid, when)| Victim::of(kill(*pid, *when), "/mesos/c1")).collect();
            let unreported = unreported.iter().map(|(pid, when)| kill(*pid, *when)).collect();
            super::told(&Victims { reported, unreported })
        };
        let second = 1_000_000;
        let reported = "pid 7 (km), 2.0s after boot, by the limit of /mesos/c1";
        assert_eq!(told(&[(6, second), (7, 2 * second)], &[(8, second)]), format!("the last was {reported}"));
        let after = told(&[(7, 2 * second)], &[(8, 3 * second), (9, 4 * second)]);
        let later = "2 later kills were here or elsewhere without a report, the last pid 9 (km)";
        assert_eq!(after, format!("the last that the kernel reports was {reported}; {later}"));
        assert!(
            told(&[], &[(9, second)])
                .ends_with("the 1 kill without a report, here or elsewhere, the last of pid 9 (km)")
        );
        assert_eq!(told(&[], &[]), "the kernel's log does not reach back to it");
    }
}
