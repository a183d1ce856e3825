//! What tasks say of themselves: `sd_notify(3)`, and a newline on an fd.

use super::Supervisor;
use super::reactor::Source;
use crate::error::{During, Error, Result};
use crate::process::tree;
use crate::task::state::Event;
use crate::task::word::Word;
use crate::task::{Input, TaskId};
use nix::cmsg_space;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, UnixAddr, UnixCredentials, bind, getsockname, recvmsg, setsockopt, sockopt,
};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};
use tracing::{debug, info, warn};

/// So many messages are read in one wake: one that floods must not hold up the others.
const MESSAGES_PER_WAKE: usize = 16;
/// A status that changes faster than this is kept and not written to the log each time.
const STATUS_PAUSE: Duration = Duration::from_secs(1);

/// The socket that a task finds in `NOTIFY_SOCKET`: a datagram socket with an abstract name, one for each task.
#[derive(Debug)]
pub(super) struct Notify {
    socket: OwnedFd,
    name: String,
    /// Whether it was said that somebody else speaks there: once is enough, for anybody can.
    strangers_told: bool,
    /// When a status was last written to the log.
    status_told: Option<Instant>,
}

/// One message: what it says, and who says it.
struct Message {
    text: Vec<u8>,
    sender: Option<UnixCredentials>,
}

impl Notify {
    /// The kernel finds the name: one that was made of our pid could be taken, by the minion of a container with a pid
    /// namespace of its own first of all, for abstract names belong to the network namespace. (unix(7), autobind)
    pub(super) fn open() -> Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None).during("make", "a notification socket")?;
        let failed = |operation, errno| Error::io(operation, "a notification socket", io::Error::from(errno));
        bind(socket.as_raw_fd(), &UnixAddr::new_unnamed()).map_err(|errno| failed("bind", errno))?;
        let address: UnixAddr =
            getsockname(socket.as_raw_fd()).map_err(|errno| failed("look at the name of", errno))?;
        let name = address.as_abstract().map(|name| String::from_utf8_lossy(name).into_owned());
        let Some(name) = name else {
            return Err(Error::new("bind", "a notification socket", "the kernel gave it no name"));
        };
        setsockopt(&socket, sockopt::PassCred, &true).map_err(|errno| failed("ask for credentials on", errno))?;
        Ok(Self { socket, name, strangers_told: false, status_told: None })
    }

    /// The value of `NOTIFY_SOCKET`.
    pub(super) fn address(&self) -> String {
        format!("@{}", self.name)
    }

    /// The next message that waits.
    ///
    /// Through nix: the credentials of a sender that has no pid here say 0, and rustix takes that for a number that cannot
    /// be 0. [CR-60]
    fn receive(&self) -> Option<Message> {
        let mut text = vec![0; 4096];
        let mut space = cmsg_space!(UnixCredentials);
        let (bytes, sender) = loop {
            let mut slices = [IoSliceMut::new(&mut text)];
            let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
            match recvmsg::<()>(self.socket.as_raw_fd(), &mut slices, Some(&mut space), flags) {
                Ok(received) => {
                    break (
                        received.bytes,
                        received.cmsgs().ok().into_iter().flatten().find_map(|message| credentials(&message)),
                    );
                }
                Err(nix::errno::Errno::EINTR) => {}
                Err(_) => return None,
            }
        };
        text.truncate(bytes);
        Some(Message { text, sender })
    }
}

fn credentials(message: &ControlMessageOwned) -> Option<UnixCredentials> {
    if let ControlMessageOwned::ScmCredentials(credentials) = message { Some(*credentials) } else { None }
}

impl AsFd for Notify {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Supervisor {
    /// Hears what a task says on its notification socket.
    pub(super) fn hear(&mut self, task: TaskId) {
        for _ in 0..MESSAGES_PER_WAKE {
            let Some(message) = self.slots[task].notify.as_ref().and_then(Notify::receive) else { return };
            if !self.may_speak(task, message.sender) {
                continue;
            }
            for line in String::from_utf8_lossy(&message.text).lines() {
                self.take_word(task, line);
            }
        }
    }

    /// A stranger could send to the name: it must be one of ours. A sender that is gone already (`systemd-notify` in a script
    /// is) is told by its user alone; one without a number here is of another pid namespace and not below us.
    fn may_speak(&mut self, task: TaskId, sender: Option<UnixCredentials>) -> bool {
        let slot = &mut self.slots[task];
        let Some(sender) = sender else { return false };
        let own = rustix::process::geteuid().as_raw();
        let user = slot.spec.attributes.user.as_ref().map_or(own, |user| user.uid);
        let (pid, uid) = (sender.pid(), sender.uid());
        let known_user = uid == 0 || uid == own || uid == user;
        let below_us = || tree::Process::read(pid).map_or(true, |process| tree::is_below_us(&process));
        let is_ours = known_user && pid > 0 && below_us();
        if let Some(notify) = slot.notify.as_mut().filter(|notify| !is_ours && !notify.strangers_told) {
            notify.strangers_told = true;
            warn!(task = %slot.spec.name, pid, uid, "a stranger spoke on its notification socket, ignoring all of them");
        }
        is_ours
    }

    fn take_word(&mut self, task: TaskId, line: &str) {
        let slot = &mut self.slots[task];
        match Word::of(line) {
            Word::Ready => self.inputs.push_back(Input::Task(task, Event::Ready)),
            Word::Alive => self.inputs.push_back(Input::Task(task, Event::Alive)),
            Word::Status(status) => {
                slot.status = status;
                let Some(notify) = &mut slot.notify else { return };
                if notify.status_told.is_none_or(|told| told.elapsed() >= STATUS_PAUSE) {
                    notify.status_told = Some(Instant::now());
                    info!(task = %slot.spec.name, "says: {}", slot.status);
                }
            }
            Word::MainPid(pid) => {
                if let Some(run) = &mut slot.run {
                    run.announced = pid.filter(|pid| *pid != run.pid);
                }
            }
            Word::Other => debug!(task = %slot.spec.name, "said {line:?}, which means nothing here"),
        }
    }

    /// Reads the fd on which a task says that it is ready: a newline. Anything before it is noise, its end is silence.
    pub(super) fn read_ready(&mut self, task: TaskId) {
        let Some(run) = &mut self.slots[task].run else { return };
        let Some(ready) = &run.ready else { return };
        let mut text = [0; 64];
        let said = match rustix::io::read(ready, &mut text) {
            Ok(0) => false,
            Ok(read) if text[..read].contains(&b'\n') => true,
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => return,
            Err(_) => false,
        };
        if said {
            self.inputs.push_back(Input::Task(task, Event::Ready));
        }
        if let Some(ready) = run.ready.take() {
            self.reactor.remove(&ready);
        }
    }

    /// The notification socket of each task that speaks.
    pub(super) fn watch_notify(&self) -> Result<()> {
        for (task, slot) in self.slots.iter().enumerate() {
            if let Some(notify) = &slot.notify {
                self.reactor.add(notify, Source::Notify(task), rustix::event::epoll::EventFlags::IN)?;
            }
        }
        Ok(())
    }
}
