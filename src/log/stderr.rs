//! A stderr of any kind, written to without waiting for its reader.

use super::loss::newlines;
use crate::process::procfs;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A pipe takes so much as a whole or not at all, and when it is writable it takes it at once.
const PIPE_BUF: usize = 4096;

/// How it can be written to without waiting.
enum Kind {
    /// Opened anew with `O_NONBLOCK`: to set that flag on the descriptor we got would set it for everyone who shares it. [KF-42]
    Reopened,
    Socket,
    /// It could not be opened anew: asked before each write, which is of a size that then fits. Another writer may be faster
    /// in between; that is the rest of the risk.
    Asked,
    /// A regular file. It never says that it would block, and a new opening would not share the offset.
    File,
}

/// What a write did.
pub(super) enum Written {
    Some(usize),
    /// The reader is slow.
    Blocked,
    /// A full or broken disk: the line is lost.
    Refused {
        bytes: usize,
        lines: u64,
    },
    /// The reader is gone.
    Deaf,
}

/// Stderr, and the lines that it has not yet taken.
pub(super) struct Sink {
    stderr: Option<(OwnedFd, Kind)>,
    lines: Vec<u8>,
    done: usize,
    /// The reader is gone. The descriptor stays open: others share what it is open on, so closing it would not take it out of
    /// an epoll. [KF-44]
    deaf: bool,
}

impl Sink {
    pub(super) fn new(stderr: Option<OwnedFd>) -> Self {
        Self { stderr: stderr.map(examine), lines: Vec::new(), done: 0, deaf: false }
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.stderr.as_ref().map(|(fd, _)| fd.as_fd())
    }

    /// Whether a write may last as long as a disk hangs.
    pub(super) fn is_file(&self) -> bool {
        matches!(self.stderr, Some((_, Kind::File)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.done == self.lines.len()
    }

    pub(super) fn load(&mut self, lines: Vec<u8>) {
        self.lines = lines;
        self.done = 0;
    }

    /// Writes once: whole lines where they fit into one write that no other writer's bytes can get into.
    pub(super) fn write(&mut self) -> Written {
        let Some((fd, kind)) = self.stderr.as_ref().filter(|_| !self.deaf) else { return Written::Deaf };
        let piece = piece(&self.lines[self.done..]);
        match write_once(fd.as_fd(), kind, piece) {
            Ok(count) => {
                self.done += count;
                self.settle();
                Written::Some(count)
            }
            Err(Errno::AGAIN) => Written::Blocked,
            Err(Errno::INTR) => Written::Some(0),
            // No space is a matter of time; everything else, EPIPE first of all, is for good. [GO-43]
            Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => {
                let bytes = piece.len();
                let lines = newlines(piece);
                self.done += bytes;
                self.settle();
                Written::Refused { bytes, lines }
            }
            Err(_) => {
                self.load(Vec::new());
                self.deaf = true;
                Written::Deaf
            }
        }
    }

    fn settle(&mut self) {
        if self.is_empty() {
            drop(mem::take(&mut self.lines));
            self.done = 0;
        }
    }
}

fn piece(lines: &[u8]) -> &[u8] {
    let most = &lines[..lines.len().min(PIPE_BUF)];
    let whole = most.iter().rposition(|byte| *byte == b'\n').map_or(most.len(), |at| at + 1);
    &most[..whole]
}

fn examine(fd: OwnedFd) -> (OwnedFd, Kind) {
    match fstat(&fd).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::RegularFile) => return (fd, Kind::File),
        Ok(FileType::Socket) => return (fd, Kind::Socket),
        _ => {}
    }
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match open(procfs::descriptor(fd.as_raw_fd()), flags, Mode::empty()) {
        Ok(own) => (own, Kind::Reopened),
        Err(_) => (fd, Kind::Asked),
    }
}

fn write_once(fd: BorrowedFd<'_>, kind: &Kind, piece: &[u8]) -> rustix::io::Result<usize> {
    match kind {
        Kind::Socket => send(fd, piece, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
        Kind::Asked => {
            let mut asked = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
            match poll(&mut asked, Some(&Timespec::default()))? {
                0 => Err(Errno::AGAIN),
                _ => rustix::io::write(fd, piece),
            }
        }
        Kind::Reopened | Kind::File => rustix::io::write(fd, piece),
    }
}
