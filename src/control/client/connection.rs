//! One connection to a minion, with a deadline on everything.

use crate::control::SOCKET;
use crate::control::protocol::{Failure, Line};
use crate::error::{During, Error, Result};
use crate::process::{procfs, tree};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send, socket_with,
};
use serde::de::DeserializeOwned;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
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
    input: Vec<u8>,
    last: String,
}

impl Connection {
    /// Connects to `minion.sock` in the sandbox.
    pub(super) fn open(sandbox: &Path) -> Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory =
            openat(rustix::fs::CWD, sandbox, flags, Mode::empty()).during("open the sandbox", sandbox.display())?;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .during("make", "a unix socket")?;
        // A connect that waits for its turn cannot be polled; this is its deadline. [KF-95]
        set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE)).during("set a timeout of", "a socket")?;
        // As the server does: the path may be too long for an address. [KF-91]
        let path = procfs::descriptor(directory.as_raw_fd()).join(SOCKET);
        let address = SocketAddrUnix::new(path).during("name", SOCKET)?;
        let name = sandbox.join(SOCKET);
        connect(&socket, &address).map_err(|errno| cannot_connect(&name, errno))?;
        // By nix, whose answer may hold the pid 0. [CR-60]
        let pid = getsockopt(&socket, PeerCredentials).map_or(0, |peer| peer.pid());
        Ok(Self { socket, sandbox: sandbox.to_owned(), pid, input: Vec::new(), last: String::new() })
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

fn cannot_connect(name: &Path, errno: Errno) -> Error {
    let error = Error::io("connect to", name.display(), errno);
    match errno {
        Errno::CONNREFUSED => {
            error.hint("that minion is gone and did not end in order; the next one replaces the socket")
        }
        Errno::NOENT => error.hint("no minion runs there, or it could not make its socket: its stderr says so"),
        Errno::ACCESS | Errno::PERM => error.hint("it is for root and for the user that minion runs as"),
        Errno::AGAIN => error.hint("too many wait for it already; is minion stopped?"),
        _ => error,
    }
}
