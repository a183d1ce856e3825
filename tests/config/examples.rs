//! The examples of the README: each file is checked, its plan is in order, and its Marathon app and its task start it.

use super::common::minion::Sandbox;
use super::common::{minion, write_program};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The files of the examples whose names end so, each with its text.
pub fn files(ending: &str) -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/examples");
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<(String, String)> = entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
        .filter(|(name, _)| name.ends_with(&format!(".{ending}")))
        .map(|(name, path)| (name, fs::read_to_string(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// A sandbox with this script in the place of every program that the examples name without a path.
pub fn sandbox(script: &str) -> Sandbox {
    let sandbox = Sandbox::with_km("");
    fs::create_dir(sandbox.path("bin")).unwrap();
    for name in ["k3s", "cri-dockerd", "kubelet-executor", "kube-proxy", "http-executor", "fluent-bit"] {
        write_program(sandbox.path("bin").join(name), script, 0o755);
    }
    sandbox
}

fn plan(sandbox: &Sandbox, name: &str, text: &str) -> String {
    fs::write(sandbox.path(name), text).unwrap();
    let mut command = Command::new(minion());
    sandbox.mark(&mut command);
    let path = format!("{}:/usr/bin:/bin", sandbox.path("bin").display());
    let output = command.args(["supervise", "--check", "--config", name]).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_example_passes_its_check_in_the_order_that_it_is_about() {
    let sandbox = sandbox("#!/bin/sh\n");
    for (name, order) in [
        ("http-executor.toml", ["1. log-shipper (sidecar)", "2. executor (executor)"]),
        ("k3s.toml", ["1. cri-dockerd (sidecar)", "2. executor (executor)"]),
        ("kubelet.toml", ["1. executor (executor)", "2. kube-proxy (sidecar)"]),
    ] {
        let (_, text) = files("toml").into_iter().find(|(there, _)| there == name).unwrap();
        let plan = plan(&sandbox, name, &text);
        let tasks: Vec<&str> =
            plan.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).skip(1).collect();
        assert_eq!(tasks, order, "{name}\n{plan}");
    }
    assert_eq!(files("toml").len(), 3, "an example without a test");
}

/// One of the files that is JSON.
pub fn json(name: &str) -> Value {
    let (_, text) = files("json").into_iter().find(|(there, _)| there == name).unwrap_or_else(|| panic!("no {name}"));
    serde_json::from_str(&text).unwrap()
}

/// What starts minion for a task: its own command, or its executor's.
pub fn command(task: &Value) -> &Value {
    if task["executor"].is_object() { &task["executor"]["command"] } else { &task["command"] }
}

#[test]
fn each_example_has_a_marathon_app_and_a_task_that_fetch_what_they_start() {
    for (name, _) in files("toml") {
        let stem = name.strip_suffix(".toml").unwrap();
        let (app, task) = (json(&format!("{stem}.marathon.json")), json(&format!("{stem}.task.json")));
        let started = format!("supervise --config={name}");
        for cmd in [&app["cmd"], &command(&task)["value"]] {
            assert!(cmd.as_str().unwrap().contains(&started), "{cmd}");
        }
        for uris in [&app["fetch"], &command(&task)["uris"]].map(Value::to_string) {
            assert!(uris.contains("/minion\"") && uris.contains(&format!("/{name}\"")), "{uris}");
        }
    }
}
