//! What the code of `src/process` relies on, asked of the running kernel and of the crates as they are.
//!
//! One thread and one process: masks, subreapers and dispositions belong to a process, and `waitid(P_ALL)` sees all children.

#![allow(clippy::unwrap_used, reason = "clippy takes a test's helpers for production")]

mod common;

use ::minion::process::signals::Signals;
use ::minion::process::spawn::{Gated, Launcher, Program, Stdio as Fds};
use ::minion::process::tree::{self, Process, StartVariable};
use ::minion::process::{Pidfd, WaitStatus, memory, reap, startup};
use common::alone::{self, Named, again, run};
use common::look::Looked;
use common::{DEADLINE, minion, wait_dead, wait_readable};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const TESTS: &[Named] = &[
    ("inherited_fds_are_closed_on_exec", || run("inherited_fds")),
    ("an_ignored_sigchld_takes_the_exit_status_away", || under_ignored_sigchld("status_is_gone")),
    ("signals_that_were_ignored_are_taken_back_first", || under_ignored_sigchld("status_is_kept")),
    ("signals_that_glibc_hides_are_taken_back_too", || run("hidden_signals")),
    ("five_exits_are_one_sigchld", || run("five_exits")),
    ("a_group_is_signalled_through_its_dead_leader", a_group_is_signalled_through_its_dead_leader),
    ("the_death_signal_comes_when_the_forking_thread_ends", the_death_signal_comes_when_the_forking_thread_ends),
    ("an_orphan_that_left_session_and_group_comes_to_the_subreaper", || run("subreaper")),
    ("a_status_is_read_as_it_was", a_status_is_read_as_it_was),
    ("a_death_by_a_real_time_signal_is_seen", || run("real_time_death")),
    ("a_second_thread_gets_an_arena_of_its_own", || run("two_arenas")),
    ("one_arena_serves_all_threads", || run("one_arena")),
    ("an_environment_is_seen_amid_an_exec_too", an_environment_is_seen_amid_an_exec_too),
    ("a_child_gets_nothing_of_a_heap_that_is_left_out", || run("left_out_heap")),
    ("the_program_needs_no_loader", the_program_needs_no_loader),
];

const ROLES: &[Named] = &[
    ("inherited_fds", inherited_fds),
    ("status_is_gone", || assert_eq!(wait_for_seven(), Err(Some(libc::ECHILD)))),
    ("status_is_kept", status_is_kept),
    ("hidden_signals", hidden_signals),
    ("five_exits", five_exits),
    ("subreaper", subreaper),
    ("real_time_death", real_time_death),
    ("left_out_heap", left_out_heap),
    ("two_arenas", || assert_eq!(arenas_of_a_second_thread(), 1)),
    ("one_arena", one_arena),
];

fn main() {
    alone::main(TESTS, ROLES);
}

/// A child that waits at its gate and would run `sh -c script`. Our copy of its stderr is closed.
#[allow(clippy::needless_pass_by_value, reason = "it is closed by being passed")]
fn gated(script: &str, stderr: Option<std::os::fd::OwnedFd>) -> Gated {
    gated_by(&Launcher::default(), script, stderr)
}

#[allow(clippy::needless_pass_by_value, reason = "it is closed by being passed")]
fn gated_by(launcher: &Launcher, script: &str, stderr: Option<std::os::fd::OwnedFd>) -> Gated {
    let args = ["sh", "-c", script].map(OsString::from);
    let null = Fds::null().unwrap();
    let fds = Fds {
        stdin: null.as_fd(),
        stdout: null.as_fd(),
        stderr: stderr.as_ref().unwrap_or(&null).as_fd(),
        extra: None,
    };
    let program = Program::new(Path::new("/bin/sh"), &args, &[("PATH".into(), "/usr/bin:/bin".into())]).unwrap();
    launcher.fork(&program, fds).unwrap()
}

fn status(pidfd: &Pidfd) -> WaitStatus {
    assert!(wait_readable(pidfd, Instant::now() + DEADLINE), "it is alive");
    pidfd.reap().unwrap().unwrap()
}

/// `SigIgn` of this process: bit n-1 for signal n.
fn ignored() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let mask = text.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap()
}

fn inherited_fds() {
    let (inside, outside) = rustix::pipe::pipe().unwrap();
    startup::close_inherited_fds_on_exec().unwrap();
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    drop(outside);
    // End of file, although the child runs: it does not hold the other end.
    assert!(wait_readable(&inside, Instant::now() + DEADLINE));
    child.kill().unwrap();
    child.wait().unwrap();
}

