//! The life of a task, decided purely: no I/O, no process, time as an argument.

pub mod exit;
pub mod spec;

pub use exit::Exit;
pub use spec::{Restart, Role, TaskSpec};
