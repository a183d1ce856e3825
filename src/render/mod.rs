//! What a reading command prints: tables, colour, units. For every command that shows something to a person.
//!
//! [`Screen`] knows the size and whether there is colour; [`Table`] lays rows out on it; [`mod@unit`] makes numbers readable.
//! Nothing here prints: each function gives text. Colour is never the only carrier of a meaning.

mod screen;
mod table;
pub mod unit;

pub use screen::{Screen, Tone, clean, wrap};
pub use table::{Cell, Column, Fit, Table};
