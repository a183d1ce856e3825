//! Who starts after whom, and who ends before whom.

use super::{sh, start};
use crate::common::minion::Sandbox;
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
    minion.stop().assert_code(0);
    for name in ["executor", "c", "b", "a"] {
        assert_eq!(events.next(), format!("end {name}"));
    }
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

#[test]
fn two_hundred_sidecars_ten_deep_start_in_order_and_end_inside_the_grace() {
    let sandbox = Sandbox::with_km("");
    let mut file = String::from("[executor]\ncommand = ['sleep', '1000']\nafter = ['s190']\n[stop]\ngrace = '10s'\n");
    for n in 0..200 {
        write!(file, "[[sidecar]]\nname = 's{n}'\ncommand = ['sleep', '1000']\n").unwrap();
        if n >= 20 {
            writeln!(file, "after = ['s{}']", n - 20).unwrap();
        }
    }
    let mut minion = start(&sandbox, &file);
    minion.started("executor");
    let said = minion.stop().assert_code(0);
    for (early, late) in [("s170", "s190"), ("s5", "s25")] {
        let at = |name: &str| said.find(&format!("started task={name} ")).unwrap_or_else(|| panic!("{name}: {said}"));
        assert!(at(early) < at(late));
    }
    sandbox.assert_deserted();
}
