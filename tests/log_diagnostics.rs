//! minion's own lines: in order, never waited for, counted where stderr does not take them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::DEADLINE;
use common::logs::{KEEP, Logs, alone, lines, sandbox};
use minion::log::{Diagnostics, LogThread};
use rustix::fs::OFlags;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

fn notice(lost: u64) -> String {
    format!("lost {lost}\n")
}

fn onto(stderr: OwnedFd) -> Diagnostics {
    Diagnostics::onto(Some(stderr), notice).unwrap()
}

fn start(directory: &Path, diagnostics: &Diagnostics) -> Logs {
    let sandbox = OwnedFd::from(File::open(directory).unwrap());
    let mut thread = LogThread::prepare(sandbox, KEEP, diagnostics.clone()).unwrap();
    let ids = vec![thread.open("executor").unwrap()];
    thread.start().unwrap();
    Logs::over(thread, ids)
}

/// A pipe that takes 4 KiB: read end, write end.
fn small_pipe() -> (File, OwnedFd) {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    fcntl_setpipe_size(&read, 4096).unwrap();
    (File::from(read), write)
}

/// Numbers in order, each either said or counted in a notice at its place.
fn assert_every_line_is_said_or_counted(text: &str, count: u64) {
    let mut next = 0;
    for line in text.lines() {
        if let Some(lost) = line.strip_prefix("lost ") {
            next += lost.parse::<u64>().unwrap();
        } else {
            assert_eq!(line, format!("line {next}"));
            next += 1;
        }
    }
    assert_eq!(next, count);
}

#[test]
fn without_a_thread_lines_are_written_at_once() {
    let (mut read, write) = small_pipe();
    let diagnostics = onto(write);
    diagnostics.push(b"one");
    diagnostics.push(b"two\n");
    let mut said = [0; 8];
    read.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"one\ntwo\n");
}

#[test]
fn a_stderr_that_nobody_reads_delays_neither_minion_nor_its_children() {
    let sandbox = sandbox();
    let (mut read, write) = small_pipe();
    let diagnostics = onto(write);
    let mut logs = start(sandbox.path(), &diagnostics);
    for n in 0..50_000 {
        diagnostics.push(format!("line {n}").as_bytes());
    }
    logs.put(&lines(1000));
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        text
    });
    logs.stop();
    diagnostics.flush(Instant::now() + DEADLINE);
    drop(diagnostics);
    let text = reader.join().unwrap();
    assert!(text.contains("lost "), "64 KiB are not 50,000 lines");
    assert_every_line_is_said_or_counted(&text, 50_000);
}

#[test]
fn a_reader_that_is_slow_gets_every_line_in_order() {
    let sandbox = sandbox();
    let (mut read, write) = small_pipe();
    let diagnostics = onto(write);
    let logs = start(sandbox.path(), &diagnostics);
    // Less than the queue holds, more than the pipe does: the thread goes on each time that the pipe is writable.
    for n in 0..3000 {
        diagnostics.push(format!("line {n}").as_bytes());
    }
    let mut said = vec![0; 20_000];
    read.read_exact(&mut said).unwrap();
    assert!(said.starts_with(b"line 0\nline 1\n"));
    drop(read);
    logs.stop();
}

#[test]
fn flush_gives_up_at_its_deadline() {
    let (read, write) = small_pipe();
    let diagnostics = onto(write);
    for n in 0..5000 {
        diagnostics.push(format!("line {n}").as_bytes());
    }
    diagnostics.flush(Instant::now() + Duration::from_millis(50));
    drop(read);
}

#[test]
fn a_pipe_whose_reader_is_gone_costs_nothing() {
    if alone() {
        let (read, write) = small_pipe();
        assert_costs_nothing(OwnedFd::from(read), write);
    }
}

#[test]
fn a_socket_whose_reader_is_gone_costs_nothing() {
    if alone() {
        let (read, write) = UnixStream::pair().unwrap();
        assert_costs_nothing(OwnedFd::from(read), OwnedFd::from(write));
    }
}

fn assert_costs_nothing(read: OwnedFd, write: OwnedFd) {
    let sandbox = sandbox();
    // As with a real stderr, others have it open too.
    let _shared = write.try_clone().unwrap();
    let diagnostics = onto(write);
    let mut logs = start(sandbox.path(), &diagnostics);
    // More than a pipe or a socket takes, and between two parts the thread writes: in the end it waits for the reader.
    for _ in 0..20 {
        for _ in 0..15 {
            diagnostics.push("a line of minion's\n".repeat(200).as_bytes());
        }
        logs.put(b"x\n");
    }
    drop(read);
    diagnostics.push(b"into nothing");
    let cpu = || {
        let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF).unwrap();
        let (user, system) = (usage.user_time(), usage.system_time());
        Duration::from_micros(u64::try_from(user.tv_usec() + system.tv_usec()).unwrap())
            + Duration::from_secs(u64::try_from(user.tv_sec() + system.tv_sec()).unwrap())
    };
    let before = cpu();
    common::wait_readable(logs.thread.doorbell(), Instant::now() + Duration::from_millis(500));
    assert!(cpu().checked_sub(before).unwrap() < Duration::from_millis(50), "it spins");
    logs.put(&lines(10));
    logs.stop();
}

#[test]
fn a_file_keeps_what_is_in_it_and_what_others_write() {
    let sandbox = sandbox();
    let path = sandbox.path().join("stderr");
    let mut shared = File::create(&path).unwrap();
    shared.write_all(b"agent\n").unwrap();
    let diagnostics = onto(shared.as_fd().try_clone_to_owned().unwrap());
    diagnostics.push(b"minion");
    shared.write_all(b"agent\n").unwrap();
    diagnostics.push(b"minion");
    assert_eq!(fs::read(&path).unwrap(), b"agent\nminion\nagent\nminion\n");
}

#[test]
fn a_socket_is_written_to_as_well() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let diagnostics = onto(OwnedFd::from(ours));
    diagnostics.push(b"hello");
    drop(diagnostics);
    let mut text = String::new();
    theirs.read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello\n");
}

#[test]
fn the_descriptor_that_others_share_stays_as_it_is() {
    let (_read, write) = small_pipe();
    let shared = write.try_clone().unwrap();
    let diagnostics = onto(write);
    for _ in 0..1000 {
        diagnostics.push(b"more than the pipe takes");
    }
    assert!(!rustix::fs::fcntl_getfl(&shared).unwrap().contains(OFlags::NONBLOCK));
}

#[test]
fn a_long_line_is_written_whole() {
    let (mut read, write) = small_pipe();
    let diagnostics = onto(write);
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        text
    });
    diagnostics.push("x".repeat(30_000).as_bytes());
    diagnostics.flush(Instant::now() + DEADLINE);
    drop(diagnostics);
    assert_eq!(reader.join().unwrap(), "x".repeat(30_000) + "\n");
}

#[test]
fn without_a_stderr_nothing_happens() {
    let diagnostics = Diagnostics::onto(None, notice).unwrap();
    diagnostics.push(b"nobody hears this");
    diagnostics.flush(Instant::now() + DEADLINE);
}
