//! `minion rehearsal-init`: what `mesos-containerizer launch` is to a container.
//!
//! The leader of the container's session and the parent of the command. It waits for one byte from the agent, starts the
//! command, passes signals on to it, and writes its wait status down when it ends. It is no subreaper and does nothing
//! about other processes of the container.

use crate::error::{During, Error, Result};
use crate::process::Pidfd;
use crate::process::signals::Signals;
use crate::process::startup::close_inherited_fds_on_exec;
use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, setsid, wait};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::tell;
use super::wait::ready;

/// The mode that the agent starts: wait, start the command, forward, write the status.
pub(super) const LAUNCH: &str = "launch";
/// The mode that turns into the command.
const EXEC: &str = "exec";
/// Where the init finds its runtime directory. The command does not see it.
pub(super) const RUNTIME_DIRECTORY: &str = "MESOS_CONTAINERIZER_RUNTIME_DIRECTORY";

/// Entry of the hidden command; `args` are those after `rehearsal-init`. Returns the exit code: 0 when the command ran and
/// ended, however it did.
#[allow(clippy::needless_pass_by_value)] // the edge hands over what it has
pub fn main(args: Vec<OsString>) -> u8 {
    let result = match args.split_first() {
        Some((mode, words)) if mode == LAUNCH => launch(words),
        Some((mode, words)) if mode == EXEC => exec(words),
        _ => Err(Error::new("start rehearsal-init", format!("{args:?}"), "the rehearsal agent alone calls it")),
    };
    result.unwrap_or_else(|error| {
        // The sandbox's stderr: the last words of a real init stand there too.
        tell(format_args!("rehearsal-init: {error}"));
        1
    })
}

fn launch(argv: &[OsString]) -> Result<u8> {
    close_inherited_fds_on_exec()?;
    let signals = take_signals()?;
    setsid().during("setsid", "")?;
    let mut status = StatusFile::open()?;
    if let Some(signal) = wait_for_agent(&signals).inspect_err(|_| status.write(1 << 8))? {
        // Nothing to forward to yet: the agent's init takes a signal now for its own end. [ME-48]
        status.write(i32::try_from(signal).unwrap_or(libc::SIGKILL));
        return Ok(1);
    }
    let null = File::open("/dev/null").during("open", "/dev/null")?;
    rustix::stdio::dup2_stdin(&null).during("dup2", "stdin")?;
    drop(null);
    let child = Command::new("/proc/self/exe")
        .args(["rehearsal-init", EXEC])
        .args(argv)
        .env_remove(RUNTIME_DIRECTORY)
        .stdin(Stdio::inherit())
        .spawn()
        .inspect_err(|_| status.write(1 << 8))
        .during("start", format_args!("{argv:?}"))?;
    let raw = forward_until_end(&child, &signals)?;
    status.write(raw.as_raw());
    Ok(0)
}

/// Empties the mask and becomes the command. A step of its own, because a child of std inherits the mask that the init
/// blocks all signals with, and between the two nothing but an `exec` may unblock it. [KF-66]
fn exec(argv: &[OsString]) -> Result<u8> {
    let Some((program, rest)) = argv.split_first() else {
        return Err(Error::new("execute", "nothing", "no command was given"));
    };
    // Dispositions once more: posix_spawn, with which std started this step, leaves two ignored. [KF-70]
    Signals::take_over()?;
    SigSet::empty().thread_set_mask().during("empty signal mask", "")?;
    Err(Error::io("execute", format!("{program:?}"), Command::new(program).args(rest).exec()))
}

/// Blocks all signals, with default dispositions, and gives an fd to read them from. 32 and 33 belong to glibc and stay out,
/// as they do with a real init.
fn take_signals() -> Result<SignalFd> {
    Signals::take_over()?;
    let all = SigSet::all();
    SignalFd::with_flags(&all, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).during("make signalfd", "")
}

/// Waits for the agent's byte on stdin. Some when a signal came first, its number.
fn wait_for_agent(signals: &SignalFd) -> Result<Option<u32>> {
    let stdin = std::io::stdin();
    loop {
        let ready = ready(&[signals.as_fd(), stdin.as_fd()], None)?;
        while let Some(signal) = next(signals)? {
            if signal != SIGCHLD {
                return Ok(Some(signal));
            }
        }
        if ready[1] {
            let read = stdin.lock().read(&mut [0_u8; 1]).during("read", "the agent's pipe")?;
            return if read == 1 { Ok(None) } else { Err(Error::new("wait for", "the agent", "it has gone")) };
        }
    }
}

const SIGCHLD: u32 = libc::SIGCHLD.unsigned_abs();

fn next(signals: &SignalFd) -> Result<Option<u32>> {
    Ok(signals.read_signal().during("read", "signalfd")?.map(|info| info.ssi_signo))
}

/// Passes every signal but SIGCHLD on to `child` until it ends. Stops are no end; other children are reaped and forgotten.
fn forward_until_end(child: &Child, signals: &SignalFd) -> Result<WaitStatus> {
    let child = Pid::from_child(child);
    let pidfd = Pidfd::open(child.as_raw_nonzero().get()).during("pidfd_open", "the command")?;
    loop {
        while let Some(signal) = next(signals)? {
            if signal != SIGCHLD {
                // No error is of use here: the child is not reaped yet, so at most it is a zombie.
                let _ = pidfd.signal(i32::try_from(signal).unwrap_or(0));
            }
        }
        // One SIGCHLD may stand for several deaths, so each round asks until nobody is left to reap.
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == child => return Ok(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break,
                Err(errno) => return Err(errno).during("wait for", "the command"),
            }
        }
        ready(&[signals.as_fd()], None)?;
    }
}

/// `<runtime>/status`: made before anything can fail, written once.
struct StatusFile {
    file: File,
    path: PathBuf,
}

impl StatusFile {
    fn open() -> Result<Self> {
        let Some(directory) = std::env::var_os(RUNTIME_DIRECTORY) else {
            return Err(Error::new("open", "status file", format!("{RUNTIME_DIRECTORY} is not set")));
        };
        let path = PathBuf::from(directory).join("status");
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        Ok(Self { file: file.during("open", path.display())?, path })
    }

    /// The raw wait status in decimal. A failure is told and has no other effect: the agent then assumes SIGKILL.
    fn write(&mut self, raw: i32) {
        if let Err(error) = self.file.write_all(raw.to_string().as_bytes()) {
            tell(format_args!("rehearsal-init: write {}: {error}", self.path.display()));
        }
    }
}
