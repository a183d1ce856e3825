//! What the doctor would find wrong is said at the start of `run` and `supervise`, and delays nobody.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::minion::{Minion, Sandbox};
use std::fs;

/// With a PATH that holds nothing: a thing that the doctor minds.
fn run(sandbox: &Sandbox, flags: &[&str]) -> Minion {
    Minion::spawn(sandbox.command(flags).env("PATH", "/nowhere"))
}

/// The lines that hold this, without their times.
fn with<'a>(stderr: &'a str, text: &str) -> Vec<&'a str> {
    stderr.lines().filter(|line| line.contains(text)).map(|line| line.split_once(' ').unwrap().1).collect()
}

#[test]
fn what_the_doctor_minds_is_said_and_nothing_else() {
    let sandbox = Sandbox::with_km("exit 3\n");
    let stderr = run(&sandbox, &["--max-log-backups=0"]).wait().assert_code(3);
    let said = with(&stderr, " doctor: ");
    let path = "warn doctor: programs in PATH: not in PATH: iptables, conntrack, nsenter, socat, mount (hint: install";
    assert!(said.iter().any(|line| line.starts_with(path)), "{stderr}");
    let space = "warn doctor: log space: logs grow without bound: --max-log-backups=0 (hint: give both flags";
    assert!(said.iter().any(|line| line.starts_with(space)), "{stderr}");
    for fine in ["pidfd_open", "sandbox:", "grace period", "km:", "container id", "control socket"] {
        assert!(!said.iter().any(|line| line.contains(&format!("doctor: {fine}"))), "{fine}: {stderr}");
    }
    assert!(stderr.trim_end().ends_with("ended: executor exited with 3 code=3"), "its end is the last word: {stderr}");
}

#[test]
fn a_km_under_another_name_is_told_at_the_start() {
    let sandbox = Sandbox::with_km("");
    std::os::unix::fs::symlink(fs::canonicalize("/bin/sh").unwrap(), sandbox.path("km.real")).unwrap();
    let stderr = run(&sandbox, &["--km-binary=./km.real"]).wait().stderr;
    assert_eq!(with(&stderr, "error doctor: km: ").len(), 1, "{stderr}");
    assert!(stderr.contains("its file is not called km"), "{stderr}");
}

#[test]
fn a_start_that_fails_says_why_in_its_one_line() {
    let sandbox = Sandbox::with_km("");
    let stderr = run(&sandbox, &["--km-binary=./nothing"]).wait().assert_code(111);
    assert_eq!(with(&stderr, "doctor"), [] as [&str; 0]);
    assert!(stderr.trim_end().ends_with("code=111"), "{stderr}");
}

#[test]
fn checks_that_are_not_wanted_are_not_made() {
    let sandbox = Sandbox::with_km("exit 0\n");
    let stderr = run(&sandbox, &["--checks=false", "--max-log-backups=0"]).wait().assert_code(0);
    assert_eq!(with(&stderr, "doctor"), [] as [&str; 0]);
}

#[test]
fn supervise_says_what_concerns_any_executor_and_not_what_km_needs() {
    let sandbox = Sandbox::with_km("");
    let mut command = std::process::Command::new(common::minion());
    sandbox.mark(&mut command);
    command.args(["supervise", "--cgroup-attach=off", "--max-log-size=0", "--", "/bin/sh", "-c", "exit 4"]);
    let stderr = Minion::spawn(command.env("PATH", "/nowhere")).wait().assert_code(4);
    assert_eq!(with(&stderr, " doctor: log space: logs grow without bound: --max-log-size=0").len(), 1, "{stderr}");
    assert_eq!(with(&stderr, " doctor: programs in PATH"), [] as [&str; 0]);
}

#[test]
fn both_children_execute_before_the_first_check_is_made() {
    need!("strace");
    let sandbox = Sandbox::with_km("[ $1 = proxy ] && exec /bin/sleep 300; read -r _ <go\n");
    let _go = sandbox.events("go");
    let trace = sandbox.path("trace");
    // One file for all threads, in the order of the calls. Only the checks ask for the free space.
    let output = format!("-o{}", trace.display());
    let strace = ["strace", "-f", "-qq", &output, "-etrace=execve,statfs"];
    let mut minion =
        Minion::spawn(&mut sandbox.command_under(&strace, &["--max-log-backups=99999", "--max-log-size=1Gi"]));
    minion.says("doctor: log space");
    fs::write(sandbox.path("go"), "\n").unwrap();
    minion.wait().assert_code(0);
    let trace = fs::read_to_string(trace).unwrap();
    let at = |text: &str, nth: usize| trace.lines().enumerate().filter(|(_, line)| line.contains(text)).nth(nth);
    let (Some((second, _)), Some((space, _))) = (at("km\", [", 1), at("statfs(", 0)) else { panic!("{trace}") };
    assert!(second < space, "{trace}");
}
