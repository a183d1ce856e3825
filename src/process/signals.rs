//! The signals of the process as a file descriptor.
//!
//! Everything is blocked from the first moment on, so a signal that arrives before the loop runs waits for it, and none
//! interrupts a system call. Children get an empty mask and default dispositions back before they exec.

use super::procfs;
use crate::error::{Error, Result};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The highest signal number of Linux on the architectures we build for.
const LAST_SIGNAL: i32 = 64;

/// A signal that arrived, and who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The signal's number.
    pub signal: i32,
    /// The sender's pid in our pid namespace; 0 when the kernel sent it or the sender is outside.
    pub sender: u32,
    /// The sender's uid.
    pub uid: u32,
}

/// The signal mask that the process was started with. Dropping it changes nothing.
#[derive(Debug)]
pub struct StartMask(SigSet);

impl StartMask {
    /// `pthread_sigmask` back to it; a signal that waited arrives now.
    pub fn restore(self) -> Result<()> {
        self.0.thread_set_mask().map_err(|errno| Error::io("restore the mask of", "signals", io::Error::from(errno)))
    }
}

/// Blocks every signal, the first thing in `main`: reading the command line takes a millisecond on a cold machine, and a
/// SIGTERM in it would be death by default action.
pub fn block_all() -> Result<StartMask> {
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
    before.map(StartMask).map_err(|errno| Error::io("block", "signals", io::Error::from(errno)))
}

/// Every signal of this process, blocked and readable.
#[derive(Debug)]
pub struct Signals {
    fd: SignalFd,
}

impl Signals {
    /// Blocks every signal and resets the ignored ones; call it first thing in `main`.
    ///
    /// `pthread_sigmask`, `rt_sigaction`, `signalfd`. An ignored signal survives exec, and an ignored SIGCHLD takes the exit
    /// status of every child away [KF-02]; a blocked one with the default disposition does neither. SIGPIPE stays out of the
    /// fd: it is blocked, so a write to a dead reader is just EPIPE.
    pub fn take_over() -> Result<Self> {
        let failed = |what: &'static str| move |errno| Error::io(what, "signals", io::Error::from(errno));
        SigSet::all().thread_block().map_err(failed("block"))?;
        ignored().for_each(reset);
        let mut wanted = SigSet::all();
        wanted.remove(Signal::SIGPIPE);
        let fd = SignalFd::with_flags(&wanted, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .map_err(failed("open a signalfd for"))?;
        Ok(Self { fd })
    }

    /// The next signal that waits; `None` when there is none.
    ///
    /// Signals of one kind coalesce: five exits may be one SIGCHLD. [KF-03]
    pub fn read(&mut self) -> Result<Option<Received>> {
        match self.fd.read_signal() {
            Ok(info) => Ok(info.map(|info| Received {
                signal: i32::try_from(info.ssi_signo).unwrap_or(0),
                sender: info.ssi_pid,
                uid: info.ssi_uid,
            })),
            Err(nix::errno::Errno::EINTR) => Ok(None),
            Err(errno) => Err(Error::io("read", "the signalfd", io::Error::from(errno))),
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// `SIGTERM`, or `signal 40` for one without a name.
pub fn name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}

/// The kernel's `struct sigaction` as far as we use it: handler first, all zero is "default".
type KernelAction = [usize; 4];

/// The signals whose disposition is "ignore": the bits of `SigIgn` in `/proc/self/status`; all where that cannot be read.
fn ignored() -> impl Iterator<Item = i32> {
    let status = procfs::read_piece("/proc/self/status").unwrap_or_default();
    let bits = signal_set(&status, "SigIgn").unwrap_or(u64::MAX);
    (1..=LAST_SIGNAL).filter(move |signal| bits >> (signal - 1) & 1 == 1)
}

/// A set of signals in the text of `/proc/<pid>/status`: `SigBlk`, `SigIgn`, `SigCgt`. Bit n-1 is signal n.
pub fn signal_set(status: &[u8], name: &str) -> Option<u64> {
    let text = std::str::from_utf8(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Sets the default disposition. The system call and not glibc's: that one refuses 32 and 33. [KF-04]
fn reset(signal: i32) {
    let default: KernelAction = [0; 4];
    let (default_ptr, null) = (&raw const default, std::ptr::null::<KernelAction>());
    // SAFETY: `default` is at least as large as the kernel's struct for an 8-byte mask (handler, flags, restorer, mask) and
    // lives across the call; SIG_DFL needs no restorer; the signal is blocked, so the default action cannot end us.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, default_ptr, null, 8) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signal_sets_are_read_by_name() {
        let status = b"Name:\tx\nSigBlk:\t0000000000014000\nSigIgn:\t0000000000001000\n";
        assert_eq!(signal_set(status, "SigIgn"), Some(1 << (libc::SIGPIPE - 1)));
        assert_eq!(signal_set(status, "SigBlk"), Some(1 << (libc::SIGTERM - 1) | 1 << (libc::SIGCHLD - 1)));
        assert_eq!(signal_set(status, "SigCgt"), None);
    }
}
