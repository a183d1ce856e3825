//! A child at its gate.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use ::minion::process::reap;
use ::minion::process::spawn::{Program, Stdio};
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
    assert!(reap::reap(pid).unwrap().is_some());
    assert!(!executed.exists());
}
