//! What a mistyped name may have meant.

/// The name that is at most two edits away, the nearest first; `_` counts as `-`.
///
/// Short names allow less: almost every name of four letters is two edits from another.
pub fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match typed.len() {
        0..4 => 0,
        4..6 => 1,
        _ => 2,
    };
    names
        .filter(|name| name.len().abs_diff(typed.len()) <= limit)
        .map(|name| (distance(typed, name), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn one name into the other.
fn distance(a: &str, b: &str) -> usize {
    let fold = |text: &str| -> Vec<u8> { text.bytes().map(|byte| if byte == b'_' { b'-' } else { byte }).collect() };
    let (a, b) = (fold(a), fold(b));
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substituted = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut cost = substituted.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                cost = cost.min(before[j - 2] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_underscores() {
        let names = || ["max-log-size", "max-log-age", "grace", "v"].into_iter();
        assert_eq!(nearest("max-log-sise", names()), Some("max-log-size"));
        assert_eq!(nearest("max_log_size", names()), Some("max-log-size"));
        assert_eq!(nearest("mxa-log-age", names()), Some("max-log-age"));
        assert_eq!(nearest("grade", names()), Some("grace"));
        assert_eq!(nearest("grid", names()), None);
        assert_eq!(nearest("x", names()), None);
        assert_eq!(nearest("max-pods", names()), None);
    }
}
