//! The control socket: what a minion tells, what it can be told, and that nobody who talks to it can disturb its children.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers fail and skip as tests do")]

mod common;

#[path = "control/answers.rs"]
mod answers;
#[path = "control/commands.rs"]
mod commands;
#[path = "control/crowd.rs"]
mod crowd;
#[path = "control/finding.rs"]
mod finding;
#[path = "control/hostile.rs"]
mod hostile;
#[path = "control/metrics.rs"]
mod metrics;
#[path = "control/schema.rs"]
mod schema;
#[path = "control/socket.rs"]
mod socket;
