//! The rules that the sources keep, checked by reading them: who imports whom, where `unsafe` stands, how long files are, what
//! nobody writes, and that notes and code know each other.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers fail as tests do")]

#[path = "architecture/imports.rs"]
mod imports;
#[path = "architecture/notes.rs"]
mod notes;
#[path = "architecture/rules.rs"]
mod rules;
#[path = "architecture/source.rs"]
mod source;
