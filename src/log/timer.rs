//! One timerfd for all deadlines of the log thread.

use crate::error::{During, Result};
use rustix::event::Timespec;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Fires once at a deadline. Watched edge-triggered, it needs no read.
pub(super) struct Timer {
    fd: OwnedFd,
    armed: Option<Instant>,
}

impl Timer {
    pub(super) fn new() -> Result<Self> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .during("create", "a timerfd")?;
        Ok(Self { fd, armed: None })
    }

    /// Fires at the deadline, or not at all.
    pub(super) fn set(&mut self, deadline: Option<Instant>) -> Result<()> {
        let now = Instant::now();
        match (deadline, self.armed) {
            (None, None) => return Ok(()),
            (None, Some(armed)) if armed <= now => {
                self.armed = None;
                return Ok(());
            }
            (Some(deadline), Some(armed)) if deadline == armed && armed > now => return Ok(()),
            (Some(_) | None, Some(_) | None) => {}
        }
        // Zero would disarm it.
        let left = deadline.map(|deadline| deadline.saturating_duration_since(now).max(Duration::from_nanos(1)));
        let it_value =
            Timespec::try_from(left.unwrap_or_default()).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        let setting = Itimerspec { it_interval: Timespec::default(), it_value };
        timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &setting).during("arm", "a timerfd")?;
        self.armed = deadline;
        Ok(())
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
