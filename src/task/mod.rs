//! The life of a task, decided purely: no I/O, no process, time as an argument.
//!
//! [`spec`] describes a task, [`state`] and [`life`] are one life, [`watch`] its readiness and health, [`core`] and
//! [`ending`] all lives together ([`input`] goes in and comes out), [`exit`] and [`outcome`] how they end, [`word`] what a
//! task says. The supervisor turns readiness of fds into inputs and outputs into system calls, and `tests/core_property.rs` runs the same core under a simulated clock.

pub mod core;
pub mod ending;
pub mod exit;
pub mod input;
pub mod life;
mod limit;
mod order;
pub mod outcome;
pub mod spec;
pub mod state;
pub mod watch;
pub mod word;

pub use core::Core;
pub use exit::Exit;
pub use input::{Command, Input, Output, Refusal, TaskId};
pub use outcome::{ExitCode, Outcome, Reason};
pub use spec::{Restart, Role, TaskSpec};
