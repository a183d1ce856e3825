//! `OpenMetrics` text, read by our own strict reader and by the one of Prometheus.

use super::common::control::{OBEDIENT, Up};
use super::common::python_with;
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

#[test]
fn the_parser_of_prometheus_reads_it() {
    need!("prometheus_client");
    let up = Up::start(OBEDIENT, &[]);
    let (_, text, _) = up.cli(&["metrics"]);
    let script = "import sys\nfrom prometheus_client.openmetrics.parser import text_string_to_metric_families as parse\n\
                  print(sum(len(f.samples) for f in parse(sys.stdin.read())))";
    let python = python_with("prometheus_client").unwrap();
    let mut python =
        Command::new(python).args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    python.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    let count: usize = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    assert_eq!(count, read(&text).1.len());
    up.minion.stop().assert_code(0);
}
