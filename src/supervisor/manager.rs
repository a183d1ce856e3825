//! The service manager that started minion: minion is a service too, and says so with `sd_notify(3)`.

use crate::error::{During, Error, Result};
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sendto, socket_with};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// Where the service manager listens, and how often it wants to hear from us.
#[derive(Debug)]
pub struct Manager {
    socket: OwnedFd,
    address: SocketAddrUnix,
    pulse: Option<OwnedFd>,
}

impl Manager {
    /// From the values of `NOTIFY_SOCKET` and, when it is meant for this process, `WATCHDOG_USEC`.
    pub fn new(address: &OsStr, watchdog: Option<Duration>) -> Result<Self> {
        let bytes = address.as_bytes();
        let parsed = match bytes {
            [b'@', name @ ..] => SocketAddrUnix::new_abstract_name(name),
            [b'/', ..] => SocketAddrUnix::new(address),
            _ => {
                return Err(Error::new(
                    "notify",
                    format!("NOTIFY_SOCKET={address:?}"),
                    "it is neither a path nor @name",
                ));
            }
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None).during("make", "a socket")?;
        let pulse = watchdog.map(pulse).transpose()?;
        Ok(Self { socket, address: parsed.during("notify", format_args!("NOTIFY_SOCKET={address:?}"))?, pulse })
    }

    /// Readable whenever it wants to hear from us.
    pub(super) fn pulse(&self) -> Option<&OwnedFd> {
        self.pulse.as_ref()
    }

    /// `READY=1`: every task was started and is ready.
    pub(super) fn ready(&self, tasks: usize) {
        let plural = if tasks == 1 { "" } else { "s" };
        self.say(&format!("READY=1\nSTATUS={tasks} task{plural} ready"));
    }

    /// `STOPPING=1`.
    pub(super) fn stopping(&self, why: &str) {
        self.say(&format!("STOPPING=1\nSTATUS=stopping: {why}"));
    }

    /// `WATCHDOG=1`: the loop turns.
    pub(super) fn alive(&self) {
        let mut count = [0; 8];
        if let Some(pulse) = &self.pulse {
            let _ = rustix::io::read(pulse, &mut count);
        }
        self.say("WATCHDOG=1");
    }

    /// Best effort, as `sd_notify` is: a manager that does not listen must not stop us.
    fn say(&self, text: &str) {
        let _ = sendto(&self.socket, text.as_bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT, &self.address);
    }
}

/// A timer at half the watchdog's time, as systemd asks for.
fn pulse(watchdog: Duration) -> Result<OwnedFd> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
        .during("make", "a timer")?;
    let half = (watchdog / 2).max(Duration::from_millis(1));
    let time = Timespec::try_from(half).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
    let setting = Itimerspec { it_interval: time, it_value: time };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &setting).during("set", "the timer")?;
    Ok(timer)
}
