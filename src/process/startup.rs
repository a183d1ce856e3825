//! What must be so before the first child and the first thread exist.

use super::own_pid;
use super::pidfd::{self, Pidfd};
use super::procfs;
use crate::error::{During, Error, Result};
use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::process::{Pid, set_child_subreaper};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `prctl(PR_SET_CHILD_SUBREAPER, 1)`: a descendant whose parent dies becomes our child, so nothing leaves the tree.
pub fn become_subreaper() -> Result<()> {
    // rustix takes a pid where the kernel wants a truth value; any pid is true. [CR-01]
    set_child_subreaper(Some(Pid::INIT)).during("become a subreaper", "(prctl)")
}

/// Marks every fd above stderr close-on-exec, so that what minion was started with does not leak into its children.
///
/// `close_range(3, ~0, CLOSE_RANGE_CLOEXEC)`, and fd by fd where the kernel (before 5.11) or a seccomp profile has no such
/// call. Our own fds are close-on-exec from their birth.
pub fn close_inherited_fds_on_exec() -> Result<()> {
    if close_range_on_exec().is_ok() {
        return Ok(());
    }
    // ENOSYS before 5.9, EINVAL before 5.11, EPERM from a seccomp profile: all mean the slow way. [KF-01]
    for fd in procfs::numbers("/proc/self/fd").during("list", "/proc/self/fd")? {
        if fd > libc::STDERR_FILENO {
            mark_close_on_exec(fd);
        }
    }
    Ok(())
}

/// `close_range(3, ~0, CLOSE_RANGE_CLOEXEC)`; async-signal-safe.
pub(super) fn close_range_on_exec() -> io::Result<()> {
    let first = libc::STDERR_FILENO + 1;
    // SAFETY: three integers go in; with CLOEXEC no fd is closed, so no owner in this process loses one.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Best effort: the fd of the directory listing itself is gone by the time its number comes up.
fn mark_close_on_exec(fd: i32) {
    // SAFETY: the number is used for two fcntl calls within this function and nothing closes fds meanwhile: no other
    // thread exists yet. A number that is no longer open gets EBADF.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    debug_assert!(fd.as_raw_fd() > libc::STDERR_FILENO);
    if let Ok(flags) = fcntl_getfd(fd) {
        let _ = fcntl_setfd(fd, flags | FdFlags::CLOEXEC);
    }
}

/// `pidfd_open` of this process: whether the kernel and its filters give any, for everything rests on them.
pub fn require_pidfds() -> Result<()> {
    let own = own_pid();
    Pidfd::open(own).map(drop).map_err(|cause| {
        let hint = pidfd::hint(&cause);
        hint.into_iter().fold(Error::io("open", "a pidfd", cause), Error::hint)
    })
}

/// How many threads this process has now (`/proc/self/task`).
pub fn thread_count() -> Result<usize> {
    Ok(procfs::numbers("/proc/self/task").during("list", "/proc/self/task")?.len())
}
