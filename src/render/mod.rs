//! What a reading command prints: tables, colour, units. For every command that shows something to a person.
//!
//! [`Screen`] knows the size and whether there is colour; [`Table`] lays rows out on it; [`mod@unit`] makes numbers readable,
//! [`clean`] and its kin make text harmless. Nothing here prints: each function gives text. Colour is never the only carrier of a meaning.

mod screen;
mod table;
pub mod unit;
mod words;

pub use screen::{Screen, Tone};
pub use table::{Cell, Column, Fit, Table};
pub use words::{clean, clean_lines, spelled, wrap};