fn under_ignored_sigchld(role: &str) {
    let itself = again(role);
    let mut ignoring = Command::new("env");
    ignoring.arg("--ignore-signal=CHLD").arg(itself.get_program());
    ignoring.envs(itself.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let status = ignoring.status().unwrap();
    assert!(status.success(), "{role}: {status}");
}

/// The code of a child that exits with 7, or the errno of waiting for it.
fn wait_for_seven() -> Result<Option<i32>, Option<i32>> {
    let mut child = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
    child.wait().map(|status| status.code()).map_err(|error| error.raw_os_error())
}

fn status_is_kept() {
    assert_ne!(ignored() & 1 << (libc::SIGCHLD - 1), 0, "it was not ignored");
    let _signals = Signals::take_over().unwrap();
    assert_eq!(ignored(), 0);
    assert_eq!(wait_for_seven(), Ok(Some(7)));
}

fn hidden_signals() {
    // What the spawning of this process left behind.
    assert_ne!(ignored() & 0x1_8000_0000, 0, "signals 32 and 33 are not ignored: posix_spawn has changed");
    let _signals = Signals::take_over().unwrap();
    assert_eq!(ignored(), 0);
}

fn five_exits() {
    let mut signals = Signals::take_over().unwrap();
    let mut children: Vec<_> = (0..5).map(|_| Command::new("true").spawn().unwrap()).collect();
    for child in &children {
        assert!(wait_dead(i32::try_from(child.id()).unwrap(), Instant::now() + DEADLINE));
    }
    let mut received = Vec::new();
    while let Some(one) = signals.read().unwrap() {
        received.push(one.signal);
    }
    assert_eq!(received, [libc::SIGCHLD]);
    for child in &mut children {
        child.wait().unwrap();
    }
}

fn a_group_is_signalled_through_its_dead_leader() {
    let (inside, outside) = rustix::pipe::pipe().unwrap();
    let leader = gated("sleep 60 & exit 0", Some(outside)).open().unwrap().pidfd;
    assert!(wait_readable(&leader, Instant::now() + DEADLINE), "the leader is alive");
    assert!(!wait_readable(&inside, Instant::now()), "its child has ended by itself");
    leader.signal_group(libc::SIGKILL).unwrap();
    // End of file: the last holder of the other end is gone.
    assert!(wait_readable(&inside, Instant::now() + DEADLINE));
    assert_eq!(leader.reap().unwrap(), Some(WaitStatus::Exited(0)));
}

fn the_death_signal_comes_when_the_forking_thread_ends() {
    let fork = || {
        let child = gated("exec sleep 60", None).open().unwrap();
        // Its exec is behind the setting of the death signal.
        assert!(wait_readable(&child.report, Instant::now() + DEADLINE));
        child
    };
    let child = std::thread::spawn(fork).join().unwrap();
    assert_eq!(status(&child.pidfd), WaitStatus::Killed { signal: libc::SIGKILL, core: false });
}

fn subreaper() {
    startup::become_subreaper().unwrap();
    let script = "setsid sh -c 'echo $$; exec sleep 60' & exit 0";
    let mut parent = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut answer = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    let orphan: i32 = answer.trim().parse().unwrap();
    assert!(parent.wait().unwrap().success());
    let process = Process::read(orphan).unwrap();
    assert_eq!(process.parent, i32::try_from(std::process::id()).unwrap());
    assert_eq!(process.session, orphan);
    Pidfd::open(orphan).unwrap().signal(libc::SIGKILL).unwrap();
    reap::wait_for(orphan).unwrap();
}

fn an_environment_is_seen_amid_an_exec_too() {
    // A shell that does nothing but execute itself: with little, with more than a page, which some reads would find cut, and
    // with many variables, which an exec counts when the arguments are there already.
    for (padding, many) in [("x".to_owned(), 0), ("x".repeat(3 * 4096), 0), ("x".to_owned(), 3000)] {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec sh -c \"$SCRIPT\""]).env("SCRIPT", "exec sh -c \"$SCRIPT\"").env("PADDING", &padding);
        shell.envs((0..many).map(|number| (format!("A{number}"), "x")));
        // Ended also where this fails.
        let mut shell = Looked { child: shell.env("ZZ_MARK", "here").spawn().unwrap() };
        let pid = shell.pid();
        let last = |text: Vec<u8>| text.split(|byte| *byte == 0).any(|entry| entry == b"ZZ_MARK=here");
        let (mut hidden, deadline) = (0, Instant::now() + DEADLINE);
        // On a busy machine it is rarely met amid its exec.
        while hidden < 20 && Instant::now() < deadline {
            hidden += u32::from(!last(fs::read(format!("/proc/{pid}/environ")).unwrap()));
            // Who does not wait is never told that a variable is not there.
            assert_ne!(tree::start_variable(pid, "ZZ_MARK", Instant::now()), StartVariable::Unset);
            assert_eq!(
                tree::start_variable(pid, "ZZ_MARK", Instant::now() + DEADLINE),
                StartVariable::Value(b"here".to_vec())
            );
        }
        assert!(hidden > 0, "never amid an exec");
        shell.child.kill().unwrap();
        shell.child.wait().unwrap();
        // A zombie has none, and nobody waits for it.
        let mut dead = Command::new("true").spawn().unwrap();
        assert!(wait_dead(i32::try_from(dead.id()).unwrap(), Instant::now() + DEADLINE));
        let began = Instant::now();
        // Newer kernels say ESRCH.
        assert_eq!(
            tree::start_environment(i32::try_from(dead.id()).unwrap(), Instant::now() + 2 * DEADLINE)
                .unwrap_or_default(),
            b""
        );
        assert!(began.elapsed() < DEADLINE);
        dead.wait().unwrap();
    }
}

