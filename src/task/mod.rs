//! The life of a task, decided purely: no I/O, no process, time as an argument.
//!
//! [`state`] is one task, [`core`] all of them; the supervisor turns readiness of fds into inputs and outputs into system
//! calls, and `tests/core_property.rs` runs the same core under a simulated clock.

pub mod core;
pub mod exit;
pub mod outcome;
pub mod spec;
pub mod state;

pub use core::{Command, Core, Input, Output, Refusal, TaskId};
pub use exit::Exit;
pub use outcome::{ExitCode, Outcome, Reason};
pub use spec::{Restart, Role, TaskSpec};
