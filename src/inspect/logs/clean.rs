//! Bytes of a log for a terminal: what it would obey is spelled out.

/// Keeps what it needs between two pieces of the stream.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    out: Vec<u8>,
    /// The last byte was the first of a two-byte character that may be a control character (U+0080 to U+009F).
    open: bool,
}

impl Cleaner {
    /// The piece with control characters as `\x1b`; line ends and tabs stay.
    pub(super) fn clean(&mut self, piece: &[u8]) -> &[u8] {
        self.out.clear();
        for byte in piece {
            let follows = std::mem::take(&mut self.open);
            match byte {
                0x80..=0x9f if follows => self.spell(*byte),
                _ if follows => {
                    self.out.push(0xc2);
                    self.plain(*byte);
                }
                _ => self.plain(*byte),
            }
        }
        &self.out
    }

    fn plain(&mut self, byte: u8) {
        match byte {
            b'\n' | b'\t' => self.out.push(byte),
            0..=0x1f | 0x7f => self.spell(byte),
            0xc2 => self.open = true,
            _ => self.out.push(byte),
        }
    }

    fn spell(&mut self, byte: u8) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.out.extend_from_slice(&[b'\\', b'x', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out_across_pieces_too() {
        let mut cleaner = Cleaner::default();
        assert_eq!(cleaner.clean(b"a\x1b[31mb\tc\r\n"), b"a\\x1b[31mb\tc\\x0d\n");
        assert_eq!(cleaner.clean("naïve \u{a9}\u{c2}".as_bytes()), "naïve \u{a9}\u{c2}".as_bytes());
        assert_eq!(cleaner.clean(b"x\xc2"), b"x");
        assert_eq!(cleaner.clean(b"\x9b1m"), b"\\x9b1m", "the eight-bit form of ESC [");
    }
}
