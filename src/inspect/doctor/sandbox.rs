//! The sandbox: room for the logs, and the time to end in.

use super::{Check, LogBound, Subject, of_seen};
use crate::inspect::proc::seen::{Seen, errno_name};
use crate::mesos::Environment;
use crate::render::unit::{bytes, counted, span};
use rustix::fs::{Access, access, statvfs};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What an agent gives where nobody says anything.
const DEFAULT: Duration = Duration::from_secs(5);
/// Less than this leaves children no time to end by themselves.
const SHORT: Duration = Duration::from_millis(1500);

pub(super) fn all(subject: &Subject<'_>, environment: &Environment, directory: &Seen<PathBuf>) -> [Check; 3] {
    [
        of_seen("sandbox", directory, |directory| writable(directory)),
        of_seen("log space", directory, |directory| space(subject.logs, directory)),
        grace(subject.grace, environment),
    ]
}

fn writable(directory: &Path) -> Check {
    match access(directory, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Check::ok("sandbox", format!("{} is writable", directory.display())),
        Err(errno) => Check::fail(
            "sandbox",
            format!("{} is not writable: {}", directory.display(), errno_name(&errno.into())),
            "logs go to the working directory: start minion in its sandbox, as the user that owns it",
        ),
    }
}

/// Size times files times tasks: what the logs can take in all.
fn space(logs: &[LogBound], directory: &Path) -> Check {
    let name = "log space";
    if logs.is_empty() {
        return Check::unknown(name, "which logs there will be is not known");
    }
    if let Some(boundless) = logs.iter().find(|log| log.size == 0 || log.backups == 0) {
        let flag = if boundless.size == 0 { "--max-log-size=0" } else { "--max-log-backups=0" };
        return Check::warn(name, format!("logs grow without bound: {flag}"), "give both flags a number above 0");
    }
    let files = |log: &LogBound| u64::from(log.backups) + 1;
    let most = logs.iter().fold(0_u64, |sum, log| sum.saturating_add(log.size.saturating_mul(files(log))));
    let logs_in_words = counted(logs.len(), "log", "logs");
    let sum = match logs {
        [first, rest @ ..] if rest.iter().all(|log| log == first) => {
            format!("{} x {} files x {logs_in_words} = {}", bytes(first.size), files(first), bytes(most))
        }
        _ => format!("{logs_in_words} of different sizes: {}", bytes(most)),
    };
    let status = match statvfs(directory) {
        Ok(status) => status,
        Err(errno) => {
            return Check::unknown(
                name,
                format!("{sum}; free space: {} on {}", errno_name(&errno.into()), directory.display()),
            );
        }
    };
    let free = status.f_bavail.saturating_mul(status.f_frsize);
    let evidence = format!("{sum} at most; {} are free", bytes(free));
    if status.f_files > 0 && status.f_favail == 0 {
        return Check::fail(name, format!("{evidence}, but no inode is"), "remove files from that file system");
    }
    if free < most {
        return Check::warn(
            name,
            evidence,
            "lower --max-log-size or --max-log-backups, or make room: full disks lose log lines",
        );
    }
    Check::ok(name, evidence)
}

/// The agent's word against the flag.
fn grace(told: Option<(Duration, &str)>, environment: &Environment) -> Check {
    let name = "grace period";
    let (agent, by) = match &environment.grace {
        Some(Ok(grace)) => (*grace, "by the agent's word"),
        None => (DEFAULT, "the default: the agent says nothing"),
        Some(Err(error)) => {
            let remedy = "the agent writes durations as 5secs or 1.5mins: who has set this variable?";
            return Check::warn(name, format!("{error}"), remedy);
        }
    };
    let (used, by) = told.map_or_else(|| (agent, by.to_owned()), |(told, by)| (told, format!("by {by}")));
    if environment.grace.is_some() && used > agent {
        return Check::fail(
            name,
            format!("{}, {by}, and the agent kills everything after {}", span(used), span(agent)),
            "leave it out, or raise the agent's --executor_shutdown_grace_period",
        );
    }
    if used < SHORT {
        let evidence = format!("{}, {by}", span(used));
        return Check::warn(
            name,
            evidence,
            "children have hardly time to end by themselves: give the executor 5secs or more",
        );
    }
    Check::ok(name, format!("{}, {by}", span(used)))
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::*;
    use std::ffi::OsString;

    fn environment(grace: Option<&str>) -> Environment {
        let variable = grace.map(|grace| (OsString::from("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD"), grace.into()));
        Environment::from_vars(&variable.into_iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_flag_beyond_the_agents_grace_fails() {
        let seconds = |count| Some((Duration::from_secs(count), "--grace"));
        for (flag, agent, health) in [
            (None, None, Health::Ok),
            (seconds(10), None, Health::Ok),
            (seconds(10), Some("5secs"), Health::Fail),
            (seconds(3), Some("5secs"), Health::Ok),
            (None, Some("500ms"), Health::Warn),
            (None, Some("5s"), Health::Warn),
        ] {
            let check = grace(flag, &environment(agent));
            assert_eq!(check.health, health, "{check:?}");
        }
    }

    #[test]
    fn the_total_of_logs_is_size_times_files_times_logs() {
        let logs = |size, backups| [LogBound { size, backups }; 2];
        let check = space(&logs(10 << 20, 5), Path::new("/"));
        assert!(check.evidence.starts_with("10 MiB x 6 files x 2 logs = 120 MiB at most"), "{check:?}");
        let different = [LogBound { size: 1 << 20, backups: 1 }, LogBound { size: 2 << 20, backups: 2 }];
        let check = space(&different, Path::new("/"));
        assert!(check.evidence.starts_with("2 logs of different sizes: 8.0 MiB at most"), "{check:?}");
        assert_eq!(space(&logs(1 << 60, 5), Path::new("/")).health, Health::Warn);
        assert_eq!(space(&logs(0, 5), Path::new("/")).health, Health::Warn);
        assert_eq!(space(&logs(1, 0), Path::new("/")).health, Health::Warn);
    }
}
