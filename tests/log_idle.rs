//! A log thread with nothing to do: no wake-up, and the memory of its busy times given back.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::logs::{KEEP, Logs, alone, sandbox};
use common::wait_readable;
use minion::log::Policy;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Voluntary context switches of the log thread.
fn switches() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let log = tasks
        .into_iter()
        .find(|task| fs::read_to_string(task.join("comm")).is_ok_and(|name| name == "minion-log\n"))
        .expect("the log thread runs");
    let status = fs::read_to_string(log.join("status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    line.trim().parse().unwrap()
}

fn anonymous_kib() -> u64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Anonymous:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn an_idle_log_thread_never_wakes_up_and_keeps_no_buffer() {
    if !alone() {
        return;
    }
    let sandbox = sandbox();
    let policy = Policy { max_size: 1 << 20, max_age: Some(Duration::from_secs(604_800)), max_backups: 5, ..KEEP };
    let mut logs = Logs::start(sandbox.path(), policy, &["executor", "proxy"]);
    let pipes = [logs.pipe_into(0), logs.pipe_into(1)];
    logs.put(b"x\n");
    let before = anonymous_kib();
    // Two open pipes and a past with traffic, then silence. After a second the buffer goes.
    // The writer is a process, so that its memory is not in the sum.
    let (id, pipe) = logs.pipe();
    let mut child = Command::new("seq").arg("1000000").stdout(Stdio::from(pipe)).spawn().unwrap();
    assert_eq!(logs.ended(id).0, 6_888_896);
    child.wait().unwrap();
    let quiet = |millis| !wait_readable(logs.thread.doorbell(), Instant::now() + Duration::from_millis(millis));
    assert!(quiet(2500));
    let switches_before = switches();
    assert!(quiet(500));
    assert_eq!(switches(), switches_before);
    // 256 KiB of buffer would show; a tail of 16 KiB may.
    let after = anonymous_kib();
    eprintln!("anonymous memory: {before} KiB before, {after} KiB after");
    assert!(after < before + 100, "{before} KiB before, {after} KiB after");
    drop(pipes);
}
