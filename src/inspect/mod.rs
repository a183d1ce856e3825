//! What is so, and what should be: the commands that look and change nothing (but `attach`, which says so).
//!
//! - [`render`]: tables, colour and units, for every command that shows something.

pub mod render;
