//! Quantities as Kubernetes writes them: `10Mi`, `1G`, `0.5Gi`, `1e6`.

/// Reads a quantity and rounds it up to a whole number, as `Quantity.Value()` does. None for what is no quantity, and for
/// more digits than any size in bytes has (20 always do).
///
/// Suffixes: none, `m` (a thousandth), `k M G T P E` (powers of 1000), `Ki Mi Gi Ti Pi Ei` (powers of 1024), `e<n>` and
/// `E<n>` (powers of ten). Beyond the range of `i64` the nearest end stands, as there.
pub fn parse(text: &str) -> Option<i64> {
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let scale = Scale::parse(suffix)?;
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    let magnitude = magnitude(digits.trim_start_matches('0'), i64::try_from(fraction.len()).ok()?, &scale, negative)?;
    Some(if negative { 0_i64.saturating_sub_unsigned(magnitude) } else { i64::try_from(magnitude).unwrap_or(i64::MAX) })
}

/// What a suffix multiplies by: `2^binary * 10^decimal`.
struct Scale {
    binary: u32,
    decimal: i64,
}

impl Scale {
    fn parse(suffix: &str) -> Option<Self> {
        let decimal = |decimal| Some(Self { binary: 0, decimal });
        let binary = |binary| Some(Self { binary, decimal: 0 });
        match suffix {
            "" => decimal(0),
            "m" => decimal(-3),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            "Ki" => binary(10),
            "Mi" => binary(20),
            "Gi" => binary(30),
            "Ti" => binary(40),
            "Pi" => binary(50),
            "Ei" => binary(60),
            _ => decimal(exponent(suffix.strip_prefix(['e', 'E'])?)?),
        }
    }
}

/// `6`, `+6`, `-6`. An exponent beyond a thousand cannot change the result any more.
fn exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value = digits.parse().unwrap_or(1000).min(1000);
    Some(if text.starts_with('-') { -value } else { value })
}

/// `digits * 10^-places * scale`, up to a whole number; None when 128 bits do not hold the exact value.
fn magnitude(digits: &str, places: i64, scale: &Scale, negative: bool) -> Option<u64> {
    if digits.is_empty() {
        return Some(0);
    }
    // Powers of two go in first, so nothing is rounded twice.
    let value = digits.parse::<u128>().ok()?.checked_mul(1 << scale.binary)?;
    let power = scale.decimal - places;
    let factor = u32::try_from(power.unsigned_abs()).ok().and_then(|n| 10_u128.checked_pow(n));
    let result = match (power >= 0, factor) {
        (true, factor) => value.saturating_mul(factor.unwrap_or(u128::MAX)),
        // Up is towards zero below zero, and away from it above.
        (false, Some(factor)) if negative => value / factor,
        (false, Some(factor)) => value.div_ceil(factor),
        (false, None) => u128::from(!negative),
    };
    Some(u64::try_from(result).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_kubernetes_reads() {
        for (text, expected) in [
            ("10Mi", 10 << 20),
            ("1G", 1_000_000_000),
            ("0.5Gi", 1 << 29),
            ("1e6", 1_000_000),
            ("1E6", 1_000_000),
            ("1E", 1_000_000_000_000_000_000),
            ("1Ei", 1 << 60),
            ("1500Ki", 1_536_000),
            (".5k", 500),
            ("5.", 5),
            ("+7", 7),
            ("0", 0),
            ("1.1", 2),
            ("1500m", 2),
            ("-1", -1),
            ("-1.5", -1),
            ("1e-3", 1),
            ("9Ei", i64::MAX),
            ("1e99", i64::MAX),
            ("-1e99", i64::MIN),
            ("0.0000000000000000000000000000000000000000001", 1),
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_quantity() {
        for text in ["", "x", "-", ".", "1.2.3", "1 Mi", "1Mi ", "Mi", "1mi", "1KiB", "1e", "1ee6", "0x10", "1_0", "1K"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
