//! What is so, and what should be: the commands that look and change nothing (but `attach`, which says so).
//!
//! - [`containers`]: `minion containers`, once or live.
//! - [`logs`]: `minion logs`.
//! - [`enter`]: `minion enter`, the one that starts something.
//! - [`render`]: tables, colour and units, for every command that shows something.

pub mod containers;
pub mod enter;
pub mod logs;
pub mod render;
