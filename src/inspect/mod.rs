//! What is so, and what should be: the commands that look and change nothing (but `attach`, which says so).
//!
//! ```text
//! Target::find ──> View::of ──> finding::of ──> page, json
//! a word           /proc, once  pure            text
//! ```
//!
//! - [`render`]: tables, colour and units, for every command that shows something.
//! - [`View`]: one process seen whole; [`finding`]: what is odd about it.

pub mod finding;
mod proc;
pub mod render;
mod view;

pub use view::{Question, View};
