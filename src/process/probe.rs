//! Calls that are made only to see whether they are let through: each in a form that the kernel refuses without effect.

use std::io;

/// `clone3(NULL, 0)`: EINVAL, for the structure is too small, before anything is read or made. [KF-105]
pub fn clone3() -> io::Result<()> {
    let null = std::ptr::null::<libc::c_void>();
    // SAFETY: with size 0 the kernel answers before it reads from the pointer; no process is made.
    expecting(libc::EINVAL, unsafe { libc::syscall(libc::SYS_clone3, null, 0_usize) })
}

/// `close_range(~0, ~0, CLOSE_RANGE_CLOEXEC)`: a range that no descriptor is in.
pub fn close_range() -> io::Result<()> {
    let last = libc::c_uint::MAX;
    // SAFETY: three integers go in, and no descriptor has this number.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, last, last, libc::CLOSE_RANGE_CLOEXEC) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `pidfd_send_signal(-1, 0, NULL, PIDFD_SIGNAL_PROCESS_GROUP)`: EBADF where the flag is known, EINVAL before 6.9, for flags
/// are looked at first. [KF-105]
pub fn signal_group() -> io::Result<()> {
    let (flag, null) = (super::pidfd::SIGNAL_PROCESS_GROUP, std::ptr::null::<libc::siginfo_t>());
    // SAFETY: integers and a null `siginfo_t`; signal 0 is never sent, and there is no such descriptor.
    expecting(libc::EBADF, unsafe { libc::syscall(libc::SYS_pidfd_send_signal, -1, 0, null, flag) })
}

/// The one errno that only the call itself gives.
fn expecting(errno: i32, answer: libc::c_long) -> io::Result<()> {
    let error = io::Error::last_os_error();
    if answer == -1 && error.raw_os_error() != Some(errno) { Err(error) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_attempt_has_no_effect() {
        let children = || std::fs::read_to_string("/proc/thread-self/children").unwrap();
        let before = children();
        // Of a descriptor that stays open over an exec.
        let (file, _other) = nix::unistd::pipe().unwrap();
        for attempt in [super::clone3, super::close_range, super::signal_group] {
            let _ = attempt();
        }
        assert_eq!(children(), before);
        assert!(!rustix::io::fcntl_getfd(&file).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    }
}
