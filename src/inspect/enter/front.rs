//! Whom the caller knows: has the caller's terminal, hands signals on, and ends what a killed keeper leaves.

use super::mark::Mark;
use super::terminal::Terminal;
use super::{Ending, Request, sweep};
use crate::error::{During, Error, Result};
use crate::process::signals::Signals;
use crate::process::{Pidfd, WaitStatus, startup};
use nix::sys::signal::{Signal, raise};
use nix::unistd::{getpgrp, getpid};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The hidden command that is the keeper: the mark, then the words of `minion enter`.
const KEEPER: &str = "enter-keeper";

/// Starts the keeper and ends as the command ends.
pub(super) fn stand(request: &Request) -> Result<Ending> {
    let signals = Signals::take_over()?;
    startup::become_subreaper()?;
    // Not to lend it: the keeper does, and takes it back, unless it is killed.
    let terminal = Terminal::hand_over(getpid().as_raw(), getpgrp().as_raw());
    let mark =
        format!("{}.{}", std::process::id(), rustix::time::clock_gettime(rustix::time::ClockId::Monotonic).tv_nsec);
    let mut command = Command::new("/proc/self/exe");
    command.args([KEEPER, &mark]).args(request.as_user.then_some("--user")).arg(&request.target).arg("--");
    // In a group of its own: who kills ours does not kill both.
    let keeper =
        command.args(&request.command).process_group(0).spawn().during("start", "the keeper of the command")?;
    let pid = i32::try_from(keeper.id()).unwrap_or(i32::MAX);
    let keeper = Pidfd::open(pid).during("open a pidfd for", "the keeper of the command")?;
    match until_end(&keeper, signals)? {
        WaitStatus::Exited(code) => Ok(Ending { code, complaints: Vec::new() }),
        WaitStatus::Killed { signal, .. } => {
            let told = Error::new("keep", "the command", format!("its keeper was killed by signal {signal}"));
            let mut complaints = vec![told.hint("the command was ended, with all that it started")];
            complaints.extend(sweep::end_all(Some(&Mark::new(&mark))));
            terminal.take_back();
            Ok(Ending { code: u8::try_from(128 + signal).unwrap_or(u8::MAX), complaints })
        }
    }
}

fn until_end(keeper: &Pidfd, mut signals: Signals) -> Result<WaitStatus> {
    loop {
        match poll(&mut [PollFd::new(keeper, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)], None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).during("wait for", "the keeper of the command"),
        }
        while let Some(received) = signals.read()? {
            match received.signal {
                libc::SIGCHLD => stop_too(keeper)?,
                // What the terminal sends it sends to the group that has it.
                libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU | libc::SIGWINCH => {}
                signal => {
                    let _ = keeper.signal(signal);
                }
            }
        }
        if let Some(status) = keeper.reap().during("wait for", "the keeper of the command")? {
            return Ok(status);
        }
    }
}

/// The shell above us sees a job that has stopped; when it goes on, so does the keeper, and with it the command.
fn stop_too(keeper: &Pidfd) -> Result<()> {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
    let stopped = waitid(WaitId::PidFd(keeper.as_fd()), options);
    if stopped.is_ok_and(|status| status.is_some_and(|status| status.stopped())) {
        raise(Signal::SIGSTOP).map_err(|error| Error::io("stop", "ourselves", error))?;
        let _ = keeper.signal(libc::SIGCONT);
    }
    Ok(())
}
