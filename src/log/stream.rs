//! One pipe of a child: read into the thread's buffer, handed to its log, held back or dropped when the log says so.

use super::archive::Archive;
use super::report::{LogId, Report, StreamId};
use super::tail::Tail;
use super::writer::{Flow, Writer};
use rustix::io::Errno;
use std::mem;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A read that brings less than this is followed by a pause: a writer of single lines would wake us for each. [KF-41]
const SHORT: usize = 16 * 1024;
/// The pause: long enough for many lines, too short for the pipe to fill.
const PAUSE: Duration = Duration::from_micros(500);

/// What the epoll is asked to say about a pipe.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Interest {
    /// That it has data, or is at its end.
    Data,
    /// Only that its last writer is gone; it is read again at that time.
    End { until: Instant },
    /// Nothing: its log takes no bytes. Not in the epoll at all, which would report the end again and again.
    Nothing,
}

/// How a read went.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// So it is asked about from now on.
    Goes(Interest),
    /// Everything that was to be read is read and delivered.
    Ended,
}

/// One pipe.
pub(super) struct Stream {
    pub(super) id: StreamId,
    pub(super) log: LogId,
    pub(super) pipe: OwnedFd,
    /// Names this stream in the epoll; never used again.
    pub(super) key: u64,
    pub(super) interest: Interest,
    /// Read, but not taken by the log.
    held: Vec<u8>,
    /// The beginning of the current line was dropped, so the rest of it goes the same way.
    torn: bool,
    /// Nobody of ours writes any more: so many bytes are still to be read.
    left: Option<u64>,
    bytes: u64,
    dropped: u64,
    tail: Tail,
}

impl Stream {
    pub(super) fn new(id: StreamId, log: LogId, pipe: OwnedFd, key: u64) -> Self {
        Self {
            id,
            log,
            pipe,
            key,
            interest: Interest::Data,
            held: Vec::new(),
            torn: false,
            left: None,
            bytes: 0,
            dropped: 0,
            tail: Tail::default(),
        }
    }

    /// From now on only what is in the pipe at this moment counts.
    pub(super) fn finish(&mut self) {
        // Where nobody can say how much that is, everything is read that comes before the pipe is empty.
        let there = rustix::io::ioctl_fionread(&self.pipe).unwrap_or(u64::MAX);
        self.left.get_or_insert(there);
    }

    pub(super) fn is_finishing(&self) -> bool {
        self.left.is_some()
    }

    pub(super) fn is_torn(&self) -> bool {
        self.torn
    }

    /// Bytes that came out of the pipe so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Reads once and delivers.
    pub(super) fn read(&mut self, writer: &mut Writer, archive: &mut Archive, buffer: &mut [u8]) -> Progress {
        if matches!(writer.flow(), Flow::Stalled { .. }) {
            return Progress::Goes(Interest::Nothing);
        }
        let most = self.left.map_or(buffer.len(), |left| buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
        if most == 0 {
            return Progress::Ended;
        }
        match rustix::io::read(&self.pipe, &mut buffer[..most]) {
            Ok(0) => Progress::Ended,
            Ok(count) => {
                self.left = self.left.map(|left| left.saturating_sub(count as u64));
                self.accept(writer, archive, &buffer[..count]);
                self.next(count)
            }
            Err(Errno::AGAIN) if self.left.is_some() => Progress::Ended,
            Err(Errno::AGAIN | Errno::INTR) => Progress::Goes(Interest::Data),
            Err(error) => {
                archive.flaw(crate::error::Error::io("read", "a child's output", error));
                Progress::Ended
            }
        }
    }

    fn next(&self, count: usize) -> Progress {
        match self.left {
            _ if self.holds() => Progress::Goes(Interest::Nothing),
            Some(0) => Progress::Ended,
            None if count < SHORT => Progress::Goes(Interest::End { until: Instant::now() + PAUSE }),
            Some(_) | None => Progress::Goes(Interest::Data),
        }
    }

    fn accept(&mut self, writer: &mut Writer, archive: &mut Archive, data: &[u8]) {
        self.bytes += data.len() as u64;
        self.tail.extend(data);
        let rest = if self.torn || matches!(writer.flow(), Flow::Dropping { .. }) {
            self.lose_some(writer, archive, data)
        } else {
            data
        };
        self.deliver(writer, archive, rest);
    }

    /// Drops `data`, or only the line it begins in when the log takes bytes again. Returns what is to be delivered.
    fn lose_some<'a>(&mut self, writer: &mut Writer, archive: &mut Archive, data: &'a [u8]) -> &'a [u8] {
        let due = writer.retry().is_none_or(|retry| retry <= Instant::now());
        // Where a whole line begins; the end of the data is no such place while a line is torn.
        let line = match data.iter().position(|byte| *byte == b'\n') {
            _ if !due => None,
            _ if !self.torn => Some(0),
            newline => newline.map(|at| at + 1),
        };
        let (lost, kept) = data.split_at(line.unwrap_or(data.len()));
        self.lose(writer, lost);
        let open = line.is_some() && (writer.flow() == Flow::Open || writer.recover(archive));
        if open {
            return kept;
        }
        self.lose(writer, kept);
        &[]
    }

    fn lose(&mut self, writer: &mut Writer, data: &[u8]) {
        if let Some(last) = data.last() {
            self.dropped += data.len() as u64;
            self.torn = *last != b'\n';
            writer.lose(data);
        }
    }

    fn deliver(&mut self, writer: &mut Writer, archive: &mut Archive, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        if let Err(taken) = writer.append(archive, self.id, data) {
            self.held = data[taken..].to_vec();
        }
    }

    /// Offers the log again what it did not take. True when nothing is held any more.
    pub(super) fn redeliver(&mut self, writer: &mut Writer, archive: &mut Archive) -> bool {
        let held = mem::take(&mut self.held);
        self.deliver(writer, archive, &held);
        !self.holds()
    }

    /// Drops what the log did not take.
    pub(super) fn drop_held(&mut self, writer: &mut Writer) {
        let held = mem::take(&mut self.held);
        self.lose(writer, &held);
    }

    /// The last report of this stream.
    pub(super) fn end(mut self) -> Report {
        Report::Ended { stream: self.id, bytes: self.bytes, dropped: self.dropped, tail: self.tail.take() }
    }
}
