//! Values of flags, checked as the flag library of the original (pflag) checks them. [GO-05]

use super::duration::GoDuration;
use crate::mesos;
use std::ffi::OsStr;
use std::net::IpAddr;
use std::time::Duration;

/// What a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`; the flag alone means true, and a separate word is never its value.
    Bool,
    /// A 32-bit integer.
    Int32,
    /// A 64-bit integer.
    Int64,
    /// A floating point number.
    Float64,
    /// A Go duration.
    Duration,
    /// An IP address.
    Ip,
    /// Words with commas between them; a repeated flag adds to it.
    List,
    /// `key=value` pairs with commas between them.
    Map,
    /// Anything, not even UTF-8.
    Text,
}

/// Why a value was refused, and what would do instead. The flag's name and the value are the caller's to add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// `not an integer`.
    pub wrong: &'static str,
    /// What the flag takes, in a few words.
    pub takes: &'static str,
}

impl Kind {
    /// Whether the executor would take this value for a flag of this kind.
    pub fn check(self, value: &OsStr) -> Result<(), Refusal> {
        match self {
            Self::Bool => boolean(value).map(drop),
            Self::Int32 => int32(value).map(drop),
            Self::Int64 => int64(value).map(drop),
            Self::Float64 => float64(value).map(drop),
            Self::Duration => duration(value).map(drop),
            Self::Ip => ip(value).map(drop),
            Self::List | Self::Map | Self::Text => Ok(()),
        }
    }

    /// The word that stands for the value in help and man page.
    pub fn metavar(self) -> &'static str {
        match self {
            Self::Bool => "BOOL",
            Self::Int32 | Self::Int64 => "N",
            Self::Float64 => "NUMBER",
            Self::Duration => "DURATION",
            Self::Ip => "IP",
            Self::List => "LIST",
            Self::Map => "K=V,...",
            Self::Text => "TEXT",
        }
    }
}

/// The words of `strconv.ParseBool`; `yes`, `on` and nothing are none of them.
pub fn boolean(value: &OsStr) -> Result<bool, Refusal> {
    match value.to_str() {
        Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(true),
        Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(false),
        _ => Err(Refusal { wrong: "not a boolean", takes: "true or false" }),
    }
}

/// An integer of 32 bits, written as Go writes them.
pub fn int32(value: &OsStr) -> Result<i32, Refusal> {
    i32::try_from(integer(value)?)
        .map_err(|_| Refusal { wrong: "does not fit 32 bits", takes: "an integer from -2147483648 to 2147483647" })
}

/// An integer of 64 bits, written as Go writes them.
pub fn int64(value: &OsStr) -> Result<i64, Refusal> {
    i64::try_from(integer(value)?).map_err(|_| Refusal { wrong: "does not fit 64 bits", takes: "an integer" })
}

fn integer(value: &OsStr) -> Result<i128, Refusal> {
    const NONE: Refusal = Refusal { wrong: "not an integer", takes: "an integer, such as 3, 0x3 or -1" };
    value.to_str().and_then(base_zero).ok_or(NONE)
}

