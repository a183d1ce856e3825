//! A process for as long as we hold it, whatever happens to its number.

use super::reap::WaitStatus;
use super::tree;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

/// `PIDFD_SIGNAL_PROCESS_GROUP` of Linux 6.9; libc's constant of that name is not on every target yet.
pub(super) const SIGNAL_PROCESS_GROUP: libc::c_uint = 1 << 2;

/// A pidfd and the number it was opened for. Readable when the process is dead.
///
/// The fd comes from the crate `pidfd`, which also sends through it with flags. Its own waiting is not used: it reports
/// status 0 for everything. [CR-03]
pub struct Pidfd {
    fd: pidfd::PidFd,
    pid: i32,
}

impl Pidfd {
    /// `pidfd_open(pid, 0)`, close-on-exec. Race-free for our own child that is not reaped yet; for any other pid the
    /// caller checks afterwards that it got whom it meant.
    pub fn open(pid: i32) -> io::Result<Self> {
        // SAFETY: pidfd_open takes two integers; the crate marks it unsafe for the pid reuse that the caller's check covers.
        let fd = unsafe { pidfd::PidFd::open(pid, 0) }?;
        Ok(Self { fd, pid })
    }

    /// The number, for words and for reading `/proc`; it may be reused once the process is reaped.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// `pidfd_send_signal(fd, signal, NULL, 0)`. ESRCH once it is reaped.
    ///
    /// A seccomp profile that answers EPERM makes the fallback to `kill(2)` necessary [ME-30]. The number of our own unreaped
    /// child is pinned; any other process has to have been seen alive just before: then its number would have to be reaped and
    /// the whole space of pids given away in between.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        match self.send(signal, 0) {
            Err(error) if is_missing(&error) => kill(self.pid, signal),
            result => result,
        }
    }

    /// Signals the whole process group that the process leads, also when the leader is a zombie.
    ///
    /// With `PIDFD_SIGNAL_PROCESS_GROUP`, else `kill(-pid)`: so call it before the leader is reaped. [KF-05]
    pub fn signal_group(&self, signal: i32) -> io::Result<()> {
        match self.send(signal, SIGNAL_PROCESS_GROUP) {
            Err(error) if is_missing(&error) || error.raw_os_error() == Some(libc::EINVAL) => kill(-self.pid, signal),
            result => result,
        }
    }

    /// Signals the process and the group that it leads. Where there is no such group, or the process has left it for another,
    /// and some zombie in it has got the signal, the process gets one of its own.
    pub fn signal_with_group(&self, signal: i32) -> io::Result<()> {
        let has_left = || tree::Process::read(self.pid).is_ok_and(|process| process.group != self.pid);
        match self.signal_group(signal) {
            Ok(()) if !has_left() => Ok(()),
            Ok(()) | Err(_) => self.signal(signal),
        }
    }

    /// `waitid(P_PIDFD, WEXITED|WNOHANG)`: reaps our child if it is dead.
    pub fn reap(&self) -> io::Result<Option<WaitStatus>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let status = retry_on_intr(|| waitid(WaitId::PidFd(self.as_fd()), options))?;
        Ok(status.map(|status| WaitStatus::from_waitid(&status)))
    }

    fn send(&self, signal: i32, flags: libc::c_uint) -> io::Result<()> {
        // SAFETY: a null siginfo makes the kernel fill in its own; no memory of ours is read or written.
        unsafe { self.fd.send_raw_signal(signal, std::ptr::null(), flags) }
    }

    /// Whether the process is dead, a zombie at least, within this time.
    pub fn dies(&self, limit: Duration) -> bool {
        let limit = Timespec::try_from(limit).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        poll(&mut [PollFd::new(self, PollFlags::IN)], Some(&limit)).is_ok_and(|ready| ready > 0)
    }
}

/// What it means that a pidfd could not be opened, where that is no lack of descriptors or memory.
pub(super) fn hint(error: &io::Error) -> Option<&'static str> {
    is_missing(error).then_some("minion needs Linux 5.3 and a seccomp profile that allows pidfd_open")
}

/// The call is not there: an old kernel says ENOSYS, a seccomp profile EPERM.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM))
}

/// `kill(target, signal)`: a pid, or a process group as a negative number.
fn kill(target: i32, signal: i32) -> io::Result<()> {
    // SAFETY: two integers; the callers' contract is that the number still means whom they mean: see `signal`.
    let answer = unsafe { libc::kill(target, signal) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl AsFd for Pidfd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: `self.fd` owns the fd, closes it only when dropped, and the borrow ends with `self`.
        unsafe { BorrowedFd::borrow_raw(self.fd.as_raw_fd()) }
    }
}

impl std::fmt::Debug for Pidfd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pidfd({} of {})", self.fd.as_raw_fd(), self.pid)
    }
}
