//! The server's side, inside the supervisor's loop.
//!
//! It has an epoll of its own, which the supervisor watches as one more fd: so it costs the loop one source, however many
//! clients there are, and that source comes last. Everything is non-blocking, and each wake does a bounded amount of work:
//!
//! | bound | |
//! |---|---|
//! | clients | [`CLIENTS`]; one more takes the place of the one that was silent for longest, which is told `busy` |
//! | a wake | [`TURNS`] clients, one read and one request each |
//! | a line | [`LINE`] bytes |
//! | unread output | one reply, and for a subscriber [`OUTPUT`] bytes; further events are lost to it, and it is told how many |
//!
//! A client that says nothing costs an fd, and no wake. Any process of minion's user may connect, a child among them: so a
//! place is never kept by doing nothing. Those that read events keep theirs, but against root where they are not root's.

mod client;
mod request;
mod socket;

pub use request::Request;

use super::protocol::{Event, Failure, Kind, VERSION, Welcome};
use crate::error::{During, Result};
use crate::process::peer::is_believed;
use client::{Client, Turn};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use serde::Serialize;
use socket::Socket;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Clients at one time.
pub const CLIENTS: usize = 64;
/// Clients that are looked at in one wake.
pub const TURNS: usize = 16;
/// Bytes of a request, its newline included.
pub const LINE: usize = 4096;
/// Bytes of events that wait for a slow reader.
pub const OUTPUT: usize = 256 * 1024;

const LISTENER: u64 = 0;

/// A client that waits for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientId(u64);

/// Who a client is, by the kernel's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its pid in our pid namespace when it connected; 0 when it is in another one.
    pub pid: i32,
    /// Its user.
    pub uid: u32,
}

/// The socket and its clients.
#[derive(Debug)]
pub struct Server {
    epoll: OwnedFd,
    socket: Socket,
    clients: Vec<(u64, Client)>,
    last: u64,
    /// Counts the turns of clients: the order of [`Client::active`].
    turns: u64,
    /// No fd was to be had for a client: the listener rests, because it would stay readable and wake us for ever. [KF-93]
    deaf: bool,
    /// The number of the last event.
    seq: u64,
}

