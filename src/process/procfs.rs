//! Reading files of `/proc`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The whole text of a file whose size the kernel does not tell.
///
/// `std::fs::read` asks for the size, is told 0, and then reads in steps that begin at 32 bytes; a `/proc` file of a few
/// kilobytes costs it ten calls where this makes four.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(text),
            Ok(read) => text.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
