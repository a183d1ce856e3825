//! A value of the file under its key, read as what it should be.

use super::placed::{Placed, Wrong};
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and the key that it stands under.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) key: &'a str,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Node<'a> {
    pub(super) fn new(key: &'a str, value: &'a Spanned<DeValue<'a>>) -> Self {
        Self { key, value }
    }

    /// The byte at which the value begins.
    pub(super) fn at(&self) -> usize {
        self.value.span().start
    }

    /// The text as it stands: a string, or another type's name.
    fn mistyped(&self) -> Wrong {
        mistyped(self.value)
    }

    /// A string without a NUL, which neither an argument nor a variable nor a path can hold.
    pub(super) fn text(&self) -> Result<&'a str, Wrong> {
        text(self.value)
    }

    /// A string that has something in it.
    pub(super) fn filled(&self) -> Result<&'a str, Wrong> {
        match self.text()? {
            "" => Err(Wrong::new("empty")),
            text => Ok(text),
        }
    }

    pub(super) fn boolean(&self) -> Result<bool, Wrong> {
        self.value.get_ref().as_bool().ok_or_else(|| self.mistyped())
    }

    /// A whole number of that range.
    pub(super) fn integer(&self, range: RangeInclusive<i64>) -> Result<i64, Wrong> {
        let Some(written) = self.value.get_ref().as_integer() else { return Err(self.mistyped()) };
        let number = i64::from_str_radix(written.as_str(), written.radix());
        match number {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => Err(Wrong::new(format!("out of range: {}", written.as_str()))),
        }
    }

    /// As [`Self::integer`], None where it is no number at all.
    pub(super) fn maybe_integer(&self, range: RangeInclusive<i64>) -> Option<Result<i64, Wrong>> {
        self.value.get_ref().is_integer().then(|| self.integer(range))
    }

    /// A list of strings, each with its place.
    pub(super) fn words(&self) -> Result<Vec<Placed<String>>, Wrong> {
        let list = self.value.get_ref().as_array().ok_or_else(|| self.mistyped())?;
        let word = |value: &'a Spanned<DeValue<'a>>| {
            let at = value.span().start;
            text(value).map(|word| Placed::new(at, word.to_owned())).map_err(|wrong| wrong.at(at))
        };
        list.iter().map(word).collect()
    }

    /// A table, its keys with their places.
    pub(super) fn table(&self) -> Result<&'a DeTable<'a>, Wrong> {
        self.value.get_ref().as_table().ok_or_else(|| self.mistyped())
    }

    /// Each table of a list of tables.
    pub(super) fn tables(&self) -> Result<Vec<Node<'a>>, Wrong> {
        let list = self.value.get_ref().as_array().ok_or_else(|| self.mistyped())?;
        Ok(list.iter().map(|value| Node::new(self.key, value)).collect())
    }
}

/// The keys of a table with their values, in the order of the text.
pub(super) fn in_order<'a>(table: &'a DeTable<'a>) -> Vec<(Placed<&'a str>, Node<'a>)> {
    let entry = |(key, value): (&'a Spanned<_>, &'a Spanned<DeValue<'a>>)| {
        let name: &'a std::borrow::Cow<'a, str> = key.get_ref();
        (Placed::new(key.span().start, &**name), Node::new(name, value))
    };
    let mut entries: Vec<_> = table.iter().map(entry).collect();
    entries.sort_by_key(|(key, _)| key.at);
    entries
}

fn text<'a>(value: &'a Spanned<DeValue<'a>>) -> Result<&'a str, Wrong> {
    match value.get_ref().as_str() {
        Some(text) if text.contains('\0') => Err(Wrong::new("a NUL in the text")),
        Some(text) => Ok(text),
        None => Err(mistyped(value)),
    }
}

fn mistyped(value: &Spanned<DeValue<'_>>) -> Wrong {
    let found = match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a floating point number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    Wrong::new(format!("wrong type: {found}"))
}
