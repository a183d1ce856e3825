//! What a child is born with, and that minion keeps nothing of those that died.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::minion::{Minion, Sandbox};
use common::proc::{self, count_fds, field_of};
use nix::sys::signal::{SigSet, Signal as Number};
use rustix::process::Signal;
use std::fs;
use std::process::Command;

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
    let sandbox = Sandbox::with_km("[ $1 = proxy ] && echo $$ >events\nexec sleep 300\n");
    let mut events = sandbox.events("events");
    let mut minion = sandbox.start(&["--restart-delay=0s", "--restart-delay-max=0s", "-v=1", "--checks=false"]);
    minion.is_up();
    let mut proxy: i32 = events.next().parse().unwrap();
    let mut restart = |proxy: &mut i32| {
        common::agent::signal(*proxy, Signal::KILL);
        *proxy = events.next().parse().unwrap();
    };
    let pid = minion.pid();
    // What it does about a signal without a meaning comes after everything that it does about the start before.
    let at_rest = |minion: &mut Minion, proxy: i32| {
        minion.says(&format!("started task=proxy pid={proxy}"));
        minion.signal(Signal::USR2);
        minion.says("a signal without a meaning");
        count_fds(pid)
    };
    restart(&mut proxy);
    let before = at_rest(&mut minion, proxy);
    (0..100).for_each(|_| restart(&mut proxy));
    assert_eq!(at_rest(&mut minion, proxy), before);
    assert_eq!(proc::status(pid, "Threads"), "2");
    assert_eq!(proc::children(pid).len(), 2);
    minion.stop().assert_code(0);
    sandbox.assert_deserted();
}
