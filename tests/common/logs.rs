//! For the tests of the log thread: a sandbox with logs, pipes with writers, and the log read back as one stream.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

use super::{DEADLINE, wait_readable};
use minion::log::{Diagnostics, LogId, LogThread, Policy, Report, StreamId};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing is rotated, nothing removed, nobody held back for long.
pub const KEEP: Policy =
    Policy { max_size: 0, max_age: None, max_backups: 0, gzip: false, stall: Duration::from_millis(20) };

/// A directory with a log thread on it.
pub struct Logs {
    pub thread: LogThread,
    pub ids: Vec<LogId>,
    /// Reports that were read while another one was waited for.
    pub seen: Vec<Report>,
    next: u64,
}

/// A diagnostics queue that writes to nothing.
pub fn silent() -> Diagnostics {
    Diagnostics::onto(None, |_| String::new()).unwrap()
}

impl Logs {
    pub fn start(directory: &Path, policy: Policy, names: &[&str]) -> Self {
        let sandbox = OwnedFd::from(File::open(directory).unwrap());
        let mut thread = LogThread::prepare(sandbox, policy, silent()).unwrap();
        let ids = names.iter().map(|name| thread.open(name).unwrap()).collect();
        thread.start().unwrap();
        Self::over(thread, ids)
    }

    /// Over a thread that runs.
    pub fn over(thread: LogThread, ids: Vec<LogId>) -> Self {
        Self { thread, ids, seen: Vec::new(), next: 0 }
    }

    /// A pipe into the first log: its write end.
    pub fn pipe(&mut self) -> (StreamId, OwnedFd) {
        self.pipe_into(0)
    }

    pub fn pipe_into(&mut self, log: usize) -> (StreamId, OwnedFd) {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let stream = StreamId(self.next);
        self.next += 1;
        self.thread.relay(self.ids[log], stream, read);
        (stream, write)
    }

    /// Waits for the first report that `pick` makes something of.
    pub fn wait<T>(&mut self, pick: impl Fn(&Report) -> Option<T>) -> T {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(index) = self.seen.iter().position(|report| pick(report).is_some()) {
                return pick(&self.seen.remove(index)).expect("it was picked");
            }
            assert!(wait_readable(self.thread.doorbell(), deadline), "no such report; seen: {:?}", self.seen);
            self.seen.extend(self.thread.reports());
        }
    }

    /// Waits for the end of a stream: bytes, dropped bytes, tail.
    pub fn ended(&mut self, id: StreamId) -> (u64, u64, Vec<u8>) {
        self.wait(|report| {
            if let Report::Ended { stream, bytes, dropped, tail } = report
                && *stream == id
            {
                Some((*bytes, *dropped, tail.clone()))
            } else {
                None
            }
        })
    }

    /// Relays bytes into the first log, from a writer that closes at once.
    pub fn put(&mut self, bytes: &[u8]) {
        let (id, pipe) = self.pipe();
        let bytes = bytes.to_vec();
        let count = bytes.len() as u64;
        let writer = write_all(pipe, vec![bytes]);
        assert_eq!(self.ended(id).0, count);
        writer.join().unwrap();
    }

    pub fn stop(mut self) -> Vec<Report> {
        assert!(self.thread.stop(DEADLINE, Instant::now() + DEADLINE), "the thread ends");
        self.seen.extend(self.thread.reports());
        self.seen
    }
}

/// Writes the pieces, one write each, and closes.
pub fn write_all(pipe: OwnedFd, pieces: Vec<Vec<u8>>) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut pipe = File::from(pipe);
        for piece in &pieces {
            pipe.write_all(piece).unwrap();
        }
    })
}

/// `count` numbered lines of different lengths.
pub fn lines(count: usize) -> Vec<u8> {
    (0..count).flat_map(|n| format!("line {n} {}\n", "x".repeat(n % 97)).into_bytes()).collect()
}

pub fn sandbox() -> TempDir {
    TempDir::with_prefix("minion-log-").unwrap()
}

/// The backups of a log, oldest first, then its file.
pub fn files(directory: &Path, log: &str) -> Vec<PathBuf> {
    let live = directory.join(format!("{log}.log"));
    let mut files: Vec<PathBuf> = names(directory)
        .into_iter()
        .filter(|name| name.starts_with(&format!("{log}-")))
        .map(|name| directory.join(name))
        .collect();
    files.sort();
    files.push(live);
    files
}

/// All file names, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A file's content, unpacked if it is packed.
pub fn content(file: &Path) -> Vec<u8> {
    let bytes = fs::read(file).unwrap();
    if file.extension().is_none_or(|end| end != "gz") {
        return bytes;
    }
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).unwrap();
    plain
}

/// Everything that a log holds, over its rotated files.
pub fn whole(directory: &Path, log: &str) -> Vec<u8> {
    files(directory, log).iter().flat_map(|file| content(file)).collect()
}

/// Waits until a directory looks as it should; an inotify says when to look again.
pub fn wait_for_names(directory: &Path, right: impl Fn(&[String]) -> bool) {
    let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
    let what = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE;
    inotify::add_watch(&watch, directory, what).unwrap();
    let deadline = Instant::now() + DEADLINE;
    while !right(&names(directory)) {
        assert!(wait_readable(&watch, deadline), "the directory stays as it is: {:?}", names(directory));
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&watch, &mut space);
        while events.next().is_ok() {}
    }
}

/// Runs the rest of a test in a process of its own, where limits, counters and threads are its own: true there.
pub fn alone() -> bool {
    const MARK: &str = "MINION_TEST_ALONE";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let name = thread::current().name().unwrap().to_owned();
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([&name, "--exact", "--nocapture"])
        .env(MARK, "1")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{name}: {}{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("1 passed"), "{name} did run");
    false
}
