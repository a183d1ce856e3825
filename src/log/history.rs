//! A log as readers see it: its backups, plain and packed, and the file that is written now, as one sequence.
//!
//! Nothing here writes. The writer may rotate, pack and prune at any moment between two calls.

use super::backup::{Backup, PACKED, Stamp, backups, file_name, read_name};
use super::{backup, rotation};
use crate::error::{During, Result};
use crate::process::procfs;
use flate2::read::MultiGzDecoder;
use rustix::fs::{AtFlags, Mode, OFlags, fstat, openat, readlink, statat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// So many backups are opened at a time: retention may have been told to keep any number.
const AT_ONCE: usize = 200;

/// The files of one log.
#[derive(Debug)]
pub struct History {
    directory: OwnedFd,
    log: String,
}

/// One of the files, open: it stays readable whatever becomes of its name.
#[derive(Debug)]
pub struct Segment {
    reader: Reader,
    stamp: Option<Stamp>,
}

#[derive(Debug)]
enum Reader {
    Plain(File),
    Packed(Box<MultiGzDecoder<File>>),
    /// A backup that cannot be opened: each read says why. The others can be read all the same.
    Closed {
        errno: Errno,
        packed: bool,
    },
}

/// What became of the file that was written when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The log's name leads to it: more may come.
    Current,
    /// Another file has the name. The writer is done with this one.
    Replaced,
    /// Nothing has the name: a rotation is under way, or somebody removed it.
    Nameless,
}

