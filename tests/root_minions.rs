//! Who is known for a minion, by all commands, and which minion a process belongs to: nobody is told to end what a living one
//! has started.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers fail and skip as tests do")]

mod common;

use ::minion::process::tree;
use common::look::{Looked, Stray, why_pid};
use common::minion::{Minion, Sandbox};
use common::{CgroupGuard, DEADLINE, another_name, minion, proc, wait_dead};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// A task's name that no other test has.
fn name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("side-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A minion whose sidecar has this name, started with `program` by `wrapper`. It is waited for.
fn supervise(sandbox: &Sandbox, wrapper: &[&str], program: &Path, name: &str) -> Minion {
    let command = "[\"sh\", \"-c\", \"echo up >log; exec sleep 1000\"]";
    fs::write(sandbox.path("side.toml"), format!("[[sidecar]]\nname = \"{name}\"\ncommand = {command}\n")).unwrap();
    let mut words: Vec<&str> = wrapper.to_vec();
    words.extend([program.to_str().unwrap(), "supervise", "--cgroup-attach=off", "--config=side.toml"]);
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(["--", "sleep", "1000"]);
    sandbox.mark(&mut command);
    let mut minion = Minion::spawn(&mut command);
    minion.started(name);
    minion
}

/// A pid namespace with a /proc of its own, ended with the one who made it.
const SPACE: [&str; 4] = ["unshare", "-pf", "--mount-proc", "--kill-child"];

fn run(words: &[&str]) -> Output {
    Command::new(minion()).args(words).current_dir("/").stdin(Stdio::null()).output().unwrap()
}

fn out(words: &[&str]) -> String {
    let output = run(words);
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The pids that `minion doctor` says to kill, and what it says.
fn to_be_killed() -> (Vec<i32>, Value) {
    let report: Value = serde_json::from_slice(&run(&["doctor", "--json"]).stdout).unwrap();
    let check = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "leftover processes");
    let check = check.unwrap_or_else(|| panic!("{report}")).clone();
    let words = check["remedy"].as_str().unwrap_or_default().split(' ');
    (words.filter_map(|word| word.parse().ok()).collect(), check)
}

/// Nobody advises to end a task of this name, whose process is this one, and it is found by its name.
fn assert_at_home(name: &str, task: i32) {
    let said = why_pid(task);
    assert!(!said.has("minion-gone") && !said.text.contains("kill "), "{}", said.text);
    let (killed, check) = to_be_killed();
    assert!(!killed.contains(&task), "{check}");
    let inspected = out(&["inspect", name]);
    assert!(inspected.starts_with(&format!("pid {task} (")), "{inspected}");
}

#[test]
fn a_minion_in_a_pid_namespace_of_its_own_is_alive_and_its_tasks_are_found() {
    need!("root", "unshare");
    let (sandbox, name) = (Sandbox::with_km(""), name());
    let unshare = supervise(&sandbox, &SPACE, Path::new(minion()), &name);
    let supervisor = proc::children(unshare.pid())[0];
    let task = task_of(supervisor, &name);
    assert_at_home(&name, task);
    let inspected = out(&["inspect", &task.to_string(), "--json"]);
    let view: Value = serde_json::from_str(&inspected).unwrap();
    assert_eq!(view["processes"][0]["view"]["minion"]["pid"], supervisor, "{inspected}");
}

#[test]
fn a_minion_in_a_pid_namespace_of_its_own_gives_nobody_its_number_there() {
    need!("root", "unshare");
    let (sandbox, name) = (Sandbox::with_km(""), name());
    let mut unshare = supervise(&sandbox, &SPACE, Path::new(minion()), &name);
    let supervisor = proc::children(unshare.pid())[0].to_string();
    let said = out(&["restart", "executor", "--target", &supervisor]);
    assert!(said.contains("(hint: SIGTERM ends minion in order)"), "{said}");
    assert!(out(&["stop", &name, "--target", &supervisor]).contains("stays down"));
    unshare.says("stays down until it is started");
    // Where a line is broken depends on the digits of the pid.
    let page = out(&["status", &supervisor]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(&format!("pid {supervisor}, ")), "{page}");
    assert!(page.contains(&format!("--target={supervisor} starts it")), "{page}");
}

/// The process of a task below a minion.
fn task_of(supervisor: i32, name: &str) -> i32 {
    let marker = format!("MINION_TASK={name}.");
    let has = |pid: &i32| {
        // It may be amid its exec: that it runs was said by its supervisor, which knows of the exec's beginning. [KF-82]
        let environ = tree::start_environment(*pid, tree::exec_end()).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry.starts_with(marker.as_bytes()))
    };
    proc::children(supervisor).into_iter().find(has).unwrap()
}

#[test]
fn in_a_pid_namespace_too_what_a_dead_minion_left_is_a_leftover() {
    need!("root", "unshare");
    // Process 1 of the namespace outlives the minion, which is process 2, and process 3 its daemon.
    let script =
        "sh -c 'MINION_TASK=left.$$.1 setsid sh -c \"echo up; exec sleep 1000\" & exec sleep 1000' & read -r x";
    let mut command = Command::new(SPACE[0]);
    command.args(&SPACE[1..]).args(["sh", "-c", script]);
    let (looked, _) = Looked::start(&mut command);
    let first = proc::children(looked.pid())[0];
    let supervisor = proc::children(first)[0];
    let task = proc::children(supervisor)[0];
    assert!(!why_pid(task).has("minion-gone"));
    kill_process(Pid::from_raw(supervisor).unwrap(), Signal::KILL).unwrap();
    assert!(wait_dead(supervisor, Instant::now() + DEADLINE));
    assert!(why_pid(task).has("minion-gone"));
    let (killed, check) = to_be_killed();
    assert!(killed.contains(&task), "{check}");
}

