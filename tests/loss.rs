//! Nothing is lost: whatever a child wrote before it died is in its log, whole and in order, however short it lived.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::fifo::Lines;
use common::minion::Sandbox;
use rustix::process::Signal;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Numbered lines: `count` of them, `each` bytes long with the newline.
fn numbered(count: usize, each: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(count * each);
    for n in 1..=count {
        let line = format!("{n:08} ");
        text.extend_from_slice(line.as_bytes());
        text.resize(text.len() + each - line.len() - 1, b'.');
        text.push(b'\n');
    }
    text
}

/// A sandbox whose children write the file `text` as fast as they can and are dead: one write of dd for each 64 kB.
fn writers(text: &[u8], executor: &str) -> Sandbox {
    let write = "dd if=text bs=65536 status=none >&2";
    let km = format!("if [ $1 = proxy ]; then exec {write}; fi\n{}\n", executor.replace("WRITE", write));
    let sandbox = Sandbox::with_km(&km);
    fs::write(sandbox.path("text"), text).unwrap();
    sandbox
}

/// Asserts that a log is `runs` times `text`, reading it piece by piece.
fn assert_repeats(log: &Path, text: &[u8], runs: usize) {
    let size = usize::try_from(log.metadata().unwrap().len()).unwrap();
    assert_eq!(size, text.len() * runs, "bytes in {}", log.display());
    let mut log = BufReader::with_capacity(1 << 20, File::open(log).unwrap());
    let mut at = 0;
    while at < size {
        let piece = log.fill_buf().unwrap();
        let begin = at % text.len();
        let length = piece.len().min(text.len() - begin);
        assert!(length > 0 && piece[..length] == text[begin..begin + length], "run {} differs", at / text.len());
        log.consume(length);
        at += length;
    }
}

/// The proxy writes and dies `runs` times in one run of minion.
fn proxy_runs(text: &[u8], runs: usize) {
    let sandbox = writers(text, "exec sleep 300");
    let mut minion = sandbox.start(&["--restart-delay=0s", "--restart-delay-max=0s", "--max-log-size=0"]);
    for _ in 0..runs {
        minion.says("exited with 0 after");
    }
    // Another one or more may have begun, and its log is cut off by SIGTERM, the others are whole.
    minion.stop().assert_code(0);
    let log = sandbox.path("proxy.log");
    let size = usize::try_from(log.metadata().unwrap().len()).unwrap();
    let whole = text.len() * (size / text.len());
    assert!(whole >= text.len() * runs, "{size} bytes after {runs} runs");
    File::options().write(true).open(&log).unwrap().set_len(u64::try_from(whole).unwrap()).unwrap();
    assert_repeats(&log, text, whole / text.len());
}

/// The executor writes and dies, `runs` times with a minion of its own.
fn executor_runs(text: &[u8], runs: usize) {
    let sandbox = writers(text, "exec WRITE");
    let log = sandbox.path("executor.log");
    for _ in 0..runs {
        sandbox.run(&["--run-proxy=false", "--max-log-size=0"]).assert_code(0);
        assert_repeats(&log, text, 1);
        fs::remove_file(&log).unwrap();
    }
}

macro_rules! nothing_is_lost {
    ($($name:ident: $count:literal lines of $each:literal, proxy $proxy:literal, executor $executor:literal;)+) => {
        $(#[test]
        fn $name() {
            let text = numbered($count, $each);
            proxy_runs(&text, $proxy);
            executor_runs(&text, $executor);
        })+
    };
}

// 200 runs of each size as a helper and as many as the executor.
nothing_is_lost! {
    a_child_that_writes_100_bytes_and_dies_loses_nothing: 1 lines of 100, proxy 200, executor 200;
    a_child_that_writes_1_kilobyte_and_dies_loses_nothing: 10 lines of 100, proxy 200, executor 200;
    a_child_that_writes_10_kilobytes_and_dies_loses_nothing: 100 lines of 100, proxy 200, executor 200;
    a_child_that_writes_64_kilobytes_and_dies_loses_nothing: 640 lines of 100, proxy 200, executor 200;
}

/// 200 runs of 20 MB take the better part of a minute: all of them with `MINION_TEST_LONG=1`.
#[test]
fn a_child_that_writes_20_megabytes_and_dies_loses_nothing() {
    let runs = if std::env::var_os("MINION_TEST_LONG").is_some() { 200 } else { 10 };
    let text = numbered(200_000, 100);
    proxy_runs(&text, runs);
    executor_runs(&text, runs);
}