/// `strconv.ParseInt(text, 0, …)`: base by prefix (`0x`, `0b`, `0o`, `0`), underscores between digits.
fn base_zero(text: &str) -> Option<i128> {
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits, prefixed) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &unsigned[2..], true),
        [b'0', b'b' | b'B', ..] => (2, &unsigned[2..], true),
        [b'0', b'o' | b'O', ..] => (8, &unsigned[2..], true),
        [b'0', _, ..] => (8, &unsigned[1..], true),
        _ => (10, unsigned, false),
    };
    let misplaced = digits.ends_with('_') || digits.contains("__") || (digits.starts_with('_') && !prefixed);
    // from_str_radix takes a sign of its own, which would make `0x-1` a number.
    if misplaced || digits.starts_with(['+', '-']) {
        return None;
    }
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    let magnitude = match i128::from_str_radix(&plain, radix) {
        Ok(magnitude) => magnitude,
        Err(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => i128::MAX,
        Err(_) => return None,
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// A floating point number.
pub fn float64(value: &OsStr) -> Result<f64, Refusal> {
    let number = value.to_str().and_then(|text| text.parse().ok());
    number.ok_or(Refusal { wrong: "not a number", takes: "a number, such as 0.5" })
}

/// A Go duration.
pub fn duration(value: &OsStr) -> Result<GoDuration, Refusal> {
    let duration = value.to_str().and_then(GoDuration::parse);
    duration.ok_or(Refusal { wrong: "not a duration", takes: "a number with a unit, such as 10s, 1m30s or 500ms" })
}

/// A quantity of bytes.
pub fn bytes(value: &OsStr) -> Result<u64, Refusal> {
    const TAKES: &str = "a size such as 10Mi, 1G or 512Ki; 0 never rotates";
    match value.to_str().and_then(super::quantity::parse) {
        Some(size) => u64::try_from(size).map_err(|_| Refusal { wrong: "negative", takes: TAKES }),
        None => Err(Refusal { wrong: "not a quantity", takes: TAKES }),
    }
}

/// A span of time, as Go (`1m30s`) or as Mesos (`90secs`) writes it.
pub fn span(value: &OsStr) -> Result<Duration, Refusal> {
    const TAKES: &str = "a number with a unit, such as 10s, 1m30s, 500ms or 90secs";
    let text = value.to_str().unwrap_or_default();
    match GoDuration::parse(text) {
        Some(span) => span.to_std().ok_or(Refusal { wrong: "negative", takes: TAKES }),
        None => mesos::duration::parse(text).map_err(|_| Refusal { wrong: "not a duration", takes: TAKES }),
    }
}

/// An IP address, version 4 or 6.
pub fn ip(value: &OsStr) -> Result<IpAddr, Refusal> {
    let address = value.to_str().and_then(|text| text.parse().ok());
    address.ok_or(Refusal { wrong: "not an IP address", takes: "an address such as 10.0.0.7 or fd00::7" })
}

/// Text that has to be UTF-8.
pub fn utf8(value: &OsStr) -> Result<&str, Refusal> {
    value.to_str().ok_or(Refusal { wrong: "not UTF-8", takes: "text in UTF-8" })
}

/// The agent's `--cgroups_root`, cleaned.
pub fn cgroup_prefix(value: &OsStr) -> Result<String, Refusal> {
    let text = utf8(value)?;
    if text.chars().any(char::is_control) {
        return Err(Refusal { wrong: "not a cgroup", takes: "the agent's --cgroups_root, such as mesos" });
    }
    Ok(mesos::clean_prefix(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn integers_have_the_base_of_their_prefix() {
        for (text, expected) in [
            ("0", 0),
            ("-5", -5),
            ("+5", 5),
            ("0x3", 3),
            ("0X1f", 31),
            ("010", 8),
            ("0o17", 15),
            ("0b101", 5),
            ("1_0", 10),
            ("0x_1F", 31),
            ("0_7", 7),
        ] {
            assert_eq!(int64(OsStr::new(text)), Ok(expected), "{text}");
        }
    }

    #[test]
    fn integers_refuse_the_rest() {
        for text in ["", "-", "abc", "1.0", "_1", "1_", "1__0", "08", "0x", "0x-1", "--1", "1 ", "0b2"] {
            assert_eq!(int64(OsStr::new(text)).map_err(|r| r.wrong), Err("not an integer"), "{text}");
        }
        assert_eq!(int32(OsStr::new("2147483648")).map_err(|r| r.wrong), Err("does not fit 32 bits"));
        assert_eq!(int64(OsStr::new("9223372036854775808")).map_err(|r| r.wrong), Err("does not fit 64 bits"));
        assert_eq!(int64(OsStr::new(&"9".repeat(60))).map_err(|r| r.wrong), Err("does not fit 64 bits"));
        assert_eq!(int64(OsStr::from_bytes(b"\xff")).map_err(|r| r.wrong), Err("not an integer"));
    }

    #[test]
    fn booleans_are_the_words_of_go() {
        for text in ["1", "t", "T", "true", "TRUE", "True"] {
            assert_eq!(boolean(OsStr::new(text)), Ok(true));
        }
        for text in ["0", "f", "F", "false", "FALSE", "False"] {
            assert_eq!(boolean(OsStr::new(text)), Ok(false));
        }
        for text in ["yes", "", "on", "tRUE", "2"] {
            assert!(boolean(OsStr::new(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn text_may_be_any_bytes() {
        assert_eq!(Kind::Text.check(OsStr::from_bytes(b"\xff")), Ok(()));
        assert!(Kind::Ip.check(OsStr::new("foo")).is_err());
        assert_eq!(Kind::Ip.check(OsStr::new("::1")), Ok(()));
    }
}
