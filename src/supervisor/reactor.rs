//! One epoll instance and one timer: what is ready, in the order in which it matters.

use crate::error::{During, Result};
use crate::task::TaskId;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// What can become ready. The order is the order of handling within one wake: a signal that asks for the end is obeyed
/// before the deaths that came with it are looked at, so they are deaths on the way out and not failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// The signalfd.
    Signals,
    /// A starting child's report about its exec.
    Report(TaskId),
    /// A task says something.
    Notify(TaskId),
    /// A task says that it is ready, on an fd of its own.
    Ready(TaskId),
    /// A child's pidfd: it is dead.
    Child(TaskId),
    /// A question to a task has its answer.
    Question(TaskId),
    /// The log thread has something to tell.
    Logs,
    /// The memory cgroup has.
    Memory,
    /// The timer.
    Timer,
    /// The pulse that minion's own service manager wants.
    Pulse,
    /// The control socket: last, whatever its clients do.
    Control,
}

impl Source {
    const TASK_SHIFT: u32 = 8;

    fn token(self) -> u64 {
        let (kind, task) = match self {
            Self::Signals => (0, 0),
            Self::Report(task) => (1, task),
            Self::Child(task) => (2, task),
            Self::Logs => (3, 0),
            Self::Memory => (4, 0),
            Self::Timer => (5, 0),
            Self::Notify(task) => (6, task),
            Self::Ready(task) => (7, task),
            Self::Question(task) => (8, task),
            Self::Pulse => (9, 0),
            Self::Control => (10, 0),
        };
        (task as u64) << Self::TASK_SHIFT | kind
    }

    fn from_token(token: u64) -> Option<Self> {
        let task = TaskId::try_from(token >> Self::TASK_SHIFT).ok()?;
        match token & 0xff {
            0 => Some(Self::Signals),
            1 => Some(Self::Report(task)),
            2 => Some(Self::Child(task)),
            3 => Some(Self::Logs),
            4 => Some(Self::Memory),
            5 => Some(Self::Timer),
            6 => Some(Self::Notify(task)),
            7 => Some(Self::Ready(task)),
            8 => Some(Self::Question(task)),
            9 => Some(Self::Pulse),
            10 => Some(Self::Control),
            _ => None,
        }
    }
}

/// The supervisor's only place to wait.
#[derive(Debug)]
pub(super) struct Reactor {
    epoll: OwnedFd,
    timer: OwnedFd,
    armed: Option<Instant>,
}

impl Reactor {
    pub(super) fn new() -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).during("make", "an epoll instance")?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .during("make", "a timer")?;
        let reactor = Self { epoll, timer, armed: None };
        reactor.add(&reactor.timer, Source::Timer, EventFlags::IN)?;
        Ok(reactor)
    }

    /// Watches an fd, level-triggered. Take it away with [`Reactor::remove`] before it is closed: a child that was forked
    /// meanwhile may still hold a copy, and then the kernel would go on reporting it.
    pub(super) fn add(&self, fd: impl AsFd, source: Source, interest: EventFlags) -> Result<()> {
        epoll::add(&self.epoll, fd, EventData::new_u64(source.token()), interest).during("watch", "a file descriptor")
    }

    pub(super) fn remove(&self, fd: impl AsFd) {
        // Best effort: what is not watched any more needs no removing.
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Sets the timer to go off at an instant, or never. Does nothing when it is set so already.
    pub(super) fn arm(&mut self, deadline: Option<Instant>) -> Result<()> {
        if self.armed == deadline {
            return Ok(());
        }
        let value = match deadline {
            None => Timespec { tv_sec: 0, tv_nsec: 0 },
            // Zero would disarm it; what is due already goes off a nanosecond from now.
            Some(at) => {
                let left = at.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
                Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
            }
        };
        let setting = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &setting).during("set", "the timer")?;
        self.armed = deadline;
        Ok(())
    }

    /// Takes note that the timer went off.
    pub(super) fn timer_went_off(&mut self) {
        let mut count = [0; 8];
        // It may have been set anew in this very wake; then there is nothing to read.
        let _ = rustix::io::read(&self.timer, &mut count);
        self.armed = None;
    }

    /// Waits until something is ready, without a time limit: the timer is one of the sources.
    pub(super) fn wait(&self) -> Result<Vec<Source>> {
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(u64::MAX) }; 64];
        let ready = match epoll::wait(&self.epoll, &mut events[..], None) {
            Ok(ready) => ready,
            Err(rustix::io::Errno::INTR) => 0,
            Err(error) => return Err(error).during("wait for", "events"),
        };
        let mut sources: Vec<Source> =
            events[..ready].iter().filter_map(|event| Source::from_token(event.data.u64())).collect();
        sources.sort_unstable();
        Ok(sources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_back_as_written() {
        let sources = [
            Source::Signals,
            Source::Report(0),
            Source::Notify(3),
            Source::Ready(1),
            Source::Child(200),
            Source::Question(199),
            Source::Logs,
            Source::Memory,
            Source::Timer,
            Source::Pulse,
        ];
        for source in sources {
            assert_eq!(Source::from_token(source.token()), Some(source));
        }
        assert_eq!(Source::from_token(u64::MAX), None);
    }

    #[test]
    fn signals_come_before_deaths() {
        let mut ready = vec![Source::Timer, Source::Child(0), Source::Report(1), Source::Signals];
        ready.sort_unstable();
        assert_eq!(ready, [Source::Signals, Source::Report(1), Source::Child(0), Source::Timer]);
    }

    #[test]
    fn a_deadline_in_the_past_goes_off_at_once() {
        let mut reactor = Reactor::new().unwrap();
        reactor.arm(Some(Instant::now())).unwrap();
        assert_eq!(reactor.wait().unwrap(), [Source::Timer]);
        reactor.timer_went_off();
        assert_eq!(reactor.armed, None);
    }
}
