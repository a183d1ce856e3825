//! A terminal of the command's own, and what goes between it and the caller's.
//!
//! A command of another user never has the caller's: with it as its controlling terminal it could type for the caller
//! (TIOCSTI), and with a descriptor of it read what is typed long after minion is gone. [KF-193]

use super::terminal::Terminal;
use crate::error::{During, Result};
use crate::process::procfs;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, ioctl_fionbio, read, write};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{OptionalActions, OutputModes, isatty, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// What is on its way in one direction at most.
const PIECE: usize = 4096;
/// What is still shown of a dead command at most: more than the kernel keeps for a terminal.
const LAST: usize = 1 << 20;

/// So long something may still come from whoever holds a dead command's terminal.
const QUIET: Duration = Duration::from_secs(1);
/// So long the caller's terminal may take nothing.
const FULL: Duration = Duration::from_secs(5);

/// A pair, and the caller's terminal.
pub(super) struct Pty {
    master: OwnedFd,
    /// Kept open: without it the master is at its end while the command has closed its own.
    slave: OwnedFd,
    /// Opened anew, for it does not block, and the descriptors of the caller are others' too.
    outer: OwnedFd,
    is_typed: bool,
    typed: Vec<u8>,
    shown: Vec<u8>,
}

impl Pty {
    /// One like the first terminal among our standard fds; None where none is one.
    pub(super) fn open() -> Result<Option<Self>> {
        let Some(caller) = [stdin(), stdout(), stderr()].into_iter().find(|fd| isatty(fd)) else { return Ok(None) };
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let outer =
            open(procfs::descriptor(caller.as_raw_fd()), flags, Mode::empty()).during("open", "the terminal")?;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).during("open", "a terminal for the command")?;
        let unlocked = unlockpt(&master).and_then(|()| ioctl_fionbio(&master, true));
        let slave =
            unlocked.and_then(|()| ioctl_tiocgptpeer(&master, flags)).during("open", "the terminal's other end")?;
        let pty = Self { master, slave, outer, is_typed: false, typed: Vec::new(), shown: Vec::new() };
        let modes = tcgetattr(&pty.outer).and_then(|modes| tcsetattr(&pty.slave, OptionalActions::Now, &modes));
        modes.during("set the modes of", "the command's terminal")?;
        pty.resize();
        Ok(Some(pty))
    }

    /// The command's end, for each of its standard fds that would be a terminal.
    pub(super) fn slave(&self) -> BorrowedFd<'_> {
        self.slave.as_fd()
    }

    pub(super) fn master(&self) -> BorrowedFd<'_> {
        self.master.as_fd()
    }

    pub(super) fn outer(&self) -> BorrowedFd<'_> {
        self.outer.as_fd()
    }

    /// Takes the caller's terminal: what is typed is the command's, where we have it to ourselves. Else that one makes two of a
    /// line feed, and once is enough.
    pub(super) fn terminal(&mut self, front: i32) -> Terminal {
        let terminal = Terminal::relayed(front);
        self.is_typed = terminal.is_lent();
        if let (false, Ok(mut modes)) = (self.is_typed, tcgetattr(&self.slave)) {
            modes.output_modes.remove(OutputModes::OPOST);
            let _ = tcsetattr(&self.slave, OptionalActions::Now, &modes);
        }
        terminal
    }

    /// As large as the caller's. Who reads in it is told by the kernel.
    pub(super) fn resize(&self) {
        let _ = tcgetwinsize(&self.outer).and_then(|size| tcsetwinsize(&self.master, size));
    }

    /// Whether to wait for more to read or for room to write: the caller's, then ours.
    pub(super) fn waits(&self) -> [(bool, bool); 2] {
        let (typed, shown) = (!self.typed.is_empty(), !self.shown.is_empty());
        [(self.is_typed && !typed, shown), (!shown, typed)]
    }

    /// Moves what can be moved without waiting.
    pub(super) fn relay(&mut self) {
        if self.is_typed && self.typed.is_empty() {
            self.is_typed = fill(&self.outer, &mut self.typed);
        }
        empty(&self.master, &mut self.typed);
        if self.shown.is_empty() {
            fill(&self.master, &mut self.shown);
        }
        empty(&self.outer, &mut self.shown);
    }

    /// Shows what the command has said last, until there is no more: without our own end of it the kernel tells.
    ///
    /// Somebody may still hold the command's terminal, and the caller's may take nothing: neither is waited for for ever.
    pub(super) fn finish(self) {
        let Self { master, slave, outer, mut shown, .. } = self;
        drop(slave);
        let (mut total, mut is_over) = (0, false);
        while total < LAST && !(is_over && shown.is_empty()) {
            let waits = if shown.is_empty() {
                waits(&master, PollFlags::IN, QUIET)
            } else {
                waits(&outer, PollFlags::OUT, FULL)
            };
            if !waits {
                return;
            }
            if shown.is_empty() {
                is_over = !fill(&master, &mut shown);
            }
            total += shown.len();
            empty(&outer, &mut shown);
            total -= shown.len();
        }
    }
}

/// Whether it is ready within this time.
fn waits(fd: &OwnedFd, interest: PollFlags, limit: Duration) -> bool {
    let limit = Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
    loop {
        match poll(&mut [PollFd::new(fd, interest)], Some(&limit)) {
            Err(Errno::INTR) => {}
            ready => return ready.is_ok_and(|count| count > 0),
        }
    }
}

/// False at the end.
fn fill(fd: &OwnedFd, buffer: &mut Vec<u8>) -> bool {
    let mut piece = [0; PIECE];
    match read(fd, &mut piece) {
        Ok(0) => false,
        Ok(length) => {
            buffer.extend_from_slice(&piece[..length]);
            true
        }
        Err(error) => matches!(error, Errno::AGAIN | Errno::INTR),
    }
}

/// What nobody takes any more is gone.
fn empty(fd: &OwnedFd, buffer: &mut Vec<u8>) {
    if buffer.is_empty() {
        return;
    }
    match write(fd, buffer) {
        Ok(length) => drop(buffer.drain(..length)),
        Err(Errno::AGAIN | Errno::INTR) => {}
        Err(_) => buffer.clear(),
    }
}
