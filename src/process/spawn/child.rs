//! Between fork and exec. Another thread of the parent may have held any lock at the fork, so nothing here allocates,
//! locks or panics: system calls and values that were made before, only. (signal-safety(7)) Nor may it read what is on the
//! heap, which may be missing here. [KF-189]

use super::block::Image;
use super::{Stdio, Step};
use crate::process::startup::close_range_on_exec;
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::SigSet;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Gid, Pid, Signal, Uid, chdir, getppid, ioctl_tiocsctty, set_parent_process_death_signal, setpgid, setsid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A message on the report pipe: the step, then the errno, little-endian.
pub(super) const MESSAGE: usize = 5;

/// All that the child needs: itself on the stack of the thread that forks, and the image in its block.
pub(super) struct Plan<'a> {
    pub(super) image: Image<'a>,
    pub(super) user: Option<User<'a>>,
    pub(super) in_new_session: bool,
    pub(super) stdio: Stdio<'a>,
    pub(super) gate: BorrowedFd<'a>,
    /// The parent's end of the gate, of which the fork makes a copy.
    pub(super) opener: BorrowedFd<'a>,
    pub(super) report: BorrowedFd<'a>,
    pub(super) parent: Pid,
}

/// Who it is to be. The groups are in the image.
pub(super) struct User<'a> {
    pub(super) uid: Uid,
    pub(super) gid: Gid,
    pub(super) namespace: Option<BorrowedFd<'a>>,
}

/// The kernel's fork: the child runs the plan and never returns, the parent gets its pid.
///
/// Not the C library's, which has the child tidy up for it: open files, caches, the stacks of other threads, much of it on the
/// heap that may not be there. [KF-189]
pub(super) fn fork(plan: &Plan<'_>) -> io::Result<i32> {
    let (signal, none) = (libc::c_long::from(libc::SIGCHLD), libc::c_long::from(0));
    // SAFETY: without a stack of its own and without flags the child is a copy, as of any fork. It calls `run` alone, which
    // keeps to system calls and never returns.
    match unsafe { libc::syscall(libc::SYS_clone, signal, none, none, none, none) } {
        0 => run(plan),
        -1 => Err(io::Error::last_os_error()),
        pid => i32::try_from(pid).map_err(io::Error::other),
    }
}

fn run(plan: &Plan<'_>) -> ! {
    let (step, errno) = match prepare(plan) {
        Err(failure) => failure,
        Ok(()) if gate_opens(plan.gate) => match change(plan) {
            Err(failure) => failure,
            Ok(()) => (Step::Exec, exec(plan.image)),
        },
        Ok(()) => leave(),
    };
    let [a, b, c, d] = errno.raw_os_error().to_le_bytes();
    // If the parent is gone too there is nobody left to tell.
    let _ = rustix::io::write(plan.report, &[step as u8, a, b, c, d]);
    leave()
}

/// What is done while the parent may still look at the child and give it attributes: as minion's own user.
fn prepare(plan: &Plan<'_>) -> Result<(), (Step, Errno)> {
    let leads = if plan.in_new_session { setsid().map(drop) } else { setpgid(None, None) };
    leads.map_err(|errno| (Step::ProcessGroup, errno))?;
    die_with(plan.parent)?;
    // A pipe is at its end when no process has it open for writing: not this one either. Before `connect`, which may give its
    // number away. [KF-150]
    // SAFETY: this is the child's own copy. Its owner in the memory that was copied is never used again and never dropped,
    // for `run` does not return.
    unsafe { libc::close(plan.opener.as_raw_fd()) };
    connect(plan.stdio).map_err(|errno| (Step::Stdio, errno))?;
    if plan.in_new_session {
        // Not one that another session has: that would take CAP_SYS_ADMIN and a word that this call does not say.
        let _ = [stdin(), stdout(), stderr()].into_iter().any(|fd| ioctl_tiocsctty(fd).is_ok());
    }
    // No disposition is "ignore": `Signals::take_over` saw to that, and exec resets the handlers.
    SigSet::empty().thread_set_mask().map_err(|errno| (Step::SignalMask, Errno::from_raw_os_error(errno as i32)))
}

