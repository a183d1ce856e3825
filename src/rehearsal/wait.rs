//! Waiting on file descriptors with a deadline. Nothing here sleeps.

use crate::error::{During, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// `poll(2)`: whether each of `fds` is readable or hung up; all false when `deadline` passed first.
pub(super) fn ready(fds: &[BorrowedFd<'_>], deadline: Option<Instant>) -> Result<Vec<bool>> {
    let mut polled: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    loop {
        let left = deadline.map(|deadline| timespec(deadline.saturating_duration_since(Instant::now())));
        match poll(&mut polled, left.as_ref()) {
            Ok(_) => return Ok(polled.iter().map(|fd| !fd.revents().is_empty()).collect()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).during("poll", ""),
        }
    }
}

/// Waits until `fd` is readable or hung up: true; false when `deadline` passes first.
pub(super) fn readable(fd: impl AsFd, deadline: Instant) -> Result<bool> {
    Ok(ready(&[fd.as_fd()], Some(deadline))?[0])
}

/// Lets `duration` pass, by a timerfd.
pub(super) fn pause(duration: Duration) -> Result<()> {
    if duration.is_zero() {
        return Ok(());
    }
    let timer = timer()?;
    arm(&timer, Some(duration))?;
    ready(&[timer.as_fd()], None).map(drop)
}

/// `timerfd_create(2)`: a timer that is not running.
pub(super) fn timer() -> Result<OwnedFd> {
    timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK).during("make timer", "")
}

/// `timerfd_settime(2)`: fires once after `duration`; never with none. Zero fires at once.
pub(super) fn arm(timer: &OwnedFd, duration: Option<Duration>) -> Result<()> {
    // A zero value would disarm the timer. [KF-60]
    let value = duration.map_or(Duration::ZERO, |duration| duration.max(Duration::from_nanos(1)));
    let setting = Itimerspec { it_interval: timespec(Duration::ZERO), it_value: timespec(value) };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &setting).map(drop).during("arm timer", "")
}

fn timespec(duration: Duration) -> Timespec {
    let longest = Timespec { tv_sec: i64::MAX, tv_nsec: 0 };
    Timespec::try_from(duration).unwrap_or(longest)
}
