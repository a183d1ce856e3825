//! One connection to a minion, with a deadline on everything.

use crate::control::SOCKET;
use crate::control::protocol::{Failure, Line};
use crate::error::{During, Error, Result};
use crate::process::peer::{self, Listener};
use crate::process::tree;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde::de::DeserializeOwned;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long minion may take for an answer. It takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(5);
/// No line of a minion is longer.
const LONGEST: usize = 4 << 20;

/// What came back.
pub(super) enum Reply<T> {
    /// What was asked for.
    Answer(T),
    /// Why not.
    Refused(Failure),
}

/// A connection to the minion of one sandbox.
pub(super) struct Connection {
    socket: OwnedFd,
    sandbox: PathBuf,
    /// Who listens; 0 where it is in another pid namespace.
    pid: i32,
    is_believed: bool,
    input: Vec<u8>,
    last: String,
}

impl Connection {
    /// Connects to `minion.sock` in the sandbox. Who listens there has to be root or our own user: anybody can make a socket of
    /// that name. Root may name any: its agent runs executors as other users.
    pub(super) fn open(sandbox: &Path) -> Result<Self> {
        let directory = peer::directory(sandbox).during("open the sandbox", sandbox.display())?;
        // A connect that waits for its turn cannot be polled; it has this deadline. [KF-95]
        let listener = Listener::of(&directory, SOCKET, Some(PATIENCE))
            .map_err(|cause| cannot_connect(&sandbox.join(SOCKET), cause))?;
        if peer::may_be_asked(listener.uid) {
            return Ok(Self::with(listener, sandbox));
        }
        let why = format!("uid {} listens there, which is neither root nor this user", listener.uid);
        Err(Error::new("believe", sandbox.join(SOCKET).display(), why)
            .hint("if that is a minion, its own user can ask it"))
    }

    /// The same for the search, which waits for nobody: None where there is no minion that we believe, and an error where one
    /// listens and does not come round to accepting.
    pub(super) fn now(sandbox: &Path) -> Option<Result<Self>> {
        match Listener::of(&peer::directory(sandbox).ok()?, SOCKET, None) {
            Ok(listener) => peer::may_be_asked(listener.uid).then(|| Ok(Self::with(listener, sandbox))),
            Err(cause) if cause.raw_os_error() == Some(libc::EAGAIN) => {
                Some(Err(cannot_connect(&sandbox.join(SOCKET), cause)))
            }
            Err(_) => None,
        }
    }

    fn with(listener: Listener, sandbox: &Path) -> Self {
        let is_believed = listener.is_believed();
        let Listener { socket, pid, .. } = listener;
        Self { socket, sandbox: sandbox.to_owned(), pid, is_believed, input: Vec::new(), last: String::new() }
    }

    /// Whether what it says of itself counts in a search: it is not another user's.
    pub(super) fn is_believed(&self) -> bool {
        self.is_believed
    }

    /// Who listens; 0 where it is in another pid namespace.
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends a line and reads its answer.
    pub(super) fn ask<T: DeserializeOwned>(&mut self, line: &Line) -> Result<Reply<T>> {
        let deadline = Instant::now() + PATIENCE;
        let mut text = serde_json::to_vec(line).during("write", "a request")?;
        text.push(b'\n');
        self.send(&text, deadline)?;
        let answer = self.line(Some(deadline))?.ok_or_else(|| self.failed("it closed the connection"))?;
        self.last = answer;
        if let Ok(failure) = serde_json::from_str::<Failure>(&self.last) {
            return Ok(Reply::Refused(failure));
        }
        let parsed = serde_json::from_str(&self.last).during("understand", self.sandbox.join(SOCKET).display());
        parsed.map(Reply::Answer).map_err(|error| error.hint("that minion is of another version"))
    }

    /// The last answer as it came, with its newline.
    pub(super) fn last_line(&self) -> String {
        self.last.clone()
    }

    /// Whether the next line is here already.
    pub(super) fn has_line(&self) -> bool {
        self.input.contains(&b'\n')
    }

    /// The next line, however long it takes; `None` when minion is gone.
    pub(super) fn next_line(&mut self) -> Result<Option<String>> {
        self.line(None)
    }

    fn send(&mut self, mut text: &[u8], deadline: Instant) -> Result<()> {
        while !text.is_empty() {
            match send(&self.socket, text, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => text = &text[count..],
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, Some(deadline))?,
                Err(Errno::INTR) => {}
                // It may have said why before it closed: busy, or forbidden. [KF-94]
                Err(Errno::PIPE | Errno::CONNRESET) => return Ok(()),
                Err(errno) => return Err(errno).during("write to", self.sandbox.join(SOCKET).display()),
            }
        }
        Ok(())
    }

    fn line(&mut self, deadline: Option<Instant>) -> Result<Option<String>> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.input[searched..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.input.drain(..=searched + end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
            }
            searched = self.input.len();
            if searched > LONGEST {
                return Err(self.failed("it does not end its line"));
            }
            self.wait(PollFlags::IN, deadline)?;
            let mut piece = [0; 16 * 1024];
            match recv(&self.socket, &mut piece[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(None),
                Ok((count, _)) => self.input.extend_from_slice(&piece[..count]),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(errno).during("read from", self.sandbox.join(SOCKET).display()),
            }
        }
    }

    fn wait(&self, what: PollFlags, deadline: Option<Instant>) -> Result<()> {
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let left = left.map(|left| Timespec::try_from(left).unwrap_or_default());
            match poll(&mut [PollFd::new(&self.socket, what)], left.as_ref()) {
                Ok(0) => return Err(self.silent()),
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno).during("wait for", self.sandbox.join(SOCKET).display()),
            }
        }
    }

    fn failed(&self, why: &'static str) -> Error {
        Error::new("ask the minion of", self.sandbox.display(), why)
    }

    /// It takes no notice of us; most often because somebody stopped it.
    fn silent(&self) -> Error {
        let pid = self.pid;
        let error = self.failed("it does not answer within 5 s");
        match tree::Process::read(pid) {
            Ok(process) if process.state == b'T' => {
                error.hint(format!("pid {pid} is stopped; kill -CONT {pid} lets it go on"))
            }
            Ok(process) => error.hint(format!("pid {pid} is in state {}", char::from(process.state))),
            Err(_) => error,
        }
    }
}

/// Readable when minion says something, and when it is gone.
impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn cannot_connect(name: &Path, cause: io::Error) -> Error {
    let errno = Errno::from_io_error(&cause);
    let error = Error::io("connect to", name.display(), cause);
    match errno.unwrap_or(Errno::IO) {
        Errno::CONNREFUSED => {
            error.hint("that minion is gone and did not end in order; the next one replaces the socket")
        }
        Errno::NOENT => error.hint("no minion runs there, or it could not make its socket: its stderr says so"),
        Errno::ACCESS | Errno::PERM => error.hint("it is for root and for the user that minion runs as"),
        Errno::AGAIN => error.hint("too many wait for it already; is minion stopped?"),
        _ => error,
    }
}
