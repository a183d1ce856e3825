//! Durations as the agent writes and reads them: `5secs`, `1500ms`, `1.025mins`.
//!
//! Both directions are those of stout's `duration.hpp`, its arithmetic in doubles included, so that a value that this
//! program prints is one that an agent reads, and the other way round. [ME-01]

use crate::error::{Error, Result};
use std::time::Duration;

/// The units with their length in nanoseconds, the shortest first.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("secs", 1_000_000_000),
    ("mins", 60_000_000_000),
    ("hrs", 3_600_000_000_000),
    ("days", 86_400_000_000_000),
    ("weeks", 604_800_000_000_000),
];

/// 2^63 nanoseconds, 292 years: the first length that an agent cannot hold.
const TOO_LONG: f64 = 9_223_372_036_854_775_808.0;

/// The significant digits that the agent prints.
const DIGITS: usize = 15;

/// Reads a duration. A number without sign, exponent or space, then exactly one of the agent's units: `5s`, `5sec`, `1min`
/// and a bare `5` are errors, to the agent too. [ME-01]
pub fn parse(text: &str) -> Result<Duration> {
    let refuse = |why: &'static str| {
        Error::new("read duration", format!("{text:?}"), why)
            .hint("a number and one of ns, us, ms, secs, mins, hrs, days, weeks, as in 5secs or 1.5mins")
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(|| refuse("it has no unit"))?;
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| refuse("it does not begin with a number"))?;
    let (_, length) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(|| refuse("its unit is unknown"))?;
    #[expect(clippy::cast_precision_loss, reason = "every unit is far below 2^53, and the agent computes in doubles")]
    let nanoseconds = number * *length as f64;
    if nanoseconds >= TOO_LONG {
        return Err(refuse("it is longer than 292 years"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the agent truncates; range checked")]
    Ok(Duration::from_nanos(nanoseconds as u64))
}

/// Prints a duration: in the longest unit that it fills, or in the next shorter one where only that gives a whole number.
///
/// What an agent cannot hold is printed as the longest that it can.
pub fn format(duration: Duration) -> String {
    let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).min(i64::MAX.unsigned_abs());
    let bucket = UNITS.iter().rposition(|(_, length)| nanoseconds >= *length).unwrap_or(0);
    let whole = |index: usize| nanoseconds % UNITS[index].1 == 0;
    let index = if bucket > 0 && !whole(bucket) && whole(bucket - 1) { bucket - 1 } else { bucket };
    let (unit, length) = UNITS[index];
    if whole(index) {
        return format!("{}{unit}", nanoseconds / length);
    }
    #[expect(clippy::cast_precision_loss, reason = "the agent computes in doubles")]
    let value = nanoseconds as f64 / length as f64;
    let decimals = DIGITS - (nanoseconds / length).to_string().len();
    let number = format!("{value:.decimals$}");
    format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn reads_every_unit_of_the_agent() {
        for (text, nanoseconds) in [
            ("0ns", 0),
            ("7us", 7_000),
            ("1500ms", 1_500_000_000),
            ("5secs", 5_000_000_000),
            // In doubles 1.025 minutes are a hair less than 61.5 s, and the agent truncates.
            ("1.025mins", 61_499_999_999),
            ("2hrs", 7_200_000_000_000),
            ("10days", 864_000_000_000_000),
            ("2weeks", 1_209_600_000_000_000),
            (".5secs", 500_000_000),
            ("5.secs", 5_000_000_000),
            ("0.3ns", 0),
            ("005secs", 5_000_000_000),
        ] {
            assert_eq!(parse(text).unwrap(), Duration::from_nanos(nanoseconds), "{text}");
        }
    }

    #[test]
    fn refuses_what_the_agent_refuses() {
        for text in [
            "",
            "5",
            "5.",
            ".",
            "secs",
            ".secs",
            "5s",
            "5sec",
            "1min",
            "5Secs",
            "5 secs",
            " 5secs",
            "5secs ",
            "-5secs",
            "+5secs",
            "1e3secs",
            "1.2.3secs",
            "5secs5secs",
            "infsecs",
            "nansecs",
            "5µs",
            "0x5secs",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
        assert!(parse("9223372036854775807ns").is_err(), "the nearest double is 2^63");
        assert!(parse("15250weeks").is_ok());
        assert!(parse("15251weeks").is_err());
        assert!(parse(&format!("{}secs", "9".repeat(400))).is_err());
    }

    #[test]
    fn prints_as_the_agent_prints() {
        for (duration, text) in [
            (Duration::ZERO, "0ns"),
            (Duration::from_nanos(1), "1ns"),
            (Duration::from_nanos(1_500), "1500ns"),
            (Duration::from_nanos(1_000_001), "1.000001ms"),
            (Duration::from_micros(1_001), "1001us"),
            (Duration::from_millis(1_500), "1500ms"),
            (5 * SECOND, "5secs"),
            (60 * SECOND, "1mins"),
            (90 * SECOND, "90secs"),
            (Duration::from_millis(61_500), "1.025mins"),
            (Duration::from_millis(3_600_500), "1.00013888888889hrs"),
            (864_000 * SECOND, "10days"),
            (1_209_600 * SECOND, "2weeks"),
            (Duration::MAX, "15250.2844524715weeks"),
        ] {
            assert_eq!(format(duration), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back_to_fifteen_digits(nanoseconds in 0..i64::MAX.unsigned_abs() / 2) {
            let again = parse(&format(Duration::from_nanos(nanoseconds))).unwrap();
            let off = u64::try_from(again.as_nanos()).unwrap().abs_diff(nanoseconds);
            prop_assert!(off <= 1 + nanoseconds / 100_000_000_000_000, "{nanoseconds} off by {off}");
        }

        #[test]
        fn whole_milliseconds_up_to_a_minute_survive_exactly(milliseconds in 0_u64..60_000) {
            let duration = Duration::from_millis(milliseconds);
            prop_assert_eq!(parse(&format(duration)).unwrap(), duration);
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse(&text);
        }
    }
}
