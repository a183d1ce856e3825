//! `minion supervise`: each key of the file, seen on real processes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what serves a test is a test")]

#[path = "supervise/attributes.rs"]
mod attributes;
mod common;
#[path = "supervise/harm.rs"]
mod harm;
#[path = "supervise/health.rs"]
mod health;
#[path = "supervise/keys.rs"]
mod keys;
#[path = "supervise/life.rs"]
mod life;
#[path = "supervise/logs.rs"]
mod logs;
#[path = "supervise/order.rs"]
mod order;
#[path = "supervise/readiness.rs"]
mod readiness;
#[path = "supervise/restarts.rs"]
mod restarts;

use common::minion::{Minion, Sandbox};
use std::fs;
use std::process::Command;

/// A sandbox with this file, and minion at it.
fn supervised(file: &str) -> (Sandbox, Minion) {
    let sandbox = Sandbox::with_km("");
    let minion = start(&sandbox, file);
    (sandbox, minion)
}

fn start(sandbox: &Sandbox, file: &str) -> Minion {
    fs::write(sandbox.path("tasks.toml"), file).unwrap();
    Minion::spawn(&mut command(sandbox))
}

fn command(sandbox: &Sandbox) -> Command {
    let mut command = Command::new(common::minion());
    command.args(["supervise", "--cgroup-attach=off", "--config", "tasks.toml"]);
    sandbox.mark(&mut command);
    command
}

/// An executor that does nothing until it is told to end.
const IDLE: &str = "[executor]\ncommand = ['sleep', '1000']\n";

/// The tasks whose ends minion tells, in this order.
fn ends(said: &str) -> Vec<&str> {
    let is_end = |line: &&str| line.contains(" info exited with ") || line.contains("killed by signal ");
    said.lines().filter(is_end).filter_map(|line| line.split_once(" task=")?.1.split(' ').next()).collect()
}

/// What a script prints, as one word of TOML. Single quotes end a literal string, so scripts use double ones.
fn sh(script: &str) -> String {
    assert!(!script.contains('\''), "{script}");
    format!("['/bin/sh', '-c', '{script}']")
}