impl History {
    /// The log `log` (`executor` for `executor.log`) in a directory.
    pub fn open(directory: &Path, log: &str) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(directory, flags, Mode::empty()).during("open", directory.display())?;
        Ok(Self { directory, log: log.to_owned() })
    }

    /// Whether the directory holds a file of this log.
    pub fn exists(&self) -> bool {
        let current = statat(&self.directory, rotation::file_name(&self.log), AtFlags::SYMLINK_NOFOLLOW).is_ok();
        current || backups(self.directory.as_fd(), &self.log).is_ok_and(|found| !found.is_empty())
    }

    /// The files that follow the backup `after`, all of them without it, in the order in which they were written. All are
    /// open at once, so that retention cannot take one away while an earlier one is read.
    ///
    /// The last is the file that is written now, except when that was rotated while this looked: then it is the backup that
    /// it became, and the next call begins behind it.
    pub fn after(&self, after: Option<Stamp>) -> Result<Vec<Segment>> {
        // The order is what makes it whole: what is rotated behind our back after this open is among the backups.
        let current = self
            .open_file(&rotation::file_name(&self.log))
            .during("open", rotation::file_name(&self.log))?
            .map(|file| Segment { reader: Reader::Plain(file), stamp: None });
        let mut found = backups(self.directory.as_fd(), &self.log).during("list backups of", &self.log)?;
        found.retain(|backup| after.is_none_or(|after| backup.stamp.millis() > after.millis()));
        // The oldest first; of a backup that has both forms for a moment, the plain one.
        found.sort_by_key(|backup| (backup.stamp.millis(), backup.packed));
        found.dedup_by_key(|backup| backup.stamp);
        let rotated = current.as_ref().and_then(|current| current.became(self));
        if let Some(stamp) = rotated {
            found.retain(|backup| backup.stamp.millis() < stamp.millis());
        }
        let all = found.len() <= AT_ONCE;
        found.truncate(AT_ONCE);
        let mut segments: Vec<Segment> = found.into_iter().filter_map(|backup| self.open_backup(backup)).collect();
        segments.extend(current.filter(|_| all).map(|current| Segment { stamp: rotated, ..current }));
        Ok(segments)
    }

    /// None for a backup that retention has taken since.
    fn open_backup(&self, backup: Backup) -> Option<Segment> {
        let plain = file_name(&self.log, backup.stamp);
        let reader = match self.open_file(&plain) {
            Ok(Some(file)) => Reader::Plain(file),
            Ok(None) => match self.open_file(&(plain + PACKED)) {
                Ok(file) => Reader::Packed(Box::new(MultiGzDecoder::new(file?))),
                Err(errno) => Reader::Closed { errno, packed: true },
            },
            Err(errno) => Reader::Closed { errno, packed: false },
        };
        Some(Segment { reader, stamp: Some(backup.stamp) })
    }

    /// What a segment is called.
    pub fn name_of(&self, segment: &Segment) -> String {
        match (segment.stamp, &segment.reader) {
            (None, _) => rotation::file_name(&self.log),
            (Some(stamp), Reader::Packed(_) | Reader::Closed { packed: true, .. }) => {
                file_name(&self.log, stamp) + PACKED
            }
            (Some(stamp), Reader::Plain(_) | Reader::Closed { packed: false, .. }) => file_name(&self.log, stamp),
        }
    }

    fn open_file(&self, name: &str) -> rustix::io::Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match openat(&self.directory, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(File::from(fd))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for History {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

impl Segment {
    /// When it became a backup; None for the file that is written now.
    pub fn stamp(&self) -> Option<Stamp> {
        self.stamp
    }

    /// When it was last written to, in milliseconds of the Unix epoch: the stamp, or the file's time.
    pub fn last_written(&self) -> io::Result<i64> {
        match (self.stamp, &self.reader) {
            (Some(stamp), _) => Ok(stamp.millis()),
            (None, Reader::Plain(file)) => {
                let stat = fstat(file)?;
                Ok(stat
                    .st_mtime
                    .saturating_mul(1000)
                    .saturating_add(i64::try_from(stat.st_mtime_nsec).unwrap_or(0) / 1_000_000))
            }
            (None, Reader::Packed(_) | Reader::Closed { .. }) => Ok(i64::MAX),
        }
    }

    /// Whether more may come to a file that was the current one.
    pub fn standing(&self, history: &History) -> io::Result<Standing> {
        let Reader::Plain(file) = &self.reader else { return Ok(Standing::Replaced) };
        let own = fstat(file)?;
        match statat(history, rotation::file_name(&history.log), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(there) if (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino) => Ok(Standing::Current),
            Ok(_) => Ok(Standing::Replaced),
            Err(Errno::NOENT) => Ok(Standing::Nameless),
            Err(error) => Err(error.into()),
        }
    }

    /// The backup that a file became since it was opened, by the name that the kernel knows it under. It knows the last one
    /// even of a file that was removed, as a backup is when it has been packed. [KF-180]
    pub fn became(&self, history: &History) -> Option<Stamp> {
        let Reader::Plain(file) = &self.reader else { return self.stamp };
        let link = readlink(procfs::descriptor(file.as_raw_fd()), Vec::new()).ok()?.into_string().ok()?;
        let name = link.rsplit('/').next()?;
        match read_name(&history.log, name.strip_suffix(" (deleted)").unwrap_or(name)) {
            backup::Named::Backup(Backup { stamp, packed: false }) => Some(stamp),
            backup::Named::Backup(_) | backup::Named::Partial | backup::Named::Foreign => None,
        }
    }

    /// Back to its beginning.
    pub fn rewind(&mut self) -> io::Result<()> {
        match &mut self.reader {
            Reader::Plain(file) => file.rewind(),
            Reader::Packed(decoder) => {
                let mut file = decoder.get_ref().try_clone()?;
                file.rewind()?;
                **decoder = MultiGzDecoder::new(file);
                Ok(())
            }
            Reader::Closed { .. } => Ok(()),
        }
    }

    /// To its end: only what comes from now on is read.
    pub fn skip_all(&mut self) -> io::Result<()> {
        match &mut self.reader {
            Reader::Plain(file) => file.seek(SeekFrom::End(0)).map(drop),
            Reader::Packed(decoder) => io::copy(decoder, &mut io::sink()).map(drop),
            Reader::Closed { .. } => Ok(()),
        }
    }

    /// Begins again with a file that was made shorter from outside than what was read of it.
    pub fn notice_truncation(&mut self) -> io::Result<()> {
        let Reader::Plain(file) = &mut self.reader else { return Ok(()) };
        let size = u64::try_from(fstat(&*file)?.st_size).unwrap_or(0);
        if file.stream_position()? > size { file.rewind() } else { Ok(()) }
    }
}

impl Read for Segment {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.reader {
            Reader::Plain(file) => file.read(buffer),
            Reader::Packed(decoder) => decoder.read(buffer),
            Reader::Closed { errno, .. } => Err((*errno).into()),
        }
    }
}
