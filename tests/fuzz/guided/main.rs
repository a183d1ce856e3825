//! One program for all targets: `MINION_FUZZ_TARGET` names the one.

#![no_main]

#[path = "../targets.rs"]
mod targets;

use std::sync::LazyLock;
use targets::{TARGETS, Target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let wanted = std::env::var("MINION_FUZZ_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|(name, _)| *name == wanted);
    found.unwrap_or_else(|| panic!("MINION_FUZZ_TARGET={wanted}: no such target")).1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
