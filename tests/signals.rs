//! Signals: none that asks for the end is lost, whenever it comes and whatever comes with it; all others change nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::fifo::Lines;
use common::minion::{Ended, Minion, Sandbox};
use common::{DEADLINE, proc, wait_readable};
use nix::sys::signal::{SigSet, Signal as Number};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, fcntl_dupfd_cloexec, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Children that live until they are told to end; each says when it holds the lifeline.
const OBEDIENT: &str = "exec 9>lifeline\necho $1 >events\nexec sleep 300\n";
/// Children that only SIGKILL ends; each says when it is so.
const STUBBORN: &str = "exec 9>lifeline\ntrap '' TERM INT HUP\necho $1 >events\nexec sleep 300\n";

/// Lets `time` pass unless minion ends before.
fn pass(minion: &Minion, time: Duration) {
    wait_readable(&minion.pidfd, Instant::now() + time);
}

/// Waits for both children.
fn up(events: &mut Lines) {
    events.next();
    events.next();
}

fn with_blocked<T>(signals: &[Number], act: impl FnOnce() -> T) -> T {
    let blocked: SigSet = signals.iter().copied().collect();
    blocked.thread_block().unwrap();
    let result = act();
    blocked.thread_unblock().unwrap();
    result
}

fn assert_stopped(ended: Ended, sandbox: &Sandbox) -> String {
    sandbox.assert_deserted();
    ended.assert_code(0)
}

#[test]
fn a_sigterm_in_the_first_thirty_milliseconds_is_never_lost() {
    for moment in 0..60_u64 {
        let sandbox = Sandbox::with_km(OBEDIENT);
        let _fifos = (sandbox.lifeline(), sandbox.events("events"));
        // Blocked at the start, as a supervisor of minion may have it, the signal cannot act before minion takes it.
        let minion = with_blocked(&[Number::SIGTERM], || sandbox.start(&[]));
        pass(&minion, Duration::from_micros(moment * 500));
        let said = assert_stopped(minion.stop(), &sandbox);
        assert!(said.contains("ended: SIGTERM asked for it"), "at {moment}: {said}");
    }
}

#[test]
fn a_sigterm_before_main_finds_nothing_begun_and_one_after_it_is_obeyed() {
    let mut by_default = 0;
    for moment in 0..60_u64 {
        let sandbox = Sandbox::with_km(OBEDIENT);
        let _fifos = (sandbox.lifeline(), sandbox.events("events"));
        let minion = sandbox.start(&[]);
        pass(&minion, Duration::from_micros(moment * 500));
        let ended = minion.stop();
        sandbox.assert_deserted();
        if ended.status.code() == Some(0) {
            continue;
        }
        // Until main runs, the kernel's default action rules, and nothing of ours can change that. [KF-81]
        by_default += 1;
        assert_eq!(ended.stderr, "", "it had begun to work at {moment}");
        let made = std::fs::read_dir(sandbox.path(".")).unwrap().count();
        assert_eq!(made, 4, "km, km.sh and two FIFOs, and nothing of minion's");
    }
    assert!(by_default < 60, "{by_default} of 60 came before main");
}

#[test]
fn a_sigterm_amid_a_flood_of_other_signals_is_obeyed() {
    for before in [0, 1, 7, 40] {
        let sandbox = Sandbox::with_km(OBEDIENT);
        let (lifeline, mut events) = (sandbox.lifeline(), sandbox.events("events"));
        let minion = sandbox.start(&[]);
        up(&mut events);
        let flood = [Signal::WINCH, Signal::USR1, Signal::USR2, Signal::PIPE, Signal::ALARM, Signal::TSTP];
        for _ in 0..before {
            for signal in flood {
                minion.signal(signal);
            }
        }
        minion.signal(Signal::TERM);
        // It may have ended before the last of these: then they hit a zombie, which is no error.
        for _ in 0..before {
            for signal in flood {
                minion.signal(signal);
            }
        }
        assert_stopped(minion.wait(), &sandbox);
        lifeline.assert_cut();
    }
}

#[test]
fn a_sigterm_is_obeyed_while_signals_come_without_end() {
    for signal in [Signal::USR1, Signal::TERM] {
        let sandbox = Sandbox::with_km(OBEDIENT);
        let (lifeline, mut events) = (sandbox.lifeline(), sandbox.events("events"));
        let minion = sandbox.start(&["--max-log-backups=1"]);
        up(&mut events);
        // As fast as two processors can, until there is nobody left to send to.
        let senders: Vec<_> = (0..2)
            .map(|_| {
                let pidfd = minion.pidfd.try_clone().unwrap();
                std::thread::spawn(move || while pidfd_send_signal(&pidfd, signal).is_ok() {})
            })
            .collect();
        minion.signal(Signal::TERM);
        assert_stopped(minion.wait(), &sandbox);
        lifeline.assert_cut();
        for sender in senders {
            sender.join().unwrap();
        }
    }
}

