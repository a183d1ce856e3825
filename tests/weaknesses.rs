//! The twenty weaknesses of the original, by their number in its list: each shown right, end to end, on the real program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

#[path = "weaknesses/ends.rs"]
mod ends;
#[path = "weaknesses/logs.rs"]
mod logs;
#[path = "weaknesses/starts.rs"]
mod starts;
#[path = "weaknesses/words.rs"]
mod words;