#[test]
fn a_minion_is_one_whatever_its_program_is_called() {
    need!("root");
    let (sandbox, name) = (Sandbox::with_km(""), name());
    let program = sandbox.path("k8s-supervisor");
    another_name(minion(), &program);
    let running = supervise(&sandbox, &["env"], &program, &name);
    let task = task_of(running.pid(), &name);
    assert_at_home(&name, task);
    let inspected = out(&["inspect", &task.to_string(), "--json"]);
    let view: Value = serde_json::from_str(&inspected).unwrap();
    assert_eq!(view["processes"][0]["view"]["minion"]["pid"], running.pid(), "{inspected}");
    common::sandbox::until(&sandbox.path(""), "the log", || {
        sandbox.path(&format!("{name}.log")).exists().then_some(())
    });
    let logs = run(&["logs", &name]);
    assert_eq!(logs.status.code(), Some(0), "{logs:?}");
    running.stop();
}

#[test]
fn a_process_whose_number_may_still_be_its_minions_is_not_to_be_killed() {
    // Older than the one that names it, and nothing tells what it is.
    let older = Looked::waiting();
    let mut command = Command::new("bash");
    command.args(["-c", "echo ready; read -r x"]).env("MINION_TASK", format!("proxy.{}.1", older.pid()));
    let (looked, _) = Looked::start(&mut command);
    let said = why_pid(looked.pid());
    assert!(!said.has("minion-gone"), "{}", said.text);
    let page = out(&["why", &looked.pid().to_string()]);
    assert!(
        page.contains("not seen: ") && page.contains(&format!("whether pid {0} (bash) is minion {0}", older.pid())),
        "{page}"
    );
    let (killed, check) = to_be_killed();
    assert!(!killed.contains(&looked.pid()), "{check}");
}

#[test]
fn a_number_that_was_given_away_again_is_no_minion() {
    // Younger than the one that names it: the writer of the marker is this test, which knows the number only afterwards.
    let mut command = Command::new("bash");
    let (mut looked, _) = Looked::start(
        command.args(["-c", "echo ready; read -r n; MINION_TASK=x.$n.1 exec bash -c 'echo $$; read -r x'"]),
    );
    // Starts are told apart by clock ticks.
    let start = |pid: i32| proc::stat(pid).unwrap()[19].parse::<u64>().unwrap();
    let younger = std::iter::repeat_with(Looked::waiting).find(|one| start(one.pid()) > start(looked.pid())).unwrap();
    std::io::Write::write_all(looked.child.stdin.as_mut().unwrap(), format!("{}\n", younger.pid()).as_bytes()).unwrap();
    assert_eq!(looked.line(), looked.pid().to_string());
    assert!(why_pid(looked.pid()).has("minion-gone"));
}

#[test]
fn a_process_of_another_user_is_not_believed_to_be_a_minion() {
    need!("root", "setpriv");
    let (directory, name) = (tempfile::tempdir().unwrap(), name());
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let program = directory.path().join("minion");
    symlink("/bin/bash", &program).unwrap();
    let script = format!("MINION_TASK={name}.$$.1 setsid bash -c 'echo $$; exec sleep 1000' & read -r forever");
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let (_minion, line) =
        Looked::start(Command::new("setpriv").args(nobody).arg(&program).args(["-c", &script]).current_dir("/"));
    let task = Stray(line.parse().unwrap());
    let enter = run(&["enter", &name, "--", "true"]);
    assert_eq!(enter.status.code(), Some(125), "{enter:?}");
    let inspected = out(&["inspect", &name]);
    assert!(inspected.starts_with("minion: find"), "{inspected}");
    assert!(!why_pid(task.0).has("minion-gone"), "and yet nobody is to kill what is below it");
    // Its own user is.
    let mut command = Command::new("setpriv");
    command.args(nobody).arg(minion()).args(["inspect", &name]).current_dir("/");
    if common::has("nobody").is_ok() {
        let output = command.output().unwrap();
        assert!(output.stdout.starts_with(format!("pid {} (", task.0).as_bytes()), "{output:?}");
    }
}

#[test]
fn a_container_is_found_by_the_beginning_of_its_id_also_where_that_is_all_digits() {
    need!("root", "v1");
    // More than any pid may be.
    let cgroups = CgroupGuard::new(&["/sys/fs/cgroup/freezer"], "/98765432-8f0b-4f5c-9d8e-2f0b1a3c4d5e");
    let prefix = format!("--mesos-cgroup-prefix={}", cgroups.name());
    for word in ["98765432", "98765432-8f0b", "9876"] {
        // A process may be called so for once.
        if word.len() > 4 || !proc::is_alive(9876) {
            let inspected = out(&["inspect", word, &prefix]);
            assert!(inspected.starts_with("container 98765432-8f0b-4f5c-9d8e-2f0b1a3c4d5e\n"), "{word}: {inspected}");
        }
    }
    let inspected = out(&["inspect", "98765433", &prefix]);
    assert!(inspected.starts_with("minion: look at pid 98765433"), "{inspected}");
    let inspected = out(&["inspect", "987", &prefix]);
    assert!(!inspected.starts_with("container"), "{inspected}");
}
