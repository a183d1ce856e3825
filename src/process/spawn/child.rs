//! Between fork and exec. Another thread of the parent may have held any lock at the fork, so nothing here allocates,
//! locks or panics: system calls and values that were made before, only. (signal-safety(7))

use super::{Program, Stdio, Step};
use crate::process::startup::close_range_on_exec;
use nix::sys::signal::SigSet;
use nix::unistd::ForkResult;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, setpgid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::io;
use std::os::fd::BorrowedFd;

/// A message on the report pipe: the step, then the errno, little-endian.
pub(super) const MESSAGE: usize = 5;

/// All that the child needs, borrowed from the parent's memory.
pub(super) struct Plan<'a> {
    pub(super) program: &'a Program,
    pub(super) stdio: Stdio<'a>,
    pub(super) gate: BorrowedFd<'a>,
    pub(super) report: BorrowedFd<'a>,
    pub(super) parent: Pid,
}

/// `fork`: the child runs the plan and never returns, the parent gets its pid.
pub(super) fn fork(plan: &Plan<'_>) -> io::Result<i32> {
    // SAFETY: the child calls `run` alone, which keeps to async-signal-safe calls and never returns.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Ok(child.as_raw()),
        ForkResult::Child => run(plan),
    }
}

fn run(plan: &Plan<'_>) -> ! {
    let (step, errno) = match prepare(plan) {
        Err(failure) => failure,
        Ok(()) if gate_opens(plan.gate) => (Step::Exec, exec(plan.program)),
        Ok(()) => leave(),
    };
    let [a, b, c, d] = errno.raw_os_error().to_le_bytes();
    // If the parent is gone too there is nobody left to tell.
    let _ = rustix::io::write(plan.report, &[step as u8, a, b, c, d]);
    leave()
}

fn prepare(plan: &Plan<'_>) -> Result<(), (Step, Errno)> {
    setpgid(None, None).map_err(|errno| (Step::ProcessGroup, errno))?;
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|errno| (Step::DeathSignal, errno))?;
    // The parent may have died before the death signal was set; then nobody would ever send it.
    if getppid() != Some(plan.parent) {
        leave();
    }
    let stdio = |errno| (Step::Stdio, errno);
    dup2_stdin(plan.stdio.stdin).map_err(stdio)?;
    dup2_stdout(plan.stdio.stdout).map_err(stdio)?;
    dup2_stderr(plan.stdio.stderr).map_err(stdio)?;
    // Everything of ours is close-on-exec already, and what we inherited was marked at start; this is for a library that
    // forgets. Where the call is missing, there is nothing safe to do instead.
    let _ = close_range_on_exec();
    // No disposition is "ignore": `Signals::take_over` saw to that, and exec resets the handlers.
    SigSet::empty().thread_set_mask().map_err(|errno| (Step::SignalMask, Errno::from_raw_os_error(errno as i32)))
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
fn exec(program: &Program) -> Errno {
    let (file, args, env) = (program.file.as_ptr(), program.args.pointers.as_ptr(), program.env.pointers.as_ptr());
    // SAFETY: all three are NUL- or NULL-terminated by their types' invariants and live in memory that the fork copied.
    unsafe { libc::execve(file, args, env) };
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::NOEXEC)
}

/// Not `exit`: handlers and buffers belong to the parent.
fn leave() -> ! {
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(127) }
}
