//! `minion enter`: the command is where the task is, the caller hears how it ended, and nothing of it stays.

#![allow(clippy::unwrap_used, clippy::panic)] // what serves a test is a test

mod common;
#[path = "root_enter/ends.rs"]
mod ends;
#[path = "root_enter/terminal.rs"]
mod terminal;
#[path = "root_enter/trust.rs"]
mod trust;
#[path = "root_enter/users.rs"]
mod users;

use common::fifo::Lines;
use common::minion::{Minion, Sandbox};
use common::{CgroupGuard, DEADLINE, a_moment, minion, proc, wait_dead, wait_readable};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

/// A process to go to. Dropping it kills it and, where it leads a pid namespace, all in it.
struct Task {
    child: Child,
    pid: i32,
}

impl Task {
    /// A process that says so when it is ready: the last thing its shell does is to print a line and to become a sleep. Amid
    /// that exec it has no environment yet, and nothing tells when that is through: so another look, a moment later. [KF-82]
    fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        let (first, script) = arguments.split_last().map(|(last, rest)| (rest, *last)).unwrap();
        command.args(first).arg(format!("{script}\necho ready\nexec sleep 300"));
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin").env("SECRET_TOKEN", "hunter2");
        let child = command.current_dir("/usr").stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        // Ended also where this fails.
        let mut task = Self { child, pid };
        Lines::of(task.child.stdout.take().unwrap().into()).next_with("ready");
        // Where it is unshare that was started, the shell is its child.
        let shell = proc::children(pid).first().copied().unwrap_or(pid);
        let deadline = Instant::now() + DEADLINE;
        let read = |file: &str| fs::read_to_string(format!("/proc/{shell}/{file}")).unwrap();
        while read("comm") != "sleep\n" || read("environ").is_empty() {
            assert!(Instant::now() < deadline, "{program} became no sleep");
            a_moment();
        }
        task
    }

    fn plain() -> Self {
        Self::start("sh", &["-c", ""])
    }

    fn enter(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(minion());
        command.args(["enter", &self.pid.to_string()]).args(arguments).stdin(Stdio::null());
        command
    }

    fn shell(&self, script: &str) -> Output {
        self.enter(&["--", "sh", "-c", script])
    }

    fn text(&self, script: &str) -> String {
        let output = self.shell(script);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("{output:?}"))
}

#[test]
fn the_exit_code_is_the_commands_or_says_what_went_wrong() {
    need!("root");
    let task = Task::plain();
    assert_eq!(code(&task.shell("exit 7")), 7);
    assert_eq!(code(&task.shell("kill -KILL $$")), 137);
    assert_eq!(code(&task.enter(&["--", "/etc/passwd"])), 126);
    for missing in ["no-such-command", "/no/such/command"] {
        let output = task.enter(&["--", missing]);
        assert_eq!(code(&output), 127);
        assert!(String::from_utf8_lossy(&output.stderr).contains(missing), "{output:?}");
    }
    let gone = {
        let gone = Task::plain();
        gone.pid.to_string()
    };
    let output = Command::new(minion()).args(["enter", &gone]).output().unwrap();
    assert_eq!(code(&output), 125, "{output:?}");
}

#[test]
fn a_caller_whose_process_group_is_in_another_pid_namespace_enters_all_the_same() {
    need!("root", "unshare");
    // The group is that of unshare, which has no number in there. [CR-152]
    let inner = format!("sleep 300 & {} enter $! -- sh -c 'exit 7'; code=$?; kill $!; exit $code", minion());
    let unshared = ["--pid", "--fork", "--mount-proc", "sh", "-c", &inner];
    let output = Command::new("unshare").args(unshared).stdin(Stdio::null()).output().unwrap();
    assert_eq!(code(&output), 7, "{output:?}");
}

