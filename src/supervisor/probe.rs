//! Questions to tasks: whether they are ready, whether they are healthy. None of them waits.

use super::Supervisor;
use super::reactor::Source;
use super::run::MARKER;
use crate::error::{During, Error, Result};
use crate::process::spawn::{Child, Stdio};
use crate::process::{Pidfd, WaitStatus, procfs, reap};
use crate::task::spec::{Probe, ReadyWay};
use crate::task::state::{Event, Part};
use crate::task::watch::Purpose;
use crate::task::word::http_status;
use crate::task::{Input, TaskId};
use rustix::event::epoll::EventFlags;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send, socket_with,
    sockopt,
};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use tracing::debug;

/// A question that is not answered yet.
#[derive(Debug)]
pub(super) enum Question {
    /// A connection is being made; then this is sent.
    Connecting { socket: OwnedFd, request: Option<String> },
    /// The request was sent.
    Asked { socket: OwnedFd, reply: Vec<u8> },
    /// A command runs; its exit code is the answer, or the errno of a connection.
    Running { child: Pidfd, connects_to: Option<PathBuf> },
}

/// What became of a question so far.
enum Answer {
    Open(Question),
    Good,
    Bad(String),
}

impl Supervisor {
    /// Asks a task whether it can serve.
    pub(super) fn ask(&mut self, task: TaskId, purpose: Purpose) {
        self.give_up_question(task, "it did not answer in time");
        self.slots[task].answering = None;
        let spec = &self.slots[task].spec;
        let probe = match (purpose, &spec.readiness.way, &spec.health) {
            (Purpose::Readiness, ReadyWay::Probe { probe, .. }, _) => Some(probe.clone()),
            (Purpose::Health, _, Some(health)) => health.probe.clone(),
            (Purpose::Readiness | Purpose::Health, _, _) => None,
        };
        let answer = match probe {
            Some(probe) => self.put(task, &probe).unwrap_or_else(|failure| Answer::Bad(failure.to_string())),
            None => Answer::Bad("there is no question to ask".to_owned()),
        };
        self.answered(task, answer);
    }

    fn put(&self, task: TaskId, probe: &Probe) -> Result<Answer> {
        match probe {
            Probe::Tcp(address) => tcp(*address, None),
            Probe::Http { address, path } => {
                let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n");
                tcp(*address, Some(request))
            }
            Probe::Command(args) => self.command(task, args, None),
            // A look at a file, and the way to a socket, may hang on a disk, and this thread may not: a child looks.
            Probe::File(path) => self.command(task, &own_command("probe-file", path), None),
            Probe::Unix(path) => self.command(task, &own_command("probe-unix", path), Some(path)),
        }
    }

    fn command(&self, task: TaskId, args: &[OsString], connects_to: Option<&PathBuf>) -> Result<Answer> {
        let slot = &self.slots[task];
        let marker = slot.run.as_ref().map_or("", |run| &run.marker);
        let mut env = slot.environment(Part::Before, marker);
        env.retain(|(name, _)| name != "NOTIFY_SOCKET");
        debug_assert!(env.iter().any(|(name, _)| name == MARKER));
        let program = slot.any_command(args, &env)?;
        let null = self.null.as_fd();
        let gated = self.launcher.fork(&program, Stdio { stdin: null, stdout: null, stderr: null, extra: None })?;
        // Whether its exec works is told by its exit code.
        let Child { pidfd: child, .. } = self.let_in(task, gated, |_| Ok(()))?;
        Ok(Answer::Open(Question::Running { child, connects_to: connects_to.cloned() }))
    }

    fn answered(&mut self, task: TaskId, answer: Answer) {
        let good = match answer {
            Answer::Open(question) => {
                let interest = match &question {
                    Question::Connecting { .. } => EventFlags::OUT,
                    Question::Asked { .. } | Question::Running { .. } => EventFlags::IN,
                };
                match self.reactor.add(question.fd(), Source::Question(task), interest) {
                    Ok(()) => {
                        self.slots[task].question = Some(question);
                        return;
                    }
                    Err(failure) => Err(failure.to_string()),
                }
            }
            Answer::Good => Ok(()),
            Answer::Bad(evidence) => Err(evidence),
        };
        if let Err(evidence) = &good {
            debug!(task = %self.slots[task].spec.name, "the probe failed: {evidence}");
            self.slots[task].evidence.clone_from(evidence);
        }
        self.inputs.push_back(Input::Task(task, Event::Answered(good.is_ok())));
    }

    /// The open question of a task may have its answer.
    pub(super) fn read_answer(&mut self, task: TaskId) {
        let Some(question) = self.slots[task].question.take() else { return };
        self.reactor.remove(question.fd());
        let answer = match question {
            Question::Connecting { socket, request } => connected(socket, request),
            Question::Asked { socket, reply } => {
                let (answer, answering) = read_reply(socket, reply);
                // Closed with the next answer: a close now would reset a server that still writes what follows its status.
                self.slots[task].answering = answering;
                answer
            }
            Question::Running { child, connects_to } => exited(child, connects_to),
        };
        self.answered(task, answer);
    }

