//! A log that takes no bytes: the child is held back, then bytes are dropped and counted to the last one. The limit on the
//! size of files (`RLIMIT_FSIZE`) plays the full disk here; `root_log_full.rs` has a really full one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::logs::{KEEP, Logs, alone, content, files, lines, sandbox, whole, write_all};
use common::wait_readable;
use minion::log::{Count, Policy, Report};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

fn limit(bytes: Option<u64>) {
    setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum: getrlimit(Resource::Fsize).maximum }).unwrap();
}

fn degraded(report: &Report) -> Option<String> {
    if let Report::Degraded { error, .. } = report { Some(error.to_string()) } else { None }
}

fn recovered(report: &Report) -> Option<u64> {
    if let Report::Recovered { dropped, .. } = report { Some(*dropped) } else { None }
}

#[test]
fn files_are_rotated_at_the_limit_of_the_process_in_whole_lines() {
    if !alone() {
        return;
    }
    let sandbox = sandbox();
    limit(Some(5000));
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    logs.put(&lines(2000));
    logs.stop();
    limit(None);
    assert!(whole(sandbox.path(), "executor") == lines(2000));
    for file in files(sandbox.path(), "executor") {
        assert!(content(&file).len() <= 5000);
        assert!(content(&file).ends_with(b"\n"));
    }
}

#[test]
fn a_limit_that_comes_later_loses_nothing() {
    if !alone() {
        return;
    }
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    limit(Some(5000));
    logs.put(&lines(2000));
    let reports = logs.stop();
    limit(None);
    assert!(whole(sandbox.path(), "executor") == lines(2000));
    assert!(reports.iter().all(|report| degraded(report).is_none()), "{reports:?}");
}

#[test]
fn dropped_bytes_are_counted_and_told_in_the_log_at_a_line_start() {
    if !alone() {
        return;
    }
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    logs.put(b"before\nhalf");
    limit(Some(0));
    let (id, pipe) = logs.pipe();
    let text = lines(5000);
    write_all(pipe, text.chunks(1000).map(<[u8]>::to_vec).collect()).join().unwrap();
    let (bytes, dropped, tail) = logs.ended(id);
    assert_eq!((bytes, dropped), (text.len() as u64, text.len() as u64));
    assert!(text.ends_with(&tail) && tail.len() > 100, "the last lines are known all the same");
    assert!(logs.wait(degraded).contains("File too large"));
    limit(None);
    assert_eq!(logs.wait(recovered), text.len() as u64);
    logs.put(b"after\n");
    let count = logs.thread.count(logs.ids[0]);
    assert_eq!(count, Count { written: "before\nhalfafter\n".len() as u64, dropped: text.len() as u64 });
    let log = String::from_utf8(whole(sandbox.path(), "executor")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let [before, half, marker, after] = lines[..] else { panic!("{log}") };
    assert_eq!((before, half, after), ("before", "half", "after"));
    let expected = format!("minion: dropped {} bytes (5000 lines) at 20", text.len());
    assert!(marker.starts_with(&expected) && marker.ends_with("Z: File too large"), "{marker}");
}

#[test]
fn a_child_is_held_back_first_and_nothing_is_lost_when_it_was_short() {
    if !alone() {
        return;
    }
    let sandbox = sandbox();
    let policy = Policy { stall: Duration::from_secs(3600), ..KEEP };
    let mut logs = Logs::start(sandbox.path(), policy, &["executor"]);
    limit(Some(0));
    let (id, pipe) = logs.pipe();
    let text = lines(40_000); // more than a pipe and a buffer hold: the writer does wait
    let writer = write_all(pipe, text.chunks(1000).map(<[u8]>::to_vec).collect());
    logs.wait(degraded);
    assert!(!writer.is_finished());
    limit(None);
    assert_eq!(logs.wait(recovered), 0);
    let (bytes, dropped, _) = logs.ended(id);
    assert_eq!((bytes, dropped), (text.len() as u64, 0));
    writer.join().unwrap();
    assert!(whole(sandbox.path(), "executor") == text);
}

#[test]
fn the_rest_of_a_dropped_line_is_dropped_too() {
    if !alone() {
        return;
    }
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    logs.put(b"before\n");
    limit(Some(0));
    let (id, pipe) = logs.pipe();
    let mut writer = File::from(pipe);
    writer.write_all(b"whole\nhal").unwrap();
    logs.wait(degraded);
    // The stall ends, the bytes are dropped; then there is room, but the stream is inside a line that is already torn.
    let still = |logs: &Logs| !wait_readable(logs.thread.doorbell(), Instant::now() + Duration::from_secs(1));
    assert!(still(&logs));
    limit(None);
    assert!(still(&logs), "no marker inside a line");
    writer.write_all(b"f\nnext\n").unwrap();
    assert_eq!(logs.wait(recovered), 11);
    drop(writer);
    assert_eq!((logs.ended(id)).1, 11);
    let log = String::from_utf8(whole(sandbox.path(), "executor")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines[1].starts_with("minion: dropped 11 bytes (2 lines) at "), "{log}");
    assert_eq!((lines[0], lines[2], lines.len()), ("before", "next", 3));
}

#[test]
fn stop_waits_for_no_space() {
    if !alone() {
        return;
    }
    let sandbox = sandbox();
    let policy = Policy { stall: Duration::from_secs(3600), ..KEEP };
    let mut logs = Logs::start(sandbox.path(), policy, &["executor"]);
    limit(Some(0));
    let (id, pipe) = logs.pipe();
    write_all(pipe, vec![lines(1000)]).join().unwrap();
    logs.wait(degraded);
    let reports = logs.stop();
    limit(None);
    let counted = reports.iter().find_map(|report| {
        if let Report::Ended { stream, bytes, dropped, .. } = report
            && *stream == id
        {
            Some((*bytes, *dropped))
        } else {
            None
        }
    });
    let all = lines(1000).len() as u64;
    assert_eq!(counted, Some((all, all)));
}
