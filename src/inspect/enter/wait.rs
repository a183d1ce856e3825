//! While the command runs: signals to it, stops of it, its end.

use super::terminal::Terminal;
use crate::error::{During, Error, Result};
use crate::process::signals::Signals;
use crate::process::{Pidfd, WaitStatus, reap};
use nix::sys::signal::{Signal, raise};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// What the command may still do when its terminal has hung up.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Why there is no more to wait for.
pub(super) enum Ended {
    /// The command has ended, with this exit code.
    Command(u8),
    /// Whoever asked for it is dead; the command is not.
    Front,
}

/// Waits for the end of the command. What is sent to us goes to its process group. Behind SIGHUP it has 5 s: a command that
/// nobody can talk to any more does not stay in the container.
pub(super) fn until_end(child: &Pidfd, front: &Pidfd, mut signals: Signals, terminal: &Terminal) -> Result<Ended> {
    let mut deadline: Option<Instant> = None;
    loop {
        let mut fds =
            [child.as_fd(), front.as_fd(), signals.as_fd()].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let left =
            left.map(|left| Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() });
        match poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).during("wait for", "the command"),
        }
        let front_is_dead = !fds[1].revents().is_empty();
        while let Some(received) = signals.read()? {
            match received.signal {
                libc::SIGCHLD => {
                    reap_orphans(child);
                    if is_stopped(child) {
                        stop_too(child, terminal)?;
                    }
                }
                // What the terminal sends it sends to the group that has it.
                libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU | libc::SIGWINCH => {}
                signal => {
                    let _ = child.signal_group(signal);
                    if signal == libc::SIGHUP {
                        // One that is stopped hears it when it goes on.
                        let _ = child.signal_group(libc::SIGCONT);
                        deadline.get_or_insert_with(|| Instant::now() + LAST_WORDS);
                    }
                }
            }
        }
        if let Some(status) = child.reap().during("wait for", "the command")? {
            return Ok(Ended::Command(match status {
                WaitStatus::Exited(code) => code,
                WaitStatus::Killed { signal, .. } => u8::try_from(128 + signal).unwrap_or(u8::MAX),
            }));
        }
        if front_is_dead {
            return Ok(Ended::Front);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            deadline = None;
            let _ = child.signal_group(libc::SIGKILL);
        }
    }
}

/// Orphans of the command came to us, the subreaper.
fn reap_orphans(child: &Pidfd) {
    while let Ok(Some(pid)) = reap::peek() {
        if pid == child.pid() || !matches!(reap::reap(pid), Ok(Some(_))) {
            return;
        }
    }
}

fn is_stopped(child: &Pidfd) -> bool {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
    waitid(WaitId::PidFd(child.as_fd()), options).is_ok_and(|status| status.is_some_and(|status| status.stopped()))
}

/// The front sees that we have stopped, and the shell above it gets its terminal back; when they go on, so does the command.
fn stop_too(child: &Pidfd, terminal: &Terminal) -> Result<()> {
    terminal.take_back();
    raise(Signal::SIGSTOP).map_err(|error| Error::io("stop", "ourselves", error))?;
    terminal.lend_again();
    let _ = child.signal_group(libc::SIGCONT);
    Ok(())
}
