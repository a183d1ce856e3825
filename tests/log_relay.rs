//! Bytes from a child's pipe to its log: all of them, once, in order, whatever the child does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::logs::{KEEP, Logs, content, lines, sandbox, silent, whole, write_all};
use common::{DEADLINE, wait_readable};
use minion::log::{LogThread, StreamId};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::Instant;

#[test]
fn every_line_is_there_once_and_in_order_with_one_write_each() {
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    let text = lines(50_000);
    let (id, pipe) = logs.pipe();
    let writer = write_all(pipe, text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect());
    assert_eq!(logs.ended(id).0, text.len() as u64);
    writer.join().unwrap();
    assert!(whole(sandbox.path(), "executor") == text);
}

#[test]
fn a_child_that_writes_and_exits_at_once_loses_nothing_in_200_of_200_runs() {
    let sandbox = sandbox();
    let mut complete = 0;
    for (size, runs) in [(100, 60), (1_000, 50), (10_000, 50), (64_000, 30), (20_000_000, 10)] {
        let text: Vec<u8> = lines(1_000).into_iter().cycle().take(size).collect();
        let source = sandbox.path().join("source");
        fs::write(&source, &text).unwrap();
        for _ in 0..runs {
            let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
            let (id, pipe) = logs.pipe();
            // The command is dropped with the statement, and with it our copy of the write end.
            let mut child = Command::new("cat").arg(&source).stdout(Stdio::from(pipe)).spawn().unwrap();
            assert!(child.wait().unwrap().success());
            let (bytes, dropped, _) = logs.ended(id);
            assert_eq!((bytes, dropped), (size as u64, 0));
            assert!(whole(sandbox.path(), "executor") == text, "{size} bytes");
            logs.stop();
            fs::remove_file(sandbox.path().join("executor.log")).unwrap();
            complete += 1;
        }
    }
    assert_eq!(complete, 200);
}

#[test]
fn a_finished_stream_ends_although_a_grandchild_holds_its_pipe() {
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    let (id, pipe) = logs.pipe();
    let mut foreign = File::from(pipe.try_clone().unwrap());
    write_all(pipe, vec![lines(100)]).join().unwrap();
    logs.thread.finish(id);
    assert_eq!(logs.ended(id).0, lines(100).len() as u64);
    assert!(content(&sandbox.path().join("executor.log")) == lines(100));
    // Our side is closed: the foreign writer gets EPIPE instead of a pipe that nobody reads. A fork in the thread of another
    // test may hold a copy until its exec; the last one gone is an error on the pipe, which counts as readable.
    assert!(wait_readable(&foreign, Instant::now() + DEADLINE));
    assert_eq!(foreign.write(b"late\n").unwrap_err().raw_os_error(), Some(libc::EPIPE));
}

#[test]
fn a_finished_stream_ends_although_a_foreign_writer_never_stops() {
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    let (id, pipe) = logs.pipe();
    let endless = std::thread::spawn(move || {
        let mut pipe = File::from(pipe);
        while pipe.write_all(&[b'y'; 4096]).is_ok() {}
    });
    logs.thread.finish(id);
    logs.ended(id);
    endless.join().unwrap();
}

#[test]
fn the_next_run_begins_on_a_line_of_its_own() {
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    logs.put(b"one\nhalf a line");
    logs.put(b"two\n");
    logs.put(b"three\n");
    logs.stop();
    // An earlier minion's last line counts too.
    fs::write(sandbox.path().join("executor.log"), b"one\nhalf a line").unwrap();
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    logs.put(b"two\n");
    logs.put(b"three\n");
    assert_eq!(whole(sandbox.path(), "executor"), b"one\nhalf a line\ntwo\nthree\n");
}

