//! What the tasks are to be born with, and whether this process may give it.

use super::{Check, Task};
use crate::inspect::proc::status::{SETGID, SETUID, SYS_NICE, SYS_RESOURCE, Status, can};
use crate::process::attributes;
use rustix::process::getpriority_process;

/// What counts of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    uid: u32,
    capabilities: u64,
    nice: i32,
    /// The lowest nice value that it may take without `CAP_SYS_NICE`.
    lowest_nice: i32,
    oom_score_adj: i32,
    /// The hard limit of a resource; None is unlimited.
    hard: fn(u32) -> Option<u64>,
}

impl Own {
    pub(super) fn read(status: &Status) -> Self {
        let nice = getpriority_process(None).unwrap_or(0);
        // The kernel counts it from 1 for 19 to 40 for -20. Not below what there is now: that takes no right.
        let allowed = attributes::soft_limit(libc::RLIMIT_NICE).unwrap_or(40);
        let lowest_nice = 20 - i32::try_from(allowed).unwrap_or(40).min(40);
        Self {
            uid: status.uid,
            capabilities: status.effective,
            nice,
            lowest_nice,
            oom_score_adj: attributes::oom_score_adj().unwrap_or(0),
            hard: attributes::hard_limit,
        }
    }

    fn has(&self, capability: u32) -> bool {
        can(self.capabilities, capability)
    }
}

/// One line for each task that is to have any of them.
pub(super) fn all(tasks: &[Task], own: &Own) -> Vec<Check> {
    tasks.iter().filter_map(|task| judge(task, own)).collect()
}

fn judge(task: &Task, own: &Own) -> Option<Check> {
    let mut wishes = Vec::new();
    let mut refused: Vec<(String, &str)> = Vec::new();
    if let Some(uid) = task.uid {
        wishes.push(format!("user {uid}"));
        if !own.has(SETUID) || !own.has(SETGID) {
            refused.push((format!("to become user {uid}"), "CAP_SETUID and CAP_SETGID"));
        }
    }
    if let Some(nice) = task.nice {
        wishes.push(format!("nice {nice}"));
        if nice < own.nice.min(own.lowest_nice) && !own.has(SYS_NICE) {
            refused.push((format!("nice {nice}, below {}", own.nice.min(own.lowest_nice)), "CAP_SYS_NICE"));
        }
    }
    if let Some(value) = task.oom_score_adj {
        wishes.push(format!("oom_score_adj {value}"));
        // Less than what a privileged process gave last takes the capability; what that was is not told, and mostly this.
        if value < own.oom_score_adj && !own.has(SYS_RESOURCE) {
            refused.push((format!("oom_score_adj {value}, below {}", own.oom_score_adj), "CAP_SYS_RESOURCE"));
        }
    }
    for (name, resource, hard) in &task.limits {
        wishes.push(format!("limit {name}"));
        let own_hard = (own.hard)(*resource);
        let is_more = own_hard.is_some_and(|own| hard.is_none_or(|hard| hard > own));
        if is_more && !own.has(SYS_RESOURCE) {
            let own = own_hard.map_or_else(String::new, |own| own.to_string());
            refused.push((format!("a limit {name} above {own}"), "CAP_SYS_RESOURCE"));
        }
    }
    if wishes.is_empty() {
        return None;
    }
    let name = "attributes";
    if refused.is_empty() {
        return Some(Check::ok(name, format!("{}: {}", task.name, wishes.join(", "))));
    }
    let missing: Vec<String> = refused.iter().map(|(wish, takes)| format!("{wish} takes {takes}")).collect();
    Some(Check::fail(
        name,
        format!("{}: {}; uid {} has it not", task.name, missing.join("; "), own.uid),
        "the task would not start: leave the key out, or give the executor the capability",
    ))
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::*;

    fn task() -> Task {
        Task {
            name: "side".to_owned(),
            program: "/bin/true".into(),
            uid: Some(7),
            nice: Some(-5),
            oom_score_adj: Some(-1),
            limits: vec![("nofile", 7, Some(2000)), ("core", 4, None)],
        }
    }

    fn own(capabilities: u64) -> Own {
        let hard = |resource| (resource == 7).then_some(1000);
        Own { uid: 0, capabilities, nice: 0, lowest_nice: 20, oom_score_adj: 0, hard }
    }

    #[test]
    fn what_takes_a_capability_is_refused_without_it() {
        let bit = |capability: u32| 1u64 << capability;
        let all = bit(SETGID) | bit(SETUID) | bit(SYS_NICE) | bit(SYS_RESOURCE);
        let check = judge(&task(), &own(all)).unwrap();
        let wishes = "side: user 7, nice -5, oom_score_adj -1, limit nofile, limit core";
        assert_eq!((check.health, check.evidence.as_str()), (Health::Ok, wishes));
        for (missing, words) in [
            (SETUID, "to become user 7 takes CAP_SETUID and CAP_SETGID"),
            (SETGID, "to become user 7 takes CAP_SETUID and CAP_SETGID"),
            (SYS_NICE, "nice -5, below 0 takes CAP_SYS_NICE"),
            (SYS_RESOURCE, "oom_score_adj -1, below 0 takes CAP_SYS_RESOURCE; a limit nofile above 1000 takes"),
        ] {
            let check = judge(&task(), &own(all & !bit(missing))).unwrap();
            assert!(check.health == Health::Fail && check.evidence.contains(words), "{check:?}");
        }
    }

    #[test]
    fn what_takes_none_is_fine_without_any() {
        let modest = Task {
            uid: None,
            nice: Some(3),
            oom_score_adj: Some(500),
            limits: vec![("nofile", 7, Some(1000)), ("core", 4, None)],
            ..task()
        };
        assert_eq!(judge(&modest, &own(0)).unwrap().health, Health::Ok);
        // RLIMIT_NICE of 25 allows -5.
        let allowed = Own { lowest_nice: -5, ..own(0) };
        let nicer = Task { nice: Some(-5), ..modest.clone() };
        assert_eq!(judge(&nicer, &allowed).unwrap().health, Health::Ok);
        let plain = Task { nice: None, oom_score_adj: None, limits: Vec::new(), ..modest };
        assert_eq!(judge(&plain, &own(0)), None);
    }
}
