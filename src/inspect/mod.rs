//! What is so, and what should be: the commands that look and change nothing (but `attach`, which says so).
//!
//! ```text
//! report: target ──> View::of ──> finding::of ──> page, json
//!         a word     /proc, once  pure            text
//! ```
//!
//! - [`look`]: `minion inspect` and `minion why` of a pid, a task or a container.
//! - [`absent`]: `minion why` of a task that does not run, which has no process to look at.
//! - [`attach`]: `minion attach`.
//! - [`doctor`]: `minion doctor`, and the same checks for the start of `minion run`.
//! - [`containers`]: `minion containers`, once or live.
//! - [`logs`]: `minion logs`.
//! - [`enter`]: `minion enter`, the one that starts something.
//! - [`finding`]: what can be odd about a process.
//! - [`minion`]: which processes are minions; everybody here asks it.

mod absent;
mod attach;
mod command;
pub mod containers;
pub mod doctor;
pub mod enter;
pub mod finding;
mod json;
pub mod logs;
mod minion;
mod page;
mod proc;
mod report;
mod target;
mod view;

/// The control socket in the sandbox.
const SOCKET: &str = "minion.sock";

pub use absent::{Absent, LastExit, absent};
pub use attach::{Errand, attach};
pub use report::{Answer, Form, look};
pub use target::{Ask, Told};
pub use view::{Question, View};
