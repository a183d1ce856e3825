//! The file that a log is written to: opened without trust in what has its name, and watched for what others do to it.

use crate::error::{Error, Result};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const HINT: &str = "move it out of the sandbox; a log is a regular file of its own";

/// A regular file with one name, open for appending.
pub(super) struct LogFile {
    fd: OwnedFd,
    name: String,
    identity: Identity,
    /// What the file holds, by our own count; others can only make it wrong until the next look.
    size: u64,
    at_line_start: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

impl LogFile {
    /// Opens or creates the file with mode 0640. A symlink, a directory, a FIFO, a device, a socket or a file with a second
    /// name is refused: whoever put it there would have us write somewhere else, or wait. [GO-41]
    pub(super) fn open(directory: BorrowedFd<'_>, name: &str) -> Result<Self> {
        let opening = |error: Errno| {
            let failed = Error::io("open the log", name, error);
            if error == Errno::NOENT { failed.hint("the sandbox was removed") } else { failed }
        };
        match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => refuse(name, &stat)?,
            Err(Errno::NOENT) => {}
            Err(error) => return Err(opening(error)),
        }
        // What was swapped in since then does not make us follow, wait or become a terminal's owner.
        let flags = OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let fd = openat(directory, name, flags, Mode::from_raw_mode(0o640)).map_err(opening)?;
        let stat = fstat(&fd).map_err(opening)?;
        refuse(name, &stat)?;
        let mut file = Self { fd, name: name.to_owned(), identity: Identity::of(&stat), size: 0, at_line_start: true };
        file.adopt(directory, &stat);
        Ok(file)
    }

    /// `executor.log`
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn is_at_line_start(&self) -> bool {
        self.at_line_start
    }

    /// Writes until everything is written or an error says why not; how much was written comes with either.
    pub(super) fn write(&mut self, data: &[u8]) -> (usize, rustix::io::Result<()>) {
        let mut done = 0;
        let result = loop {
            match data.get(done..) {
                None | Some([]) => break Ok(()),
                Some(rest) => match rustix::io::write(&self.fd, rest) {
                    // A regular file that takes nothing and says nothing has no room; never try for ever.
                    Ok(0) => break Err(Errno::NOSPC),
                    Ok(count) => done += count,
                    Err(Errno::INTR) => {}
                    Err(error) => break Err(error),
                },
            }
        };
        if let Some(last) = data[..done].last() {
            self.size += done as u64;
            self.at_line_start = *last == b'\n';
        }
        (done, result)
    }

    /// Whether the name still leads to this file. A change of its size by others is taken over: `O_APPEND` writes at the
    /// real end, so a truncated file gets no hole. [GO-42]
    pub(super) fn is_in_place(&mut self, directory: BorrowedFd<'_>) -> rustix::io::Result<bool> {
        match statat(directory, self.name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if Identity::of(&stat) == self.identity => {
                self.adopt(directory, &stat);
                Ok(true)
            }
            Ok(_) | Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn adopt(&mut self, directory: BorrowedFd<'_>, stat: &Stat) {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size != self.size {
            self.size = size;
            self.at_line_start = size == 0 || self.ends_with_newline(directory).unwrap_or(false);
        }
    }

    /// Our descriptor is for writing only, so this opens the file again, for a moment.
    fn ends_with_newline(&self, directory: BorrowedFd<'_>) -> rustix::io::Result<bool> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = openat(directory, self.name.as_str(), flags, Mode::empty())?;
        if Identity::of(&fstat(&fd)?) != self.identity {
            return Ok(false);
        }
        let mut last = [0];
        let count = rustix::io::pread(fd, &mut last, self.size.saturating_sub(1))?;
        Ok(count == 1 && last == *b"\n")
    }
}

impl AsFd for LogFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The error for what no log may be.
fn refuse(name: &str, stat: &Stat) -> Result<()> {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_nlink > 1 => "the file has a second name (hard link)",
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a directory has that name",
        FileType::Symlink => "a symbolic link has that name",
        FileType::Fifo => "a FIFO has that name",
        FileType::Socket => "a socket has that name",
        FileType::CharacterDevice | FileType::BlockDevice => "a device has that name",
        FileType::Unknown => "it is no regular file",
    };
    Err(Error::new("open the log", name, kind).hint(HINT))
}
