//! What a child is born with, and that minion keeps nothing of those that died.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers fail and print as tests do")]

mod common;

use common::minion::{Minion, Sandbox};
use common::proc::{self, count_fds, field_of};
use common::wait_readable;
use nix::sys::signal::{SigSet, Signal as Number};
use std::fs;
use std::process::Command;
use std::time::Instant;

/// Starts minion with three more fds, ignored and blocked signals.
const DIRTY: &str = "trap '' PIPE HUP CHLD USR2; exec 9</dev/null 10</etc/passwd 251>/dev/null; exec \"$0\" \"$@\"";

/// What each child says of what it was born with: the executor begins when the proxy has ended and its log is whole.
fn born(what: &str, flags: &[&str]) -> [String; 2] {
    let sandbox = Sandbox::with_km(&format!("[ $1 = executor ] && read -r _ <go\n{what}\n"));
    let _go = sandbox.events("go");
    let inner = sandbox.command(flags);
    let mut command = Command::new("bash");
    command.args(["-c", DIRTY]).arg(inner.get_program()).args(inner.get_args()).arg("--restart-delay=1m");
    sandbox.mark(&mut command);
    let blocked: SigSet = [Number::SIGUSR1, Number::SIGTERM, Number::SIGCHLD].into_iter().collect();
    blocked.thread_block().unwrap();
    let mut minion = Minion::spawn(&mut command);
    blocked.thread_unblock().unwrap();
    minion.says("exited with 0");
    fs::write(sandbox.path("go"), "go\n").unwrap();
    minion.wait().assert_code(0);
    [sandbox.read("proxy.log"), sandbox.read("executor.log")]
}

#[test]
fn a_child_has_no_fd_but_the_first_three() {
    for log in born("exec ls -l /proc/self/fd", &[]) {
        let targets: Vec<&str> = log.lines().filter_map(|line| line.split_once(" -> ")).map(|(_, to)| to).collect();
        assert_eq!(targets.len(), 4, "{log}");
        assert_eq!(targets[0], "/dev/null");
        assert!(targets[1].starts_with("pipe:") && targets[2] == targets[1], "{log}");
        assert!(targets[3].starts_with("/proc/"), "{log}");
    }
}

#[test]
fn stdout_goes_nowhere_or_into_a_log_of_its_own_when_that_is_asked_for() {
    for log in born("ls -l /proc/self/fd >&2; exec ls /", &["--stdout=discard"]) {
        assert_eq!(log.matches(" -> ").count(), 4, "the second listing is nowhere: {log}");
        assert!(!log.contains("\nproc\n"), "{log}");
    }
    for log in born("echo out; echo error >&2", &["--stdout=separate"]) {
        assert_eq!(log, "error\n");
    }
}

#[test]
fn a_child_has_no_blocked_and_no_ignored_signal_and_its_own_group() {
    for log in born("cat /proc/$$/stat\nexec cat /proc/self/status", &[]) {
        assert_eq!(field_of(&log, "SigBlk"), "0000000000000000", "{log}");
        // 32 and 33 are glibc's own; whoever starts a program by posix_spawn leaves them ignored, and here nobody may.
        assert_eq!(field_of(&log, "SigIgn"), "0000000000000000", "{log}");
        assert_eq!(field_of(&log, "ShdPnd"), "0000000000000000", "{log}");
        let stat: Vec<&str> = log.lines().next().unwrap().rsplit(')').next().unwrap().split_whitespace().collect();
        assert_eq!(stat[2], field_of(&log, "Pid"), "it leads its process group: {log}");
    }
}

#[test]
fn a_hundred_restarts_leave_no_fd_no_thread_and_no_zombie_behind() {
    let sandbox = Sandbox::with_km("if [ $1 = proxy ]; then echo $$ >events; exit 1; fi\nexec sleep 300\n");
    let mut events = sandbox.events("events");
    let mut minion = sandbox.start(&["--restart-delay=0s", "--restart-delay-max=0s"]);
    minion.started("executor");
    let reaped = |minion: &mut Minion| drop(minion.says("exited with 1"));
    let pid = minion.pid();
    // Each count is taken at any point of a restart, in which up to four fds are open for a moment.
    let fds = |minion: &mut Minion| {
        reaped(minion);
        count_fds(pid)
    };
    let before = (0..20).map(|_| fds(&mut minion)).min().unwrap();
    for _ in 0..100 {
        events.next();
        reaped(&mut minion);
    }
    assert!((0..500).any(|_| fds(&mut minion) <= before), "more than {before} fds, always");
    assert_eq!(proc::status(pid, "Threads"), "2");
    assert!(proc::children(pid).len() <= 2, "{:?}", proc::children(pid));
    assert!(!wait_readable(&minion.pidfd, Instant::now()));
    minion.stop().assert_code(0);
    sandbox.assert_deserted();
}
