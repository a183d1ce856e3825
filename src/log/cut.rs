//! Where a chunk is cut so that a log file holds whole lines. Pure.

/// What happens next with the bytes that wait for a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The first so many bytes go into the file as it is; never 0.
    Write(usize),
    /// The file is at a line end and the next line does not fit: rotate first. Never asked of an empty file.
    Rotate,
}

/// Decides what of `data` (not empty) goes into a file that holds `size` bytes and may hold `limit`.
///
/// A line is never spread over two files: one that is longer than the limit has a file of its own, and one whose beginning
/// was written before its length was known ends in the same file, which is the only way over the limit.
pub(super) fn cut(data: &[u8], size: u64, limit: u64, at_line_start: bool) -> Cut {
    let room = usize::try_from(limit.saturating_sub(size)).unwrap_or(usize::MAX);
    if data.len() <= room {
        return Cut::Write(data.len());
    }
    let (fits, over) = data.split_at(room);
    if let Some(end) = fits.iter().rposition(|byte| *byte == b'\n') {
        return Cut::Write(end + 1);
    }
    if at_line_start && size > 0 {
        return Cut::Rotate;
    }
    match over.iter().position(|byte| *byte == b'\n') {
        Some(end) => Cut::Write(room + end + 1),
        None => Cut::Write(data.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The files that result when the chunks arrive one after the other.
    fn files(chunks: &[Vec<u8>], limit: u64) -> Vec<Vec<u8>> {
        let mut files = vec![Vec::new()];
        for chunk in chunks {
            let mut rest = chunk.as_slice();
            while !rest.is_empty() {
                let file = files.last_mut().expect("there is always a file");
                let at_line_start = file.last().is_none_or(|byte| *byte == b'\n');
                match cut(rest, file.len() as u64, limit, at_line_start) {
                    Cut::Rotate => {
                        assert!(!file.is_empty(), "an empty file is never rotated");
                        files.push(Vec::new());
                    }
                    Cut::Write(count) => {
                        assert!(count > 0, "each step gets on");
                        file.extend_from_slice(&rest[..count]);
                        rest = &rest[count..];
                    }
                }
            }
        }
        files
    }

    /// The simple model, which sees the whole stream at once: line after line, a new file when the next does not fit.
    fn model(stream: &[u8], limit: u64) -> Vec<Vec<u8>> {
        let mut files = vec![Vec::new()];
        for line in stream.split_inclusive(|byte| *byte == b'\n') {
            let file = files.last_mut().expect("there is always a file");
            if !file.is_empty() && (file.len() + line.len()) as u64 > limit {
                files.push(line.to_vec());
            } else {
                file.extend_from_slice(line);
            }
        }
        files
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop_oneof![4 => Just(b'x'), 1 => Just(b'\n')], 0..400)
    }

    proptest! {
        #[test]
        fn one_chunk_gives_the_files_of_the_model(stream in stream(), limit in 1_u64..60) {
            prop_assert_eq!(files(std::slice::from_ref(&stream), limit), model(&stream, limit));
        }

        #[test]
        fn chunks_keep_every_byte_in_order_and_every_line_whole(
            stream in stream(), limit in 1_u64..60, size in 1_usize..50
        ) {
            let chunks: Vec<Vec<u8>> = stream.chunks(size).map(<[u8]>::to_vec).collect();
            let files = files(&chunks, limit);
            prop_assert_eq!(files.concat(), stream);
            for (index, file) in files.iter().enumerate() {
                prop_assert!(index + 1 == files.len() || file.ends_with(b"\n"), "each full file ends with a line");
                // Over the limit there is at most the end of one line that began below it, or one long line.
                let last_line = file.split_inclusive(|byte| *byte == b'\n').next_back().unwrap_or_default();
                prop_assert!(((file.len() - last_line.len()) as u64) < limit || file.len() == last_line.len());
            }
        }
    }

    #[test]
    fn a_line_longer_than_the_limit_has_its_own_file() {
        let data = b"a\nbbbbbbbbbbbbbbbb\nc\n".to_vec();
        assert_eq!(files(&[data], 4), [b"a\n".to_vec(), b"bbbbbbbbbbbbbbbb\n".to_vec(), b"c\n".to_vec()]);
    }
}