fn left_out_heap() {
    let heap = |pid: &str| -> usize {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let ranges = maps.lines().filter(|line| line.ends_with("[heap]")).map(|line| line.split_once(' ').unwrap().0);
        let ends = ranges.map(|range| range.split('-').map(|end| usize::from_str_radix(end, 16).unwrap()));
        ends.map(|mut ends| ends.next().unwrap().abs_diff(ends.next().unwrap())).sum()
    };
    let much: Vec<Box<[u8; 1000]>> = (0..2000).map(|_| Box::new([7; 1000])).collect();
    let launcher = Launcher::without_heap();
    for round in 0..3 {
        // It grows and shrinks between two forks.
        let more: Vec<Box<[u8; 1000]>> = (0..round * 1000).map(|_| Box::new([7; 1000])).collect();
        let child = gated_by(&launcher, "exit 7", None);
        let (ours, its) = (heap("self"), heap(&child.pid().to_string()));
        assert!(ours > 2_000_000 && its < 100_000, "{ours} bytes here, {its} in the child");
        assert_eq!(status(&child.open().unwrap().pidfd), WaitStatus::Exited(7));
        assert!(more.iter().all(|piece| piece.iter().all(|byte| *byte == 7)));
    }
    assert!(much.iter().all(|piece| piece[999] == 7));
}

fn a_status_is_read_as_it_was() {
    let exited = gated("exit 7", None).open().unwrap();
    assert_eq!(status(&exited.pidfd), WaitStatus::Exited(7));
    let killed = gated("kill -9 $$", None).open().unwrap();
    assert_eq!(status(&killed.pidfd), WaitStatus::Killed { signal: libc::SIGKILL, core: false });
}

fn real_time_death() {
    let mut child = Command::new("bash").args(["-c", "kill -40 $$"]).spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    assert!(wait_dead(pid, Instant::now() + DEADLINE));
    let peek = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    assert_eq!(waitid(Id::All, peek), Err(nix::errno::Errno::EINVAL), "nix knows the signal now");
    assert_eq!(reap::peek().unwrap(), Some(pid));
    assert_eq!(reap::reap(pid).unwrap(), Some(WaitStatus::Killed { signal: 40, core: false }));
    assert!(child.wait().is_err());
}

/// How many arenas of glibc a thread that allocates sees: each reserves 64 MiB of addresses and makes a part of it usable.
fn arenas_of_a_second_thread() -> usize {
    let see = || fs::read_to_string("/proc/thread-self/maps").unwrap();
    let maps = std::thread::spawn(see).join().unwrap();
    maps.lines().filter(|line| line.contains(" ---p ") && size(line) > 60 << 20).count()
}

fn size(line: &str) -> u64 {
    let (from, to) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
    u64::from_str_radix(to, 16).unwrap() - u64::from_str_radix(from, 16).unwrap()
}

fn one_arena() {
    memory::use_one_arena();
    assert_eq!(arenas_of_a_second_thread(), 0);
}

/// A dynamic program has a header of type `PT_INTERP`, 3, with the path of its loader.
fn the_program_needs_no_loader() {
    let mut start = [0; 4096];
    fs::File::open(minion()).unwrap().read_exact(&mut start).unwrap();
    let half = |at: usize| usize::from(u16::from_le_bytes(start[at..at + 2].try_into().unwrap()));
    let (size, count) = (half(54), half(56));
    let kinds: Vec<u32> =
        (0..count).map(|nth| u32::from_le_bytes(start[64 + nth * size..68 + nth * size].try_into().unwrap())).collect();
    assert!(kinds.contains(&1) && !kinds.contains(&3), "{kinds:?}");
}