/// What changes who the child is, and where: behind the gate, because a process of another user may be one that the parent may
/// not look at any more.
fn change(plan: &Plan<'_>) -> Result<(), (Step, Errno)> {
    if let Some(user) = &plan.user {
        become_user(user, plan.image.groups)?;
        // The change of user has cleared it. [KF-09]
        die_with(plan.parent)?;
    }
    match plan.image.directory {
        Some(directory) => chdir(directory).map_err(|errno| (Step::Directory, errno)),
        None => Ok(()),
    }
}

fn die_with(parent: Pid) -> Result<(), (Step, Errno)> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|errno| (Step::DeathSignal, errno))?;
    // It may have died before the death signal was set; then nobody would ever send it. A parent outside of our pid namespace
    // has no number here, and one that died has left us to somebody who has. [KF-182]
    if getppid().is_some_and(|now| now != parent) {
        leave();
    }
    Ok(())
}

/// The system calls themselves: they change this thread, and after a fork there is no other.
///
/// The groups come first: inside of a user namespace `setgroups` may be denied for good. [KF-185]
fn become_user(user: &User<'_>, groups: &[Gid]) -> Result<(), (Step, Errno)> {
    let step = |step| move |errno| (step, errno);
    set_thread_groups(groups).map_err(step(Step::User))?;
    if let Some(namespace) = user.namespace {
        let joined = setns(namespace, CloneFlags::CLONE_NEWUSER);
        joined.map_err(|errno| (Step::UserNamespace, Errno::from_raw_os_error(errno as i32)))?;
    }
    set_thread_res_gid(user.gid, user.gid, user.gid).map_err(step(Step::User))?;
    set_thread_res_uid(user.uid, user.uid, user.uid).map_err(step(Step::User))
}

/// Puts the fds where the program looks for them, and marks all others close-on-exec.
fn connect(stdio: Stdio<'_>) -> Result<(), Errno> {
    dup2_stdin(stdio.stdin)?;
    dup2_stdout(stdio.stdout)?;
    dup2_stderr(stdio.stderr)?;
    // Everything of ours is close-on-exec already, and what we inherited was marked at start; this is for a library that
    // forgets. Where the call is missing, there is nothing safe to do instead.
    let _ = close_range_on_exec();
    stdio.extra.map_or(Ok(()), |(fd, number)| duplicate(fd, number))
}

/// `dup2(fd, number)`: the copy survives exec. Where it has the number already, its flag is what changes.
fn duplicate(fd: BorrowedFd<'_>, number: i32) -> Result<(), Errno> {
    if fd.as_raw_fd() == number {
        return fcntl_setfd(fd, FdFlags::empty());
    }
    // SAFETY: two integers. The number is 3 or above and not that of the gate or the report, which were raised above it; the
    // fds of the parent that it may replace in this copy of the table are not used in the child.
    let answer = unsafe { libc::dup2(fd.as_raw_fd(), number) };
    if answer == -1 { Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::BADF)) } else { Ok(()) }
}

/// Waits for the byte; end of file means that the parent does not want us.
fn gate_opens(gate: BorrowedFd<'_>) -> bool {
    let mut byte = [0];
    loop {
        match rustix::io::read(gate, &mut byte) {
            Ok(1) => return true,
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => return false,
        }
    }
}

/// `execve`: returns only when it failed.
fn exec(image: Image<'_>) -> Errno {
    let (args, env) = image.vectors();
    // SAFETY: all three are NUL- or NULL-terminated by their types' invariants and live in a block, which every fork copies.
    unsafe { libc::execve(image.file.as_ptr(), args, env) };
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::NOEXEC)
}

/// Not `exit`: handlers and buffers belong to the parent.
fn leave() -> ! {
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(127) }
}
