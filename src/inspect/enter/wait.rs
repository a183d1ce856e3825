//! While the command runs: signals to it, stops of it, its end.

use super::terminal::Terminal;
use crate::error::{During, Error, Result};
use crate::process::signals::Signals;
use crate::process::{Pidfd, WaitStatus, reap};
use nix::sys::signal::{Signal, raise};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::os::fd::AsFd;

/// Waits for the end of the command and gives its exit code. What is sent to us goes to its process group.
pub(super) fn until_end(child: &Pidfd, mut signals: Signals, terminal: &Terminal) -> Result<u8> {
    loop {
        match poll(&mut [PollFd::new(child, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)], None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).during("wait for", "the command"),
        }
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
                }
            }
        }
        if let Some(status) = child.reap().during("wait for", "the command")? {
            return Ok(match status {
                WaitStatus::Exited(code) => code,
                WaitStatus::Killed { signal, .. } => u8::try_from(128 + signal).unwrap_or(u8::MAX),
            });
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

/// The shell above us sees a job that has stopped, and gets its terminal back; when it goes on, so does the command.
fn stop_too(child: &Pidfd, terminal: &Terminal) -> Result<()> {
    terminal.take_back();
    raise(Signal::SIGSTOP).map_err(|error| Error::io("stop", "ourselves", error))?;
    terminal.lend_again();
    let _ = child.signal_group(libc::SIGCONT);
    Ok(())
}
