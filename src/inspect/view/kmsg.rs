//! What the kernel's log says of processes that were killed for memory.

use crate::inspect::proc::seen::Seen;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read};
use std::path::Path;

/// A line of the log is at most this long.
const RECORD: usize = 8192;

/// A process that was killed for memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct Victim {
    pub(in crate::inspect) pid: i32,
    pub(in crate::inspect) name: String,
    /// The cgroup whose limit it was. None where the kernel left its report out: then it may be any container's.
    pub(in crate::inspect) limiter: Option<String>,
    /// Microseconds from boot.
    pub(in crate::inspect) when: u64,
}

/// The victims of a cgroup's limit, or of one above or below it, and those of an unknown one; the oldest first.
///
/// `/dev/kmsg` gives one record a read, and EPIPE for one that was overwritten meanwhile. [KF-100]
pub(in crate::inspect) fn victims(cgroup: &Path) -> Seen<Vec<Victim>> {
    let kmsg = match open("/dev/kmsg", OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
        Ok(kmsg) => kmsg,
        Err(error) => return Seen::not("/dev/kmsg", &error.into()),
    };
    let mut found: Vec<Victim> = Vec::new();
    let mut record = vec![0; RECORD];
    loop {
        match read(&kmsg, record.as_mut_slice()) {
            Ok(0) | Err(Errno::AGAIN) => {
                found.retain(|victim| {
                    victim.limiter.as_ref().is_none_or(|limiter| concerns(cgroup, Path::new(limiter)))
                });
                return Seen::Known(found);
            }
            Ok(length) => {
                if let Some(victim) = parse(&String::from_utf8_lossy(&record[..length])) {
                    add(&mut found, victim);
                }
            }
            Err(Errno::PIPE | Errno::INTR) => {}
            Err(error) => return Seen::not("/dev/kmsg", &error.into()),
        }
    }
}

/// Those of which the kernel says by whose limit, with it.
pub(in crate::inspect) fn reported(victims: &[Victim]) -> impl DoubleEndedIterator<Item = (&Victim, &str)> {
    victims.iter().filter_map(|victim| Some((victim, victim.limiter.as_deref()?)))
}

/// A kill that was reported is told a second time, by its pid alone.
fn add(found: &mut Vec<Victim>, victim: Victim) {
    if victim.limiter.is_some() || found.last().is_none_or(|last| last.pid != victim.pid) {
        found.push(victim);
    }
}

/// A limit of the cgroup itself, of one around it, or of one that it is around. The root's is the whole machine's.
fn concerns(cgroup: &Path, limiter: &Path) -> bool {
    cgroup.starts_with(limiter) || (cgroup != Path::new("/") && limiter.starts_with(cgroup))
}

/// A report of a kill, or the kill alone. [KF-100]
fn parse(record: &str) -> Option<Victim> {
    let (head, text) = record.split_once(';')?;
    let mut numbers = head.split(',');
    // Who writes to the file cannot say that it is the kernel: that is facility 0, below the three bits of the level.
    if numbers.next()?.parse::<u32>().ok()? >= 8 {
        return None;
    }
    let when = numbers.nth(1)?.parse().ok()?;
    let line = text.lines().next()?;
    let (pid, name, limiter) = report(line).or_else(|| bare(line))?;
    Some(Victim { pid, name: name.to_owned(), limiter: limiter.map(str::to_owned), when })
}

/// `oom-kill:constraint=CONSTRAINT_MEMCG,…,oom_memcg=/a,task_memcg=/a/b,task=x,pid=7,uid=0`: pid, name and limiter.
///
/// The name of the task is its own choice and may hold all of that: so what follows it is read from the right, and what is
/// before it from the left.
fn report(line: &str) -> Option<(i32, &str, Option<&str>)> {
    let fields = line.strip_prefix("oom-kill:")?;
    let (fields, _uid) = fields.rsplit_once(",uid=")?;
    let (fields, pid) = fields.rsplit_once(",pid=")?;
    let (limits, name) = match fields.split_once(",task_memcg=") {
        Some((limits, rest)) => (limits, rest.split_once(",task=")?.1),
        None => fields.split_once(",task=")?,
    };
    let limiter = limits.split_once(",oom_memcg=").map_or("/", |(_, limiter)| limiter);
    Some((pid.parse().ok()?, name, Some(limiter)))
}

