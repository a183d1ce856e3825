//! Processes: fork and exec, pidfds, signals, reaping, trees. The only `unsafe` of the program stands here.
//!
//! One function is one thing that the kernel does. Whatever decides stands elsewhere; nothing here logs.
//!
//! - [`startup`]: what must happen before the first child and the first thread.
//! - [`memory`]: keeping little of it.
//! - [`spawn`]: a child that waits at a gate until its parent has checked everything, then execs.
//! - [`attributes`]: what a child at the gate is given.
//! - [`probe`]: calls that are made only to see whether they are let through.
//! - [`peer`]: who listens on a unix socket.
//! - [`pidfd`]: a process for as long as we hold it, whatever happens to its number.
//! - [`signals`]: the signals of the process as a file descriptor.
//! - [`reap`]: the exit of children that nobody holds a pidfd of.
//! - [`procfs`]: reading files of `/proc`.
//! - [`mountinfo`]: reading one of them, and which of its mounts a path leads to.
//! - [`thread`]: work that may hang beside everybody else, and threads under a profile that does not know `clone3`.
//! - [`tree`]: who descends from whom, and signalling all of them.

#![allow(unsafe_code)]

pub mod attributes;
mod looks;
pub mod memory;
pub mod mountinfo;
pub mod peer;
pub mod pidfd;
pub mod probe;
pub mod procfs;
pub mod reap;
pub mod signals;
pub mod spawn;
pub mod startup;
pub mod thread;
pub mod tree;

pub use looks::Looks;
pub use pidfd::Pidfd;
pub use reap::WaitStatus;

/// The pid of this process, as a number.
pub fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}
