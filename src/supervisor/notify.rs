//! What tasks say of themselves: `sd_notify(3)`, and a newline on an fd.

use super::Supervisor;
use super::reactor::Source;
use crate::error::{During, Result};
use crate::process::tree;
use crate::task::state::Event;
use crate::task::{Input, TaskId};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketAddrUnix, SocketFlags, SocketType,
    UCred, bind, recvmsg, socket_with,
};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tracing::{debug, info, warn};

/// So many messages are read in one wake: one that floods must not hold up the others.
const MESSAGES_PER_WAKE: usize = 16;
/// The longest status that is kept, in bytes.
const LONGEST_STATUS: usize = 256;

/// The socket that a task finds in `NOTIFY_SOCKET`: a datagram socket with an abstract name, one for each task.
#[derive(Debug)]
pub(super) struct Notify {
    socket: OwnedFd,
    name: String,
}

/// One message: what it says, and who says it.
struct Message {
    text: Vec<u8>,
    sender: Option<UCred>,
}

impl Notify {
    pub(super) fn open(own: i32, task: TaskId) -> Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None).during("make", "a notification socket")?;
        let name = format!("minion-{own}-{task}");
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).during("name", "a notification socket")?;
        bind(&socket, &address).during("bind", format_args!("the notification socket @{name}"))?;
        set_socket_passcred(&socket, true).during("ask for credentials on", "a notification socket")?;
        Ok(Self { socket, name })
    }

    /// The value of `NOTIFY_SOCKET`.
    pub(super) fn address(&self) -> String {
        format!("@{}", self.name)
    }

    /// The next message that waits.
    fn receive(&self) -> Option<Message> {
        let mut text = vec![0; 4096];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let received = loop {
            match recvmsg(&self.socket, &mut [IoSliceMut::new(&mut text)], &mut ancillary, flags) {
                Ok(received) => break received,
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        };
        text.truncate(received.bytes);
        let sender = ancillary.drain().find_map(|message| {
            if let RecvAncillaryMessage::ScmCredentials(credentials) = message { Some(credentials) } else { None }
        });
        Some(Message { text, sender })
    }
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
    /// is) is told by its user alone.
    fn may_speak(&self, task: TaskId, sender: Option<UCred>) -> bool {
        let spec = &self.slots[task].spec;
        let Some(sender) = sender else { return false };
        let own = rustix::process::geteuid();
        let user = spec.attributes.user.as_ref().map_or(own.as_raw(), |user| user.uid);
        let pid = sender.pid.as_raw_nonzero().get();
        let known_user = sender.uid.is_root() || sender.uid == own || sender.uid.as_raw() == user;
        let is_ours = known_user && tree::Process::read(pid).map_or(true, |process| tree::is_below_us(&process));
        if !is_ours {
            warn!(task = %spec.name, pid, "a stranger spoke on its notification socket, ignoring");
        }
        is_ours
    }

    fn take_word(&mut self, task: TaskId, line: &str) {
        let slot = &mut self.slots[task];
        match line.split_once('=') {
            Some(("READY", "1")) => self.inputs.push_back(Input::Task(task, Event::Ready)),
            Some(("WATCHDOG", "1")) => self.inputs.push_back(Input::Task(task, Event::Alive)),
            Some(("STATUS", status)) => {
                slot.status = status.chars().filter(|c| !c.is_control()).take(LONGEST_STATUS).collect();
                info!(task = %slot.spec.name, "says: {}", slot.status);
            }
            Some(("MAINPID", pid)) => {
                if let Some(run) = &mut slot.run {
                    run.announced = pid.parse().ok().filter(|pid| *pid != run.pid);
                }
            }
            Some(_) | None => debug!(task = %slot.spec.name, "said {line:?}, which means nothing here"),
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