#[test]
fn a_stop_signal_that_was_inherited_blocked_or_ignored_is_obeyed() {
    for (signal, started) in [
        (Signal::TERM, "trap '' HUP CHLD PIPE TERM; exec \"$0\" \"$@\""),
        (Signal::HUP, "trap '' HUP CHLD PIPE; exec \"$0\" \"$@\""),
        (Signal::INT, "trap '' INT; exec \"$0\" \"$@\""),
    ] {
        let sandbox = Sandbox::with_km(OBEDIENT);
        let (lifeline, mut events) = (sandbox.lifeline(), sandbox.events("events"));
        let inner = sandbox.command(&[]);
        let mut command = Command::new("sh");
        command.args(["-c", started]).arg(inner.get_program()).args(inner.get_args());
        sandbox.mark(&mut command);
        let minion = with_blocked(&[Number::SIGTERM, Number::SIGINT, Number::SIGHUP], || Minion::spawn(&mut command));
        up(&mut events);
        minion.signal(signal);
        assert_stopped(minion.wait(), &sandbox);
        lifeline.assert_cut();
    }
}

fn stubborn() -> (Sandbox, Minion) {
    let sandbox = Sandbox::with_km(STUBBORN);
    let mut events = sandbox.events("events");
    // `exec 9>lifeline` needs somebody who reads.
    let lifeline = sandbox.lifeline();
    let minion = sandbox.start(&["--grace=20s"]);
    up(&mut events);
    drop(lifeline);
    (sandbox, minion)
}

#[test]
fn an_echo_of_sigterm_changes_nothing_and_a_second_one_later_kills_at_once() {
    let (sandbox, mut minion) = stubborn();
    minion.signal(Signal::TERM);
    minion.says("told to stop");
    minion.signal(Signal::TERM);
    minion.says("told to stop");
    pass(&minion, Duration::from_millis(700));
    assert!(!wait_readable(&minion.pidfd, Instant::now()), "the echo did not end it");
    minion.signal(Signal::TERM);
    // The grace is 20 s and asking takes 14 of them: only the second signal can have ended it by then.
    let said = assert_stopped(minion.wait_within(Duration::from_secs(5)), &sandbox);
    assert!(said.contains("killed by signal 9"), "{said}");
}

#[test]
fn sigquit_kills_at_once() {
    let (sandbox, minion) = stubborn();
    minion.signal(Signal::QUIT);
    let said = assert_stopped(minion.wait_within(Duration::from_secs(5)), &sandbox);
    assert!(said.contains("told to stop at once"), "{said}");
}

#[test]
fn a_second_sighup_is_patient() {
    let (_sandbox, mut minion) = stubborn();
    minion.signal(Signal::HUP);
    minion.says("told to stop");
    pass(&minion, Duration::from_millis(600));
    minion.signal(Signal::HUP);
    minion.says("told to stop");
    pass(&minion, Duration::from_millis(100));
    assert!(!wait_readable(&minion.pidfd, Instant::now()));
    minion.signal(Signal::INT);
    minion.wait_within(Duration::from_secs(5)).assert_code(0);
}

#[test]
fn sigusr1_rotates_the_logs() {
    let sandbox = Sandbox::with_km("echo first line of $1\necho up >events\nexec sleep 300\n");
    let mut events = sandbox.events("events");
    let mut minion = sandbox.start(&[]);
    up(&mut events);
    let rotated = || {
        let names = common::logs::names(&sandbox.path("."));
        names.iter().filter(|name| name.starts_with("executor-")).count()
    };
    // What the child wrote before is in the log before anything is rotated: an empty log is not.
    common::sandbox::until(&sandbox.path("."), "the line", || {
        let log = std::fs::read_to_string(sandbox.path("executor.log")).unwrap_or_default();
        log.contains("first").then_some(())
    });
    assert_eq!(rotated(), 0);
    minion.signal(Signal::USR1);
    minion.says("rotating the logs");
    common::sandbox::until(&sandbox.path("."), "a backup", || (rotated() == 1).then_some(()));
    minion.stop().assert_code(0);
}

#[test]
fn every_other_signal_has_no_effect() {
    let sandbox = Sandbox::with_km(OBEDIENT);
    let (lifeline, mut events) = (sandbox.lifeline(), sandbox.events("events"));
    let mut minion = sandbox.start(&["-v=1"]);
    up(&mut events);
    let meaning = [1, 2, 3, 9, 10, 15, 17, 19, 32, 33];
    let others: Vec<i32> = (1..=64).filter(|signal| !meaning.contains(signal)).collect();
    let words = others.iter().map(ToString::to_string).collect::<Vec<_>>();
    let script = format!("for s in {}; do kill -$s {} || exit 1; done", words.join(" "), minion.pid());
    assert!(Command::new("bash").args(["-c", &script]).status().unwrap().success());
    // SIGSTOP and SIGCONT are the kernel's: they stop and continue the process and end nothing.
    minion.says("a signal without a meaning here signal=SIGWINCH");
    minion.signal(Signal::STOP);
    minion.signal(Signal::CONT);
    minion.says("a signal without a meaning here signal=SIGCONT");
    assert!(!lifeline.is_cut(), "the children live");
    assert!(!wait_readable(&minion.pidfd, Instant::now()));
    let said = assert_stopped(minion.stop(), &sandbox);
    assert!(!said.contains(" error "), "{said}");
}

