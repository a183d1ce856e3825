//! What children say and hold: lines out of a pipe, and a FIFO that is at its end when they are dead.

use super::{DEADLINE, wait_readable};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use rustix::io::{Errno, fcntl_getfd, ioctl_fionbio, read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

/// Lines that are waited for.
pub struct Lines {
    fd: OwnedFd,
    /// Everything that was read.
    text: Vec<u8>,
    /// The beginning of the line to look at next.
    next: usize,
    ended: bool,
}

impl Lines {
    /// Out of the read end of a pipe.
    pub fn of(fd: OwnedFd) -> Self {
        assert!(fcntl_getfd(&fd).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        ioctl_fionbio(&fd, true).unwrap();
        Self { fd, text: Vec::new(), next: 0, ended: false }
    }

    /// Out of a new FIFO that is never at its end, because it is open for writing here.
    pub fn fifo(path: &Path) -> Self {
        make_fifo(path);
        Self::of(open(path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).unwrap())
    }

    /// The next line.
    pub fn next(&mut self) -> String {
        self.next_with("")
    }

    /// The next line that holds `text`. Panics when none comes.
    pub fn next_with(&mut self, text: &str) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            while let Some(line) = self.take() {
                if line.contains(text) {
                    return line;
                }
            }
            let waited = !self.ended && wait_readable(&self.fd, deadline);
            assert!(waited, "no line with {text:?} in:\n{}", self.everything());
            self.read();
        }
    }

    /// The lines that are there now, without waiting.
    pub fn there(&mut self) -> Vec<String> {
        self.read();
        std::iter::from_fn(|| self.take()).collect()
    }

    fn take(&mut self) -> Option<String> {
        let rest = &self.text[self.next..];
        let length = rest.iter().position(|byte| *byte == b'\n')?;
        let line = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.next += length + 1;
        Some(line)
    }

    fn read(&mut self) {
        let mut piece = [0; 16384];
        loop {
            match read(&self.fd, &mut piece) {
                // A socket is reset, after its last line, when its other side closed without reading everything. [KF-94]
                Ok(0) | Err(Errno::CONNRESET) => {
                    self.ended = true;
                    return;
                }
                Ok(count) => self.text.extend_from_slice(&piece[..count]),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(error) => panic!("read: {error}"),
            }
        }
    }

    /// Reads to the end.
    pub fn read_all(&mut self, deadline: Instant) {
        while !self.ended {
            assert!(wait_readable(&self.fd, deadline), "someone holds it open; so far:\n{}", self.everything());
            self.read();
        }
    }

    pub fn everything(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }
}

/// The read end of a FIFO whose writers are the processes to be proved dead.
pub struct Lifeline(OwnedFd);

impl Lifeline {
    pub fn new(path: &Path) -> Self {
        make_fifo(path);
        // Open for reading before any writer is, so that those never wait, and not for writing, so that it has an end.
        Self(open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).unwrap())
    }

    /// Whether nobody holds it any more: somebody did before.
    pub fn is_cut(&self) -> bool {
        wait_readable(self.0.as_fd(), Instant::now())
    }

    /// Panics unless the last holder dies.
    pub fn assert_cut(&self) {
        assert!(wait_readable(self.0.as_fd(), Instant::now() + DEADLINE), "a process that held it is alive");
    }
}

fn make_fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}
