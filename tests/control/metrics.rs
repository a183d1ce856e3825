//! `OpenMetrics` text, read by our own strict reader and by the one of Prometheus.

use super::common::control::{OBEDIENT, Up};
use super::common::minion::Sandbox;
use super::common::{has, python_with};
use crate::need;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

/// Families with their types, and samples by name and labels; panics at whatever `OpenMetrics` 1.0 forbids.
fn read(text: &str) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let (mut families, mut samples) = (BTreeMap::new(), BTreeMap::new());
    let mut family = (String::new(), String::new());
    let body = text.strip_suffix("# EOF\n").expect("an end");
    for line in body.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["#", "TYPE", name, kind] => {
                family = (name.to_owned(), kind.to_owned());
                assert!(families.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} is interleaved");
            }
            ["#", "UNIT", name, unit] => assert!(name == family.0 && name.ends_with(&format!("_{unit}")), "{line}"),
            ["#", "HELP", name, ..] => assert_eq!(name, family.0),
            _ => {
                let (name, value) = line.rsplit_once(' ').unwrap();
                let bare = name.split('{').next().unwrap();
                let suffix = match family.1.as_str() {
                    "counter" => "_total",
                    "info" => "_info",
                    _ => "",
                };
                assert_eq!(bare, format!("{}{suffix}", family.0), "{line}");
                assert!(value.parse::<f64>().is_ok(), "{line}");
                assert!(samples.insert(name.to_owned(), value.to_owned()).is_none(), "{line} comes twice");
            }
        }
    }
    (families, samples)
}

#[test]
fn the_text_says_what_the_status_says() {
    let up = Up::start(OBEDIENT, &[]);
    let mut watcher = up.asker().subscribe();
    up.asker().command("stop", "proxy");
    watcher.event("down");
    let (code, text, _) = up.cli(&["metrics"]);
    assert_eq!(code, 0);
    let (families, samples) = read(&text);
    assert_eq!(samples[r#"minion_task_up{task="executor"}"#], "1");
    assert_eq!(samples[r#"minion_task_up{task="proxy"}"#], "0");
    assert_eq!(samples[r#"minion_task_state{task="proxy",minion_task_state="down"}"#], "1");
    assert_eq!(samples[r#"minion_task_last_exit_code{task="proxy"}"#], "143");
    assert_eq!(samples[r#"minion_log_dropped_bytes_total{task="executor",file="executor.log"}"#], "0");
    assert_eq!(samples["minion_events_total"], "5");
    assert!(samples[r#"minion_task_resident_memory_bytes{task="executor"}"#].len() >= 6);
    let kinds: BTreeSet<&str> = families.values().map(String::as_str).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["counter", "gauge", "info", "stateset"]);
    up.minion.stop().assert_code(0);
}

/// What a parser of Prometheus' own client makes of it: each family's name and type and how many samples it has.
fn parsed(parser: &str, text: &str) -> Vec<(String, String, usize)> {
    let script = format!(
        "import sys\nfrom {parser} import text_string_to_metric_families as parse\n\
         for f in parse(sys.stdin.read()): print(f.name, f.type, len(f.samples))"
    );
    let python = python_with("prometheus_client").unwrap();
    let mut python =
        Command::new(python).args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    python.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let family = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[0].to_owned(), words[1].to_owned(), words[2].parse().unwrap())
    };
    lines.lines().map(family).collect()
}

fn samples(families: &[(String, String, usize)]) -> usize {
    families.iter().map(|(_, _, samples)| samples).sum()
}

#[test]
fn the_parser_of_prometheus_reads_it() {
    need!("prometheus_client");
    let up = Up::start(OBEDIENT, &[]);
    let (_, text, _) = up.cli(&["metrics"]);
    assert_eq!(samples(&parsed("prometheus_client.openmetrics.parser", &text)), read(&text).1.len());
    up.minion.stop().assert_code(0);
}

/// Families with their types, and samples as lines; panics at whatever the text format 0.0.4 of Prometheus does not know.
fn read_old(text: &str) -> (BTreeMap<String, String>, BTreeSet<String>) {
    let (mut families, mut samples) = (BTreeMap::new(), BTreeSet::new());
    let mut family = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["#", "TYPE", name, kind @ ("gauge" | "counter")] => {
                name.clone_into(&mut family);
                assert!(families.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} is interleaved");
            }
            ["#", "HELP", name, ..] => assert_eq!(name, family),
            _ => {
                assert_eq!(line.split(['{', ' ']).next().unwrap(), family, "{line}");
                assert!(line.rsplit_once(' ').unwrap().1.parse::<f64>().is_ok(), "{line}");
                assert!(samples.insert(line.to_owned()), "{line} comes twice");
            }
        }
    }
    (families, samples)
}

#[test]
fn for_a_textfile_collector_there_is_the_older_text_with_the_container_in_each_sample() {
    // What the agent says is enough to name the container.
    let id = "5f0c7a52-3d1e-4b8a-9c61-0d7c8f1b2e34";
    let up = Up::with(Sandbox::with_km(OBEDIENT), &[], |command| {
        command.env("MESOS_DIRECTORY", format!("/var/lib/mesos/runs/{id}"));
    });
    let (code, text, _) = up.cli(&["metrics", "--format=prometheus"]);
    assert_eq!(code, 0, "{text}");
    let (families, samples_here) = read_old(&text);
    assert!(samples_here.iter().all(|sample| sample.contains(&format!("container=\"{id}\""))), "{text}");
    let state = format!("minion_task_state{{task=\"proxy\",minion_task_state=\"running\",container=\"{id}\"}} 1");
    assert!(samples_here.contains(&state), "{text}");
    assert_eq!((families["minion_info"].as_str(), families["minion_events_total"].as_str()), ("gauge", "counter"));
    let (_, of_open) = read(&up.cli(&["metrics", "--format=openmetrics"]).1);
    assert_eq!(samples_here.len(), of_open.len(), "nothing is missing");
    if has("prometheus_client").is_ok() {
        let families = parsed("prometheus_client.parser", &text);
        assert_eq!(samples(&families), of_open.len());
        assert!(families.iter().all(|(_, kind, _)| kind == "gauge" || kind == "counter"), "{families:?}");
    }
    up.minion.stop().assert_code(0);
}
