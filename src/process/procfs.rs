//! Reading files and directories that the kernel makes up: `/proc`, cgroups.

use rustix::buffer::spare_capacity;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A path to what an own descriptor is open on: right also when that was renamed or removed, or is too deep for a path, and
/// short enough for the address of a socket in it. [KF-91]
pub fn descriptor(fd: RawFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{fd}"))
}

/// What one read asks for.
const PIECE: usize = 4096;

/// The whole text of a file whose size the kernel does not tell.
///
/// `std::fs::read` asks for the size, is told 0, and then reads in steps that begin at 32 bytes; a `/proc` file of a few
/// kilobytes costs it ten calls where this makes four.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut text = Vec::new();
    let mut piece = [0; PIECE];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(text),
            Ok(read) => text.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A file of one process or one number, whose text the kernel makes in one piece: a read that does not fill its buffer has
/// reached the end, and nobody has to ask again. [KF-24]
pub fn read_piece(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let file = openat(CWD, path.as_ref(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = Vec::with_capacity(PIECE);
    loop {
        let room = text.capacity() - text.len();
        match rustix::io::read(&file, spare_capacity(&mut text)) {
            Ok(count) if count < room => return Ok(text),
            Ok(_) => text.reserve(text.len()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A file that is made anew by each read, out of what may be another thing by then: `environ` belongs to the memory that a
/// process had when it was opened, and after its exec there is none. One read is of one moment. [KF-82]
pub fn read_at_once(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut room = PIECE;
    loop {
        let file = openat(CWD, path.as_ref(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut text = Vec::with_capacity(room);
        match rustix::io::read(&file, spare_capacity(&mut text)) {
            Ok(_) if text.len() == text.capacity() => room = text.capacity() * 4,
            Ok(_) => return Ok(text),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The names in a directory that are numbers: pids in `/proc`, threads in `task`, descriptors in `fd`.
///
/// Not `std::fs::read_dir`, which panics where closing the directory fails. [CR-150]
pub fn numbers(path: impl AsRef<Path>) -> io::Result<Vec<i32>> {
    let names = open_directory(path.as_ref())?.filter_map(Result::ok);
    Ok(names.filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok()).collect())
}

/// The names of the directories in a directory. For cgroups, whose file system says of each entry what it is. [CR-150]
pub fn directories(path: impl AsRef<Path>) -> io::Result<Vec<OsString>> {
    let below =
        open_directory(path.as_ref())?.filter_map(Result::ok).filter(|entry| entry.file_type() == FileType::Directory);
    let names = below.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
    Ok(names.filter(|name| name != "." && name != "..").collect())
}

fn open_directory(path: &Path) -> io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Dir::new(openat(CWD, path, flags, Mode::empty())?)?)
}
