//! How logs are kept: for all tasks by `[log]`, for one by its own table.

use super::{IDLE, command, sh, start};
use crate::common::logs::{files, names, wait_for_names};
use crate::common::minion::{Minion, Sandbox};
use crate::need;
use std::path::PathBuf;
use std::process::Command;

/// Five thousand bytes in lines of five.
const LINES: &str = "yes line | head -n 1000";

/// An executor with this script, `[log]` and a log table of its own.
fn file(script: &str, of_all: &str, own: &str) -> String {
    format!("[executor]\ncommand = {}\nlog = {{ {own} }}\n[log]\n{of_all}\n", sh(script))
}

/// The same, run to its end.
fn logged(script: &str, of_all: &str, own: &str) -> Sandbox {
    let sandbox = Sandbox::with_km("");
    start(&sandbox, &file(script, of_all, own)).wait().assert_code(0);
    sandbox
}

/// The backups of the executor's log, oldest first.
fn backups(sandbox: &Sandbox) -> Vec<PathBuf> {
    let mut files = files(&sandbox.path("."), "executor");
    files.pop();
    files
}

#[test]
fn a_log_has_the_name_of_its_task() {
    let sandbox = Sandbox::with_km("");
    let side = sh("echo hello; echo up >events; exec sleep 1000");
    let mut events = sandbox.events("events");
    let minion = start(&sandbox, &format!("{IDLE}[[sidecar]]\nname = 'a.name-of_9'\ncommand = {side}\n"));
    events.next_with("up");
    minion.stop().assert_code(0);
    assert_eq!(sandbox.read("a.name-of_9.log"), "hello\n");
}

#[test]
fn a_log_is_rotated_at_its_size() {
    for (of_all, own) in [("max-size = 1000", ""), ("max-size = 0", "max-size = '1e3'")] {
        let sandbox = logged(LINES, of_all, own);
        let sizes: Vec<u64> = backups(&sandbox).iter().map(|path| path.metadata().unwrap().len()).collect();
        assert!(sizes.len() >= 4 && sizes.iter().all(|size| (996..=1005).contains(size)), "{of_all} {own}: {sizes:?}");
    }
    assert_eq!(backups(&logged(LINES, "max-size = 1000", "max-size = 0")), [] as [PathBuf; 0]);
}

#[test]
fn so_many_backups_are_kept() {
    for (of_all, own, kept) in [
        ("max-size = 500\nmax-backups = 2", "", 2),
        ("max-size = 500\nmax-backups = 2", "max-backups = 3", 3),
        ("max-size = 500\nmax-backups = 2", "max-backups = 0", 9),
    ] {
        assert!(backups(&logged(LINES, of_all, own)).len().abs_diff(kept) <= usize::from(kept == 9), "{of_all} {own}");
    }
}

#[test]
fn a_backup_is_kept_until_its_age() {
    let name = Command::new("date").args(["-u", "-d", "2 hours ago", "+executor-%Y-%m-%dT%H-%M-%S.000.log"]).output();
    let name = String::from_utf8(name.unwrap().stdout).unwrap().trim().to_owned();
    for (of_all, own, kept) in [
        ("", "", true),
        ("max-age = '1h'", "", false),
        ("max-age = '3h'", "max-age = '90m'", false),
        ("max-age = '1h'", "max-age = '0s'", true),
    ] {
        let sandbox = Sandbox::with_km("");
        std::fs::write(sandbox.path(&name), "old\n").unwrap();
        start(&sandbox, &file("echo new", of_all, own)).wait().assert_code(0);
        assert_eq!(sandbox.path(&name).exists(), kept, "{of_all} {own}");
    }
}

#[test]
fn rotated_logs_are_packed_where_they_are_to_be() {
    for (of_all, own, packed) in
        [("gzip = true", "", true), ("", "gzip = true", true), ("gzip = true", "gzip = false", false)]
    {
        let sandbox = Sandbox::with_km("");
        let script = format!("{LINES}; exec sleep 1000");
        let minion = start(&sandbox, &file(&script, &format!("max-size = 4000\n{of_all}"), own));
        let end = if packed { ".log.gz" } else { ".log" };
        let is_backup = |name: &String| name.starts_with("executor-") && name.ends_with(end);
        wait_for_names(&sandbox.path("."), |names| names.iter().any(is_backup));
        minion.stop().assert_code(0);
        let all = names(&sandbox.path("."));
        assert_eq!(all.iter().filter(|name| name.starts_with("executor-")).count(), 1, "{all:?}");
    }
}

#[test]
fn standard_output_goes_where_it_is_to_go() {
    for (of_all, own, log, stdout) in [
        ("", "", "out\nerr\n", None),
        ("stdout = 'discard'", "", "err\n", None),
        ("stdout = 'separate'", "", "err\n", Some("out\n")),
        ("stdout = 'discard'", "stdout = 'separate'", "err\n", Some("out\n")),
        ("stdout = 'separate'", "stdout = 'merge'", "out\nerr\n", None),
    ] {
        let sandbox = logged("echo out; echo err >&2", of_all, own);
        assert_eq!(sandbox.read("executor.log"), log, "{of_all} {own}");
        let own_log = std::fs::read_to_string(sandbox.path("executor.stdout.log")).ok();
        assert_eq!(own_log.as_deref(), stdout, "{of_all} {own}");
    }
}

/// minion with this file on a disk of its own, which holds little.
fn on_a_small_disk(sandbox: &Sandbox, file: &str) -> Minion {
    std::fs::create_dir(sandbox.path("disk")).unwrap();
    std::fs::write(sandbox.path("tasks.toml"), file).unwrap();
    let own = command(sandbox);
    let mut command = Command::new("unshare");
    let script = "mount -t tmpfs -o size=256k tmpfs disk && cd disk && cp ../tasks.toml . && exec \"$@\"";
    command.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"]);
    command.arg(own.get_program()).args(own.get_args());
    sandbox.mark(&mut command);
    Minion::spawn(&mut command)
}

#[test]
fn a_task_waits_so_long_for_a_full_disk() {
    need!("root", "mountns", "unshare");
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let script = "date +%s%N >../events; yes line | head -c 2000000; date +%s%N >../events";
    // Longer than the default of 5 s, so that the wait is seen to be this one.
    let minion = on_a_small_disk(&sandbox, &file(script, "max-size = 0\nstall = '6s'", ""));
    let begin: u64 = events.next().parse().unwrap();
    let end: u64 = events.next().parse().unwrap();
    assert!((end - begin) / 1_000_000 >= 5900, "{begin} {end}");
    let said = minion.wait().assert_code(0);
    assert!(said.contains("No space left on device"), "{said}");
}
