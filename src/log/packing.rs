//! gzip of backups, a slice at a time between the rounds of the relay.
//!
//! `file-rotate` compresses a whole backup at once, in the rotation, onto the final name [CR-43]: a fifth of a second for
//! 10 MiB, in which a loud child would stand still, and half a file under a whole file's name when minion is killed.

use super::backup::{PACKED, PARTIAL};
use crate::error::{Error, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, fstat, openat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::BorrowedFd;

/// So much of a backup is read and packed at a time: about half a millisecond.
const SLICE: usize = 16 * 1024;

/// The backups that wait for packing.
#[derive(Default)]
pub(super) struct Packer {
    /// File names; the newest is last and goes first, for it will be kept longest.
    waiting: Vec<String>,
    job: Option<Job>,
}

struct Job {
    backup: String,
    source: File,
    target: GzEncoder<File>,
}

impl Packer {
    /// Asks for a backup to be packed.
    pub(super) fn add(&mut self, backup: String) {
        self.waiting.push(backup);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.job.is_none() && self.waiting.is_empty()
    }

    /// Packs the next slice. On an error that backup stays as it is.
    pub(super) fn step(&mut self, directory: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<()> {
        let mut job = match self.job.take() {
            Some(job) => job,
            None => match self.waiting.pop().map(|backup| Job::start(directory, backup)) {
                None | Some(Ok(None)) => return Ok(()),
                Some(Ok(Some(job))) => job,
                Some(Err(error)) => return Err(error),
            },
        };
        let size = buffer.len().min(SLICE);
        match job.slice(&mut buffer[..size]) {
            Ok(true) => {
                self.job = Some(job);
                Ok(())
            }
            Ok(false) => job.finish(directory),
            Err(error) => {
                remove_partial(directory, &job.backup);
                Err(Error::io("pack", &job.backup, error))
            }
        }
    }

    /// Gives up everything that waits, and the space that the packed part takes. True if there was such a part.
    pub(super) fn abort(&mut self, directory: BorrowedFd<'_>) -> bool {
        self.waiting.clear();
        self.job.take().is_some_and(|job| {
            remove_partial(directory, &job.backup);
            true
        })
    }
}

impl Job {
    /// None when the backup is gone: retention was faster.
    fn start(directory: BorrowedFd<'_>, backup: String) -> Result<Option<Self>> {
        let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let source = match openat(directory, &backup, read, Mode::empty()) {
            // A second name could lead to what is not ours to copy.
            Ok(fd) if fstat(&fd).is_ok_and(|stat| stat.st_nlink > 1) => {
                return Err(Error::new("pack", backup, "the file has a second name (hard link)"));
            }
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(Error::io("pack", backup, error)),
        };
        let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let target = openat(directory, partial(&backup), create, Mode::from_raw_mode(0o640))
            .map_err(|error| Error::io("create", partial(&backup), error))?;
        let target = GzEncoder::new(File::from(target), Compression::default());
        Ok(Some(Self { backup, source, target }))
    }

    /// False at the end of the backup.
    fn slice(&mut self, buffer: &mut [u8]) -> std::io::Result<bool> {
        let count = self.source.read(buffer)?;
        self.target.write_all(&buffer[..count])?;
        Ok(count > 0)
    }

    /// The packed file takes its name when it is whole, and then the plain one goes.
    fn finish(self, directory: BorrowedFd<'_>) -> Result<()> {
        let Self { backup, source, target } = self;
        let result = target
            .finish()
            .map_err(|error| Error::io("pack", &backup, error))
            // A backup that was removed while it was packed is over in either form.
            .and_then(|_| if is_removed(&source) { Ok(()) } else { publish(directory, &backup) });
        remove_partial(directory, &backup);
        result
    }
}

fn partial(backup: &str) -> String {
    format!("{backup}{PARTIAL}")
}

fn is_removed(file: &File) -> bool {
    fstat(file).is_ok_and(|stat| stat.st_nlink == 0)
}

fn remove_partial(directory: BorrowedFd<'_>, backup: &str) {
    // Best effort: it is gone already after a success, and the next start removes what stays.
    let _ = unlinkat(directory, partial(backup), AtFlags::empty());
}

fn publish(directory: BorrowedFd<'_>, backup: &str) -> Result<()> {
    let packed = format!("{backup}{PACKED}");
    match renameat_with(directory, partial(backup), directory, &packed, RenameFlags::NOREPLACE) {
        // The file system does not know the flag; the name is free as far as anybody can tell.
        Err(Errno::INVAL | Errno::NOSYS) => renameat(directory, partial(backup), directory, &packed),
        result => result,
    }
    .map_err(|error| Error::io("name the packed backup", &packed, error))?;
    unlinkat(directory, backup, AtFlags::empty()).map_err(|error| Error::io("remove the packed backup", backup, error))
}
