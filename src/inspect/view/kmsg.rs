//! What the kernel's log says of processes that were killed for memory.

use crate::inspect::proc::seen::Seen;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read};
use std::path::Path;

/// A line of the log is at most this long.
const RECORD: usize = 8192;
/// So long after the report of a kill, in microseconds, the kernel may tell the kill once more.
const SAME: u64 = 1_000_000;

/// Who was killed for memory, as far as the log reaches back. The oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::inspect) struct Victims {
    /// Those in the cgroup that was asked for.
    pub(in crate::inspect) reported: Vec<Victim>,
    /// Those of any cgroup, for the kernel left out its report of them: after ten in 5 s, and where it kills a whole cgroup.
    pub(in crate::inspect) unreported: Vec<Kill>,
}

/// A process that was killed, and what the kernel reports of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct Victim {
    pub(in crate::inspect) kill: Kill,
    /// The cgroup that it was in.
    cgroup: String,
    /// The cgroup whose limit it was. The root's is the whole machine's.
    pub(in crate::inspect) limiter: String,
}

/// A process that was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct Kill {
    /// As the host numbers it.
    pub(in crate::inspect) pid: i32,
    pub(in crate::inspect) name: String,
    /// Microseconds from boot.
    pub(in crate::inspect) when: u64,
}

/// A record of the log that is about one.
#[derive(Debug, PartialEq, Eq)]
enum Record {
    Report(Victim),
    Kill(Kill),
}

/// The victims in a cgroup and in those below it.
///
/// `/dev/kmsg` gives one record a read, and EPIPE for one that was overwritten meanwhile. [KF-100]
pub(in crate::inspect) fn victims(cgroup: &Path) -> Seen<Victims> {
    let kmsg = match open("/dev/kmsg", OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
        Ok(kmsg) => kmsg,
        Err(error) => return Seen::not("/dev/kmsg", &error.into()),
    };
    let mut found = Victims::default();
    let mut record = vec![0; RECORD];
    loop {
        match read(&kmsg, record.as_mut_slice()) {
            Ok(0) | Err(Errno::AGAIN) => return Seen::Known(found.of(cgroup)),
            Ok(length) => {
                if let Some(record) = parse(&String::from_utf8_lossy(&record[..length])) {
                    found.add(record);
                }
            }
            Err(Errno::PIPE | Errno::INTR) => {}
            Err(error) => return Seen::not("/dev/kmsg", &error.into()),
        }
    }
}

#[cfg(test)]
impl Victim {
    /// One in the cgroup whose limit it was.
    pub(in crate::inspect) fn of(kill: Kill, limiter: &str) -> Self {
        Self { kill, cgroup: limiter.to_owned(), limiter: limiter.to_owned() }
    }
}

impl Victims {
    /// A kill that was reported is told a second time, by itself.
    fn add(&mut self, record: Record) {
        match record {
            Record::Report(victim) => self.reported.push(victim),
            Record::Kill(kill) => {
                let is_it = |victim: &&Victim| victim.kill.pid == kill.pid;
                let reported = self.reported.iter().rev().find(is_it).map(|victim| victim.kill.when);
                if reported.is_none_or(|when| when + SAME < kill.when) {
                    self.unreported.push(kill);
                }
            }
        }
    }

    fn of(mut self, cgroup: &Path) -> Self {
        self.reported.retain(|victim| Path::new(&victim.cgroup).starts_with(cgroup));
        self
    }
}

/// A report of a kill, or the kill alone. [KF-100]
fn parse(record: &str) -> Option<Record> {
    let (head, text) = record.split_once(';')?;
    let mut numbers = head.split(',');
    // Who writes to the file cannot say that it is the kernel: that is facility 0, below the three bits of the level.
    if numbers.next()?.parse::<u32>().ok()? >= 8 {
        return None;
    }
    let when = numbers.nth(1)?.parse().ok()?;
    let line = text.lines().next()?;
    report(line, when).map(Record::Report).or_else(|| kill(line, when).map(Record::Kill))
}

/// `oom-kill:constraint=CONSTRAINT_MEMCG,…,oom_memcg=/a,task_memcg=/a/b,task=x,pid=7,uid=0`
///
/// The name of the task is its own choice and may hold all of that: so what follows it is read from the right, and what is
/// before it from the left.
fn report(line: &str, when: u64) -> Option<Victim> {
    let fields = line.strip_prefix("oom-kill:")?;
    let (fields, _uid) = fields.rsplit_once(",uid=")?;
    let (fields, pid) = fields.rsplit_once(",pid=")?;
    let (limits, rest) = fields.split_once(",task_memcg=")?;
    let (cgroup, name) = rest.split_once(",task=")?;
    let limiter = limits.split_once(",oom_memcg=").map_or("/", |(_, limiter)| limiter);
    let kill = Kill { pid: pid.parse().ok()?, name: name.to_owned(), when };
    Some(Victim { kill, cgroup: cgroup.to_owned(), limiter: limiter.to_owned() })
}

