//! JSON of every command: which has it, which has none and why, and that what is printed is what the manual lists. The loops go
//! over the table of commands: a new one cannot be forgotten.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers fail and skip as tests do")]

mod common;

use ::minion::cli::{self, Json, Schema, visible};
use common::control::{OBEDIENT, Up};
use common::{CgroupGuard, DEADLINE, has, minion};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

const CONTAINER: &str = "0c8c9b9e-8f0b-4f5c-9d8e-2f0b1a3c4d5e";

/// Panics at an object or a member that the schema does not list.
fn check(schema: &Schema, path: &str, value: &Value) {
    match value {
        Value::Object(members) if members.keys().all(|name| name == "unknown") => {}
        Value::Object(members) => {
            let listed = schema.objects.iter().find(|(known, _)| *known == path);
            let (_, text) = listed.unwrap_or_else(|| panic!("the manual has no object {path:?}: {value}"));
            let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            for (name, member) in members {
                assert!(words.contains(&name.as_str()), "the manual has no {name:?} in {path:?}: {member}");
                let dot = if path.is_empty() { "" } else { "." };
                check(schema, &format!("{path}{dot}{name}"), member);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| check(schema, &format!("{path}[]"), value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn said(words: &[&str]) -> String {
    let output = Command::new(minion()).args(words).current_dir("/").stdin(Stdio::null()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// What a command prints in its different situations.
fn real(command: &str, up: &mut Up, container: Option<&CgroupGuard>) -> Vec<String> {
    let pid = up.executor.to_string();
    let prefix = container.map(|guard| format!("--mesos-cgroup-prefix={}", guard.name()));
    let prefix: Vec<&str> = prefix.iter().map(String::as_str).collect();
    let in_container = |words: &[&str]| {
        let there = !prefix.is_empty();
        there.then(|| said(&[words, &prefix[..], &["--json"]].concat()))
    };
    let sandbox = up.sandbox.path("").to_string_lossy().into_owned();
    let ask = |words: &[&str]| said(&[words, &["--json", "--sandbox", &sandbox]].concat());
    match command {
        "status" => vec![ask(&["status"])],
        "events" => vec![events(up)],
        "restart" | "stop" | "start" => vec![ask(&[command, "proxy"]), ask(&[command, "executor"])],
        "signal" => vec![ask(&["signal", "proxy", "CONT"]), ask(&["signal", "nobody", "CONT"])],
        "doctor" => vec![said(&["doctor", "--json"])],
        "inspect" | "why" => {
            let one = said(&[command, &pid, "--json"]);
            [Some(one), in_container(&[command, CONTAINER])].into_iter().flatten().collect()
        }
        "attach" => in_container(&["attach", &pid, "--to", CONTAINER]).into_iter().collect(),
        "containers" => {
            [Some(said(&["containers", "--json"])), in_container(&["containers"])].into_iter().flatten().collect()
        }
        other => panic!("minion {other} has JSON: say here what it really prints"),
    }
}

/// The line of a restart.
fn events(up: &mut Up) -> String {
    let sandbox = up.sandbox.path("");
    let mut command = Command::new(minion());
    command.args(["events", "--json", "--sandbox"]).arg(&sandbox).stdout(Stdio::piped());
    let mut listening = command.spawn().unwrap();
    let mut lines = common::fifo::Lines::of(listening.stdout.take().unwrap().into());
    // It may not have subscribed yet.
    let deadline = Instant::now() + DEADLINE;
    let line = loop {
        up.asker().ask(r#"{"minion":1,"request":"signal","task":"proxy","signal":"CONT"}"#);
        if let Some(line) = lines.there().pop() {
            break line;
        }
        assert!(Instant::now() < deadline);
    };
    listening.kill().unwrap();
    listening.wait().unwrap();
    line
}

#[test]
fn every_command_prints_the_json_that_its_manual_lists() {
    let mut up = Up::start(OBEDIENT, &["--restart-delay=0"]);
    let guard = (has("root").is_ok() && has("v1").is_ok()).then(|| {
        let guard = CgroupGuard::new(&["/sys/fs/cgroup/freezer", "/sys/fs/cgroup/memory"], &format!("/{CONTAINER}"));
        let procs = format!("/sys/fs/cgroup/freezer/{}/{CONTAINER}/cgroup.procs", guard.name());
        fs::write(procs, up.executor.to_string()).unwrap();
        guard
    });
    for row in visible() {
        let Some(schema) = row.json.schema() else { continue };
        for text in real(row.name, &mut up, guard.as_ref()) {
            assert_eq!(text.trim_end().lines().count(), 1, "{}: one line: {text}", row.name);
            let value: Value =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}: {text}", row.name));
            assert_eq!(value[schema.member].to_string(), schema.version, "{}", row.name);
            check(schema, "", &value);
        }
    }
    up.minion.stop().assert_code(0);
    drop(guard);
}

#[test]
fn every_command_has_json_or_says_why_not_in_its_help_and_manual() {
    for row in visible() {
        let flag = (row.flags)().iter().any(|about| about.name == "json");
        let help = cli::help_text(Some(row.name)).unwrap();
        let (_, told) = help.split_once("\nJSON:\n").unwrap_or_else(|| panic!("{}: {help}", row.name));
        let manual = said(&["man", row.name]);
        let (_, listed) = manual.split_once("\n.SH JSON\n").unwrap();
        match &row.json {
            Json::Never(why) => {
                assert!(!flag && why.len() > 10 && told.trim_start().starts_with("None: "), "{}: {why}", row.name);
            }
            Json::Asked(schema) | Json::Always(schema) => {
                assert!(flag, "{} takes --json", row.name);
                assert!(
                    told.contains(schema.version) && listed.contains(&schema.version.replace('-', "\\-")),
                    "{told}"
                );
                assert!(schema.objects.iter().all(|(path, _)| listed.contains(&path.replace('-', "\\-"))), "{listed}");
            }
        }
    }
}

#[test]
fn every_command_says_its_exit_codes_and_ends_its_help_with_two_examples() {
    for row in visible() {
        let help = cli::help_text(Some(row.name)).unwrap();
        let plain = ["completions", "man", "help"].contains(&row.name);
        assert!(plain || help.contains("Exit codes:"), "{}", row.name);
        let (_, examples) = help.split_once("\nExamples:\n").unwrap();
        assert_eq!(examples.lines().filter(|line| line.starts_with("  # ")).count(), 2, "{}", row.name);
        let last = |line: &str| line.starts_with("  # ") || line.starts_with("  minion ") || line.starts_with("      ");
        assert!(examples.lines().all(last), "{}: nothing stands behind the examples: {examples}", row.name);
    }
}

#[test]
fn the_help_lists_every_exit_code() {
    use ::minion::task::ExitCode::{Failed, Setup, Stopped, Survivors, Usage};
    let help = cli::help_text(None).unwrap();
    let (_, own) = help.split_once("\nExit codes:\n").unwrap();
    for code in [Stopped, Usage, Setup, Failed, Survivors] {
        assert!(
            own.contains(&format!("\n  {}: ", code as u8)) || own.starts_with(&format!("  {}: ", code as u8)),
            "{code:?}"
        );
    }
    assert!(own.contains("The executor's own: it ended first; 128+n when signal n killed it."));
    let (_, others) = help.split_once("\nExit codes of the other commands:\n").unwrap();
    assert!(["  0: ", "\n  1: ", "\n  2: ", "\n  100: ", "125"].iter().all(|code| others.contains(code)), "{others}");
}