/// `Memory cgroup out of memory: Killed process 7 (x) total-vm:16940kB, …`: all that there is after ten reports in 5 s.
fn bare(line: &str) -> Option<(i32, &str, Option<&str>)> {
    let (head, rest) = line.split_once(": Killed process ")?;
    let (pid, rest) = rest.split_once(" (")?;
    let (name, _) = rest.rsplit_once(") total-vm:")?;
    let is_it = head == "Out of memory" || head.starts_with("Out of memory (") || head == "Memory cgroup out of memory";
    Some((pid.parse().ok().filter(|_| is_it)?, name, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line_names_victim_and_limit() {
        let victim = parse(
            "6,1207,8812345,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,\
             oom_memcg=/mesos/c1,task_memcg=/mesos/c1/x,task=km,pid=5133,uid=0\n SUBSYSTEM=x\n",
        );
        let expected = Victim { pid: 5133, name: "km".into(), limiter: Some("/mesos/c1".into()), when: 8_812_345 };
        assert_eq!(victim, Some(expected));
        assert_eq!(parse("6,1,2,-;systemd[1]: oom-kill: x"), None);
        assert_eq!(
            parse("6,1,2,-;oom-kill:constraint=CONSTRAINT_NONE,task=a,pid=1,uid=0").unwrap().limiter.unwrap(),
            "/"
        );
    }

    #[test]
    fn a_kill_without_a_report_is_known_by_its_pid_and_one_with_it_is_told_once() {
        let report = "6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/a,task_memcg=/a,task=sh,pid=7,uid=0";
        let kill = |pid: i32, name: &str| {
            format!("3,2,3,-;Memory cgroup out of memory: Killed process {pid} ({name}) total-vm:16940kB, anon-rss:8kB")
        };
        let mut found = Vec::new();
        for line in [report, &kill(7, "sh"), &kill(8, "a) total-vm:1kB, b"), &kill(7, "sh")] {
            add(&mut found, parse(line).unwrap());
        }
        let bare = |pid, name: &str| Victim { pid, name: name.into(), limiter: None, when: 3 };
        let reported = Victim { pid: 7, name: "sh".into(), limiter: Some("/a".into()), when: 2 };
        assert_eq!(found, [reported, bare(8, "a) total-vm:1kB, b"), bare(7, "sh")]);
        assert_eq!(parse(&kill(7, "sh").replacen("Memory cgroup o", "O", 1)).unwrap().pid, 7);
        assert_eq!(parse("3,2,3,-;x: Killed process 7 (a) total-vm:1kB"), None);
        assert_eq!(parse(&kill(7, "sh").replacen('3', "14", 1)), None, "a program wrote it");
    }

    #[test]
    fn a_task_cannot_call_itself_another_victim() {
        let victim = |name: &str| {
            let line = format!("constraint=CONSTRAINT_MEMCG,oom_memcg=/a,task_memcg=/a/b,task={name},pid=15731,uid=0");
            parse(&format!("6,1,2,-;oom-kill:{line}\n SUBSYSTEM=x\n")).unwrap()
        };
        for name in ["a,pid=1,uid=0", "x,task=init", ",oom_memcg=/c", ",task_memcg=/c", ",uid=0"] {
            let expected = Victim { pid: 15731, name: name.into(), limiter: Some("/a".into()), when: 2 };
            assert_eq!(victim(name), expected);
        }
        let global = "6,1,2,-;oom-kill:constraint=NONE,global_oom,task_memcg=/a,task=x,oom_memcg=/b,pid=7,uid=0";
        assert_eq!(parse(global).unwrap().limiter.unwrap(), "/");
        assert_eq!(parse(&global.replacen('6', "14", 1)), None, "a program wrote it");
    }

    #[test]
    fn only_limits_on_the_way_count() {
        let concerns = |cgroup: &str, limiter: &str| concerns(Path::new(cgroup), Path::new(limiter));
        assert!(
            concerns("/mesos/c1", "/mesos/c1") && concerns("/mesos/c1", "/") && concerns("/mesos/c1", "/mesos/c1/x")
        );
        assert!(!concerns("/mesos/c1", "/mesos/c2") && !concerns("/", "/mesos/c1"));
    }
}
