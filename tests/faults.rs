//! Every system call of a short life of minion fails once with each of its documented errnos; whatever it is, minion ends
//! with a documented code or carries on, leaves nobody alive, and loses no byte without a word.
//!
//! The unmodified program runs under `strace -e inject`. The usual run takes a part of the schedule,
//! `MINION_FAULTS=all` takes all of it, and `MINION_FAULTS=openat:EMFILE:3` one fault, with what minion said.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "clippy takes a test's helpers for production"
)]

mod common;
#[path = "faults/memory.rs"]
mod memory;
#[path = "faults/scenario.rs"]
mod scenario;
#[path = "faults/schedule.rs"]
mod schedule;

use scenario::{Scenario, Stage, Verdict};
use schedule::Fault;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many lives go on at a time.
const WORKERS: usize = 2;

#[test]
fn whatever_fails_while_a_proxy_crashes_and_logs_rotate_is_survived_or_told() {
    need!("strace");
    run(Scenario::Crash);
}

#[test]
fn whatever_fails_while_everything_is_told_to_stop_is_survived_or_told() {
    need!("strace");
    run(Scenario::Stop);
}

#[test]
fn however_little_memory_there_is_the_end_is_seen_and_no_child_outlives_it() {
    need!("prlimit");
    let ends = memory::sweep();
    eprintln!("room for addresses: {} lives: {ends:?}", ends.values().sum::<usize>());
    assert!(ends.contains_key("exit status: 7") && ends.contains_key("exit status: 111"), "{ends:?}");
}

fn run(scenario: Scenario) {
    let wanted = std::env::var("MINION_FAULTS").unwrap_or_default();
    let counts = schedule::counts(&Stage::new().trace(scenario));
    let mut faults = schedule::faults(&counts, !wanted.is_empty());
    if !matches!(wanted.as_str(), "" | "all") {
        faults.retain(|fault| format!("{}:{}:{}", fault.call, fault.errno, fault.nth).starts_with(&wanted));
    }
    let results = inject(scenario, &faults);
    summary(scenario, &faults, &results);
    for (why, calls) in counts.left_alone() {
        eprintln!("  left alone, {why}: {}", calls.join(", "));
    }
    let bad: Vec<String> = faults
        .iter()
        .zip(&results)
        .filter(|(_, verdict)| !verdict.problems.is_empty())
        .map(|(fault, verdict)| {
            format!("{}:{}:{} {:?}\n{}", fault.call, fault.errno, fault.nth, verdict.problems, verdict.stderr)
        })
        .collect();
    assert!(bad.is_empty(), "{} of {} faults:\n{}", bad.len(), faults.len(), bad.join("\n"));
}

/// All of them, a few at a time, each worker on a stage of its own.
fn inject(scenario: Scenario, faults: &[Fault]) -> Vec<Verdict> {
    let next = AtomicUsize::new(0);
    let verdicts = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                let stage = Stage::new();
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let index = faults.iter().position(|one| one == fault).unwrap();
                    let verdict = stage.inject(scenario, *fault);
                    verdicts.lock().unwrap().insert(index, verdict);
                }
            });
        }
    });
    verdicts.into_inner().unwrap().into_values().collect()
}

/// How many faults there were, which calls they cover, how minion ended.
fn summary(scenario: Scenario, faults: &[Fault], verdicts: &[Verdict]) {
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    let mut codes: BTreeMap<Option<i32>, usize> = BTreeMap::new();
    for (fault, verdict) in faults.iter().zip(verdicts) {
        *calls.entry(fault.call).or_default() += verdict.injected;
        *codes.entry(verdict.code).or_default() += 1;
    }
    let injected: usize = calls.values().sum();
    let missed = verdicts.iter().filter(|verdict| verdict.injected == 0).count();
    assert!(missed * 10 <= faults.len(), "{missed} of {} lives did not come to their fault", faults.len());
    eprintln!(
        "{scenario:?}: {} lives, {injected} calls failed, {missed} lives did not come to their fault",
        faults.len()
    );
    eprintln!(
        "  calls: {}",
        calls.iter().map(|(call, count)| format!("{call} {count}")).collect::<Vec<_>>().join(", ")
    );
    eprintln!(
        "  ends: {}",
        codes.iter().map(|(code, count)| format!("{code:?} {count}")).collect::<Vec<_>>().join(", ")
    );
}