/// A minion whose stderr is a full pipe. Its children crash at once again and again, so that there is much to say.
#[test]
fn a_stderr_that_nobody_reads_delays_nothing() {
    let sandbox = Sandbox::with_km("[ $1 = proxy ] && exit 1\necho up >events\nexec sleep 300\n");
    let mut events = sandbox.events("events");
    let (read, full) = full_pipe();
    let mut child = spawn_onto(&sandbox, full, &["-v=2", "--restart-delay=0s", "--grace=6s"]);
    events.next();
    let pidfd = pidfd(&child);
    wait_readable(&pidfd, Instant::now() + Duration::from_millis(500));
    rustix::process::pidfd_send_signal(&pidfd, Signal::TERM).unwrap();
    let began = Instant::now();
    assert!(wait_readable(&pidfd, began + DEADLINE));
    let took = began.elapsed();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(took < Duration::from_secs(6), "inside the grace: {took:?}");
    sandbox.assert_deserted();
    drop(read);
}

#[test]
fn a_stderr_whose_reader_has_gone_costs_no_cpu() {
    let sandbox = Sandbox::with_km("[ $1 = proxy ] && exit 1\necho up >events\nexec sleep 300\n");
    let mut events = sandbox.events("events");
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let mut child = spawn_onto(&sandbox, write, &["--restart-delay=10ms"]);
    drop(read);
    events.next();
    let pidfd = pidfd(&child);
    let pid = i32::try_from(child.id()).unwrap();
    // Half a dozen deaths and starts, with two lines each for a reader that is not there; then the delay is a second.
    assert!(!wait_readable(&pidfd, Instant::now() + Duration::from_secs(1)));
    let before = proc::ticks(pid);
    assert!(!wait_readable(&pidfd, Instant::now() + Duration::from_secs(1)));
    let ticks = proc::ticks(pid) - before;
    assert!(ticks < 15, "{ticks} ticks of CPU in a second");
    rustix::process::pidfd_send_signal(&pidfd, Signal::TERM).unwrap();
    assert!(wait_readable(&pidfd, Instant::now() + DEADLINE));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mode = sandbox.path("executor.log").metadata().map(|file| file.permissions().mode() & 0o777);
    assert_eq!(mode.unwrap(), 0o640);
}

fn pidfd(child: &Child) -> OwnedFd {
    rustix::process::pidfd_open(rustix::process::Pid::from_child(child), rustix::process::PidfdFlags::empty()).unwrap()
}

fn spawn_onto(sandbox: &Sandbox, stderr: OwnedFd, flags: &[&str]) -> Child {
    sandbox.command(flags).stderr(Stdio::from(stderr)).spawn().unwrap()
}

/// A pipe that takes no byte more.
fn full_pipe() -> (OwnedFd, OwnedFd) {
    let (read, end) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    // A description of its own, so that minion's stays a blocking one.
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&end));
    let filler = open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).unwrap();
    for piece in [4096, 1] {
        while write(&filler, &vec![b'x'; piece]) != Err(Errno::AGAIN) {}
    }
    (read, fcntl_dupfd_cloexec(end, 3).unwrap())
}

#[test]
fn a_stderr_that_nobody_reads_does_not_keep_minion_beyond_the_grace() {
    // What waits for the reader is bounded by the grace; two waits of half a second behind the kill were not. A busy machine
    // may add to one end.
    let ends: Vec<Duration> = (0..5).map(|_| end_with_a_stderr_that_nobody_reads()).collect();
    assert!(ends.iter().any(|took| *took < Duration::from_millis(1300)), "{ends:?}");
}

fn end_with_a_stderr_that_nobody_reads() -> Duration {
    let sandbox = Sandbox::with_km(STUBBORN);
    let (lifeline, mut events) = (sandbox.lifeline(), sandbox.events("events"));
    let (_unread, full) = full_pipe();
    let mut minion = spawn_onto(&sandbox, full, &["--grace=1s"]);
    let pidfd = pidfd(&minion);
    up(&mut events);
    let begin = Instant::now();
    pidfd_send_signal(&pidfd, Signal::TERM).unwrap();
    assert!(wait_readable(&pidfd, begin + DEADLINE));
    let took = begin.elapsed();
    assert_eq!(minion.wait().unwrap().code(), Some(0));
    lifeline.assert_cut();
    sandbox.assert_deserted();
    took
}
