//! The log thread: an epoll over the pipes of the children, and everything that touches a disk or stderr.

use super::archive::Archive;
use super::buffer::Buffer;
use super::diagnostics::Diagnostics;
use super::mailbox::Mailbox;
use super::report::{LogId, StreamId};
use super::stream::{Interest, Progress, Stream};
use super::timer::Timer;
use super::writer::{Flow, Writer};
use crate::error::{During, Result};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

/// What the supervisor asks for.
pub(super) enum Command {
    Relay { log: LogId, stream: StreamId, pipe: OwnedFd },
    Finish(StreamId),
    Rotate,
    Stop(Instant),
}

const COMMANDS: u64 = 0;
const TIMER: u64 = 1;
const LINES: u64 = 2;
const STDERR: u64 = 3;
/// Streams count from here.
const STREAMS: u64 = 16;

/// The state of the log thread.
pub(super) struct Pump {
    epoll: OwnedFd,
    timer: Timer,
    commands: Arc<Mailbox<Command>>,
    diagnostics: Diagnostics,
    /// Stderr is in the epoll, because it took no more.
    stderr_blocked: bool,
    archive: Archive,
    writers: Vec<Writer>,
    streams: Vec<Stream>,
    next_key: u64,
    buffer: Buffer,
}

impl Pump {
    pub(super) fn new(
        archive: Archive,
        writers: Vec<Writer>,
        commands: Arc<Mailbox<Command>>,
        diagnostics: Diagnostics,
    ) -> Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).during("create", "the log thread's epoll")?;
        let timer = Timer::new()?;
        let add = |fd: &dyn AsFd, key, flags| {
            epoll::add(&epoll, fd.as_fd(), EventData::new_u64(key), flags).during("watch", "the log thread's sources")
        };
        add(commands.bell(), COMMANDS, EventFlags::IN)?;
        add(diagnostics.bell(), LINES, EventFlags::IN)?;
        add(&timer, TIMER, EventFlags::IN | EventFlags::ET)?;
        Ok(Self {
            epoll,
            timer,
            commands,
            diagnostics,
            stderr_blocked: false,
            archive,
            writers,
            streams: Vec::new(),
            next_key: STREAMS,
            buffer: Buffer::new(),
        })
    }

    /// What has to be done once, before the first round.
    pub(super) fn open_up(&mut self) {
        self.archive.open_up();
        self.write_lines();
    }

    /// Waits for something to do, and does a bounded amount of it: one read for each pipe that has data, one slice of
    /// packing. So no child can keep another one waiting.
    pub(super) fn round(&mut self) -> Result<ControlFlow<()>> {
        let busy = !self.archive.packer.is_idle() || self.streams.iter().any(is_finishing);
        self.timer.set(self.next_deadline())?;
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; 16];
        let count = match epoll::wait(&self.epoll, &mut events, busy.then_some(&Timespec::default())) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(error) => return Err(error).during("wait for", "the log thread's sources"),
        };
        for event in &events[..count] {
            match event.data.u64() {
                COMMANDS => {
                    for command in self.commands.take() {
                        if let Command::Stop(deadline) = command {
                            self.close(deadline);
                            return Ok(ControlFlow::Break(()));
                        }
                        self.obey(command);
                    }
                }
                TIMER => {}
                LINES => {
                    self.diagnostics.bell().silence();
                    self.write_lines();
                }
                STDERR => self.write_lines(),
                key => self.serve(|stream| stream.key == key),
            }
        }
        self.do_what_is_due();
        if !self.archive.packer.is_idle() {
            self.archive.pack(self.buffer.memory());
        }
        Ok(ControlFlow::Continue(()))
    }

    fn next_deadline(&self) -> Option<Instant> {
        let pauses = self.streams.iter().filter_map(|stream| match stream.interest {
            Interest::End { until } => Some(until),
            Interest::Data | Interest::Nothing => None,
        });
        let retries = self.writers.iter().filter_map(Writer::retry);
        pauses.chain(retries).chain(self.archive.expiry).chain(self.buffer.due()).min()
    }

    fn do_what_is_due(&mut self) {
        let now = Instant::now();
        self.serve(|stream| is_finishing(stream) || matches!(stream.interest, Interest::End { until } if until <= now));
        for log in (0..self.writers.len()).map(LogId) {
            if self.writers[log.0].retry().is_some_and(|retry| retry <= now) {
                self.retry(log);
            }
        }
        if self.archive.expiry.is_some_and(|expiry| expiry <= now) {
            let _ = self.archive.prune();
        }
        if self.buffer.due().is_some_and(|due| due <= now) {
            self.buffer.release(now);
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Relay { log, stream, pipe } => self.relay(log, stream, pipe),
            Command::Finish(id) => {
                self.streams.iter_mut().filter(|stream| stream.id == id).for_each(Stream::finish);
            }
            Command::Rotate => {
                for log in (0..self.writers.len()).map(LogId) {
                    let is_live = self.is_live(log);
                    self.writers[log.0].rotate_soon(&mut self.archive, is_live);
                }
            }
            // Handled where the round ends.
            Command::Stop(_) => {}
        }
    }

    fn relay(&mut self, log: LogId, id: StreamId, pipe: OwnedFd) {
        let key = self.next_key;
        self.next_key += 1;
        let stream = Stream::new(id, log, pipe, key);
        let added = match self.writers.get(log.0) {
            Some(_) => epoll::add(&self.epoll, &stream.pipe, EventData::new_u64(key), EventFlags::IN),
            None => Err(Errno::BADF),
        };
        match added {
            Ok(()) => self.streams.push(stream),
            Err(error) => {
                self.archive.flaw(crate::error::Error::io("watch", "a child's output", error));
                self.archive.report(stream.end());
            }
        }
    }

    fn is_live(&self, log: LogId) -> bool {
        self.streams.iter().any(|stream| stream.log == log)
    }

    /// Reads once from each stream that is wanted.
    fn serve(&mut self, wanted: impl Fn(&Stream) -> bool) {
        // From the end, so that removing one does not move another one that is still to come.
        for index in (0..self.streams.len()).rev() {
            if wanted(&self.streams[index]) {
                self.read(index);
            }
        }
    }

    fn read(&mut self, index: usize) {
        let stream = &mut self.streams[index];
        let log = stream.log;
        let before = stream.bytes();
        let progress = stream.read(&mut self.writers[log.0], &mut self.archive, self.buffer.memory());
        self.buffer.touched(stream.bytes() - before);
        match progress {
            Progress::Goes(interest) => self.watch(index, interest),
            Progress::Ended => self.end(index),
        }
    }

    fn end(&mut self, index: usize) {
        self.watch(index, Interest::Nothing);
        let stream = self.streams.swap_remove(index);
        let log = stream.log;
        let is_live = self.is_live(log);
        self.writers[log.0].ended(&mut self.archive, is_live);
        self.archive.report(stream.end());
    }

    /// Tells the epoll what is wanted of a pipe from now on.
    fn watch(&mut self, index: usize, interest: Interest) {
        let stream = &mut self.streams[index];
        let before = std::mem::replace(&mut stream.interest, interest);
        let data = EventData::new_u64(stream.key);
        let result = match (before, interest) {
            (Interest::Data, Interest::Data)
            | (Interest::End { .. }, Interest::End { .. })
            | (Interest::Nothing, Interest::Nothing) => Ok(()),
            (Interest::End { .. }, Interest::Data) => epoll::modify(&self.epoll, &stream.pipe, data, EventFlags::IN),
            // The end of a pipe is reported whether it is asked for or not. [KF-43]
            (Interest::Data, Interest::End { .. }) => {
                epoll::modify(&self.epoll, &stream.pipe, data, EventFlags::empty())
            }
            (Interest::Data | Interest::End { .. }, Interest::Nothing) => epoll::delete(&self.epoll, &stream.pipe),
            (Interest::Nothing, Interest::Data) => epoll::add(&self.epoll, &stream.pipe, data, EventFlags::IN),
            (Interest::Nothing, Interest::End { .. }) => {
                epoll::add(&self.epoll, &stream.pipe, data, EventFlags::empty())
            }
        };
        if let Err(error) = result {
            self.archive.flaw(crate::error::Error::io("watch", "a child's output", error));
        }
    }

    /// A degraded log is tried again.
    fn retry(&mut self, log: LogId) {
        let Self { writers, streams, archive, .. } = self;
        let writer = &mut writers[log.0];
        let mut streams = streams.iter_mut().filter(|stream| stream.log == log);
        match writer.flow() {
            Flow::Open => {}
            Flow::Stalled { until, .. } => {
                if writer.settle(archive) && streams.by_ref().all(|stream| stream.redeliver(writer, archive)) {
                    writer.resume(archive);
                    self.release(log);
                } else if until <= Instant::now() {
                    self.give_up(log);
                }
            }
            Flow::Dropping { .. } if streams.any(|stream| stream.is_torn()) => writer.wait_for_line(),
            Flow::Dropping { .. } => {
                writer.recover(archive);
            }
        }
    }

    /// The time of holding back is over.
    fn give_up(&mut self, log: LogId) {
        let writer = &mut self.writers[log.0];
        writer.give_up();
        self.streams.iter_mut().filter(|stream| stream.log == log).for_each(|stream| stream.drop_held(writer));
        self.release(log);
    }

    /// The log's streams are read again.
    fn release(&mut self, log: LogId) {
        for index in 0..self.streams.len() {
            if self.streams[index].log == log && self.streams[index].interest == Interest::Nothing {
                self.watch(index, Interest::Data);
            }
        }
    }

    fn write_lines(&mut self) {
        let blocked = self.diagnostics.write();
        if blocked == self.stderr_blocked {
            return;
        }
        // Out of the epoll as soon as nothing waits: a reader that is gone would be reported for ever. [GO-43]
        let epoll = &self.epoll;
        let data = EventData::new_u64(STDERR);
        let changed = self.diagnostics.with_stderr(|stderr| {
            if blocked { epoll::add(epoll, stderr, data, EventFlags::OUT) } else { epoll::delete(epoll, stderr) }
        });
        self.stderr_blocked = blocked && changed.is_some_and(|result| result.is_ok());
    }

    /// Everything that is in the pipes now goes into the logs, or is counted; nothing waits for space any more.
    fn close(&mut self, deadline: Instant) {
        self.archive.policy.stall = std::time::Duration::ZERO;
        let now = Instant::now();
        for log in (0..self.writers.len()).map(LogId) {
            if let Flow::Stalled { .. } = self.writers[log.0].flow() {
                self.writers[log.0].stall_no_longer(now);
                self.retry(log);
            }
        }
        self.streams.iter_mut().for_each(Stream::finish);
        while let Some(index) = self.streams.len().checked_sub(1) {
            let log = self.streams[index].log;
            self.read(index);
            if let Flow::Stalled { .. } = self.writers[log.0].flow() {
                self.retry(log);
            }
        }
        for writer in &mut self.writers {
            if let Flow::Dropping { .. } = writer.flow() {
                writer.recover(&mut self.archive);
            }
        }
        self.archive.stop_packing();
        self.diagnostics.attend(false);
        self.diagnostics.flush(deadline);
    }
}

fn is_finishing(stream: &Stream) -> bool {
    stream.is_finishing() && stream.interest != Interest::Nothing
}