#[test]
fn the_command_has_the_tasks_environment_and_directory_and_nothing_of_it_is_printed_by_minion() {
    need!("root");
    let task = Task::plain();
    assert_eq!(task.text("pwd; echo $SECRET_TOKEN"), "/usr\nhunter2\n");
    let output = task.enter(&["--", "no-such-command"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("hunter2"), "{output:?}");
    let status = task.text("cat /proc/self/status");
    assert_eq!(proc::field_of(&status, "SigBlk"), "0000000000000000");
    assert_eq!(proc::field_of(&status, "SigIgn"), "0000000000000000");
}

#[test]
fn a_private_mount_of_the_task_is_seen_inside_and_not_outside() {
    need!("root", "mountns");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().display();
    let task = Task::start("unshare", &["-m", "sh", "-c", &format!("mount -t tmpfs none {path} && touch {path}/seen")]);
    assert_eq!(task.text(&format!("ls {path}")), "seen\n");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn in_another_pid_namespace_the_command_counts_there_and_its_orphans_are_ended_too() {
    need!("root", "mountns");
    let mut outer = Task::start("unshare", &["-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", ""]);
    let init = proc::children(outer.pid)[0];
    let unshare = std::mem::replace(&mut outer.pid, init);
    let inside = outer.text("cat /proc/1/comm; [ $$ -lt 100 ] && echo small");
    assert_eq!(inside, "sleep\nsmall\n");
    // In a session of its own, and its parent is gone: it belongs to the init in there.
    let orphan = outer.text("setsid sh -c 'sh -c \"echo orphan; exec sleep 300 >/dev/null\" &' | head -n 1");
    assert_eq!(orphan, "orphan\n");
    let names: Vec<String> =
        proc::children(init).iter().filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()).collect();
    assert!(proc::children(init).iter().all(|pid| !proc::is_alive(*pid)), "{names:?}");
    outer.pid = unshare;
}

#[test]
fn the_command_is_in_the_tasks_cgroups_on_v1_and_v2_and_nothing_stays_there() {
    need!("root", "v1");
    let mut hierarchies = vec!["/sys/fs/cgroup/freezer", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpuset"];
    hierarchies.extend(Path::new("/sys/fs/cgroup/unified").exists().then_some("/sys/fs/cgroup/unified"));
    let guard = CgroupGuard::new(&hierarchies, "/c1");
    let task = Task::plain();
    let procs = |hierarchy: &str| format!("{hierarchy}/{}/c1/cgroup.procs", guard.name());
    for hierarchy in &hierarchies {
        fs::write(procs(hierarchy), task.pid.to_string()).unwrap();
    }
    let own = fs::read_to_string("/proc/self/cgroup").unwrap();
    let theirs = fs::read_to_string(format!("/proc/{}/cgroup", task.pid)).unwrap();
    assert_ne!(own, theirs);
    assert_eq!(task.text("cat /proc/self/cgroup"), theirs);
    let pids = task.text("setsid sleep 300 >/dev/null & sleep 300 >/dev/null & jobs -p");
    let left: Vec<i32> = pids.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(left.len(), 2);
    assert!(left.iter().all(|pid| !proc::is_alive(*pid)), "{left:?}");
    for hierarchy in &hierarchies {
        assert_eq!(fs::read_to_string(procs(hierarchy)).unwrap(), format!("{}\n", task.pid), "{hierarchy}");
    }
    drop(task);
}

#[test]
fn on_v2_the_command_is_in_the_leaf_and_nothing_stays_there() {
    need!("root", "v2");
    let guard = CgroupGuard::new(&[common::unified()], "/c1/leaf");
    let procs = common::unified().join(guard.name()).join("c1/leaf/cgroup.procs");
    let task = Task::plain();
    fs::write(&procs, task.pid.to_string()).unwrap();
    let theirs = fs::read_to_string(format!("/proc/{}/cgroup", task.pid)).unwrap();
    assert!(theirs.contains("/c1/leaf\n"), "{theirs}");
    assert_eq!(task.text("cat /proc/self/cgroup"), theirs);
    let left: i32 = task.text("setsid sleep 300 >/dev/null & echo $!").trim().parse().unwrap();
    assert!(!proc::is_alive(left));
    assert_eq!(fs::read_to_string(&procs).unwrap(), format!("{}\n", task.pid));
}

#[test]
fn with_user_the_command_is_the_tasks_user() {
    need!("root");
    let arguments = ["--reuid=65534", "--regid=65533", "--groups=1,2", "sh", "-c", ""];
    let task = Task::start("setpriv", &arguments);
    assert_eq!(task.text("id -u"), "0\n");
    let output = task.enter(&["--user", "--", "sh", "-c", "id -u; id -g; id -G"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "65534\n65533\n65533 1 2\n");
}

#[test]
fn signals_go_to_the_command_and_its_stop_stops_minion_until_both_go_on() {
    need!("root");
    let task = Task::plain();
    let mut entered =
        task.command(&["--", "sh", "-c", "echo up; exec sleep 300"]).stdout(Stdio::piped()).spawn().unwrap();
    Lines::of(entered.stdout.take().unwrap().into()).next_with("up");
    kill_process(Pid::from_child(&entered), Signal::TERM).unwrap();
    assert_eq!(entered.wait().unwrap().code(), Some(143));

    let mut entered =
        task.command(&["--", "sh", "-c", "kill -STOP $$; echo back"]).stdout(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&entered);
    waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED).unwrap();
    kill_process(pid, Signal::CONT).unwrap();
    Lines::of(entered.stdout.take().unwrap().into()).next_with("back");
    assert!(entered.wait().unwrap().success());
}

#[test]
fn on_a_terminal_the_command_is_in_the_foreground_and_the_caller_is_again_behind_it() {
    need!("root", "script");
    let task = Task::plain();
    let look = "ps -o pgrp=,tpgid= -p $$";
    let inner = format!("stty -echo; stty size; {look}");
    let outer = format!("stty rows 33 cols 77; {} enter {} -- sh -c '{inner}'; {look}; stty -a", minion(), task.pid);
    let output = Command::new("script").args(["-qefc", &outer, "/dev/null"]).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["33", "77"], "{text}");
    assert!(lines[1][0] == lines[1][1] && lines[2][0] == lines[2][1] && lines[1][0] != lines[2][0], "{text}");
    assert!(!text.contains("-echo "), "the modes are as they were: {text}");
}

#[test]
fn a_process_that_is_dead_is_told_to_be() {
    need!("root");
    let mut dead = Command::new("true").spawn().unwrap();
    let pid = i32::try_from(dead.id()).unwrap();
    assert!(wait_dead(pid, Instant::now() + DEADLINE));
    let output = Command::new(minion()).args(["enter", &pid.to_string(), "--", "true"]).output().unwrap();
    assert_eq!(code(&output), 125);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("it is dead and waits to be reaped"), "{said}");
    dead.wait().unwrap();
}