    /// Nobody waits for the answer any more. A command that still runs is killed; it is reaped as an orphan.
    pub(super) fn give_up_question(&mut self, task: TaskId, evidence: &str) {
        let Some(question) = self.slots[task].question.take() else { return };
        self.reactor.remove(question.fd());
        evidence.clone_into(&mut self.slots[task].evidence);
        if let Question::Running { child, .. } = question {
            let _ = child.signal_with_group(libc::SIGKILL);
        }
    }

    /// The task whose question this process is.
    pub(super) fn task_asked_by(&self, pid: i32) -> Option<TaskId> {
        self.slots.iter().position(|slot| match &slot.question {
            Some(Question::Running { child, .. }) => child.pid() == pid,
            Some(Question::Connecting { .. } | Question::Asked { .. }) | None => false,
        })
    }
}

impl Question {
    fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match self {
            Self::Connecting { socket, .. } | Self::Asked { socket, .. } => socket.as_fd(),
            Self::Running { child, .. } => child.as_fd(),
        }
    }
}

fn stream(family: AddressFamily) -> Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(family, SocketType::STREAM, flags, None).during("make", "a socket")
}

fn tcp(address: SocketAddr, request: Option<String>) -> Result<Answer> {
    let socket = stream(if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 })?;
    match connect(&socket, &address) {
        Ok(()) => Ok(connected(socket, request)),
        Err(Errno::INPROGRESS) => Ok(Answer::Open(Question::Connecting { socket, request })),
        Err(cause) => Err(Error::io("connect to", address, cause)),
    }
}

/// One of minion's hidden commands, on a path.
fn own_command(name: &str, path: &Path) -> [OsString; 3] {
    ["/proc/self/exe".into(), name.into(), path.as_os_str().to_owned()]
}

/// Connects to a unix socket: what the child of such a question does. Through its directory's descriptor: a path may be longer
/// than an address.
pub fn connect_unix(path: &Path) -> std::io::Result<()> {
    let name = path.file_name().ok_or(Errno::NOENT)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, parent, flags, Mode::empty())?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let by_descriptor = procfs::descriptor(directory.as_raw_fd()).join(name);
    // A full backlog answers EAGAIN: somebody listens and nobody accepts.
    Ok(connect(&socket, &SocketAddrUnix::new(by_descriptor)?)?)
}

fn connected(socket: OwnedFd, request: Option<String>) -> Answer {
    match sockopt::socket_error(&socket) {
        Ok(Ok(())) => {}
        Ok(Err(cause)) | Err(cause) => return Answer::Bad(format!("connect: {}", std::io::Error::from(cause))),
    }
    let Some(request) = request else { return Answer::Good };
    // It is far smaller than an empty send buffer.
    match send(&socket, request.as_bytes(), SendFlags::NOSIGNAL) {
        Ok(_) => Answer::Open(Question::Asked { socket, reply: Vec::new() }),
        Err(cause) => Answer::Bad(format!("send the request: {}", std::io::Error::from(cause))),
    }
}

/// The answer, and the connection where it is not needed for it any more.
fn read_reply(socket: OwnedFd, mut reply: Vec<u8>) -> (Answer, Option<OwnedFd>) {
    let mut piece = [0; 64];
    match recv(&socket, &mut piece[..], RecvFlags::empty()) {
        Ok((0, _)) => return (Answer::Bad("the connection ended before the status line".to_owned()), None),
        Ok((read, _)) => reply.extend_from_slice(&piece[..read]),
        Err(Errno::AGAIN | Errno::INTR) => {}
        Err(cause) => return (Answer::Bad(format!("read the reply: {}", std::io::Error::from(cause))), None),
    }
    let answer = match http_status(&reply) {
        None if reply.len() < 64 => return (Answer::Open(Question::Asked { socket, reply }), None),
        None => Answer::Bad("the reply is not HTTP".to_owned()),
        Some(200..=399) => Answer::Good,
        Some(status) => Answer::Bad(format!("HTTP status {status}")),
    };
    (answer, Some(socket))
}

fn exited(child: Pidfd, connects_to: Option<PathBuf>) -> Answer {
    match (child.reap(), connects_to) {
        (Ok(None), connects_to) => Answer::Open(Question::Running { child, connects_to }),
        (Ok(Some(WaitStatus::Exited(0))), _) => Answer::Good,
        (Ok(Some(WaitStatus::Exited(errno))), Some(path)) => {
            let cause = std::io::Error::from_raw_os_error(i32::from(errno));
            Answer::Bad(Error::io("connect to", path.display(), cause).to_string())
        }
        (Ok(Some(WaitStatus::Exited(code))), None) => Answer::Bad(format!("the command exited with {code}")),
        (Ok(Some(WaitStatus::Killed { signal, .. })), _) => Answer::Bad(format!("signal {signal} killed the command")),
        (Err(cause), _) => {
            let _ = reap::reap(child.pid());
            Answer::Bad(format!("wait for the command: {cause}"))
        }
    }
}
