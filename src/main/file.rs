//! Files that somebody else named, read without waiting and within a bound.

use std::fs::{FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Bytes of any such file: a passwd file with 100,000 users is shorter.
pub(crate) const MOST: u64 = 16 << 20;

/// The content of a regular file. Others are refused: a FIFO makes wait for its writer, a device may have no end, and both
/// are gone once they were read, while `--check` and the start both read.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other(format!("it is {}, not a regular file", kind(about.file_type()))));
    }
    let length = about.len().min(most);
    // With room behind the end, which is where the read that finds the end reads to.
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 64);
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is longer than {} MiB", most >> 20)));
    }
    Ok(bytes)
}

fn kind(of: FileType) -> &'static str {
    if of.is_dir() {
        "a directory"
    } else if of.is_fifo() {
        "a pipe"
    } else {
        "a device"
    }
}
