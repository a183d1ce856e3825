//! Sizes and times for people. Exact values are in the JSON.

/// `41.2 MiB`, `12 KiB`, `7 B`.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut tenths, mut unit) = (u128::from(bytes) * 10, 0);
    // 1023.95 and more would be written as 1024.0.
    while tenths >= 10_235 && unit + 1 < UNITS.len() {
        tenths = (tenths + 512) / 1024;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ if tenths < 1000 => format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit]),
        _ => format!("{} {}", (tenths + 5) / 10, UNITS[unit]),
    }
}

/// The two largest units: `3 d 4 h`, `2 h 3 m`, `61 s` is `1 m 1 s`, `4.2 s`, `0.3 s`.
pub(super) fn span(seconds: f64) -> String {
    if seconds < 9.95 {
        return format!("{:.1} s", seconds.max(0.0));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; 2^63 seconds are enough")]
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} m {} s", whole / 60, whole % 60),
        3600..86_400 => format!("{} h {} m", whole / 3600, whole / 60 % 60),
        _ => format!("{} d {} h", whole / 86_400, whole / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_at_most_three_digits_and_one_after_the_point() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (12_345, "12.1 KiB"),
            (150 * 1024, "150 KiB"),
            (1024 * 1024 - 1, "1.0 MiB"),
            (43_200_000, "41.2 MiB"),
            (u64::MAX, "16384 PiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn spans_have_their_two_largest_units() {
        for (seconds, text) in [
            (0.0, "0.0 s"),
            (4.24, "4.2 s"),
            (9.96, "10 s"),
            (59.6, "1 m 0 s"),
            (3599.0, "59 m 59 s"),
            (7380.0, "2 h 3 m"),
            (273_600.0, "3 d 4 h"),
            (-1.0, "0.0 s"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }
}
