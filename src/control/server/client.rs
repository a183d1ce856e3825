//! One client: its line so far, and what it has not read yet.

use super::request::Request;
use super::{LINE, OUTPUT, Peer};
use crate::control::protocol::{Event, Failure, Kind, VERSION};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde::Serialize;
use std::os::fd::OwnedFd;

/// What a client's turn came to.
pub(super) enum Turn {
    /// Nothing for anybody else.
    Nothing,
    /// It asks for something.
    Asks(Request),
    /// It is done with; forget it.
    Gone,
}

/// A connected client.
///
/// A request is taken only when everything before it has been sent, so nobody can make minion hold more than one reply for
/// it: who does not read is not served.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) socket: OwnedFd,
    pub(super) peer: Peer,
    input: Vec<u8>,
    output: Vec<u8>,
    /// When it last came or said something, on the server's count of such turns.
    pub(super) active: u64,
    /// Gets every event.
    pub(super) subscribed: bool,
    /// Events that it did not get, and has not been told of.
    lost: u64,
    /// It is closed when it has read what it is told.
    closing: bool,
    /// It writes no more; as a subscriber it may still read.
    silent: bool,
}

impl Client {
    pub(super) fn new(socket: OwnedFd, peer: Peer) -> Self {
        let (input, output) = (Vec::new(), Vec::new());
        Self { socket, peer, input, output, active: 0, subscribed: false, lost: 0, closing: false, silent: false }
    }

    /// Whether it waits for room to write, or has a line that waits for its turn. Both need a writable socket; otherwise it
    /// is its own turn to write.
    pub(super) fn wants_room(&self) -> bool {
        !self.output.is_empty() || self.closing || self.has_line()
    }

    /// Whether anything that it sends is of interest.
    pub(super) fn is_heard(&self) -> bool {
        !self.silent && !self.wants_room()
    }

    /// A bounded amount of work: sends what waits, reads once, takes one line.
    pub(super) fn turn(&mut self, hung_up: bool) -> Turn {
        if hung_up || !self.flush() {
            return Turn::Gone;
        }
        if !self.output.is_empty() {
            return Turn::Nothing;
        }
        if self.closing {
            return Turn::Gone;
        }
        if !self.has_line() && !self.read() {
            return Turn::Gone;
        }
        match self.take_line() {
            None => Turn::Nothing,
            Some(Ok(request)) => Turn::Asks(request),
            Some(Err(failure)) => {
                self.refuse(&failure);
                Turn::Nothing
            }
        }
    }

    /// One last line, and then the connection is closed.
    pub(super) fn refuse(&mut self, failure: &Failure) {
        self.closing = true;
        self.reply(failure);
    }

    /// Puts a line behind what waits, and sends as much as goes.
    pub(super) fn reply(&mut self, line: &impl Serialize) {
        // Our own types: no map with keys that are no strings, no failing Serialize.
        if serde_json::to_writer(&mut self.output, line).is_ok() {
            self.output.push(b'\n');
        }
        // A failure is seen at its next turn.
        self.flush();
    }

    /// Gives it an event, if it has room for it.
    pub(super) fn tell(&mut self, line: &[u8]) {
        if self.output.len() + line.len() > OUTPUT || !self.own_up() {
            self.lost += 1;
            return;
        }
        self.output.extend_from_slice(line);
        self.flush();
    }

    /// Says how many events it did not get. True when there is nothing to say any more.
    fn own_up(&mut self) -> bool {
        if self.lost == 0 {
            return true;
        }
        // Not before it has caught up by half: else every other line would be about a loss.
        if self.output.len() > OUTPUT / 2 {
            return false;
        }
        let lost = std::mem::take(&mut self.lost);
        self.reply(&Event {
            minion: VERSION,
            time: super::super::time_now(),
            event: "lost".to_owned(),
            count: Some(lost),
            text: format!("events lost: {lost}; this client reads too slowly"),
            ..Event::default()
        });
        true
    }

    /// Sends what the socket takes. False when nobody will read it.
    fn flush(&mut self) -> bool {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        while !self.output.is_empty() {
            match send(&self.socket, &self.output, flags) {
                Ok(sent) => drop(self.output.drain(..sent)),
                Err(Errno::AGAIN) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        // Nothing stays allocated for a client that is idle.
        self.output = Vec::new();
        if self.lost > 0 { self.own_up() } else { true }
    }

    /// Reads once. False at the end, and on an error.
    fn read(&mut self) -> bool {
        let mut piece = [0; LINE];
        let room = LINE - self.input.len();
        match recv(&self.socket, &mut piece[..room], RecvFlags::DONTWAIT) {
            Ok((0, _)) if self.subscribed => {
                // It may have closed its writing half alone.
                self.silent = true;
                true
            }
            Ok((0, _)) => false,
            Ok((count, _)) => {
                self.input.extend_from_slice(&piece[..count]);
                true
            }
            Err(Errno::AGAIN | Errno::INTR) => true,
            Err(_) => false,
        }
    }

    fn has_line(&self) -> bool {
        self.input.contains(&b'\n') || self.input.len() >= LINE
    }

    fn take_line(&mut self) -> Option<Result<Request, Failure>> {
        let Some(end) = self.input.iter().position(|byte| *byte == b'\n') else {
            let too_long = || Err(Failure::new(Kind::Malformed, format!("a line of more than {LINE} bytes")));
            return (self.input.len() >= LINE).then(too_long);
        };
        let request = Request::parse(&self.input[..end]);
        self.input.drain(..=end);
        if self.input.is_empty() {
            self.input = Vec::new();
        }
        Some(request)
    }
}