#[test]
fn a_task_is_found_by_its_name_and_its_descendants_are_not_taken_for_it() {
    need!("root");
    let sandbox = Sandbox::with_km("sleep 300 & sleep 300\n");
    let mut running = sandbox.start(&[]);
    let executor = running.started("executor");
    let output = Command::new(minion())
        .args(["enter", "executor", "--", "sh", "-c", "echo $MINION_TASK; pwd"])
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    // Another minion may run on this machine: then both are named.
    if output.status.success() {
        let (marker, directory) = out.trim().split_once('\n').unwrap();
        assert!(marker.starts_with(&format!("executor.{}.", running.pid())), "{marker}");
        assert_eq!(Path::new(directory), sandbox.path("").canonicalize().unwrap());
    } else {
        assert!(err.contains("take a pid") && err.contains(&executor.to_string()), "{err}");
    }
    let unknown = Command::new(minion()).args(["enter", "no-such-task"]).output().unwrap();
    assert_eq!(code(&unknown), 125);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("executor"), "{unknown:?}");
    running.stop().assert_code(0);
}

#[test]
fn of_two_minions_the_one_of_this_directory_is_meant() {
    need!("root");
    let km = "exec sleep 300\n";
    let sandboxes = [Sandbox::with_km(km), Sandbox::with_km(km)];
    for sandbox in &sandboxes {
        let mut running = [sandboxes[0].start(&[]), sandboxes[1].start(&[])];
        running.iter_mut().for_each(Minion::is_up);
        let mut command = Command::new(minion());
        command.args(["enter", "executor", "--", "pwd"]).current_dir(sandbox.path("."));
        let output = command.output().unwrap();
        let here = sandbox.path("").canonicalize().unwrap();
        assert_eq!(Path::new(String::from_utf8_lossy(&output.stdout).trim()), here, "{output:?}");
    }
}

#[test]
fn another_minions_task_is_not_entered_for_one_that_is_down_here() {
    need!("root");
    let km = "exec sleep 300\n";
    let sandboxes = [Sandbox::with_km(km), Sandbox::with_km(km)];
    let mut running = [sandboxes[0].start(&[]), sandboxes[1].start(&[])];
    running.iter_mut().for_each(Minion::is_up);
    let run = |arguments: &[&str]| {
        Command::new(minion()).args(arguments).current_dir(sandboxes[0].path(".")).output().unwrap()
    };
    assert_eq!(code(&run(&["stop", "proxy"])), 0);
    running[0].says("stays down until it is started");
    let output = run(&["enter", "proxy", "--", "pwd"]);
    assert_eq!(code(&output), 125, "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    let state = format!("it has no process: minion {} says that its state is down", running[0].pid());
    assert!(said.contains(&state), "{said}");
    let hint = said.split_once("(hint: ").unwrap().1.trim_end().strip_suffix(')').unwrap();
    assert!(hint.starts_with("minion start "), "{said}");
    // One that does not answer may have such a task.
    running[0].signal(Signal::STOP);
    let output = run(&["enter", "proxy", "--", "pwd"]);
    running[0].signal(Signal::CONT);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(125), Vec::new()), "{said}");
    let doubt = format!("another minion has one; minion {} of this directory does not answer: ", running[0].pid());
    assert!(said.contains(&doubt) && said.contains("(hint: take its pid: "), "{said}");
    common::look::paste(hint);
}

#[test]
fn the_command_dies_with_minion() {
    need!("root");
    let task = Task::plain();
    let mut entered =
        task.command(&["--", "sh", "-c", "echo $$; exec sleep 300"]).stdout(Stdio::piped()).spawn().unwrap();
    let pid: i32 = Lines::of(entered.stdout.take().unwrap().into()).next().parse().unwrap();
    entered.kill().unwrap();
    entered.wait().unwrap();
    assert!(wait_dead(pid, Instant::now() + DEADLINE));
    assert!(!wait_readable(
        rustix::process::pidfd_open(Pid::from_child(&task.child), rustix::process::PidfdFlags::empty()).unwrap(),
        Instant::now()
    ));
}
