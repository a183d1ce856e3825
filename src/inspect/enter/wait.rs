//! While the command runs: signals to it, stops of it, its end.

use super::pty::Pty;
use super::terminal::Terminal;
use crate::error::{During, Error, Result};
use crate::process::signals::Signals;
use crate::process::{Pidfd, WaitStatus, reap};
use nix::sys::signal::{Signal, raise};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use rustix::stdio::stdin;
use rustix::termios::isatty;
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

/// Waits for the end of the command. What is sent to us goes to its process group. When the terminal hangs up it has 5 s more: a
/// command that nobody can talk to does not stay in the container.
pub(super) fn until_end(
    child: &Pidfd,
    front: &Pidfd,
    mut signals: Signals,
    terminal: &Terminal,
    mut pty: Option<&mut Pty>,
) -> Result<Ended> {
    let mut deadline: Option<Instant> = None;
    let mut has_terminal = pty.is_some() || isatty(stdin());
    loop {
        let seen = look([front, child], &signals, (has_terminal, pty.as_deref()), deadline)?;
        if seen.hung_up {
            has_terminal = false;
            hang_up(child, &mut deadline);
        }
        pty.as_deref_mut().into_iter().for_each(Pty::relay);
        while let Some(received) = signals.read()? {
            match received.signal {
                libc::SIGCHLD => {
                    reap_orphans(child);
                    if is_stopped(child) {
                        stop_too(child, terminal)?;
                        pty.as_deref().into_iter().for_each(Pty::resize);
                    }
                }
                // What the terminal sends it sends to the group that has it.
                libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => {}
                libc::SIGWINCH => pty.as_deref().into_iter().for_each(Pty::resize),
                libc::SIGHUP => hang_up(child, &mut deadline),
                signal => {
                    let _ = child.signal_group(signal);
                }
            }
        }
        if let Some(status) = child.reap().during("wait for", "the command")? {
            return Ok(Ended::Command(match status {
                WaitStatus::Exited(code) => code,
                WaitStatus::Killed { signal, .. } => u8::try_from(128 + signal).unwrap_or(u8::MAX),
            }));
        }
        if seen.front_is_dead {
            return Ok(Ended::Front);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            deadline = None;
            let _ = child.signal_group(libc::SIGKILL);
        }
    }
}

/// What else a wait has shown.
struct Seen {
    front_is_dead: bool,
    hung_up: bool,
}

/// `poll`, until something happens. The shell that would hand SIGHUP on may be dead: the terminal itself tells as well.
fn look(
    [front, child]: [&Pidfd; 2],
    signals: &Signals,
    (has_terminal, pty): (bool, Option<&Pty>),
    deadline: Option<Instant>,
) -> Result<Seen> {
    let stdin = stdin();
    let flags = |(reads, writes): (bool, bool)| {
        let flag = |is_so, flag| if is_so { flag } else { PollFlags::empty() };
        flag(reads, PollFlags::IN) | flag(writes, PollFlags::OUT)
    };
    let mut fds =
        vec![PollFd::new(front, PollFlags::IN), PollFd::new(child, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
    // A hang-up is told unasked.
    let (outer, waits) = pty.map_or((stdin, Default::default()), |pty| (pty.outer(), pty.waits()));
    let master = pty.map(|pty| pty.master());
    fds.extend(has_terminal.then(|| PollFd::new(&outer, flags(waits[0]))));
    fds.extend(master.as_ref().map(|master| PollFd::new(master, flags(waits[1]))));
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let left = left.map(|left| Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() });
    match poll(&mut fds, left.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error).during("wait for", "the command"),
    }
    Ok(Seen {
        front_is_dead: !fds[0].revents().is_empty(),
        hung_up: has_terminal && fds.get(3).is_some_and(|terminal| terminal.revents().contains(PollFlags::HUP)),
    })
}

/// One that is stopped hears it when it goes on.
fn hang_up(child: &Pidfd, deadline: &mut Option<Instant>) {
    for signal in [libc::SIGHUP, libc::SIGCONT] {
        let _ = child.signal_group(signal);
    }
    deadline.get_or_insert_with(|| Instant::now() + LAST_WORDS);
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
