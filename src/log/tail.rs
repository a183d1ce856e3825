//! The last lines of a stream, kept for the message that says why a task failed.

use std::collections::VecDeque;

/// At most so many lines are kept.
const LINES: usize = 20;
/// At most so many bytes are kept.
const BYTES: usize = 16 * 1024;

/// The end of a stream. Takes memory only when data flows, and does not depend on the disk.
#[derive(Default)]
pub(super) struct Tail {
    ring: VecDeque<u8>,
    /// Bytes were pushed out of the ring, so it may begin inside a line.
    cut: bool,
}

impl Tail {
    /// Takes the next bytes of the stream.
    pub(super) fn extend(&mut self, data: &[u8]) {
        let kept = &data[data.len().saturating_sub(BYTES)..];
        let over = (self.ring.len() + kept.len()).saturating_sub(BYTES);
        self.cut |= over > 0 || kept.len() < data.len();
        self.ring.drain(..over);
        self.ring.extend(kept);
    }

    /// The last lines: at most 20, at most 16 KiB, the first one whole unless it alone is longer than that.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let mut bytes = Vec::from(std::mem::take(&mut self.ring));
        let newlines = || bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        // An unterminated last line counts as one.
        let open = usize::from(bytes.last().is_some_and(|byte| *byte != b'\n'));
        let lines = newlines().count() + open;
        let torn = usize::from(self.cut && lines > 1);
        let skip = torn.max(lines.saturating_sub(LINES));
        let start = skip.checked_sub(1).and_then(|nth| newlines().nth(nth)).map_or(0, |at| at + 1);
        bytes.drain(..start);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(chunks: &[&[u8]]) -> String {
        let mut tail = Tail::default();
        for chunk in chunks {
            tail.extend(chunk);
        }
        String::from_utf8(tail.take()).unwrap()
    }

    #[test]
    fn keeps_the_last_twenty_lines_over_chunk_borders() {
        let lines = |from, to| (from..to).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
        let (all, expected) = (lines(0, 50), lines(30, 50));
        assert_eq!(tail(&[all.as_bytes()]), expected);
        assert_eq!(tail(&all.as_bytes().chunks(7).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn an_unterminated_last_line_is_one_of_them() {
        let all: String = (0..20).map(|n| format!("{n}\n")).chain(["goodbye".to_owned()]).collect();
        assert!(tail(&[all.as_bytes()]).starts_with("1\n"));
        assert!(tail(&[all.as_bytes()]).ends_with("19\ngoodbye"));
        assert_eq!(tail(&[b"only"]), "only");
        assert_eq!(tail(&[]), "");
    }

    #[test]
    fn long_lines_are_bounded_in_bytes_and_the_first_is_whole() {
        let all = (0..30).map(|n| format!("{n:02}{}\n", "x".repeat(2000))).collect::<Vec<_>>().concat();
        let kept = tail(&all.as_bytes().chunks(4096).collect::<Vec<_>>());
        assert!(kept.len() <= BYTES);
        assert_eq!(kept.lines().count(), 8);
        assert!(kept.lines().all(|line| line.len() == 2002));
        assert_eq!(tail(&["y".repeat(40_000).as_bytes()]).len(), BYTES);
    }
}
