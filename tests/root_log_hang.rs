//! A disk that hangs. The log thread alone is frozen (cgroup v1 can freeze one thread), which is what a write that does not
//! return looks like from outside: nothing that the supervisor calls may wait for it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::logs::{KEEP, Logs, alone, lines, sandbox, whole, write_all};
use common::{CgroupGuard, DEADLINE};
use minion::log::{Diagnostics, LogThread};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Thaws when dropped, and then lets the thread out: a frozen thread could not even be killed.
struct Frozen {
    directory: PathBuf,
    thread: String,
    _cgroup: CgroupGuard,
}

impl Frozen {
    fn new(thread: &str) -> Self {
        let cgroup = CgroupGuard::new(&["/sys/fs/cgroup/freezer"], "");
        let directory = PathBuf::from("/sys/fs/cgroup/freezer").join(cgroup.name());
        let frozen = Self { directory, thread: thread.to_owned(), _cgroup: cgroup };
        fs::write(frozen.directory.join("tasks"), thread).unwrap();
        frozen.set("FROZEN");
        frozen
    }

    fn set(&self, state: &str) {
        let file = self.directory.join("freezer.state");
        let deadline = Instant::now() + DEADLINE;
        fs::write(&file, state).unwrap();
        while fs::read_to_string(&file).unwrap().trim() != state {
            assert!(Instant::now() < deadline, "{state}");
        }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.set("THAWED");
        // It may have ended by now.
        let _ = fs::write("/sys/fs/cgroup/freezer/tasks", &self.thread);
    }
}

fn log_thread() -> String {
    fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|task| task.unwrap())
        .find(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name == "minion-log\n"))
        .map(|task| task.file_name().into_string().unwrap())
        .expect("the log thread runs")
}

#[test]
fn nothing_waits_for_a_log_thread_that_hangs() {
    need!("root", "v1");
    if !alone() {
        return;
    }
    let sandbox = sandbox();
    let (read, write) = rustix::pipe::pipe().unwrap();
    let diagnostics = Diagnostics::onto(Some(write), |lost| format!("lost {lost}\n")).unwrap();
    let directory = OwnedFd::from(File::open(sandbox.path()).unwrap());
    let mut thread = LogThread::prepare(directory, KEEP, diagnostics.clone()).unwrap();
    let ids = vec![thread.open("executor").unwrap()];
    thread.start().unwrap();
    let mut logs = Logs::over(thread, ids);
    logs.put(b"before\n");

    let frozen = Frozen::new(&log_thread());
    let start = Instant::now();
    for n in 0..20_000 {
        diagnostics.push(format!("line {n}").as_bytes());
    }
    let (id, pipe) = logs.pipe();
    write_all(pipe, vec![lines(100)]).join().unwrap();
    logs.thread.finish(id);
    logs.thread.rotate();
    assert!(logs.thread.reports().is_empty());
    assert!(
        !logs.thread.stop(Duration::from_millis(200), Instant::now() + common::DEADLINE),
        "it cannot end, and says so"
    );
    assert!(start.elapsed() < DEADLINE);
    // Without the thread, minion's last words are written by whoever has them.
    let reader = std::thread::spawn(move || {
        let mut said = String::new();
        File::from(read).read_to_string(&mut said).unwrap();
        said
    });
    diagnostics.push(b"last words");
    diagnostics.flush(Instant::now() + DEADLINE);

    // The disk comes back before the process is gone: then everything is done after all.
    drop(frozen);
    assert_eq!(logs.ended(id).0, lines(100).len() as u64);
    drop((logs, diagnostics));
    let said = reader.join().unwrap();
    assert!(said.starts_with("line 0\nline 1\n"), "in order");
    assert!(said.contains("lost ") && said.ends_with("last words\n"), "counted, and to the end");
    let log = whole(sandbox.path(), "executor");
    assert!(log.starts_with(b"before\n") && log.ends_with(&lines(100)));
}
