//! Numbers for people. JSON has the exact ones.

use std::time::Duration;

/// Bytes in binary units, three digits at most before the unit: `0 B`, `1023 B`, `1.5 KiB`, `192 MiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let power = (count.ilog2() / 10).min(6);
    let unit = 1_u64 << (10 * power);
    scaled(count, unit).map_or_else(
        // 1023.96 KiB are 1.0 MiB, not 1024 KiB.
        || format!("1.0 {}", UNITS[(power as usize).min(UNITS.len() - 1)]),
        |number| format!("{number} {}", UNITS[power as usize - 1]),
    )
}

/// `count / unit` with one decimal below 10 and none above; None where it rounds up to 1024.
fn scaled(count: u64, unit: u64) -> Option<String> {
    let tenths = (u128::from(count) * 10 + u128::from(unit) / 2) / u128::from(unit);
    if tenths < 100 {
        return Some(format!("{}.{}", tenths / 10, tenths % 10));
    }
    let whole = (u128::from(count) + u128::from(unit) / 2) / u128::from(unit);
    (whole < 1024).then(|| whole.to_string())
}

/// A span of time in its two largest units: `850ms`, `3.2s`, `3m12s`, `2h05m`, `4d06h`.
pub fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0 => format!("{}ms", span.as_millis()),
        1..10 => format!("{}.{}s", seconds, span.subsec_millis() / 100),
        10..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// The same of seconds as JSON has them; what is no span of time is none.
pub fn seconds(seconds: f64) -> String {
    span(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

/// A part of a whole in per cent, without decimals; `-` of nothing.
pub fn percent(part: u64, whole: u64) -> String {
    match u128::from(whole) {
        0 => "-".to_owned(),
        whole => format!("{}%", u128::from(part) * 100 / whole),
    }
}

/// `1 process`, `3 processes`: a number with its noun.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_at_most_four_characters_before_the_unit() {
        for (count, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (10 << 10, "10 KiB"),
            (192 << 20, "192 MiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(bytes(count), text, "{count}");
        }
    }

    #[test]
    fn spans_have_two_units_at_most() {
        for (milliseconds, text) in [
            (850, "850ms"),
            (3_250, "3.2s"),
            (59_000, "59s"),
            (192_000, "3m12s"),
            (7_500_000, "2h05m"),
            (367_200_000, "4d06h"),
        ] {
            assert_eq!(span(Duration::from_millis(milliseconds)), text);
        }
        assert_eq!((seconds(3.25), seconds(-1.0), seconds(f64::NAN)), ("3.2s".into(), "0ms".into(), "0ms".into()));
    }

    #[test]
    fn parts_and_counts() {
        assert_eq!(
            (percent(1, 3), percent(u64::MAX, u64::MAX), percent(1, 0)),
            ("33%".into(), "100%".into(), "-".into())
        );
        assert_eq!(
            (counted(1, "process", "processes"), counted(0, "pid", "pids")),
            ("1 process".into(), "0 pids".into())
        );
    }
}
