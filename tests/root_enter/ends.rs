//! Whatever happens to `minion enter` itself, nothing of the command stays.

use super::common::fifo::Lines;
use super::common::{CgroupGuard, DEADLINE, proc, wait_dead};
use super::{Task, minion};
use crate::need;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A command that leaves a daemon in a session of its own and with no environment, and one that hears no signal.
const STUBBORN: &str = "trap '' HUP TERM; setsid env -i sleep 300 >/dev/null 2>&1 </dev/null & \
                        echo $! $$; exec sleep 300";

/// The daemon and the command.
fn pids(line: &str) -> Vec<i32> {
    line.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn entered(task: &Task) -> (Child, Vec<i32>) {
    let mut command = task.command(&["--", "sh", "-c", STUBBORN]);
    let mut entered = command.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
    let line = Lines::of(entered.stdout.take().unwrap().into()).next();
    (entered, pids(&line))
}

fn assert_dead(pids: &[i32]) {
    for pid in pids {
        assert!(wait_dead(*pid, Instant::now() + DEADLINE), "{pid} lives");
    }
}

#[test]
fn killed_with_sigkill_it_leaves_nothing_in_the_containers_cgroup() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&["/sys/fs/cgroup/freezer"], "/c1");
    let procs = format!("/sys/fs/cgroup/freezer/{}/c1/cgroup.procs", guard.name());
    let task = Task::plain();
    fs::write(&procs, task.pid.to_string()).unwrap();
    let (mut front, pids) = entered(&task);
    let members = fs::read_to_string(&procs).unwrap();
    assert!(pids.iter().all(|pid| members.lines().any(|line| line == pid.to_string())), "{members} {pids:?}");
    // The whole process group, as a shell or an init would.
    kill_process_group(Pid::from_child(&front), Signal::KILL).unwrap();
    front.wait().unwrap();
    assert_dead(&pids);
    assert_eq!(fs::read_to_string(&procs).unwrap(), format!("{}\n", task.pid));
}

#[test]
fn its_keeper_killed_with_sigkill_leaves_nothing_and_is_told() {
    need!("root");
    let task = Task::plain();
    let mut command = task.command(&["--", "sh", "-c", STUBBORN]);
    let mut front = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pids = pids(&Lines::of(front.stdout.take().unwrap().into()).next());
    let keeper = proc::children(front.id().cast_signed())[0];
    kill_process(Pid::from_raw(keeper).unwrap(), Signal::KILL).unwrap();
    let output = front.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(137));
    assert!(String::from_utf8_lossy(&output.stderr).contains("its keeper was killed by signal 9"), "{output:?}");
    assert_dead(&pids);
}

/// A task that is the init of a pid namespace, and what kills it at the end.
fn in_pids_of_its_own() -> (Task, i32) {
    let task = Task::start("unshare", &["-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", ""]);
    let init = proc::children(task.pid)[0];
    (task, init)
}

