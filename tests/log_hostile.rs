//! What others do to a log's name, before the start and while it is written.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::logs::{KEEP, Logs, content, lines, names, sandbox, silent, whole, write_all};
use common::wait_readable;
use minion::error::Error;
use minion::log::{LogThread, Policy, Report};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

fn open(directory: &Path) -> Result<(), Error> {
    let sandbox = OwnedFd::from(File::open(directory).unwrap());
    LogThread::prepare(sandbox, KEEP, silent()).unwrap().open("executor").map(drop)
}

#[test]
fn a_log_that_is_no_regular_file_of_its_own_is_refused_by_name() {
    type Make = fn(&Path);
    let hostile: [(&str, Make); 6] = [
        ("symbolic link", |path| symlink("target", path).unwrap()),
        ("directory", |path| fs::create_dir(path).unwrap()),
        ("FIFO", |path| {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
        }),
        ("socket", |path| drop(UnixListener::bind(path).unwrap())),
        ("hard link", |path| {
            fs::write(path.with_file_name("target"), b"theirs").unwrap();
            fs::hard_link(path.with_file_name("target"), path).unwrap();
        }),
        ("symbolic link", |path| {
            fs::write(path.with_file_name("target"), b"theirs").unwrap();
            symlink("target", path).unwrap();
        }),
    ];
    for (kind, make) in hostile {
        let sandbox = sandbox();
        let path = sandbox.path().join("executor.log");
        make(&path);
        let error = open(sandbox.path()).unwrap_err().to_string();
        assert!(error.contains(kind) && error.contains("executor.log") && error.contains("(hint: "), "{error}");
        let target = sandbox.path().join("target");
        assert!(fs::read(target).is_ok_and(|bytes| bytes == b"theirs") || kind != "hard link");
    }
}

#[test]
fn a_new_log_is_not_for_everyone_to_read() {
    let sandbox = sandbox();
    open(sandbox.path()).unwrap();
    let mode = fs::metadata(sandbox.path().join("executor.log")).unwrap().permissions().mode();
    assert_eq!(mode & 0o137, 0, "{mode:o}");
    assert_eq!(mode & 0o600, 0o600);
}

#[test]
fn a_log_that_is_removed_while_it_is_written_is_opened_anew() {
    let sandbox = sandbox();
    let path = sandbox.path().join("executor.log");
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    let (id, pipe) = logs.pipe();
    let mut writer = File::from(pipe);
    fs::remove_file(&path).unwrap();
    // It is noticed while data flows, not only at the end: the file comes back although the stream lives.
    let deadline = Instant::now() + common::DEADLINE;
    while !path.exists() {
        assert!(Instant::now() < deadline, "the log is not opened anew");
        writer.write_all(b"before\n").unwrap();
        wait_readable(logs.thread.doorbell(), Instant::now() + Duration::from_millis(20));
    }
    writer.write_all(b"after\n").unwrap();
    drop(writer);
    logs.ended(id);
    assert!(content(&path).ends_with(b"after\n"));
}

#[test]
fn a_log_that_is_truncated_gets_no_hole() {
    let sandbox = sandbox();
    let path = sandbox.path().join("executor.log");
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    logs.put(&lines(100));
    File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    logs.put(b"after\n");
    assert_eq!(content(&path), b"after\n");
}

#[test]
fn the_limit_counts_from_what_a_truncation_left() {
    let sandbox = sandbox();
    let path = sandbox.path().join("executor.log");
    let mut logs = Logs::start(sandbox.path(), Policy { max_size: 1000, ..KEEP }, &["executor"]);
    logs.put(&[b'x'; 900]);
    File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    logs.put(b"short\n");
    logs.put(&[b'y'; 900]);
    assert_eq!(names(sandbox.path()), ["executor.log"]);
}

#[test]
fn a_symlink_that_takes_the_logs_place_is_not_followed_and_is_told() {
    let sandbox = sandbox();
    let path = sandbox.path().join("executor.log");
    let target = sandbox.path().join("passwd");
    fs::write(&target, b"theirs\n").unwrap();
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    logs.put(b"one\n");
    fs::rename(&path, sandbox.path().join("aside")).unwrap();
    symlink(&target, &path).unwrap();
    logs.put(b"two\n");
    let error = logs.wait(|report| {
        if let Report::Degraded { log, error } = report
            && log == "executor"
        {
            Some(error.to_string())
        } else {
            None
        }
    });
    assert!(error.contains("symbolic link"), "{error}");
    assert_eq!(content(&target), b"theirs\n");
    // Until it is in order, the old file is written on; then the name is.
    logs.put(b"three\n");
    assert_eq!(content(&sandbox.path().join("aside")), b"one\ntwo\nthree\n");
    fs::remove_file(&path).unwrap();
    logs.put(b"four\n");
    logs.wait(|report| matches!(report, Report::Recovered { dropped: 0, .. }).then_some(()));
    logs.put(b"five\n");
    assert_eq!(content(&path), b"five\n");
    let reports = logs.stop();
    assert!(!reports.iter().any(|report| matches!(report, Report::Degraded { .. })), "told once");
}

#[test]
fn a_symlink_in_the_logs_place_is_not_rotated_away() {
    let sandbox = sandbox();
    let path = sandbox.path().join("executor.log");
    let mut logs = Logs::start(sandbox.path(), Policy { max_size: 100, ..KEEP }, &["executor"]);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    logs.put(&lines(100));
    assert!(fs::symlink_metadata(&path).unwrap().is_dir());
    assert_eq!(names(sandbox.path()), ["executor.log"]);
    logs.wait(|report| matches!(report, Report::Degraded { .. }).then_some(()));
}

#[test]
fn a_second_name_given_to_a_live_log_does_no_harm() {
    let sandbox = sandbox();
    let path = sandbox.path().join("executor.log");
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor"]);
    fs::hard_link(&path, sandbox.path().join("copy")).unwrap();
    logs.put(b"one\n");
    assert_eq!(content(&path), b"one\n");
    assert_eq!(fs::metadata(&path).unwrap().nlink(), 2);
}

#[test]
fn a_sandbox_that_is_removed_ends_neither_the_child_nor_the_relay() {
    let sandbox = sandbox();
    let inner = sandbox.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let mut logs = Logs::start(&inner, Policy { max_size: 1000, ..KEEP }, &["executor"]);
    fs::remove_dir_all(&inner).unwrap();
    logs.put(&lines(1000));
    logs.wait(|report| matches!(report, Report::Degraded { .. }).then_some(()));
}

#[test]
fn a_backup_that_vanishes_or_is_in_the_way_stops_no_rotation() {
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), Policy { max_size: 500, max_backups: 3, ..KEEP }, &["executor"]);
    let (id, pipe) = logs.pipe();
    let text = lines(5000);
    let writer = write_all(pipe, text.chunks(200).map(<[u8]>::to_vec).collect());
    // Somebody removes backups all the time.
    let deadline = Instant::now() + common::DEADLINE;
    while !writer.is_finished() && Instant::now() < deadline {
        for name in names(sandbox.path()).iter().filter(|name| name.starts_with("executor-")) {
            let _ = fs::remove_file(sandbox.path().join(name));
        }
    }
    writer.join().unwrap();
    assert_eq!(logs.ended(id).0, text.len() as u64);
    assert!(text.ends_with(&content(&sandbox.path().join("executor.log"))));
    logs.stop();
    assert!(!whole(sandbox.path(), "executor").is_empty());
}
