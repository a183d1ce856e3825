//! Rotation at line ends, the original's names, retention by count and age, packing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::logs::{KEEP, Logs, content, files, lines, names, sandbox, wait_for_names, whole, write_all};
use minion::log::{Policy, Report};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The name of a backup that was made so long ago (or, negative, will be made).
fn aged(log: &str, seconds: i64) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let time = chrono::DateTime::from_timestamp_millis(i64::try_from(now.as_millis()).unwrap() - seconds * 1000);
    let text = format!("{:?}", time.unwrap()); // 2026-11-30T01:18:34.945Z
    let text = text.trim_end_matches('Z').replace(':', "-");
    let text = if text.contains('.') { text } else { text + ".000" };
    format!("{log}-{text}.log")
}

fn assert_whole_lines(directory: &Path, most: u64) {
    let files = files(directory, "executor");
    for file in &files {
        let bytes = content(file);
        assert!(bytes.ends_with(b"\n"), "{} ends inside a line", file.display());
        assert!(bytes.starts_with(b"line "), "{} begins inside a line", file.display());
        assert!(bytes.len() as u64 <= most, "{} holds {}", file.display(), bytes.len());
    }
}

#[test]
fn no_line_is_split_over_files_at_full_speed() {
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), Policy { max_size: 3000, ..KEEP }, &["executor"]);
    let text = lines(20_000);
    let (id, pipe) = logs.pipe();
    // Writes that end anywhere in a line.
    let writer = write_all(pipe, text.chunks(4096).map(<[u8]>::to_vec).collect());
    logs.ended(id);
    writer.join().unwrap();
    assert!(whole(sandbox.path(), "executor") == text);
    // Over the limit by at most the rest of one line, whose beginning was written before its end was known.
    assert_whole_lines(sandbox.path(), 3000 + 110);
    // Hundreds of rotations, many in one millisecond: each backup has a name of its own, in order.
    assert!(files(sandbox.path(), "executor").len() > 300);
}

#[test]
fn backups_are_named_as_the_original_names_them() {
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), Policy { max_size: 10, ..KEEP }, &["executor"]);
    logs.put(b"123456\n123456\n");
    let names = names(sandbox.path());
    assert_eq!(names.len(), 2);
    let shape: String = names[0].chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "executor-0000-00-00T00-00-00.000.log");
    assert_eq!(names[1], "executor.log");
}

#[test]
fn packed_backups_hold_every_line() {
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), Policy { max_size: 200_000, gzip: true, ..KEEP }, &["executor"]);
    let text = lines(40_000);
    let (id, pipe) = logs.pipe();
    let writer = write_all(pipe, text.chunks(5000).map(<[u8]>::to_vec).collect());
    logs.ended(id);
    writer.join().unwrap();
    wait_for_names(sandbox.path(), |names| {
        names.len() > 5 && names.iter().all(|n| n.contains(".log.gz") || n == "executor.log")
    });
    assert!(whole(sandbox.path(), "executor") == text);
    assert_whole_lines(sandbox.path(), 200_000 + 110);
}

#[test]
fn what_an_earlier_minion_left_half_packed_is_packed_again() {
    let sandbox = sandbox();
    let backup = aged("executor", 100);
    fs::write(sandbox.path().join(&backup), lines(1000)).unwrap();
    fs::write(sandbox.path().join(format!("{backup}.gz.partial")), b"half").unwrap();
    let _logs = Logs::start(sandbox.path(), Policy { gzip: true, ..KEEP }, &["executor"]);
    let packed = format!("{backup}.gz");
    wait_for_names(sandbox.path(), |names| names == [packed.as_str(), "executor.log"]);
    assert!(content(&sandbox.path().join(packed)) == lines(1000));
}

