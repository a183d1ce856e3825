//! What the parent gives a child that waits at the gate: limits, priority, how ready the kernel is to kill it.

use super::procfs;
use std::fs;
use std::io;

/// `prlimit`: the limits of a process; `None` is unlimited.
pub fn set_limit(pid: i32, resource: u32, soft: Option<u64>, hard: Option<u64>) -> io::Result<()> {
    let value = |limit: Option<u64>| limit.unwrap_or(libc::RLIM_INFINITY);
    let limit = libc::rlimit { rlim_cur: value(soft), rlim_max: value(hard) };
    // SAFETY: `limit` lives across the call and is only read; a null old limit is not written.
    let answer = unsafe { libc::prlimit(pid, resource, &raw const limit, std::ptr::null_mut()) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `getrlimit`: the own limits in force and at most; `None` is unlimited, or not known to this kernel.
fn own_limits(resource: u32) -> (Option<u64>, Option<u64>) {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` lives across the call, which writes it or nothing.
    unsafe { libc::prlimit(0, resource, std::ptr::null(), &raw mut limit) };
    let value = |value: u64| (value != libc::RLIM_INFINITY).then_some(value);
    (value(limit.rlim_cur), value(limit.rlim_max))
}

/// The own limit in force; `None` is unlimited.
pub fn soft_limit(resource: u32) -> Option<u64> {
    own_limits(resource).0
}

/// What the own limit may be raised to; `None` is unlimited.
pub fn hard_limit(resource: u32) -> Option<u64> {
    own_limits(resource).1
}

/// The own `/proc/self/oom_score_adj`.
pub fn oom_score_adj() -> io::Result<i32> {
    let text = String::from_utf8_lossy(&procfs::read_piece("/proc/self/oom_score_adj")?).into_owned();
    text.trim().parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not a number"))
}

/// `setpriority(PRIO_PROCESS)`: the nice value of a process.
pub fn set_nice(pid: i32, nice: i32) -> io::Result<()> {
    let pid = rustix::process::Pid::from_raw(pid).ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
    Ok(rustix::process::setpriority_process(Some(pid), nice)?)
}

/// `/proc/<pid>/oom_score_adj`.
pub fn set_oom_score_adj(pid: i32, value: i32) -> io::Result<()> {
    fs::write(format!("/proc/{pid}/oom_score_adj"), value.to_string())
}
