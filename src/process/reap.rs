//! The exit of children: what `waitid` says, and orphans that a subreaper inherits.

use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, waitid};
use std::io;
use std::mem::MaybeUninit;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStatus {
    /// It called exit with this code.
    Exited(u8),
    /// A signal killed it.
    Killed {
        /// The signal's number.
        signal: i32,
        /// Whether a core was dumped.
        core: bool,
    },
}

impl WaitStatus {
    pub(super) fn from_waitid(status: &WaitIdStatus) -> Self {
        match status.exit_status() {
            // The kernel keeps the low eight bits of what was passed to exit.
            Some(code) => Self::Exited(u8::try_from(code & 0xff).unwrap_or(u8::MAX)),
            None => Self::Killed { signal: status.terminating_signal().unwrap_or(0), core: status.dumped() },
        }
    }
}

/// The pid of some child that is dead and not reaped; it stays so. `None` when there is none.
///
/// `waitid(P_ALL, WEXITED|WNOHANG|WNOWAIT)`. A peek, because the dead child may be one that its task holds a pidfd of and
/// waits for. rustix hides the pid, nix fails on a death by a real-time signal. [CR-04]
pub fn peek() -> io::Result<Option<i32>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is a siginfo_t that lives across the call; the kernel writes at most that.
    while unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), flags) } == -1 {
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => {}
            error if error.raw_os_error() == Some(libc::ECHILD) => return Ok(None),
            error => return Err(error),
        }
    }
    // SAFETY: every bit pattern is a valid siginfo_t, and it was zeroed before the kernel wrote to it.
    let info = unsafe { info.assume_init() };
    // SAFETY: after a successful waitid the SIGCHLD member is the valid one; without a child it is zero.
    let pid = unsafe { info.si_pid() };
    Ok((pid > 0).then_some(pid))
}

/// Whether there is any child, dead or alive: `waitid(P_ALL, WNOHANG|WNOWAIT)` says ECHILD when there is none.
///
/// What descends from a subreaper becomes its child when all between them are dead, so without a child nothing is below it.
/// `/proc/<pid>/task/<tid>/children` does not prove that. [KF-153]
pub fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(retry_on_intr(|| waitid(WaitId::All, options)), Err(rustix::io::Errno::CHILD))
}

/// Reaps the dead child with this pid, which only its parent, we, can do. `None` when it is not dead or not ours.
pub fn reap(pid: i32) -> io::Result<Option<WaitStatus>> {
    let Some(pid) = Pid::from_raw(pid) else { return Ok(None) };
    match retry_on_intr(|| waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG)) {
        Ok(status) => Ok(status.map(|status| WaitStatus::from_waitid(&status))),
        Err(rustix::io::Errno::CHILD) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Waits for our child with this pid to die and reaps it. For a child that is about to die only: it blocks.
pub fn wait_for(pid: i32) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(pid) else { return Ok(()) };
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED) {
            Ok(_) | Err(rustix::io::Errno::CHILD) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
