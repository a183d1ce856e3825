//! `minion containers` on real cgroups: rows of what a rehearsal agent runs, and a finding for each thing that was made wrong.

#![allow(clippy::unwrap_used, clippy::panic)] // what serves a test is a test

mod common;

#[path = "root_containers/rows.rs"]
mod rows;

use ::minion::rehearsal::{Agent, Builder, Container};
use common::fifo::Lines;
use common::look::{Looked, commands, paste};
use common::{CgroupGuard, DEADLINE, a_moment, minion, proc, unified, wait_dead};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

fn root() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("mesos-test-{}-v{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn builder(root: &str) -> Builder {
    Agent::builder(Path::new(minion()), root).reap_at_once().executor_id("my executor")
}

/// A container, and the pid of its command, which runs.
fn launch(agent: &Agent) -> (Container, i32) {
    let container = agent.launch(&["/bin/sh", "-c", "echo up; exec sleep 60"]).unwrap();
    common::sandbox::until(container.sandbox(), "the command", || {
        fs::read(container.sandbox().join("stdout")).is_ok_and(|text| text == b"up\n").then_some(())
    });
    let child = proc::children(container.pid())[0];
    (container, child)
}

fn run(arguments: &[&str]) -> Output {
    Command::new(minion()).arg("containers").args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// A container that one of these tests leaves without cgroups: each survey sees what is left, for it has no root.
fn gone() -> String {
    format!("0c8c9b9e-8f0b-4f5c-9d8e-{:012x}", std::process::id())
}

/// The object, with the exit code.
fn survey_of_all(root: &str) -> (Value, i32) {
    let output = run(&["--json", "--root", root]);
    let code = output.status.code().unwrap();
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    // Process 1 may be one that root may not ask either.
    let expected = if is_wrong(&seen) { 1 } else { i32::from(seen["unseen"] != 0) * 2 };
    assert_eq!(code, expected, "{seen}");
    (seen, code)
}

/// The same without orphans, which are another test's, or what a process looks like that ends in this moment.
fn survey(root: &str) -> (Value, i32) {
    let (mut seen, _) = survey_of_all(root);
    seen["findings"].as_array_mut().unwrap().retain(|finding| finding["kind"] != "orphan");
    let code = i32::from(is_wrong(&seen));
    (seen, code)
}

/// Whether anything is more than a note.
fn is_wrong(seen: &Value) -> bool {
    seen["findings"].as_array().unwrap().iter().any(|finding| finding["severity"] != "note")
}

fn findings(survey: &Value, kind: &str) -> Vec<Value> {
    survey["findings"].as_array().unwrap().iter().filter(|finding| finding["kind"] == kind).cloned().collect()
}

fn directory(container: &Container, hierarchy: &str) -> PathBuf {
    container.cgroups().iter().find(|(name, _)| name == hierarchy).unwrap().1.clone()
}

fn pids(finding: &Value) -> Vec<i64> {
    finding["pids"].as_array().unwrap().iter().map(|pid| pid.as_i64().unwrap()).collect()
}

#[test]
fn a_container_is_a_row_with_its_owner_and_its_counts_and_nothing_is_wrong_with_it() {
    need!("root", "v1");
    let root = root();
    let agent = builder(&root).memory(64 << 20).start().unwrap();
    let (container, _) = launch(&agent);
    let (survey, code) = survey(&root);
    assert!(code == 0 && !survey["findings"].to_string().contains(container.id()), "{survey}");
    let row = &survey["containers"][0];
    assert_eq!((row["id"].as_str(), row["root"].as_str()), (Some(container.id()), Some(root.as_str())));
    assert_eq!(row["executor"], "my executor");
    assert_eq!(row["sandbox"].as_str(), container.sandbox().to_str());
    assert!(row["framework"].as_str().is_some_and(|id| !id.is_empty()), "{row}");
    assert_eq!(row["pids"].as_u64(), Some(container.members().len() as u64));
    assert_eq!(row["memory_limit_bytes"].as_u64(), Some(64 << 20));
    assert!(row["memory_bytes"].as_u64().is_some() && row["cpu_ns"].as_u64().unwrap() > 0, "{row}");
    assert_eq!(row["oom_kills"].as_u64(), Some(0));
    // The agent has cpu and cpuacct; on some machines both are one hierarchy.
    let same = |(_, path): &(String, PathBuf)| fs::metadata(path).map(|cgroup| (cgroup.dev(), cgroup.ino())).unwrap();
    let places: HashSet<(u64, u64)> = container.cgroups().iter().map(same).collect();
    assert_eq!(row["hierarchies"].as_array().unwrap().len(), places.len(), "{row}");
    let page = String::from_utf8(run(&["--root", &root]).stdout).unwrap();
    assert!(page.starts_with(&format!("1 container with 2 processes below {root} (")), "{page}");
    assert!(page.contains("64 MiB") && page.contains("  ok"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
}

#[test]
fn without_a_root_containers_are_found_by_the_shape_of_their_ids() {
    need!("root", "v1");
    let root = format!("{}/deeper", root());
    let agent = builder(&root).start().unwrap();
    let (container, _) = launch(&agent);
    let all: Value = serde_json::from_slice(&run(&["--json"]).stdout).unwrap();
    let mut rows = all["containers"].as_array().unwrap().iter();
    assert!(rows.any(|row| row["id"] == container.id() && row["root"] == root.as_str()), "{all}");
}

#[test]
fn a_child_that_was_moved_out_of_one_hierarchy_is_drift_and_out_of_all_it_has_escaped() {
    need!("root", "v1");
    let root = root();
    let agent = builder(&root).start().unwrap();
    let (container, child) = launch(&agent);
    fs::write("/sys/fs/cgroup/memory/cgroup.procs", child.to_string()).unwrap();
    let (seen, code) = survey(&root);
    let drift = findings(&seen, "drift");
    assert_eq!((code, drift.len()), (1, 1), "{seen}");
    assert_eq!((drift[0]["container"].as_str(), pids(&drift[0])), (Some(container.id()), vec![i64::from(child)]));
    let text = drift[0]["text"].as_str().unwrap();
    assert!(text.contains("but in memory in /") && text.contains("inside in freezer"), "{text}");
    let command = format!("minion attach {child} --to={} --only=memory --mesos-cgroup-prefix={root}", container.id());
    assert_eq!(drift[0]["commands"][0].as_str(), Some(command.as_str()));
    assert!(paste(&command).status.success());
    assert_eq!(survey(&root).1, 0, "the remedy helps");

    for (hierarchy, _) in container.cgroups() {
        fs::write(format!("/sys/fs/cgroup/{hierarchy}/cgroup.procs"), child.to_string()).unwrap();
    }
    let (seen, code) = survey(&root);
    let escaped = findings(&seen, "escaped");
    assert_eq!((code, escaped.len(), findings(&seen, "drift").len()), (1, 1, 0), "{seen}");
    assert_eq!(pids(&escaped[0]), [i64::from(child)]);
    let pasted: Vec<Output> = commands(&seen["findings"]).iter().map(|command| paste(command)).collect();
    assert!(pasted.len() == 1 && pasted[0].status.success(), "{pasted:?}");
    assert_eq!(survey(&root).1, 0, "the remedy helps");
    kill_process(Pid::from_raw(child).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn child_cgroups_on_v1_are_judged_as_an_agent_from_1_10_on_reads_them() {
    need!("root", "v1");
    let root = root();
    let agent = builder(&root).start().unwrap();
    let (container, _) = launch(&agent);
    let memory = directory(&container, "memory");
    fs::create_dir(memory.join("foo")).unwrap();
    let (seen, code) = survey(&root);
    assert_eq!((code, findings(&seen, "foreign-cgroup").len()), (0, 1), "{seen}");
    fs::create_dir_all(memory.join("mesos/bar")).unwrap();
    fs::create_dir_all(memory.join("mesos/a b")).unwrap();
    let (seen, code) = survey(&root);
    let hazards = findings(&seen, "recovery-hazard");
    let mut places: Vec<&str> = hazards.iter().map(|finding| finding["cgroup"].as_str().unwrap()).collect();
    places.sort_unstable();
    assert_eq!(
        (code, places),
        (1, vec![memory.join("mesos/a b").to_str().unwrap(), memory.join("mesos/bar").to_str().unwrap()])
    );
    assert_eq!(seen["containers"].as_array().unwrap().len(), 1, "an orphan in one controller is no container");
    // With a freezer cgroup it is a nested container, as its launcher makes one.
    fs::remove_dir(memory.join("mesos/a b")).unwrap();
    fs::create_dir_all(directory(&container, "freezer").join("mesos/bar")).unwrap();
    let (seen, _) = survey(&root);
    assert_eq!(findings(&seen, "recovery-hazard").len(), 0, "{seen}");
    let nested = &seen["containers"][1];
    assert_eq!(nested["id"], format!("{}.bar", container.id()));
    assert_eq!(nested["parent"], container.id());
}

#[test]
fn child_cgroups_on_v2_stop_a_recovery_unless_they_are_called_agent() {
    need!("root", "v2");
    let root = root();
    let agent = builder(&root).v2(unified()).start().unwrap();
    let (container, _) = launch(&agent);
    let top = directory(&container, "unified");
    let (seen, code) = survey(&root);
    assert_eq!((code, seen["containers"][0]["pids"].as_u64()), (0, Some(2)), "{seen}");
    for (child, is_hazard) in [
        ("leaf/agent", false),
        ("mesos", false),
        ("foo", true),
        ("leaf/sub", true),
        ("leaf/leaf", true),
        ("mesos/kid/x", true),
    ] {
        fs::create_dir_all(top.join(child)).unwrap();
        let (seen, code) = survey(&root);
        let hazards = findings(&seen, "recovery-hazard");
        let mut places = hazards.iter().map(|finding| finding["cgroup"].as_str().unwrap());
        assert_eq!(places.any(|place| place == top.join(child).to_str().unwrap()), is_hazard, "{child}: {seen}");
        assert_eq!(hazards.len(), usize::from(is_hazard), "{child}: {seen}");
        assert_eq!(code, i32::from(is_hazard));
        fs::remove_dir(top.join(child)).unwrap();
    }
}

/// The daemon that the stand-in left. Amid its exec it cannot be told by its environment yet, and nothing tells when that is
/// through: so another look, a moment later. [KF-82]
fn orphan_of(container: &Container) -> i32 {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let found =
            container.survivors().unwrap().into_iter().find(|process| process.command.contains("--offspring idle"));
        if let Some(process) = found {
            return process.pid;
        }
        assert!(Instant::now() < deadline, "the proxy left no daemon");
        a_moment();
    }
}

#[test]
fn a_container_whose_minion_is_gone_says_so_with_who_is_left() {
    need!("root", "v1");
    let root = root();
    let agent = builder(&root).environment("STAND_IN_PROXY", "daemonise,stubborn,record=proxy.json").start().unwrap();
    let prefix = format!("--mesos-cgroup-prefix={root}");
    let container = agent.launch(&[minion(), "run", "--api-servers=http://10.0.0.1:8888", &prefix]).unwrap();
    // The record is there when the one in the middle, which is "daemon", has left.
    let record = container.sandbox().join("proxy.json");
    common::sandbox::until(container.sandbox(), "the proxy's record", || fs::metadata(&record).ok());
    let offspring = orphan_of(&container);
    let supervisor = proc::children(container.pid())[0];
    let (seen, code) = survey(&root);
    assert_eq!((code, seen["containers"][0]["minion"].as_i64()), (0, Some(i64::from(supervisor))), "{seen}");
    kill_process(Pid::from_raw(supervisor).unwrap(), Signal::KILL).unwrap();
    for pid in container.members().into_iter().filter(|pid| *pid != offspring) {
        assert!(wait_dead(pid, Instant::now() + DEADLINE), "{pid}");
    }
    let (seen, code) = survey(&root);
    let gone = findings(&seen, "minion-gone");
    assert_eq!((code, gone.len()), (1, 1), "{seen}");
    assert_eq!(pids(&gone[0]), [i64::from(offspring)]);
    assert!(gone[0]["text"].as_str().unwrap().contains(&format!("minion {supervisor}")), "{seen}");
    assert_eq!(seen["containers"][0]["minion"], Value::Null);
    for command in commands(&seen["findings"]) {
        paste(&command);
    }
}

#[test]
fn a_minion_in_a_pid_namespace_of_its_own_is_the_containers_by_the_hosts_number() {
    need!("root", "v1", "unshare");
    let root = root();
    let agent = builder(&root).start().unwrap();
    let prefix = format!("--mesos-cgroup-prefix={root}");
    let run = [minion(), "supervise", &prefix, "--", "sh", "-c", "echo up >up; exec sleep 60"];
    let words =
        [&["/bin/sh", "-c", "exec \"$@\"", "sh", "unshare", "-pf", "--mount-proc", "--kill-child"], &run[..]].concat();
    let container = agent.launch(&words).unwrap();
    common::sandbox::until(container.sandbox(), "the executor", || fs::metadata(container.sandbox().join("up")).ok());
    let unshare = proc::children(container.pid())[0];
    let supervisor = proc::children(unshare)[0];
    let (seen, code) = survey(&root);
    assert_eq!((code, seen["containers"][0]["minion"].as_i64()), (0, Some(i64::from(supervisor))), "{seen}");
    assert_eq!(findings(&seen, "minion-gone").len(), 0, "{seen}");
}

#[test]
fn what_is_left_of_a_container_that_is_gone_is_an_orphan() {
    need!("root", "v1");
    let root = root();
    let mut dead = Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let mut command = Command::new("bash");
    command.args(["-c", "echo ready; read -r x"]).env("MINION_TASK", format!("proxy.{}.1", dead.id()));
    let (left, _) = Looked::start(command.env("MESOS_DIRECTORY", format!("/w/runs/{}", gone())));
    let (seen, code) = survey_of_all(&root);
    let orphans = findings(&seen, "orphan");
    let orphan = orphans.iter().find(|orphan| orphan["container"] == gone()).unwrap_or_else(|| panic!("{seen}"));
    assert_eq!(pids(orphan), [i64::from(left.pid())]);
    assert_eq!((code, &orphan["severity"]), (1, &"warning".into()), "nobody ends it: {orphan}");
    let page = String::from_utf8(paste(orphan["commands"][0].as_str().unwrap()).stdout).unwrap();
    assert!(page.starts_with(&format!("pid {} (bash)", left.pid())) && page.contains("minion-gone"), "{page}");
}

#[test]
fn cgroups_without_a_process_or_without_a_launcher_are_leftovers() {
    need!("root", "v1");
    let id = "/0c8c9b9e-8f0b-4f5c-9d8e-2f0b1a3c4d5e";
    let both = CgroupGuard::new(&["/sys/fs/cgroup/freezer", "/sys/fs/cgroup/memory"], id);
    let (seen, code) = survey(both.name());
    assert_eq!((code, findings(&seen, "empty").len(), findings(&seen, "leftover").len()), (1, 1, 0), "{seen}");
    fs::remove_dir(format!("/sys/fs/cgroup/freezer/{}{id}", both.name())).unwrap();
    let (seen, code) = survey(both.name());
    let leftover = findings(&seen, "leftover");
    assert_eq!((code, leftover.len()), (1, 1), "{seen}");
    assert_eq!(leftover[0]["cgroup"], format!("/sys/fs/cgroup/memory/{}{id}", both.name()));
}

/// The view on a terminal of 12 rows, in a shell that then says how it ended and how the terminal is.
fn watch(root: &str) -> (Child, Lines) {
    let command =
        format!("stty rows 12 cols 100; {} containers --watch --root {root}; echo code $?; stty -a", minion());
    let mut script = Command::new("script");
    script.args(["-qefc", &command, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = script.spawn().unwrap();
    let lines = Lines::of(child.stdout.take().unwrap().into());
    (child, lines)
}

#[test]
fn watch_scrolls_through_more_containers_than_fit() {
    need!("root", "v1", "script");
    let guard = CgroupGuard::new(&["/sys/fs/cgroup/freezer"], "/");
    for number in 10..30 {
        let id = format!("000000{number}-0000-4000-8000-000000000000");
        fs::create_dir(Path::new("/sys/fs/cgroup/freezer").join(guard.name()).join(id)).unwrap();
    }
    let (mut child, mut lines) = watch(guard.name());
    let mut typed = |keys: &[u8]| child.stdin.as_mut().unwrap().write_all(keys).unwrap();
    lines.next_with("1 to 8 of 20, ");
    for (keys, shown, first) in [
        (&b"\x1b[B"[..], "2 to 9 of 20, ", "00000011"),
        (b"\x1b[6~", "10 to 17 of 20, ", "00000019"),
        (b"\x1b[6~", "13 to 20 of 20, ", "00000022"),
        (b"k", "12 to 19 of 20, ", "00000021"),
        (b"g", "1 to 8 of 20, ", "00000010"),
    ] {
        typed(keys);
        lines.next_with(first);
        lines.next_with(shown);
    }
    typed(b"q");
    lines.next_with("code 0");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn watch_draws_on_a_screen_of_its_own_until_a_key_and_leaves_the_terminal_as_it_was() {
    need!("root", "v1");
    if Command::new("script").arg("--version").output().is_err() {
        return eprintln!("SKIP watch: no script(1)");
    }
    let root = root();
    let agent = builder(&root).start().unwrap();
    let (container, _) = launch(&agent);
    let (mut child, mut lines) = watch(&root);
    // The keys wait in the terminal: sort by memory, then quit.
    lines.next_with(&container.id()[..8]);
    child.stdin.as_mut().unwrap().write_all(b"mq").unwrap();
    lines.next_with("code 0");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    lines.read_all(Instant::now() + DEADLINE);
    let text = lines.everything();
    assert!(text.contains("\x1b[?1049h") && text.contains("\x1b[?1049l"), "{text:?}");
    assert!(text.contains(" icanon") && text.contains(" echo "), "{text}");
    let refused = run(&["--watch"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert_eq!(run(&["--watch", "--json"]).status.code(), Some(100));
}
