//! A child at its gate.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use ::minion::process::reap;
use ::minion::process::spawn::{Program, Stdio};
use ::minion::process::tree::Process;
use common::minion::Sandbox;
use common::{DEADLINE, wait_dead};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Instant;

#[test]
fn a_child_whose_gate_is_dropped_ends_without_having_executed_anything() {
    let directory = tempfile::tempdir().unwrap();
    let executed = directory.path().join("executed");
    let program = Program::new(Path::new("/usr/bin/touch"), &["touch".into(), executed.clone().into()], &[]).unwrap();
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let stdio = Stdio { stdin: null.as_fd(), stdout: null.as_fd(), stderr: null.as_fd(), extra: None };
    let gated = program.fork(stdio).unwrap();
    let pid = gated.pid();
    drop(gated);
    assert!(wait_dead(pid, Instant::now() + DEADLINE), "it waits at a gate that nobody can open");
    assert!(!Process::read(pid).unwrap().executed);
    assert!(reap::reap(pid).unwrap().is_some());
    assert!(!executed.exists());
}

#[test]
fn a_child_that_is_killed_before_its_exec_is_not_said_to_have_started() {
    need!("strace");
    let sandbox = Sandbox::with_km("exit 0\n");
    // Only the children make this call, as their first one.
    let strace = ["strace", "-f", "-qq", "-o/dev/null", "-etrace=setpgid", "-einject=setpgid:signal=KILL"];
    let stderr = sandbox.run_under(&strace, &[]).assert_code(137);
    assert!(!stderr.contains("started"), "{stderr}");
    assert!(stderr.contains("ended: executor killed by signal 9 (SIGKILL)"), "{stderr}");
}
