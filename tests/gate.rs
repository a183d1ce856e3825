//! A child at its gate.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use ::minion::process::reap;
use ::minion::process::spawn::{Launcher, Program, Stdio};
use ::minion::process::tree::Process;
use common::minion::Sandbox;
use common::{DEADLINE, proc, wait_dead, wait_readable};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn a_child_whose_gate_is_dropped_ends_without_having_executed_anything() {
    let directory = tempfile::tempdir().unwrap();
    let executed = directory.path().join("executed");
    let program = Program::new(Path::new("/usr/bin/touch"), &["touch".into(), executed.clone().into()], &[]).unwrap();
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let stdio = Stdio { stdin: null.as_fd(), stdout: null.as_fd(), stderr: null.as_fd(), extra: None };
    let gated = Launcher::default().fork(&program, stdio).unwrap();
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

#[test]
fn a_dead_child_that_a_tracer_holds_costs_no_cpu_and_is_reaped_when_it_lets_go() {
    let sandbox = Sandbox::with_km("[ $1 = executor ] && exec sleep 300\nexec sleep 300\n");
    let mut minion = sandbox.start(&["--restart-delay=1m"]);
    let child = minion.started("proxy");
    let traced = Pid::from_raw(child);
    ptrace::seize(traced, ptrace::Options::empty()).unwrap();
    kill(traced, Signal::SIGKILL).unwrap();
    let before = proc::ticks(minion.pid());
    wait_readable(&minion.pidfd, Instant::now() + Duration::from_millis(400));
    let spent = proc::ticks(minion.pid()) - before;
    assert!(spent < 10, "{spent} ticks of 10 ms in 400 ms");
    assert!(Process::read(child).unwrap().is_zombie(), "the tracer does not hold it");
    waitpid(traced, None).unwrap();
    minion.says("killed by signal 9 (SIGKILL)");
    minion.stop().assert_code(0);
}
