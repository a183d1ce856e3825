//! A second, again and again.

use crate::error::{During, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::os::fd::OwnedFd;

pub(super) struct Tick(OwnedFd);

impl Tick {
    pub(super) fn each_second() -> Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).during("make", "a timer")?;
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        let setting = Itimerspec { it_interval: second, it_value: second };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &setting).during("set", "the timer")?;
        Ok(Self(timer))
    }

    /// Waits for the next one. Ticks that nobody waited for count as one.
    pub(super) fn wait(&mut self) -> Result<()> {
        loop {
            match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], None) {
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno).during("wait for", "the timer"),
            }
        }
        rustix::io::read(&self.0, &mut [0; 8]).during("read", "the timer")?;
        Ok(())
    }
}