#[test]
fn in_another_pid_namespace_a_daemon_without_the_environment_is_ended_whoever_dies() {
    need!("root", "mountns", "setpriv");
    // Not `env setpriv`: busybox's env takes busybox's setpriv, wherever another is in PATH.
    let daemon = "setsid setpriv --reuid=65534 --clear-groups env -i /bin/sleep 300 >/dev/null 2>&1 </dev/null &";
    let is_there = "grep -qs \"^Name:.sleep\" $(grep -ls \"^Uid:.65534\" /proc/[0-9]*/status) /dev/null";
    for dies in ["nobody", "keeper", "front"] {
        let (mut task, init) = in_pids_of_its_own();
        let unshare = std::mem::replace(&mut task.pid, init);
        let last = if dies == "nobody" { "true" } else { "exec sleep 300" };
        let script = format!("({daemon}); until {is_there}; do :; done; echo there; {last}");
        let mut front = task.command(&["--", "sh", "-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = Lines::of(front.stdout.take().unwrap().into());
        lines.next_with("there");
        let keeper = proc::children(front.id().cast_signed()).first().copied();
        match dies {
            "keeper" => kill_process(Pid::from_raw(keeper.unwrap()).unwrap(), Signal::KILL).unwrap(),
            "front" => front.kill().unwrap(),
            _ => {}
        }
        front.wait().unwrap();
        let left = proc::children(init);
        assert!(!left.is_empty(), "the init in there reaps nobody, so the daemon is seen to be dead");
        assert!(dies == "front" || left.iter().all(|pid| !proc::is_alive(*pid)), "{dies}: {left:?}");
        assert_dead(&left);
        task.pid = unshare;
    }
}

#[test]
fn in_another_pid_namespace_what_goes_from_process_to_process_is_ended_too() {
    need!("root", "mountns");
    let (mut task, init) = in_pids_of_its_own();
    let unshare = std::mem::replace(&mut task.pid, init);
    // Each lives for five milliseconds and leaves the next one, to the init of the namespace.
    let hops = "hop() { (sleep 0.005; hop) & }; hop; hop; hop";
    for _ in 0..5 {
        let output =
            task.enter(&["--", "sh", "-c", &format!("setsid sh -c '{hops}' >/dev/null 2>&1 </dev/null; echo left")]);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"left\n"[..]), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let alive: Vec<i32> = proc::children(init).into_iter().filter(|pid| proc::is_alive(*pid)).collect();
        assert!(alive.is_empty(), "{alive:?}");
    }
    task.pid = unshare;
}

#[test]
fn killed_while_the_command_is_stopped_it_leaves_nothing_either() {
    need!("root");
    let task = Task::plain();
    let mut command = task.command(&["--", "sh", "-c", "echo $$; kill -STOP $$; exec sleep 300"]);
    let mut front = command.stdout(Stdio::piped()).spawn().unwrap();
    let pids = pids(&Lines::of(front.stdout.take().unwrap().into()).next());
    waitid(WaitId::Pid(Pid::from_child(&front)), WaitIdOptions::STOPPED).unwrap();
    front.kill().unwrap();
    front.wait().unwrap();
    assert_dead(&pids);
}

/// `minion enter` in a shell on a terminal of its own, which `script` holds. What is written to it is typed.
pub(super) struct Typed {
    pub(super) script: Child,
    pub(super) lines: Lines,
}

impl Typed {
    pub(super) fn start(shell: &str) -> Self {
        let mut command = Command::new("script");
        command.args(["-qefc", shell, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped()).env("PS1", "");
        let mut script = command.spawn().unwrap();
        let lines = Lines::of(script.stdout.take().unwrap().into());
        Self { script, lines }
    }

    pub(super) fn types(&mut self, text: &str) {
        self.script.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// The next line is of `ps -o pgrp=,tpgid=`.
    pub(super) fn is_in_the_foreground(&mut self, who: &str) {
        let groups = self.lines.next();
        let groups: Vec<&str> = groups.split_whitespace().collect();
        assert_eq!(groups[0], groups[1], "{who} is in the foreground");
    }
}

#[test]
fn its_terminal_hung_up_the_command_has_five_seconds_whatever_it_ignores() {
    need!("root", "script");
    let task = Task::plain();
    let shell = format!("exec {} enter {} -- sh -c '{}'", minion(), task.pid, STUBBORN.replace('\'', "'\\''"));
    let mut typed = Typed::start(&shell);
    let pids = pids(&typed.lines.next());
    typed.script.kill().unwrap();
    typed.script.wait().unwrap();
    assert_dead(&pids);
}

#[test]
fn its_terminal_hung_up_by_the_death_of_a_shell_that_tells_nobody_the_command_has_five_seconds_too() {
    need!("root", "script");
    let task = Task::plain();
    let shell = format!("{} enter {} -- sh -c '{}'; true", minion(), task.pid, STUBBORN.replace('\'', "'\\''"));
    let mut typed = Typed::start(&shell);
    let pids = pids(&typed.lines.next());
    let leader = proc::children(typed.script.id().cast_signed())[0];
    kill_process(Pid::from_raw(leader).unwrap(), Signal::KILL).unwrap();
    typed.script.wait().unwrap();
    assert_dead(&pids);
}

#[test]
fn a_killed_keeper_leaves_the_terminal_to_the_caller_as_it_was() {
    need!("root", "script");
    let task = Task::plain();
    let inner = "stty -echo -icanon; kill -KILL $PPID; sleep 300";
    let look = "ps -o pgrp=,tpgid= -p $$; stty -a";
    let shell = format!("{} enter {} -- sh -c '{inner}'; echo code $?; {look}", minion(), task.pid);
    let mut typed = Typed::start(&shell);
    typed.lines.next_with("code 137");
    typed.is_in_the_foreground("the caller");
    typed.lines.next_with(" icanon iexten echo ");
    assert!(typed.script.wait().unwrap().success());
}

#[test]
fn on_a_terminal_the_job_stops_goes_on_and_hears_of_a_new_size() {
    need!("root", "script");
    let task = Task::plain();
    let mut typed = Typed::start("stty -echo; exec bash --norc -i");
    let inner = "trap \"stty size\" WINCH; tty; while read line; do echo got $line; done; exit 3";
    typed.types(&format!("{} enter {} -- bash -c '{inner}'\n", minion(), task.pid));
    let tty = typed.lines.next_with("/dev/pts/").trim().rsplit_once("/dev/").unwrap().1.to_owned();
    typed.types("one\n");
    typed.lines.next_with("got one");
    typed.types("\x1a");
    typed.lines.next_with("Stopped");
    typed.types("echo shell $((40 + 2))\n");
    typed.lines.next_with("shell 42");
    typed.types("fg\n");
    typed.types("two\n");
    typed.lines.next_with("got two");
    let sized = Command::new("stty").args(["-F", &format!("/dev/{tty}"), "rows", "31", "cols", "91"]).status().unwrap();
    assert!(sized.success());
    // bash runs the trap between two reads.
    typed.types("three\n");
    typed.lines.next_with("31 91");
    typed.types("\x04");
    typed.types("echo code $?\n");
    typed.lines.next_with("code 3");
    typed.types("exit\n");
    assert!(typed.script.wait().unwrap().success());
}