#[test]
fn the_report_of_the_end_carries_the_last_twenty_lines() {
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    let (id, pipe) = logs.pipe();
    let text: String = (0..1000).map(|n| format!("{n}\n")).chain(["panic: goodbye".to_owned()]).collect();
    write_all(pipe, vec![text.into_bytes()]).join().unwrap();
    let tail = String::from_utf8(logs.ended(id).2).unwrap();
    assert_eq!(tail.lines().count(), 20);
    assert!(tail.starts_with("981\n"), "{tail}");
    assert!(tail.ends_with("999\npanic: goodbye"), "{tail}");
}

#[test]
fn a_loud_child_does_not_keep_a_quiet_one_waiting() {
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor", "proxy"]);
    fs::remove_file(sandbox.path().join("executor.log")).unwrap(); // what the loud one writes is not kept
    let (loud, pipe) = logs.pipe_into(0);
    let loud_lines = vec![b'\n'; 65536];
    let endless = std::thread::spawn(move || {
        let mut pipe = File::from(pipe);
        while pipe.write_all(&loud_lines).is_ok() {}
    });
    for _ in 0..20 {
        let (quiet, pipe) = logs.pipe_into(1);
        write_all(pipe, vec![b"quiet\n".to_vec()]).join().unwrap();
        assert_eq!(logs.ended(quiet).0, 6);
    }
    logs.thread.finish(loud);
    logs.ended(loud);
    endless.join().unwrap();
    assert_eq!(whole(sandbox.path(), "proxy"), b"quiet\n".repeat(20));
}

#[test]
fn stop_writes_what_is_in_the_pipes_although_their_writers_live() {
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    let (id, pipe) = logs.pipe();
    let mut writer = File::from(pipe);
    writer.write_all(b"goodbye\n").unwrap();
    let reports = logs.stop();
    assert!(reports.iter().any(|report| matches!(
        report,
        minion::log::Report::Ended { stream, bytes: 8, dropped: 0, .. } if *stream == id
    )));
    assert_eq!(whole(sandbox.path(), "executor"), b"goodbye\n");
}

#[test]
fn a_pipe_that_is_handed_over_before_the_start_is_read_after_it() {
    let sandbox = sandbox();
    let directory = OwnedFd::from(File::open(sandbox.path()).unwrap());
    let mut thread = LogThread::prepare(directory, KEEP, silent()).unwrap();
    let log = thread.open("executor").unwrap();
    assert_eq!(thread.open("executor").unwrap(), log, "the same name is the same log");
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    thread.relay(log, StreamId(7), read);
    File::from(write).write_all(b"early\n").unwrap();
    thread.start().unwrap();
    assert!(wait_readable(thread.doorbell(), Instant::now() + DEADLINE));
    assert_eq!(whole(sandbox.path(), "executor"), b"early\n");
    assert!(thread.open("late").is_err());
    assert!(thread.start().is_err());
    assert!(thread.stop(DEADLINE, Instant::now() + DEADLINE));
}

#[test]
fn logs_go_where_the_directory_went() {
    let sandbox = sandbox();
    let (before, after) = (sandbox.path().join("before"), sandbox.path().join("after"));
    fs::create_dir(&before).unwrap();
    let policy = minion::log::Policy { max_size: 1000, ..KEEP };
    let mut logs = Logs::start(&before, policy, &["executor"]);
    fs::rename(&before, &after).unwrap();
    logs.put(&lines(500));
    assert!(whole(&after, "executor") == lines(500));
    assert!(common::logs::files(&after, "executor").len() > 10);
}

#[test]
fn odd_names_are_no_logs() {
    let sandbox = sandbox();
    let open = || OwnedFd::from(File::open(sandbox.path()).unwrap());
    let mut thread = LogThread::prepare(open(), KEEP, silent()).unwrap();
    for name in ["", "..", "../x", "a/b", ".hidden", "a\0b"] {
        assert!(thread.open(name).is_err(), "{name:?}");
    }
    let mut nothing = String::new();
    let file = File::open("/dev/null").unwrap();
    (&file).read_to_string(&mut nothing).unwrap();
    assert!(LogThread::prepare(OwnedFd::from(file), KEEP, silent()).is_err());
}
