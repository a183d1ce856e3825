//! Who starts after whom, and who ends before whom.

use super::{ends, sh, start};
use crate::common::minion::Sandbox;
use rustix::process::Signal;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Says when it starts and when it is told to end.
fn tells(name: &str) -> String {
    sh(&format!(
        "trap \"echo end {name} >events; exit 0\" TERM; echo start {name} >events; touch {name}.up; while :; do sleep 0.05; done"
    ))
}

#[test]
fn a_chain_starts_forwards_and_ends_backwards() {
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let mut file = format!("[executor]\ncommand = {}\nafter = ['c']\n", tells("executor"));
    for (name, after) in [("a", "[]"), ("b", "['a']"), ("c", "['b']")] {
        // Ready when it says so, which is when its trap stands.
        write!(file, "[[sidecar]]\nname = '{name}'\ncommand = {}\nafter = {after}\n", tells(name)).unwrap();
        writeln!(file, "readiness = {{ command = {}, every = '10ms' }}", sh(&format!("test -e {name}.up"))).unwrap();
    }
    let minion = start(&sandbox, &file);
    for name in ["a", "b", "c", "executor"] {
        assert_eq!(events.next(), format!("start {name}"));
    }
    // Each has its share of a second: on a busy machine one may be killed before it says its last word.
    let said = minion.stop().assert_code(0);
    assert_eq!(ends(&said), ["executor", "c", "b", "a"], "{said}");
}

#[test]
fn the_slowest_cannot_eat_the_others_time() {
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let stubborn = sh("trap \"\" TERM; echo start executor >events; while :; do sleep 0.05; done");
    let file = format!(
        "[executor]\ncommand = {stubborn}\nafter = ['good']\n[[sidecar]]\nname = 'good'\ncommand = {}\n[stop]\ngrace = '3s'\n",
        tells("good")
    );
    let minion = start(&sandbox, &file);
    let mut up = [events.next(), events.next()];
    up.sort();
    assert_eq!(up, ["start executor", "start good"]);
    let begin = Instant::now();
    // The executor ignores SIGTERM; its share is half of the time for asking, and the good one ends in its own.
    minion.stop().assert_code(0);
    assert!(begin.elapsed() < Duration::from_secs(3), "inside the grace");
    assert_eq!(events.next(), "end good");
    sandbox.assert_deserted();
}

/// Sidecars so many wide and ten deep, each ready a tenth of a second after its start, with the executor behind them all.
fn ten_deep(width: usize) -> String {
    let level = |level: usize| (0..width).map(|n| format!("'s{level}-{n}'")).collect::<Vec<_>>().join(", ");
    let mut file = format!("[executor]\ncommand = ['sleep', '1000']\nafter = [{}]\n[stop]\ngrace = '10s'\n", level(9));
    let command = sh("sleep 0.1; echo >&7; exec sleep 1000");
    for (deep, n) in (0..10).flat_map(|deep| (0..width).map(move |n| (deep, n))) {
        let after = if deep == 0 { String::new() } else { level(deep - 1) };
        write!(file, "[[sidecar]]\nname = 's{deep}-{n}'\ncommand = {command}\n").unwrap();
        writeln!(file, "readiness = {{ fd = 7 }}\nafter = [{after}]").unwrap();
    }
    file
}

#[test]
fn two_hundred_sidecars_ten_deep_start_as_one_chain_and_end_inside_the_grace() {
    let [chain, wide] = [1, 20].map(|width| {
        let sandbox = Sandbox::with_km("");
        let begin = Instant::now();
        let mut minion = start(&sandbox, &ten_deep(width));
        minion.started("executor");
        let took = begin.elapsed();
        minion.signal(Signal::TERM);
        // The grace of ten seconds less the one that is kept.
        let said = minion.wait_within(Duration::from_secs(9)).assert_code(0);
        let at = |text: String| said.find(&text).unwrap_or_else(|| panic!("{text}: {said}"));
        for level in 1..10 {
            for before in 0..width {
                let ready = at(format!("ready task=s{}-{before}\n", level - 1));
                (0..width).for_each(|n| assert!(ready < at(format!("started task=s{level}-{n} "))));
            }
        }
        sandbox.assert_deserted();
        took
    });
    // One after the other they would take twenty times as long. What it is on a machine at rest: tests/bench/sidecars.rs.
    assert!(wide < 10 * chain, "{wide:?}, the chain alone {chain:?}");
}
