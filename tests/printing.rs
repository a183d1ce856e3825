//! What reaches standard output and standard error: all of it or a word about it, and nothing that a terminal would obey.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers fail and skip as tests do")]

mod common;

use common::control::{OBEDIENT, Up};
use common::fifo::Lines;
use common::{DEADLINE, minion, wait_readable};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// Text that a terminal takes for commands, in TOML and as it is.
const EVIL_TOML: &str = "a\\u001B[31m\\u009B31m\\nminion: fine";
const EVIL: &str = "a\u{1b}[31m\u{9b}31m\nminion: fine";

fn command(words: &[&str], directory: &Path) -> Command {
    let mut command = Command::new(minion());
    command.args(words).current_dir(directory).stdin(Stdio::null());
    command
}

/// Code, stdout and stderr; what has not ended by the deadline is killed.
fn output(mut command: Command) -> (Option<i32>, String, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if !wait_readable(child.stderr.as_ref().unwrap(), Instant::now() + DEADLINE) {
        child.kill().unwrap();
    }
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Every kind of command that prints and ends.
fn printing<'a>(pid: &'a str, sandbox: &'a str) -> Vec<Vec<&'a str>> {
    vec![
        vec!["--help"],
        vec!["--version"],
        vec!["man", "run"],
        vec!["completions", "bash"],
        vec!["supervise", "--print-schema"],
        vec!["supervise", "--check", "--", "true"],
        vec!["containers"],
        vec!["containers", "--json"],
        vec!["doctor"],
        vec!["inspect", pid],
        vec!["why", pid, "--json"],
        vec!["status", "--sandbox", sandbox],
        vec!["metrics", "--sandbox", sandbox],
        vec!["signal", "proxy", "CONT", "--sandbox", sandbox],
        vec!["logs", "executor", "--sandbox", sandbox],
    ]
}

#[test]
fn output_that_does_not_arrive_is_told_in_one_line_and_is_no_success() {
    let up = Up::start("echo a line\necho $1 $$ >events\nexec sleep 300\n", &[]);
    let (pid, directory) = (up.executor.to_string(), up.sandbox.path(""));
    for words in printing(&pid, directory.to_str().unwrap()) {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(&words, Path::new("/")).stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.starts_with("minion: ") && said.lines().count() == 1, "{words:?}: {said}");
        assert!(said.contains("No space left on device"), "{words:?}: {said}");
    }
    up.minion.stop().assert_code(0);
}

#[test]
fn a_reader_that_has_read_enough_is_no_failure() {
    let up = Up::start("echo a line\necho $1 $$ >events\nexec sleep 300\n", &[]);
    let (pid, directory) = (up.executor.to_string(), up.sandbox.path(""));
    for words in printing(&pid, directory.to_str().unwrap()) {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        drop(read);
        let output = command(&words, Path::new("/")).stdout(write).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, "", "{words:?}");
        // What the doctor and the others found stands.
        let findings = ["doctor", "why", "inspect", "containers"].contains(&words[0]);
        assert!(output.status.code() == Some(0) || findings, "{words:?}: {}", output.status);
    }
    up.minion.stop().assert_code(0);
}

/// Nothing but text, in lines of which none but the program's own begin with its name.
fn assert_harmless(text: &str, messages: usize) {
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    assert_eq!(text.lines().filter(|line| line.starts_with("minion:")).count(), messages, "{text:?}");
}

#[test]
fn nothing_of_a_file_reaches_the_terminal_as_a_command() {
    let directory = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        fs::write(directory.path().join("c.toml"), text).unwrap();
        output(command(&["supervise", "--check", "--config=c.toml"], directory.path()))
    };
    let (code, said, error) = check(&format!("\"{EVIL_TOML}\" = 1\nexecutor.command = [\"{EVIL_TOML}\"]\n"));
    assert_eq!((code, said.as_str()), (Some(100), ""), "{error}");
    assert_harmless(&error, 2);
    let (code, plan, error) = check(&format!(
        "[executor]\ncommand = [\"true\", \"{EVIL_TOML}\"]\nhealth = {{ file = \"/{EVIL_TOML}\" }}\n\
         environment = {{ \"{EVIL_TOML}\" = \"{EVIL_TOML}\" }}\nreadiness = {{ unix = \"/{EVIL_TOML}\" }}\n\
         before-start = {{ command = [\"{EVIL_TOML}\"] }}\n"
    ));
    assert!(code != Some(0) || !plan.is_empty(), "{error}");
    assert_harmless(&plan, 0);
    assert_harmless(&error, error.lines().count());
    // As another user's directory may be called, and a file in it.
    let evil = directory.path().join(EVIL);
    fs::create_dir(&evil).unwrap();
    fs::write(evil.join(EVIL), "executor.command = 1\n").unwrap();
    for words in [
        vec!["supervise", "--check", "--config", EVIL],
        vec!["supervise", "--config=nothing"],
        vec!["status", "--sandbox", EVIL],
        vec!["logs", EVIL],
        vec!["containers", "--root", EVIL],
    ] {
        let (code, said, error) = output(command(&words, &evil));
        assert_ne!(code, Some(0), "{words:?}");
        assert_harmless(&(said + &error), error.lines().filter(|line| line.starts_with("minion:")).count().min(2));
    }
}

