//! What was dropped, and the one line in the log that says so.

use super::backup::Stamp;
use rustix::io::Errno;
use std::io;

/// Bytes that are in no file, until the log says so.
#[derive(Default)]
pub(super) struct Loss {
    pub(super) bytes: u64,
    newlines: u64,
    /// The last dropped byte was not a newline: one more line is damaged than there are newlines.
    open: bool,
    since: Option<Stamp>,
}

impl Loss {
    pub(super) fn add(&mut self, data: &[u8]) {
        let Some(last) = data.last() else { return };
        self.bytes += data.len() as u64;
        self.newlines += newlines(data);
        self.open = *last != b'\n';
        self.since.get_or_insert_with(Stamp::now);
    }

    /// `minion: dropped 4711 bytes (47 lines) at 2026-11-30T01:18:34.945Z: No space left on device`; the time is that of the
    /// first byte.
    pub(super) fn marker(&self, why: Option<Errno>) -> String {
        let lines = self.newlines + u64::from(self.open);
        let since = self.since.unwrap_or_else(Stamp::now).iso();
        let why = why.map_or_else(|| "the log could not be written".to_owned(), words);
        format!("minion: dropped {} bytes ({lines} lines) at {since}: {why}\n", self.bytes)
    }
}

/// How many lines end in `data`.
pub(super) fn newlines(data: &[u8]) -> u64 {
    data.split(|byte| *byte == b'\n').count() as u64 - 1
}

/// The errno as the C library words it, without std's number behind it.
fn words(errno: Errno) -> String {
    let text = io::Error::from(errno).to_string();
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marker_counts_bytes_and_lines_and_names_the_error() {
        let mut loss = Loss::default();
        loss.add(b"one\ntwo\nth");
        loss.add(b"");
        loss.since = Some(Stamp::from_millis(1_796_001_514_945));
        let expected = "minion: dropped 10 bytes (3 lines) at 2026-11-30T01:18:34.945Z: No space left on device\n";
        assert_eq!(loss.marker(Some(Errno::NOSPC)), expected);
    }
}