#[test]
fn the_newest_backups_are_kept_and_foreign_files_are_not_touched() {
    let sandbox = sandbox();
    let foreign = [
        "executor.log.1",
        "executor-2016-01-01T00-00-00.log",
        "executor-2016-01-01T00-00-00.000.log.bak",
        "executor-core.12",
        "proxy-2016-01-01T00-00-00.000.log",
    ];
    for name in foreign {
        fs::write(sandbox.path().join(name), b"x").unwrap();
    }
    fs::create_dir(sandbox.path().join("executor-2016-01-02T00-00-00.000.log")).unwrap();
    let old: Vec<String> = (1..=5).map(|n| aged("executor", n * 10)).collect();
    for name in &old {
        fs::write(sandbox.path().join(name), b"old\n").unwrap();
    }
    let mut logs = Logs::start(sandbox.path(), Policy { max_backups: 3, max_size: 10, ..KEEP }, &["executor"]);
    logs.put(b"123456\n123456\n");
    let names = names(sandbox.path());
    let kept: Vec<bool> = old.iter().map(|name| names.contains(name)).collect();
    assert_eq!(kept, [true, true, false, false, false], "two old ones and the new one");
    assert!(foreign.iter().all(|name| names.contains(&(*name).to_owned())), "{names:?}");
    assert_eq!(names.len(), foreign.len() + 1 + 2 + 1 + 1);
}

#[test]
fn old_backups_go_at_the_start_and_when_their_time_comes_without_a_rotation() {
    let sandbox = sandbox();
    let day = 86_400;
    let (over, soon, young) = (aged("executor", 8 * day), aged("executor", 7 * day - 1), aged("executor", day));
    for name in [&over, &soon, &young] {
        fs::write(sandbox.path().join(name), b"old\n").unwrap();
    }
    let policy = Policy { max_age: Some(Duration::from_secs(7 * 86_400)), ..KEEP };
    let _logs = Logs::start(sandbox.path(), policy, &["executor"]);
    wait_for_names(sandbox.path(), |names| !names.contains(&over));
    wait_for_names(sandbox.path(), |names| names == [young.as_str(), "executor.log"]);
}

#[test]
fn the_order_of_backups_outlives_a_clock_that_was_set_back() {
    let sandbox = sandbox();
    let ahead = aged("executor", -60);
    fs::write(sandbox.path().join(&ahead), b"line before\n").unwrap();
    let mut logs = Logs::start(sandbox.path(), Policy { max_size: 10, ..KEEP }, &["executor"]);
    logs.put(b"line 1\nline 2\nline 3\n");
    assert_eq!(whole(sandbox.path(), "executor"), b"line before\nline 1\nline 2\nline 3\n");
}

#[test]
fn rotation_on_request_waits_for_the_end_of_the_line() {
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), KEEP, &["executor", "proxy"]);
    let (id, pipe) = logs.pipe();
    let mut writer = File::from(pipe);
    writer.write_all(b"line 1\nline ").unwrap();
    // A stream that ends shows that everything before it was done.
    let (other, pipe) = logs.pipe_into(1);
    write_all(pipe, vec![b"x\n".to_vec()]).join().unwrap();
    logs.ended(other);
    logs.thread.rotate();
    wait_for_names(sandbox.path(), |names| names.iter().any(|name| name.starts_with("proxy-")));
    assert_eq!(files(sandbox.path(), "executor").len(), 1, "the line is not at its end");
    writer.write_all(b"2\nline 3\n").unwrap();
    drop(writer);
    logs.ended(id);
    let contents: Vec<Vec<u8>> = files(sandbox.path(), "executor").iter().map(|file| content(file)).collect();
    assert_eq!(contents, [b"line 1\nline 2\n".to_vec(), b"line 3\n".to_vec()]);
    // An empty log has nothing to rotate.
    logs.thread.rotate();
    logs.thread.rotate();
    logs.stop();
    assert_eq!(files(sandbox.path(), "executor").len(), 3);
    assert_eq!(files(sandbox.path(), "proxy").len(), 2);
}

#[test]
fn a_rotation_that_cannot_be_done_loses_nothing_and_is_told_once() {
    let sandbox = sandbox();
    let mut logs = Logs::start(sandbox.path(), Policy { max_size: 1000, max_backups: 1, ..KEEP }, &["executor"]);
    // A backup that cannot be removed: a directory is none, so an immutable name is played by a name in use as one.
    let text = lines(2000);
    logs.put(&text);
    let reports = logs.stop();
    assert!(reports.iter().all(|report| !matches!(report, Report::Degraded { .. })), "{reports:?}");
    assert!(text.ends_with(&whole(sandbox.path(), "executor")), "the newest lines are there");
    assert_eq!(files(sandbox.path(), "executor").len(), 2);
}
