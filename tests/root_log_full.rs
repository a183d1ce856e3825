//! A disk that is really full: a tmpfs of 2 MiB in a mount namespace of the test's own thread.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::logs::{KEEP, Logs, content, files, lines, names, whole, write_all};
use minion::log::{Policy, Report};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where the small disk is mounted. Without the unmount the directory below it would stay: a mount point cannot be removed.
struct Point(tempfile::TempDir);

impl Drop for Point {
    fn drop(&mut self) {
        let _ = unmount(self.0.path(), UnmountFlags::DETACH);
    }
}

/// A directory on a small tmpfs that only this thread, and those it starts, can see.
fn small_disk(size: &str) -> (Point, PathBuf) {
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).unwrap();
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
    let point = common::logs::sandbox();
    let options = std::ffi::CString::new(format!("size={size}")).unwrap();
    mount("tmpfs", point.path(), "tmpfs", MountFlags::empty(), options.as_c_str()).unwrap();
    let directory = point.path().join("sandbox");
    fs::create_dir(&directory).unwrap();
    (Point(point), directory)
}

/// Fills what is left of the disk, to the last byte.
fn fill(directory: &Path) -> PathBuf {
    let path = directory.with_file_name("filler");
    let mut filler = File::create(&path).unwrap();
    for size in [65_536, 4096, 1] {
        while filler.write_all(&vec![b'f'; size]).is_ok() {}
    }
    path
}

fn dropped(report: &Report) -> Option<u64> {
    if let Report::Recovered { dropped, .. } = report { Some(*dropped) } else { None }
}

fn degraded(report: &Report) -> Option<String> {
    if let Report::Degraded { error, .. } = report { Some(error.to_string()) } else { None }
}

#[test]
fn every_byte_is_in_the_log_or_in_the_count() {
    need!("root", "mountns");
    let (_point, directory) = small_disk("2m");
    let mut logs = Logs::start(&directory, KEEP, &["executor"]);
    logs.put(b"before\nhalf"); // the marker has to begin a line
    let filler = fill(&directory);
    let (id, pipe) = logs.pipe();
    let text = lines(40_000);
    let writer = write_all(pipe, text.chunks(5000).map(<[u8]>::to_vec).collect());
    writer.join().unwrap();
    let (bytes, lost, _) = logs.ended(id);
    assert_eq!(bytes, text.len() as u64);
    assert!(logs.wait(degraded).ends_with("No space left on device"));
    fs::remove_file(filler).unwrap();
    assert_eq!(logs.wait(dropped), lost);
    logs.put(b"after\n");
    let log = whole(&directory, "executor");
    let at = log.windows(16).position(|window| window == b"minion: dropped ").unwrap();
    let (kept, rest) = log.split_at(at);
    let (marker, after) = rest.split_at(rest.iter().position(|byte| *byte == b'\n').unwrap() + 1);
    let marker = std::str::from_utf8(marker).unwrap();
    assert!(marker.starts_with(&format!("minion: dropped {lost} bytes (")), "{marker}");
    assert!(marker.ends_with("Z: No space left on device\n"), "{marker}");
    assert_eq!(after, b"after\n");
    // Before the marker: the old content, a newline of ours, the head of the text, and again a newline of ours.
    let kept = kept.strip_prefix(b"before\nhalf\n").unwrap();
    let head = kept.strip_suffix(b"\n").unwrap();
    assert!(text.starts_with(head) || text.starts_with(kept));
    let head = if text.starts_with(kept) { kept } else { head };
    assert_eq!(head.len() as u64 + lost, bytes);
}

#[test]
fn a_child_is_held_back_and_loses_nothing_when_space_returns_in_time() {
    need!("root", "mountns");
    let (_point, directory) = small_disk("8m");
    let policy = Policy { stall: Duration::from_secs(3600), ..KEEP };
    let mut logs = Logs::start(&directory, policy, &["executor"]);
    let filler = fill(&directory);
    let (id, pipe) = logs.pipe();
    let text = lines(60_000);
    let writer = write_all(pipe, text.chunks(5000).map(<[u8]>::to_vec).collect());
    logs.wait(degraded);
    assert!(!writer.is_finished());
    fs::remove_file(filler).unwrap();
    assert_eq!(logs.ended(id).1, 0);
    writer.join().unwrap();
    assert!(whole(&directory, "executor") == text);
}

#[test]
fn the_oldest_backups_go_before_a_byte_is_lost() {
    need!("root", "mountns");
    let (_point, directory) = small_disk("2m");
    let mut logs = Logs::start(&directory, Policy { max_size: 100_000, ..KEEP }, &["executor", "proxy"]);
    let (other, pipe) = logs.pipe_into(1);
    write_all(pipe, vec![lines(6000)]).join().unwrap();
    logs.ended(other);
    let proxies = files(&directory, "proxy").len();
    assert!(proxies > 3);
    let text = lines(60_000); // 3 MB on a disk of 2
    logs.put(&text);
    let reports = logs.stop();
    let gone: Vec<&String> = reports
        .iter()
        .filter_map(|report| if let Report::Sacrificed { backup, .. } = report { Some(backup) } else { None })
        .collect();
    assert!(gone.len() > 5 && gone.is_sorted(), "the oldest first: {gone:?}");
    assert!(reports.iter().all(|report| degraded(report).is_none()), "{reports:?}");
    assert!(gone.iter().all(|name| name.starts_with("executor-")), "its own backups were enough");
    let log = whole(&directory, "executor");
    assert!(text.ends_with(&log) && log.len() > 1_000_000);
    assert_eq!(files(&directory, "proxy").len(), proxies);
}

#[test]
fn backups_of_other_logs_go_when_there_are_no_own_ones() {
    need!("root", "mountns");
    let (_point, directory) = small_disk("2m");
    fs::write(directory.join("proxy-2026-01-01T00-00-00.000.log"), vec![b'p'; 1_000_000]).unwrap();
    fs::write(directory.join("proxy-2026-01-02T00-00-00.000.log.gz"), vec![b'p'; 500_000]).unwrap();
    fs::write(directory.join("foreign-2026-01-02T00-00-00.000.log"), b"f").unwrap();
    let mut logs = Logs::start(&directory, KEEP, &["executor", "proxy"]);
    let text = lines(20_000);
    logs.put(&text);
    assert!(whole(&directory, "executor") == text);
    assert_eq!(
        names(&directory),
        ["executor.log", "foreign-2026-01-02T00-00-00.000.log", "proxy-2026-01-02T00-00-00.000.log.gz", "proxy.log"]
    );
}

#[test]
fn packing_on_a_full_disk_leaves_the_backup_as_it_is() {
    need!("root", "mountns");
    let (_point, directory) = small_disk("2m");
    // Bytes that do not get smaller.
    let mut noise = vec![0; 500_000];
    File::open("/dev/urandom").map(|mut file| std::io::Read::read_exact(&mut file, &mut noise)).unwrap().unwrap();
    let backup = directory.join("executor-2026-01-01T00-00-00.000.log");
    fs::write(&backup, &noise).unwrap();
    let filler = fill(&directory);
    let mut logs = Logs::start(&directory, Policy { gzip: true, ..KEEP }, &["executor"]);
    logs.wait(|report| {
        if let Report::Flaw { error } = report {
            error.to_string().contains("No space left").then_some(())
        } else {
            None
        }
    });
    assert!(content(&backup) == noise);
    assert_eq!(names(&directory), ["executor-2026-01-01T00-00-00.000.log", "executor.log"]);
    fs::remove_file(filler).unwrap();
    assert!(logs.thread.stop(common::DEADLINE, Instant::now() + common::DEADLINE));
}
