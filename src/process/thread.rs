//! Threads: one that may hang without anybody waiting for it, and how any is made under a seccomp profile that does not know
//! `clone3`.

use std::ffi::{c_int, c_void};
use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::thread::Builder;
use std::time::Duration;

/// Work on a thread of its own, which may hang in a disk: it is waited for as long as its caller can spare.
#[derive(Debug)]
pub struct Aside(Receiver<()>);

impl Aside {
    /// Begins the work. `stack` is address space in bytes; only what is used of it becomes memory.
    pub fn begin(name: &str, stack: usize, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let (at_end, over) = channel();
        let body = move || {
            let _at_end = at_end;
            work();
        };
        Builder::new().name(name.to_owned()).stack_size(stack).spawn(body)?;
        Ok(Self(over))
    }

    /// Waits until it is over, but no longer than this.
    pub fn wait(&self, limit: Duration) {
        // Nothing is ever sent: the channel is closed, or the time is over.
        let _ = self.0.recv_timeout(limit);
    }
}

/// Stands in the place of glibc's function of this name, with which it tries to make a thread first: it says "no such
/// call", and glibc goes on with `clone`.
///
/// glibc takes that from ENOSYS alone, the agent's profile answers EPERM [ME-30], and then there would be no log thread.
/// Nothing here needs what `clone3` has and `clone` has not. In a static program the linker takes the first definition,
/// ours; in any other this one has no effect. [KF-151]
// SAFETY: the name is glibc's own, reserved for the implementation; this has the signature of the function that it stands
// in for, whose contract allows this answer.
#[unsafe(no_mangle)]
extern "C" fn __clone3(_: *const c_void, _: usize, _: *const c_void, _: *mut c_void) -> c_int {
    nix::errno::Errno::ENOSYS.set();
    -1
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_says_that_there_is_no_such_call() {
        assert_eq!(super::__clone3(std::ptr::null(), 0, std::ptr::null(), std::ptr::null_mut()), -1);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS));
    }
}
