//! The demo tells what it saw, and ends with 1 when it did not see what it should.

#![allow(clippy::unwrap_used, clippy::panic)] // what serves a test is a test

mod common;

use ::minion::rehearsal::demo::{Options, run};
use common::{minion, write_program};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A supervisor in a few lines of shell, good enough for a good demo. Its marks are where a bad one differs.
const SUPERVISOR: &str = r#"#!/bin/sh
keep() {
    size=0
    while IFS= read -r line; do
        # LOSE
        size=$((size + ${#line} + 1))
        if [ $size -gt 1048576 ]; then mv "$1.log" "$1-2026-11-30T01-18-34.945.log"; size=0; fi
        printf '%s\n' "$line" >>"$1.log"
    done
}
mkfifo p e
keep proxy <p & keep executor <e &
exec 4>p 5>e
./km executor --last=1 2>&5 4>&- 5>&- & executor=$!
./km proxy --last=1 2>&4 4>&- 5>&- & proxy=$!
wait $proxy
./km proxy --last=1 2>&4 4>&- 5>&- & proxy=$!
wait $executor
# LEAVE
kill $proxy
wait $proxy
exec 4>&- 5>&-
wait
echo "the last words of the supervisor" >&2
# EXIT
"#;

/// The demo with that supervisor, `change` put in the place of `mark`: exit code and what it told.
fn demo(mark: &str, change: &str, no_cgroups: bool) -> (u8, String) {
    let directory = tempfile::tempdir().unwrap();
    let supervisor = directory.path().join("supervisor");
    write_program(&supervisor, SUPERVISOR.replace(mark, change), 0o755);
    let base = directory.path().join("base");
    fs::create_dir(&base).unwrap();
    let options =
        Options { directory: Some(base.clone()), no_cgroups, supervisor: Some(supervisor), ..Options::default() };
    let mut told = Vec::new();
    let code = run(&options, Path::new(minion()), &mut told).unwrap();
    assert_eq!(fs::read_dir(&base).unwrap().count(), 0, "nothing is left behind");
    let told = String::from_utf8(told).unwrap();
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    (code, told)
}

#[test]
fn minion_is_seen_through_every_step_by_its_own_demo() {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(minion()).arg("demo").env("TMPDIR", directory.path()).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.lines().last().unwrap().contains("steps were seen"), "{told}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn an_interrupted_demo_takes_down_what_it_put_up() {
    let directory = tempfile::tempdir().unwrap();
    let mut demo =
        Command::new(minion()).arg("demo").env("TMPDIR", directory.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    let started = lines.find(|line| line.contains("minion started executor, pid")).unwrap();
    let executor = started.split(" pid ").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
    let pid = rustix::process::Pid::from_child(&demo);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = lines.collect();
    assert_eq!(demo.wait().unwrap().code(), Some(1), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("interrupted")), "{rest:?}");
    assert!(common::wait_dead(executor, Instant::now()), "{executor} is alive");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
    let root = format!("/sys/fs/cgroup/freezer/mesos-demo-{}", demo.id());
    assert!(!Path::new(&root).exists(), "{root}");
}

#[test]
fn a_good_supervisor_is_seen_through_every_step() {
    let (code, told) = demo("# -", "", false);
    assert_eq!(code, 0, "{told}");
    for part in ["made a sandbox, mode 0750", "rotated the executor's log", "is dead", "SHUTDOWN", "says goodbye"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    if common::has("root").is_ok() && common::has("v1").is_ok() {
        let root = format!("mesos-demo-{}", std::process::id());
        assert!(told.contains("/sys/fs/cgroup/{freezer,systemd,cpu,cpuacct,memory}/"), "{told}");
        assert!(told.contains(&format!("freezer systemd cpu cpuacct memory:\n                 /{root}/")), "{told}");
        assert!(told.contains("finds no orphaned container"), "{told}");
        assert!(!Path::new("/sys/fs/cgroup/freezer").join(root).exists());
    }
    assert!(told.trim_end().lines().last().unwrap().starts_with("All 1"), "{told}");
}

#[test]
fn without_cgroups_it_says_so_and_shows_the_rest() {
    let (code, told) = demo("# -", "", true);
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("No cgroups"), "{told}");
    assert!(!told.contains("/sys/fs/cgroup"), "{told}");
}

/// A bad supervisor: the demo says what it did not see, shows the supervisor's stderr and ends with 1.
fn assert_not_seen(mark: &str, change: &str, expected: &str) {
    let (code, told) = demo(mark, change, true);
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, 1, "{told}");
    let (_, end) = told.split_once("NOT SEEN: ").unwrap_or_else(|| panic!("{told}"));
    assert!(end.contains(expected), "{end}");
    assert!(end.contains("minion's stderr") && !told.contains("All "), "{end}");
}

#[test]
fn a_supervisor_that_leaves_a_child_alive_is_told_on() {
    assert_not_seen("# LEAVE", "exit 0", "wait for the end of proxy: the container has ended and it is alive");
}

#[test]
fn a_supervisor_that_loses_a_line_is_told_on() {
    assert_not_seen(
        "# LOSE",
        r#"case $line in "executor line 00000100 "*) continue;; esac"#,
        "line 101 follows line 99",
    );
}

#[test]
fn a_supervisor_that_ends_with_another_code_is_told_on() {
    assert_not_seen("# EXIT", "exit 3", "it ended with exit status: 3");
}

#[test]
fn a_supervisor_that_dies_at_once_is_told_on() {
    assert_not_seen("mkfifo p e", "exit 7", "wait for the start of proxy: the container has ended");
}