#[test]
fn lines_stay_whole_and_in_order_over_rotation_while_the_child_dies() {
    let text = numbered(50_000, 100);
    let sandbox = writers(&text, "exec WRITE");
    sandbox.run(&["--run-proxy=false", "--max-log-size=300k", "--max-log-backups=0"]).assert_code(0);
    let files = common::logs::files(&sandbox.path("."), "executor");
    assert!(files.len() >= 16, "{files:?}");
    for file in &files {
        let content = fs::read(file).unwrap();
        assert!(content.len() <= 300_000 && content.ends_with(b"\n"), "{}", file.display());
    }
    assert!(common::logs::whole(&sandbox.path("."), "executor") == text);
}

#[test]
fn a_last_line_without_a_newline_is_kept() {
    let sandbox = Sandbox::with_km("printf 'whole\\nhalf' >&2\n");
    for _ in 0..20 {
        sandbox.run(&["--run-proxy=false"]).assert_code(0);
    }
    let log = sandbox.read("executor.log");
    assert_eq!(log.matches("whole\n").count(), 20, "{log}");
    assert_eq!(log.matches("half").count(), 20, "{log}");
    assert!(log.ends_with("half") || log.ends_with("half\n"), "{log}");
}

#[test]
fn goodbye_lines_of_a_sigterm_handler_are_kept() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP].into_iter().cycle().take(20) {
        // Not in a read: a signal that comes just before it would be obeyed when a line is there.
        let sandbox = Sandbox::with_km(
            "trap 'echo goodbye 1; echo goodbye 2 >&2; exit 0' TERM\necho up >events\nwhile :; do sleep 0.05; done\n",
        );
        let mut events = sandbox.events("events");
        let minion = sandbox.start(&[]);
        up(&mut events);
        minion.signal(signal);
        minion.wait().assert_code(0);
        for log in ["proxy.log", "executor.log"] {
            // The shell may say that its sleep was terminated too.
            assert_eq!(sandbox.read(log).replace("Terminated\n", ""), "goodbye 1\ngoodbye 2\n", "{log}");
        }
    }
}

fn up(events: &mut Lines) {
    events.next();
    events.next();
}

#[test]
fn the_last_twenty_lines_of_an_executor_that_failed_are_repeated_on_stderr() {
    let sandbox = Sandbox::with_km("seq -f 'line %g of the executor' 1 30 >&2\nexit ${CODE}\n");
    let run = |code: &str| {
        let mut command = sandbox.command(&["--run-proxy=false"]);
        let minion = common::minion::Minion::spawn(command.env("CODE", code));
        minion.wait().assert_code(code.parse().unwrap())
    };
    let said = run("7");
    let repeated: Vec<&str> = said.lines().filter(|line| line.contains("| line ")).collect();
    assert_eq!(repeated.len(), 20, "{said}");
    assert!(repeated[0].contains("| line 11 of the executor") && repeated[19].contains("| line 30 of"), "{said}");
    assert!(!run("0").contains("of the executor"));
}

#[test]
fn the_last_lines_are_repeated_after_a_death_by_signal_and_not_after_a_stop() {
    let sandbox = Sandbox::with_km("echo the reason >&2\necho up >events\nkill -SEGV $$\n");
    let _events = sandbox.events("events");
    assert!(sandbox.run(&["--run-proxy=false"]).assert_code(139).contains("| the reason"));
    let sandbox = Sandbox::with_km("echo no reason >&2\necho up >events\nexec sleep 300\n");
    let mut events = sandbox.events("events");
    let minion = sandbox.start(&["--run-proxy=false"]);
    events.next();
    assert!(!minion.stop().assert_code(0).contains("no reason"));
}

#[test]
fn what_is_in_the_pipe_at_the_end_is_written_by_a_slow_disk_too() {
    need!("strace");
    let text = numbered(8192, 30);
    // All of it fits the pipe, so the executor is gone at once; 60 rotations take 40 ms each.
    let sandbox = writers(&text, "exec WRITE");
    let slow = ["strace", "-f", "-qq", "-o/dev/null", "-etrace=/^rename", "-einject=/^rename:delay_enter=40000"];
    let flags = ["--run-proxy=false", "--max-log-size=4Ki", "--max-log-backups=0", "--grace=30s"];
    let said = sandbox.run_under(&slow, &flags).assert_code(0);
    let mut files: Vec<_> = fs::read_dir(sandbox.path("")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with("executor"));
    // The backups in their order, and then the file that was written last: a dash is before a dot.
    files.sort();
    let logged: Vec<u8> = files.iter().flat_map(|path| fs::read(path).unwrap()).collect();
    assert!(files.len() > 50, "{} files", files.len());
    assert!(logged == text, "{} bytes of {}: {said}", logged.len(), text.len());
}