/// `Memory cgroup out of memory: Killed process 7 (x) total-vm:16940kB, …`
fn kill(line: &str, when: u64) -> Option<Kill> {
    let (head, rest) = line.split_once(": Killed process ")?;
    let (pid, rest) = rest.split_once(" (")?;
    let (name, _) = rest.rsplit_once(") total-vm:")?;
    let is_it = head == "Out of memory" || head.starts_with("Out of memory (") || head == "Memory cgroup out of memory";
    Some(Kill { pid: pid.parse().ok().filter(|_| is_it)?, name: name.to_owned(), when })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(record: &str) -> Victim {
        match parse(record) {
            Some(Record::Report(victim)) => victim,
            other => panic!("{record}: {other:?}"),
        }
    }

    fn of(pid: i32, name: &str, when: u64) -> Kill {
        Kill { pid, name: name.into(), when }
    }

    #[test]
    fn the_kernels_line_names_victim_and_limit() {
        let victim = reported(
            "6,1207,8812345,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,\
             oom_memcg=/mesos/c1,task_memcg=/mesos/c1/x,task=km,pid=5133,uid=0\n SUBSYSTEM=x\n",
        );
        let kill = of(5133, "km", 8_812_345);
        assert_eq!(victim, Victim { kill, cgroup: "/mesos/c1/x".into(), limiter: "/mesos/c1".into() });
        assert_eq!(parse("6,1,2,-;systemd[1]: oom-kill: x"), None);
        assert_eq!(reported("6,1,2,-;oom-kill:constraint=NONE,task_memcg=/a,task=a,pid=1,uid=0").limiter, "/");
    }

    #[test]
    fn a_task_cannot_call_itself_another_victim() {
        for name in ["a,pid=1,uid=0", "x,task=init", ",oom_memcg=/c", ",task_memcg=/c", ",uid=0"] {
            let line = format!("constraint=CONSTRAINT_MEMCG,oom_memcg=/a,task_memcg=/a/b,task={name},pid=15731,uid=0");
            let victim = reported(&format!("6,1,2,-;oom-kill:{line}\n SUBSYSTEM=x\n"));
            assert_eq!(victim, Victim { kill: of(15731, name, 2), cgroup: "/a/b".into(), limiter: "/a".into() });
        }
        let global = "6,1,2,-;oom-kill:constraint=NONE,global_oom,task_memcg=/a,task=x,oom_memcg=/b,pid=7,uid=0";
        assert_eq!(reported(global).limiter, "/");
        assert_eq!(parse(&global.replacen('6', "14", 1)), None, "a program wrote it");
    }

    #[test]
    fn a_kill_without_a_report_is_known_by_its_pid_and_one_with_it_is_told_once() {
        let line = |pid: i32, name: &str, when: u64| {
            format!(
                "3,2,{when},-;Memory cgroup out of memory: Killed process {pid} ({name}) total-vm:16940kB, anon-rss:8kB"
            )
        };
        let mut found = Victims::default();
        let report = "6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/a,task_memcg=/a,task=sh,pid=7,uid=0";
        // With memory.oom.group the others of the cgroup may come in between.
        let records = [report, &line(8, "a) total-vm:1kB, b", 3), &line(7, "sh", 4), &line(7, "sh", 9_000_000)];
        for record in records {
            found.add(parse(record).unwrap());
        }
        assert_eq!(found.reported, [Victim { kill: of(7, "sh", 2), cgroup: "/a".into(), limiter: "/a".into() }]);
        assert_eq!(found.unreported, [of(8, "a) total-vm:1kB, b", 3), of(7, "sh", 9_000_000)]);
        assert!(parse(&line(7, "sh", 1).replacen("Memory cgroup o", "O", 1)).is_some());
        assert_eq!(parse("3,2,3,-;x: Killed process 7 (a) total-vm:1kB"), None);
        assert_eq!(parse(&line(7, "sh", 1).replacen('3', "14", 1)), None, "a program wrote it");
    }

    #[test]
    fn the_victims_of_others_are_left_out_whosever_limit_it_was() {
        let victim = |cgroup: &str, limiter: &str| Victim {
            kill: of(1, "x", 1),
            cgroup: cgroup.into(),
            limiter: limiter.into(),
        };
        let ours = [victim("/mesos/c1", "/mesos/c1"), victim("/mesos/c1/x", "/mesos/c1/x"), victim("/mesos/c1", "/")];
        let others = [victim("/mesos/c2", "/mesos/c2"), victim("/mesos/c2", "/"), victim("/mesos", "/mesos")];
        let reported = ours.iter().chain(&others).cloned().collect();
        let found = Victims { reported, ..Victims::default() }.of(Path::new("/mesos/c1"));
        assert_eq!(found.reported, ours);
    }
}
