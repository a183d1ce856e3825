//! Hostile input for everything that reads text, and impossible sequences for the core: nothing panics, and what is read
//! can be written and read again.
//!
//! `cargo test --test fuzz` gives each target two seconds; `MINION_FUZZ_SECONDS` sets another time, `MINION_FUZZ_RUNS` a
//! number of executions instead, `MINION_FUZZ_SEED` repeats a run, and a word on the command line chooses targets. An input
//! that fails is kept, and `MINION_FUZZ_INPUT` tries one file again.
//!
//! `guided` holds the same targets for cargo-fuzz, which needs a nightly compiler.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a harness prints")]

mod mutate;
mod targets;

use mutate::{Random, mutated};
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use targets::{TARGETS, Target};

/// The clock is looked at after so many executions.
const BATCH: u64 = 256;

/// How long a target is tried.
#[derive(Clone, Copy)]
enum Bound {
    Time(Duration),
    Runs(u64),
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        return TARGETS.iter().for_each(|(name, _)| println!("{name}: test"));
    }
    let bound = match (number("MINION_FUZZ_RUNS"), number("MINION_FUZZ_SECONDS")) {
        (Some(runs), _) => Bound::Runs(runs),
        (None, seconds) => Bound::Time(Duration::from_secs(seconds.unwrap_or(2))),
    };
    // Chance is for runs that are meant to find something: `cargo test` does the same each time.
    let is_short = matches!(bound, Bound::Time(_)) && number("MINION_FUZZ_SECONDS").is_none();
    let seed = number("MINION_FUZZ_SEED").unwrap_or_else(|| if is_short { 1 } else { by_the_clock() });
    let chosen = |name: &str| filters.is_empty() || filters.iter().any(|one| name.contains(one.as_str()));
    let targets: Vec<&(&str, Target)> = TARGETS.iter().filter(|(name, _)| chosen(name)).collect();
    if let Some(file) = std::env::var_os("MINION_FUZZ_INPUT") {
        let input = fs::read(file).unwrap();
        return targets.iter().for_each(|(_, target)| target(&input));
    }
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    // A scope panics when one of its threads has.
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((name, target)) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (runs, time) = fuzz(name, *target, seed, bound);
                    let time = time.as_secs_f64();
                    println!("test {name} ... ok ({runs} executions in {time:.1} s, MINION_FUZZ_SEED={seed})");
                }
            });
        }
    });
    println!("test result: ok. {} passed; 0 failed", targets.len());
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}: not a number: {text}")))
}

fn by_the_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.as_secs() << 20 | u64::from(now.subsec_micros())
}

/// Tries the corpus, then what chance makes of it.
fn fuzz(name: &str, target: Target, seed: u64, bound: Bound) -> (u64, Duration) {
    let corpus = corpus(name);
    for input in &corpus {
        attempt(name, target, input);
    }
    let begin = Instant::now();
    let mut random = Random::new(seed);
    let mut runs = 0;
    loop {
        let more = match bound {
            Bound::Time(time) => begin.elapsed() < time,
            Bound::Runs(most) => runs < most,
        };
        if !more {
            return (runs, begin.elapsed());
        }
        for _ in 0..BATCH {
            attempt(name, target, &mutated(&corpus, &mut random));
        }
        runs += BATCH;
    }
}

fn attempt(name: &str, target: Target, input: &[u8]) {
    if let Err(panic) = catch_unwind(|| target(input)) {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}-{}", std::process::id()));
        fs::write(&file, input).unwrap();
        println!(
            "test {name} ... FAILED: MINION_FUZZ_INPUT={} repeats it\n{:?}",
            file.display(),
            input.escape_ascii().to_string()
        );
        std::panic::resume_unwind(panic);
    }
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(name);
    let mut files: Vec<PathBuf> = fs::read_dir(&directory)
        .unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}
