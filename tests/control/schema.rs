//! The status as JSON and as a screen.

use super::common::control::{OBEDIENT, Up};
use minion::cli::visible;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Every member of an object, with the kind of its value.
fn members(value: &Value) -> Vec<(String, &'static str)> {
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "seconds",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    value.as_object().unwrap().iter().map(|(name, value)| (name.clone(), kind(value))).collect()
}

fn assert_members(value: &Value, expected: &[(&str, &str)]) {
    let mut expected: Vec<(String, &str)> = expected.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
    expected.sort();
    let mut found = members(value);
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn the_json_of_version_1_has_these_members_and_kinds() {
    let mut up = Up::start("echo line\necho $1 $$ >events\nexec sleep 300\n", &[]);
    up.cli(&["restart", "proxy"]);
    up.events.next();
    up.minion.started("proxy");
    up.sandbox.until_logged("proxy.log", "line\nline\n");
    let (code, text, _) = up.cli(&["status", "--json"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(text.lines().count(), 1);
    let status: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(status["minion"], 1);
    assert_members(
        &status,
        &[
            ("minion", "number"),
            ("version", "text"),
            ("pid", "number"),
            ("time", "text"),
            ("uptime_seconds", "seconds"),
            ("sandbox", "text"),
            ("container", "object"),
            ("cgroups", "list"),
            ("private_mounts", "boolean"),
            ("grace_seconds", "seconds"),
            ("budget_seconds", "seconds"),
            ("tasks", "list"),
            ("events", "list"),
        ],
    );
    assert_members(&status["container"], &[("verdict", "text"), ("evidence", "text"), ("layout", "text")]);
    assert_members(
        &status["tasks"][0],
        &[
            ("name", "text"),
            ("role", "text"),
            ("state", "text"),
            ("ready", "boolean"),
            ("pid", "number"),
            ("uptime_seconds", "seconds"),
            ("restarts", "number"),
            ("last_exit", "object"),
            ("rss_bytes", "number"),
            ("cpu_seconds", "seconds"),
            ("logs", "list"),
        ],
    );
    assert_members(
        &status["tasks"][0]["last_exit"],
        &[
            ("text", "text"),
            ("pid", "number"),
            ("code", "number"),
            ("time", "text"),
            ("up_seconds", "seconds"),
            ("commanded", "boolean"),
        ],
    );
    assert_members(&status["tasks"][0]["logs"][0], &[("file", "text"), ("bytes", "number"), ("dropped", "number")]);
    assert_eq!(status["tasks"][0]["logs"][0]["bytes"], 10, "both runs wrote a line");
    let exited = status["events"].as_array().unwrap().iter().find(|event| event["event"] == "exited").unwrap();
    assert_members(
        exited,
        &[
            ("minion", "number"),
            ("seq", "number"),
            ("time", "text"),
            ("event", "text"),
            ("task", "text"),
            ("pid", "number"),
            ("code", "number"),
            ("text", "text"),
        ],
    );
    up.minion.stop().assert_code(0);
}

#[test]
fn the_screen_fits_80_columns_and_has_no_colour_in_a_pipe() {
    let up = Up::start(OBEDIENT, &[]);
    let (code, screen, _) = up.cli(&["status"]);
    assert_eq!(code, 0, "{screen}");
    for line in screen.lines() {
        assert!(line.chars().count() <= 80 && line.trim_end() == line, "{line:?}");
    }
    assert!(!screen.contains('\x1b'));
    assert!(screen.lines().count() < 24, "one screen: {screen}");
    for wanted in [
        "container  unknown\n",
        &format!("minion     pid {}, up ", up.minion.pid()),
        "grace      5.0s; everything ends within 4.0s\n",
        "TASK      STATE ",
        "executor  running  ",
        "LAST EVENTS (UTC)\nTIME      TASK      EVENT    TEXT\n",
    ] {
        assert!(screen.contains(wanted), "{wanted}: {screen}");
    }
    up.minion.stop().assert_code(0);
}

/// The names of events in the supervisor's source: the short words of each line that notes one.
fn events_in(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            events_in(&entry, found);
            continue;
        }
        let text = fs::read_to_string(entry).unwrap();
        for line in text.lines().filter(|line| line.contains("note(") || line.contains("noted.push(")) {
            let words = line.split('"').skip(1).step_by(2);
            let is_name = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            found.extend(words.filter(is_name).map(str::to_owned));
        }
    }
}

#[test]
fn every_event_that_is_sent_is_in_the_manual_and_in_the_protocol() {
    let mut sent = BTreeSet::new();
    events_in(Path::new("src/supervisor"), &mut sent);
    assert!(sent.len() >= 15 && sent.contains("cgroup-hazard") && sent.contains("log-recovered"), "{sent:?}");
    let protocol = fs::read_to_string("src/control/protocol.rs").unwrap();
    let manual = visible().find(|row| row.name == "events").and_then(|row| row.json.schema()).unwrap().objects[0].1;
    let listed: Vec<&str> = manual.split(|c: char| !c.is_ascii_lowercase() && c != '-').collect();
    for event in sent {
        assert!(listed.contains(&event.as_str()), "minion man events has no {event}");
        assert!(protocol.contains(&format!("`{event}`")), "the protocol has no {event}");
    }
}

#[test]
fn only_the_last_32_events_are_kept() {
    let up = Up::start(OBEDIENT, &[]);
    let mut asker = up.asker();
    for _ in 0..50 {
        asker.ask(r#"{"minion":1,"request":"signal","task":"proxy","signal":"CONT"}"#);
    }
    let events = asker.status().events;
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), (21..=52).collect::<Vec<_>>());
    up.minion.stop().assert_code(0);
}