impl Server {
    /// Listens on `minion.sock` in the directory.
    pub fn open(directory: &Path) -> Result<Self> {
        let socket = Socket::open(directory)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC).during("make", "the control socket's epoll")?;
        epoll::add(&epoll, &socket, EventData::new_u64(LISTENER), EventFlags::IN).during("watch", super::SOCKET)?;
        Ok(Self { epoll, socket, clients: Vec::new(), last: LISTENER, turns: 0, deaf: false, seq: 0 })
    }

    /// Closes everything, and leaves the file of the socket where it is.
    pub fn leave(mut self) {
        self.socket.leave_file();
    }

    /// The number of the last event that happened before anybody could listen.
    pub fn count_from(&mut self, seq: u64) {
        self.seq = seq;
    }

    /// A bounded amount of work. Gives the requests that want a reply; call it when the fd is readable.
    pub fn serve(&mut self) -> Vec<(ClientId, Request)> {
        let mut events = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; TURNS];
        let count = epoll::wait(&self.epoll, &mut events[..], Some(&Timespec::default())).unwrap_or(0);
        let mut requests = Vec::new();
        for event in &events[..count] {
            match event.data.u64() {
                LISTENER => self.accept(),
                key => requests.extend(self.attend(key, event.flags)),
            }
        }
        requests
    }

    /// Who a client is.
    pub fn peer(&self, id: ClientId) -> Option<Peer> {
        self.clients.iter().find(|(key, _)| *key == id.0).map(|(_, client)| client.peer)
    }

    /// Answers a request. A client that went away meanwhile is no error.
    pub fn reply(&mut self, to: ClientId, line: &impl Serialize) {
        if let Some((_, client)) = self.clients.iter_mut().find(|(key, _)| *key == to.0) {
            client.reply(line);
        }
        self.watch(to.0);
    }

    /// Tells every subscriber.
    pub fn publish(&mut self, event: &Event) {
        self.seq = event.seq;
        let keys: Vec<u64> = self.clients.iter().filter(|(_, client)| client.subscribed).map(|(key, _)| *key).collect();
        if keys.is_empty() {
            return self.listen_again();
        }
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        for key in keys {
            if let Some((_, client)) = self.clients.iter_mut().find(|(other, _)| *other == key) {
                client.tell(&line);
            }
            self.watch(key);
        }
    }

    fn attend(&mut self, key: u64, flags: EventFlags) -> Option<(ClientId, Request)> {
        let index = self.clients.iter().position(|(other, _)| *other == key)?;
        self.turns += 1;
        let client = &mut self.clients[index].1;
        client.active = self.turns;
        let turn = client.turn(flags.intersects(EventFlags::HUP | EventFlags::ERR));
        let request = match turn {
            Turn::Gone => {
                self.forget(index);
                return None;
            }
            Turn::Asks(Request::Events) => {
                client.subscribed = true;
                client.reply(&Welcome { minion: VERSION, subscribed: self.seq });
                None
            }
            Turn::Asks(request) => Some((ClientId(key), request)),
            Turn::Nothing => None,
        };
        self.watch(key);
        request
    }

    /// Asks the epoll for what the client waits for now.
    fn watch(&self, key: u64) {
        let Some((_, client)) = self.clients.iter().find(|(other, _)| *other == key) else { return };
        let mut interest = EventFlags::empty();
        interest.set(EventFlags::OUT, client.wants_room());
        interest.set(EventFlags::IN, client.is_heard());
        // It is in there, so this cannot fail.
        let _ = epoll::modify(&self.epoll, &client.socket, EventData::new_u64(key), interest);
    }

    fn accept(&mut self) {
        for _ in 0..TURNS {
            match accept_with(&self.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(socket) => self.admit(socket),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(_) => {
                    self.deaf = true;
                    let _ = epoll::delete(&self.epoll, &self.socket);
                    return;
                }
            }
        }
    }

    fn admit(&mut self, socket: OwnedFd) {
        let peer = peer(&socket);
        let mut client = Client::new(socket, peer.unwrap_or(Peer { pid: 0, uid: u32::MAX }));
        // What is said goes into a buffer; whether anybody reads it is not our business.
        if let Some(failure) = refusal(peer) {
            return client.refuse(&failure);
        }
        if self.clients.len() >= CLIENTS {
            let Some(index) = self.least_wanted(client.peer) else { return client.refuse(&busy()) };
            self.clients[index].1.refuse(&busy());
            self.forget(index);
        }
        self.turns += 1;
        client.active = self.turns;
        self.last += 1;
        let data = EventData::new_u64(self.last);
        if epoll::add(&self.epoll, &client.socket, data, EventFlags::IN).is_ok() {
            self.clients.push((self.last, client));
        }
    }

    /// Whose place a newcomer takes: that of the client that is silent for longest and waits for nothing.
    fn least_wanted(&self, newcomer: Peer) -> Option<usize> {
        let yields = |client: &Client| !client.subscribed || (newcomer.uid == 0 && client.peer.uid != 0);
        let those = self.clients.iter().enumerate().filter(|(_, (_, client))| yields(client));
        those.min_by_key(|(_, (_, client))| (client.subscribed, client.active)).map(|(index, _)| index)
    }

    fn forget(&mut self, index: usize) {
        let (_, client) = self.clients.swap_remove(index);
        // Before it is closed: a child that was just forked may still hold a copy.
        let _ = epoll::delete(&self.epoll, &client.socket);
        if self.clients.is_empty() {
            self.clients = Vec::new();
        }
        self.listen_again();
    }

    fn listen_again(&mut self) {
        if self.deaf {
            self.deaf = epoll::add(&self.epoll, &self.socket, EventData::new_u64(LISTENER), EventFlags::IN).is_err();
        }
    }
}

/// Why a newcomer is not served. Only root and our own user are: the file's mode says the same, but may be changed.
fn refusal(peer: Option<Peer>) -> Option<Failure> {
    match peer {
        Some(peer) if !is_believed(peer.uid) => {
            let text = format!("uid {} is neither root nor the user that minion runs as", peer.uid);
            Some(Failure::new(Kind::Forbidden, text))
        }
        None => Some(Failure::new(Kind::Forbidden, "the kernel does not say who you are")),
        Some(_) => None,
    }
}

fn busy() -> Failure {
    let text = format!("{CLIENTS} clients are connected (hint: close one; each minion events is one)");
    Failure::new(Kind::Busy, text)
}

/// Readable when there is something to do: an epoll may be watched by another one.
impl AsFd for Server {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// `SO_PEERCRED`. By nix and not rustix, whose answer cannot hold the pid 0 of a peer in another pid namespace. [CR-60]
fn peer(socket: &OwnedFd) -> Option<Peer> {
    let peer = getsockopt(socket, PeerCredentials).ok()?;
    Some(Peer { pid: peer.pid(), uid: peer.uid() })
}
