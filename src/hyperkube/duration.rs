//! Go's `time.Duration` as text, both ways: the executor and kube-proxy read and write it.

use std::fmt;
use std::time::Duration;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// A signed span of time in nanoseconds, at most about 292 years: what `time.ParseDuration` makes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(i64);

impl GoDuration {
    /// A span of this many nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A span of whole seconds; None beyond the range of the type.
    pub fn from_secs(secs: i64) -> Option<Self> {
        Some(Self(secs.checked_mul(SECOND.cast_signed())?))
    }

    /// Reads `1h15m30.918s`, `-1.5h`, `0`. None for everything that Go refuses: no unit, unknown unit, overflow.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, mut rest) = match text.as_bytes() {
            [b'-', ..] => (true, &text[1..]),
            [b'+', ..] => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Some(Self(0));
        }
        if rest.is_empty() {
            return None;
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (nanos, after) = component(rest)?;
            total = total.checked_add(nanos).filter(|sum| *sum <= 1 << 63)?;
            rest = after;
        }
        // -2^63 has no positive counterpart, and is its own negation in two's complement.
        if negative { Some(Self(total.cast_signed().wrapping_neg())) } else { i64::try_from(total).ok().map(Self) }
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The same span unsigned; None when it is negative.
    pub fn to_std(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }
}

/// One `number unit` at the start of `text`, in nanoseconds, and what follows it.
fn component(text: &str) -> Option<(u64, &str)> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    let unit = match unit {
        "ns" => 1,
        // U+00B5 and U+03BC, the two letters that look like a Greek m.
        "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => return None,
    };
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    whole.checked_mul(unit)?.checked_add(fraction_of(fraction, unit)).map(|nanos| (nanos, rest))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// `0.<fraction>` of a unit, rounded down. Eighteen digits decide; a nanosecond is fewer in every unit.
fn fraction_of(fraction: &str, unit: u64) -> u64 {
    let mut scale: u128 = 1;
    let mut value: u128 = 0;
    for digit in fraction.bytes().take(18) {
        value = value * 10 + u128::from(digit - b'0');
        scale *= 10;
    }
    u64::try_from(value * u128::from(unit) / scale).unwrap_or(u64::MAX)
}

/// As `time.Duration.String()`: `1m0s`, `1.5s`, `20ms`, `0s`.
impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_str("-")?;
        }
        let nanos = self.0.unsigned_abs();
        match nanos {
            0 => f.write_str("0s"),
            1..MICROSECOND => write!(f, "{nanos}ns"),
            MICROSECOND..MILLISECOND => decimal(f, nanos, MICROSECOND, "\u{b5}s"),
            MILLISECOND..SECOND => decimal(f, nanos, MILLISECOND, "ms"),
            _ => {
                if nanos >= HOUR {
                    write!(f, "{}h", nanos / HOUR)?;
                }
                if nanos >= MINUTE {
                    write!(f, "{}m", nanos % HOUR / MINUTE)?;
                }
                decimal(f, nanos % MINUTE, SECOND, "s")
            }
        }
    }
}

/// `nanos` in a unit, with as many decimals as it needs.
fn decimal(f: &mut fmt::Formatter<'_>, nanos: u64, unit: u64, name: &str) -> fmt::Result {
    write!(f, "{}", nanos / unit)?;
    let mut rest = nanos % unit;
    if rest > 0 {
        f.write_str(".")?;
    }
    let mut unit = unit;
    while rest > 0 {
        unit /= 10;
        write!(f, "{}", rest / unit)?;
        rest %= unit;
    }
    f.write_str(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(text: &str) -> Option<i64> {
        GoDuration::parse(text).map(GoDuration::as_nanos)
    }

    #[test]
    fn reads_what_go_reads() {
        for (text, expected) in [
            ("0", 0),
            ("+0", 0),
            ("1h15m30.918s", 4_530_918_000_000),
            ("-1.5h", -5_400_000_000_000),
            (".5s", 500_000_000),
            ("5.s", 5_000_000_000),
            ("1\u{b5}s", 1_000),
            ("1\u{3bc}s", 1_000),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("0.3333333333333333333h", 1_199_999_999_999),
        ] {
            assert_eq!(nanos(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn refuses_what_go_refuses() {
        for text in ["", "-", "6", "s", ".s", "1x", "1 s", "1s ", "5secs", "9223372036854775808ns", "3000000h", "1e3s"]
        {
            assert_eq!(nanos(text), None, "{text}");
        }
    }

    #[test]
    fn prints_what_go_prints() {
        for (nanos, expected) in [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1\u{b5}s"),
            (20_000_000, "20ms"),
            (1_500_000_000, "1.5s"),
            (10_000_000_000, "10s"),
            (60_000_000_000, "1m0s"),
            (3_600_000_000_000, "1h0m0s"),
            (-90_000_000_000, "-1m30s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(GoDuration(nanos).to_string(), expected);
        }
    }
}