#[test]
fn the_plan_of_a_task_in_a_hostile_directory_is_harmless_too() {
    let directory = tempfile::tempdir().unwrap();
    let evil = directory.path().join(EVIL);
    fs::create_dir(&evil).unwrap();
    let path = format!("{}/{EVIL_TOML}", directory.path().display());
    let text = format!("[executor]\ncommand = [\"true\"]\ndirectory = \"{path}\"\n");
    fs::write(directory.path().join("c.toml"), text).unwrap();
    let (code, plan, error) = output(command(&["supervise", "--check", "--config=c.toml"], directory.path()));
    assert_eq!((code, error.as_str()), (Some(0), ""), "{plan}");
    assert_harmless(&plan, 0);
    assert!(plan.contains("a\\u{1b}[31m\\u{9b}31m\\nminion: fine"), "{plan}");
}

#[test]
fn a_config_that_is_no_regular_file_or_has_no_end_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = Lines::fifo(&directory.path().join("fifo"));
    fs::write(directory.path().join("long"), vec![b'\n'; (1 << 20) + 1]).unwrap();
    fs::write(directory.path().join("good"), "[executor]\ncommand = [\"true\"]\nenvironment-file = \"fifo\"\n")
        .unwrap();
    for (config, wanted) in [
        ("fifo", "read --config=fifo: it is a pipe, not a regular file"),
        ("/dev/zero", "read --config=/dev/zero: it is a device, not a regular file"),
        ("/dev/stdin", "read --config=/dev/stdin: it is a device, not a regular file"),
        (".", "read --config=.: it is a directory, not a regular file"),
        ("long", "read --config=long: it is longer than 1 MiB"),
        ("good", "environment-file: \"fifo\": it is a pipe, not a regular file"),
    ] {
        for action in [&["--check"][..], &["--cgroup-attach=off"]] {
            let words = [&["supervise", "--config", config], action].concat();
            let (code, said, error) = output(command(&words, directory.path()));
            assert_eq!((code, said.as_str()), (Some(111), ""), "{words:?}: {error}");
            assert!(error.contains(wanted) && error.lines().count() == 1, "{words:?}: {error}");
        }
        let (_, said, _) = output(command(&["doctor", "--config", config], directory.path()));
        assert!(
            said.split_whitespace().collect::<Vec<_>>().join(" ").contains("not a regular") || config == "long",
            "{said}"
        );
    }
    drop(fifo);
    // As long as it may be, and from standard input where that is a file.
    let head = "[executor]\ncommand = [\"true\"]\n";
    fs::write(directory.path().join("long"), head.to_owned() + &"\n".repeat((1 << 20) - head.len())).unwrap();
    let file = fs::File::open(directory.path().join("long")).unwrap();
    let mut from_stdin = command(&["supervise", "--config=/dev/stdin", "--check"], directory.path());
    from_stdin.stdin(file);
    assert_eq!(output(from_stdin).0, Some(0));
}

#[test]
fn a_list_of_minions_names_their_directories_without_commands() {
    let directory = tempfile::Builder::new().prefix("minion-test-\u{1b}[31m\u{9b}31m\nminion: fine").tempdir().unwrap();
    let minions: Vec<Up> = (0..2).map(|_| Up::start(OBEDIENT, &[])).collect();
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    // A third one listens in a directory with a name of its own choice.
    let mut third =
        command(&["supervise", "--cgroup-attach=off", "--", "sh", "-c", "echo up; exec sleep 300"], directory.path());
    third.stdout(Stdio::null()).stderr(write);
    let mut third = third.spawn().unwrap();
    let mut lines = Lines::of(read);
    lines.next_with("started");
    let (code, said, error) = output(command(&["status"], Path::new("/")));
    kill_process(Pid::from_child(&third), Signal::TERM).unwrap();
    third.wait().unwrap();
    assert_eq!((code, said.as_str()), (Some(2), ""), "{error}");
    assert!(error.contains("\\u{1b}[31m\\u{9b}31m\\nminion: fine"), "{error}");
    assert_harmless(&error, 1);
    for up in minions {
        up.minion.stop().assert_code(0);
    }
}
