//! `minion stand-in`: what plays `km` in a rehearsal.
//!
//! The rehearsal agent writes `<sandbox>/km` with this program as its interpreter, so that `km proxy --…` and
//! `km executor --…` run it. It writes lines as glog does, stops when it is told to, and otherwise does what
//! `STAND_IN_PROXY` or `STAND_IN_EXECUTOR` says (verbs: script.rs). It serves nothing and knows no Kubernetes.

mod offspring;
mod record;
mod script;

use self::script::{End, Script};
use super::wait::{arm, ready, timer};
use super::{sandbox, tell};
use crate::error::{During, Result};
use nix::sys::signal::{SigSet, Signal as NixSignal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Signal, getpid, kill_process};
use std::ffi::OsString;
use std::fmt::{Display, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Instant;

/// Bytes gathered before a burst is written.
const CHUNK: usize = 64 * 1024;

/// Entry of the hidden command; `args` are those after `stand-in`: the script's path, `proxy` or `executor`, its flags.
#[allow(clippy::needless_pass_by_value)] // the edge hands over what it has
pub fn main(args: Vec<OsString>) -> u8 {
    let result = match args.split_first() {
        Some((first, rest)) if first == offspring::MARK => offspring::live(rest),
        Some((_, rest)) => StandIn::run(rest, &args),
        None => StandIn::run(&[], &args),
    };
    result.unwrap_or_else(|error| {
        tell(format_args!("stand-in: {error}"));
        1
    })
}

struct StandIn {
    role: String,
    script: Script,
    signals: SignalFd,
    timer: OwnedFd,
    messages: Option<OwnedFd>,
    began: Instant,
    /// When it ends by itself, and how.
    end: Option<(Instant, End)>,
    /// When it ends because it was told to.
    leave: Option<Instant>,
    lines: u64,
    written: u64,
}

impl StandIn {
    fn run(args: &[OsString], whole: &[OsString]) -> Result<u8> {
        let role = args.first().map_or_else(String::new, |role| role.to_string_lossy().into_owned());
        let script = std::env::var(format!("STAND_IN_{}", role.to_ascii_uppercase())).unwrap_or_default();
        let script = Script::parse(&script)?;
        let record = script.record.as_ref().map(|_| record::take(whole));
        let stop = [NixSignal::SIGTERM, NixSignal::SIGINT, NixSignal::SIGHUP].into_iter().collect::<SigSet>();
        stop.thread_block().during("block signals", "")?;
        let signals = SignalFd::with_flags(&stop, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK);
        let signals = signals.during("make signalfd", "")?;
        let messages = if role == "executor" { open_messages() } else { None };
        let began = Instant::now();
        let end = script.end.filter(|_| !script.once || first_run(&role)).map(|(after, end)| (began + after, end));
        let timer = timer()?;
        // Only now: who sees the record may send a signal or a message at once.
        if let (Some(record), Some(name)) = (record, &script.record) {
            record::write(&record, name)?;
        }
        Self { role, script, signals, timer, messages, began, end, leave: None, lines: 0, written: 0 }.live()
    }

    fn live(mut self) -> Result<u8> {
        self.log(format_args!("{} stand-in started", self.role));
        self.burst()?;
        offspring::start(&self.script)?;
        let children = self.script.forkloop + self.script.hop;
        if children > 0 {
            self.log(format_args!("{} started {children} processes", self.role));
        }
        if self.script.stop_self {
            kill_process(getpid(), Signal::STOP).during("stop", "self")?;
        }
        loop {
            let now = Instant::now();
            self.write_due_lines(now)?;
            if self.leave.is_some_and(|at| at <= now) {
                self.log(format_args!("{} says goodbye", self.role));
                return Ok(0);
            }
            if let Some((_, end)) = self.end.filter(|(at, _)| *at <= now) {
                return self.end_by_itself(end);
            }
            self.wait()?;
        }
    }

    /// Waits for the next line, the end, a signal or a message.
    fn wait(&mut self) -> Result<()> {
        let line = (self.lines < self.script.lines).then(|| self.due(self.lines));
        let next = [line, self.end.map(|(at, _)| at), self.leave].into_iter().flatten().min();
        arm(&self.timer, next.map(|at| at.saturating_duration_since(Instant::now())))?;
        let mut fds: Vec<BorrowedFd<'_>> = vec![self.signals.as_fd(), self.timer.as_fd()];
        fds.extend(self.messages.as_ref().map(AsFd::as_fd));
        let ready = ready(&fds, None)?;
        while let Some(info) = self.signals.read_signal().during("read", "signalfd")? {
            let name = i32::try_from(info.ssi_signo).ok().and_then(signal_hook::low_level::signal_name);
            self.told_to_stop(name.unwrap_or("a signal"), self.script.ignore_term);
        }
        if ready.get(2) == Some(&true) && self.read_message()? {
            self.told_to_stop("the SHUTDOWN message", self.script.ignore_shutdown);
        }
        Ok(())
    }

    fn read_message(&self) -> Result<bool> {
        let mut buffer = [0_u8; 64];
        let Some(messages) = &self.messages else {
            return Ok(false);
        };
        match rustix::io::read(messages, &mut buffer) {
            Ok(read) => Ok(buffer[..read].starts_with(b"SHUTDOWN")),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(false),
            Err(errno) => Err(errno).during("read", sandbox::MESSAGES),
        }
    }

    fn told_to_stop(&mut self, by: impl Display, ignored: bool) {
        self.log(format_args!("{} got {by}{}", self.role, if ignored { ", ignoring" } else { "" }));
        if !ignored {
            self.leave.get_or_insert(Instant::now() + self.script.linger);
        }
    }

    fn end_by_itself(&self, end: End) -> Result<u8> {
        match end {
            End::Exit(code) => {
                self.log(format_args!("{} ends with code {code}", self.role));
                Ok(code)
            }
            End::Signal(signal) => {
                self.log(format_args!("{} dies by signal {signal}", self.role));
                // The runtime has a handler for SIGSEGV, which a signal that was sent does not get past. [KF-69]
                signal_hook::low_level::emulate_default_handler(signal).during("die by signal", signal)?;
                Ok(1)
            }
        }
    }

    /// The moment at which line `n` (from 0) is due.
    fn due(&self, n: u64) -> Instant {
        self.began + self.script.every * u32::try_from(n).unwrap_or(u32::MAX)
    }

    fn write_due_lines(&mut self, now: Instant) -> Result<()> {
        while self.lines < self.script.lines && self.due(self.lines) <= now {
            self.lines += 1;
            let mut line = Vec::with_capacity(self.script.line_bytes);
            self.numbered_line(&mut line, self.script.line_bytes);
            write_all(&line)?;
        }
        Ok(())
    }

    fn burst(&mut self) -> Result<()> {
        let mut left = self.script.burst;
        let mut chunk = Vec::with_capacity(CHUNK);
        while left > 0 {
            let length = left.min(self.script.line_bytes as u64);
            self.numbered_line(&mut chunk, usize::try_from(length).unwrap_or(self.script.line_bytes));
            left -= length;
            if left == 0 || chunk.len() + self.script.line_bytes > CHUNK {
                write_all(&chunk)?;
                chunk.clear();
            }
        }
        Ok(())
    }

    /// `executor line 00000042 .......\n`, exactly `length` bytes; what has no room is cut off.
    fn numbered_line(&mut self, to: &mut Vec<u8>, length: usize) {
        self.written += 1;
        let mut text = String::new();
        let _ = write!(text, "{} line {:08} ", self.role, self.written);
        let begin = to.len();
        to.extend_from_slice(text.as_bytes());
        to.resize(begin + length - 1, b'.');
        to.push(b'\n');
    }

    /// A line as glog writes it: level, month, day, time, thread, place. UTC.
    fn log(&self, text: impl Display) {
        if !self.script.quiet {
            let now = chrono::Utc::now().format("%m%d %H:%M:%S%.6f");
            tell(format_args!("I{now} {:>7} stand_in.go:1] {text}", std::process::id()));
        }
    }
}

/// The agent's FIFO, held open for writing too, so that it never is at its end. None outside of a rehearsal.
fn open_messages() -> Option<OwnedFd> {
    let path = PathBuf::from(std::env::var_os("MESOS_SANDBOX")?).join(sandbox::MESSAGES);
    open(path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Whether no stand-in of this role ran in this working directory before.
fn first_run(role: &str) -> bool {
    std::fs::File::create_new(format!(".stand-in-{role}-ran")).is_ok()
}

fn write_all(mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stderr(), bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno).during("write", "stderr"),
        }
    }
    Ok(())
}
