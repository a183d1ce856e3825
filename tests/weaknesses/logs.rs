//! Logs: nothing lost at a death, nothing wedged by a bad disk, nothing unexpected at the log's name.

use super::common::minion::{Minion, Sandbox};
use super::common::sandbox::until;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

/// The original lost 10 of 15. [GO-51]
#[test]
fn weakness_02_the_last_words_of_a_child_are_kept() {
    for run in 0..30 {
        let sandbox = Sandbox::with_km(&format!("echo the reason of run {run} >&2\nexit 1\n"));
        sandbox.run(&["--run-proxy=false"]).assert_code(1);
        assert_eq!(sandbox.read("executor.log"), format!("the reason of run {run}\n"));
    }
}

/// In the original the child stands still for ever. [GO-52]
#[test]
fn weakness_03_a_log_that_takes_no_bytes_neither_wedges_the_child_nor_stays_dead() {
    let sandbox = Sandbox::with_km(
        "dd if=/dev/zero bs=65536 count=16 status=none | tr '\\0' '\\n' >&2\necho wrote >events\nread -r _ <go\necho afterwards >&2\n",
    );
    let (mut events, _go) = (sandbox.events("events"), sandbox.events("go"));
    let inner = sandbox.command(&["--run-proxy=false", "--log-stall=50ms"]);
    // A limit of 0 on the size of files is a full disk, which prlimit empties.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -S -f 0; exec \"$0\" \"$@\""]).arg(inner.get_program()).args(inner.get_args());
    sandbox.mark(&mut command);
    let mut minion = Minion::spawn(&mut command);
    minion.says("File too large");
    assert_eq!(events.next(), "wrote", "a megabyte later the child goes on");
    let pid = minion.pid().to_string();
    assert!(Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited:"]).status().unwrap().success());
    minion.says("the log can be written again");
    fs::write(sandbox.path("go"), "go\n").unwrap();
    let said = minion.wait().assert_code(0);
    let log = sandbox.read("executor.log");
    // What was still in the pipe when the disk came back is in the log.
    let kept = log.lines().filter(|line| line.is_empty()).count();
    let dropped = (1 << 20) - kept;
    let told = format!("minion: dropped {dropped} bytes");
    assert!(
        log.trim_start().starts_with(&told) && log.ends_with("afterwards\n"),
        "kept {kept}: {}\n{said}",
        log.trim()
    );
    assert!(dropped > 0 && said.contains(&format!("dropped={dropped}")), "kept {kept}: {said}");
}

const TALKS: &str = "echo to stdout\necho to stderr >&2\n";

#[test]
fn weakness_15_logs_are_private_and_hold_stdout_too() {
    let sandbox = Sandbox::with_km(TALKS);
    sandbox.run(&["--run-proxy=false"]).assert_code(0);
    assert_eq!(sandbox.read("executor.log"), "to stdout\nto stderr\n");
    assert_eq!(sandbox.path("executor.log").metadata().unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn weakness_15_what_is_no_plain_file_at_the_logs_name_is_refused_and_left_alone() {
    type Put = fn(&Sandbox);
    let put: [(&str, Put); 3] = [
        ("symlink", |sandbox| symlink(sandbox.path("target"), sandbox.path("executor.log")).unwrap()),
        ("directory", |sandbox| fs::create_dir(sandbox.path("executor.log")).unwrap()),
        ("FIFO", |sandbox| drop(sandbox.events("executor.log"))),
    ];
    for (what, put) in put {
        let sandbox = Sandbox::with_km(TALKS);
        fs::write(sandbox.path("target"), "untouched").unwrap();
        put(&sandbox);
        let before = sandbox.path("executor.log").symlink_metadata().unwrap().file_type();
        let said = sandbox.run(&["--run-proxy=false"]).assert_code(111);
        assert!(said.contains("executor.log"), "{what}: {said}");
        assert_eq!(sandbox.path("executor.log").symlink_metadata().unwrap().file_type(), before, "{what}");
        assert_eq!(sandbox.read("target"), "untouched", "{what}");
    }
}

#[test]
fn weakness_15_rotation_splits_no_line_and_truncation_leaves_no_hole() {
    let sandbox = Sandbox::with_km(
        "seq -f 'a line with the number %g' 1 20000 >&2\necho written >&2\nread -r _ <go\necho behind the truncation >&2\n",
    );
    let _go = sandbox.events("go");
    let minion = sandbox.start(&["--run-proxy=false", "--max-log-size=100k", "--max-log-backups=0"]);
    let log = sandbox.path("executor.log");
    until(&sandbox.path("."), "the last line", || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        text.ends_with("written\n").then_some(())
    });
    let files = super::common::logs::files(&sandbox.path("."), "executor");
    assert!(files.len() > 4, "{files:?}");
    assert!(files.iter().all(|file| fs::read(file).unwrap().ends_with(b"\n")));
    let whole = String::from_utf8(super::common::logs::whole(&sandbox.path("."), "executor")).unwrap();
    assert!(whole.lines().take(20000).zip(1..).all(|(line, n)| line == format!("a line with the number {n}")));
    assert_eq!((whole.lines().count(), whole.lines().last()), (20001, Some("written")));
    fs::File::options().write(true).open(&log).unwrap().set_len(0).unwrap();
    fs::write(sandbox.path("go"), "go\n").unwrap();
    minion.wait().assert_code(0);
    assert_eq!(sandbox.read("executor.log"), "behind the truncation\n");
}

#[test]
fn weakness_15_a_size_of_zero_never_rotates_and_a_negative_one_is_refused() {
    let sandbox = Sandbox::with_km("seq 1 200000 >&2\n");
    sandbox.run(&["--run-proxy=false", "--max-log-size=0"]).assert_code(0);
    assert_eq!(super::common::logs::files(&sandbox.path("."), "executor").len(), 1);
    let said = sandbox.run(&["--max-log-size=-1"]).assert_code(100);
    assert!(
        said.starts_with("minion: --max-log-size: negative: \"-1\"\n") && said.ends_with("0 never rotates\n"),
        "{said}"
    );
}
