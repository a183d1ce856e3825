//! The pure core under a simulated clock: random tasks, random deaths, random signals, and what must hold in all of them.
//!
//! `MINION_SCHEDULES` sets how many schedules a run tries, `MINION_SEED` repeats one.

#![allow(clippy::panic, reason = "helpers fail and print as tests do")]

mod common;

use common::simulation::World;

const SCHEDULES: u64 = 100_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}: not a number: {text}")))
}

#[test]
fn every_schedule_ends_rightly() {
    let seeds = match number("MINION_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("MINION_SCHEDULES").unwrap_or(SCHEDULES),
    };
    let mut seen = common::simulation::Seen::default();
    for seed in seeds.clone() {
        match std::panic::catch_unwind(|| World::new(seed).run()) {
            Ok(run) => seen.add(&run),
            Err(panic) => {
                eprintln!("MINION_SEED={seed} repeats this");
                std::panic::resume_unwind(panic);
            }
        }
    }
    eprintln!("{} schedules: {seen:?}", seeds.end - seeds.start);
    // A generator that stopped making the hard cases would make this test one that cannot fail.
    if seeds.end - seeds.start >= 10_000 {
        seen.assert_all_kinds_were_met();
    }
}
