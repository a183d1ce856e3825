//! Logs: one thread that does all file I/O of the program, so that a disk that hangs delays nobody else.
//!
//! | file | job |
//! |---|---|
//! | `mod` | [`LogThread`]: set-up, start, stop, and the two queues between it and the supervisor |
//! | `report` | the types that cross them |
//! | `pump` | the thread's epoll loop |
//! | `stream` | one pipe of a child: reading, pausing, holding back, dropping |
//! | `writer` | one log: whole lines, rotation, a full disk and the way back |
//! | `cut` | where a chunk is cut at a line end. Pure |
//! | `file` | the open file, and what others do to its name |
//! | `rotation`, `backup` | rotation through `file-rotate` under the original's names |
//! | `archive`, `packing` | the directory: retention, room on a full disk, gzip in slices |
//! | `count` | bytes taken and lost, for the supervisor to read |
//! | `history` | a log's files as one sequence, for readers |
//! | `loss`, `tail` | what was dropped; the last lines |
//! | `diagnostics`, `stderr` | minion's own lines |
//! | `buffer`, `mailbox`, `timer` | the read buffer, queue and bell, the one timerfd |
//!
//! A byte's way: pipe, buffer, file. It is copied once more only into the tail, and into `held` when the disk is full.

mod archive;
mod backup;
mod buffer;
mod count;
mod cut;
mod diagnostics;
mod file;
mod history;
mod loss;
mod mailbox;
mod packing;
mod pump;
mod report;
mod rotation;
mod stderr;
mod stream;
mod tail;
mod timer;
mod writer;

pub use backup::Stamp;
pub use count::Count;
pub use diagnostics::Diagnostics;
pub use history::{History, Segment, Standing};
pub use report::{LogId, Policy, Report, StreamId};

use crate::error::{During, Error, Result};
use archive::Archive;
use count::Counter;
use mailbox::{Bell, Mailbox};
use nix::sys::signal::SigSet;
use pump::{Command, Pump};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::pipe::fcntl_setpipe_size;
use std::mem;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use writer::Writer;

/// Address space of the thread's stack; only what is used of it becomes memory. An unoptimised gzip needs most of it.
const STACK: usize = 512 * 1024;

/// After a round that failed or panicked, nothing happens for this long: no error may become a busy loop.
const PENALTY: Duration = Duration::from_millis(100);

/// The log thread, seen by the supervisor. No call here waits for a disk, except [`open`](Self::open).
pub struct LogThread {
    commands: Arc<Mailbox<Command>>,
    reports: Arc<Mailbox<Report>>,
    diagnostics: Diagnostics,
    counters: Vec<Arc<Counter>>,
    /// Whether a pipe was handed over.
    has_work: AtomicBool,
    /// Whether something waits that the thread was not told of.
    untold: AtomicBool,
    state: State,
}

enum State {
    Prepared(Box<Prepared>),
    /// Everything that the thread needs is there.
    Ready(Box<Pump>, Arc<Bell>),
    Running {
        thread: JoinHandle<()>,
        done: Arc<Bell>,
    },
    Stopped,
}

struct Prepared {
    archive: Archive,
    writers: Vec<Writer>,
}

impl LogThread {
    /// Everything but the thread. `directory` is the sandbox.
    pub fn prepare(directory: OwnedFd, policy: Policy, diagnostics: Diagnostics) -> Result<Self> {
        let stat = fstat(&directory).during("look at", "the log directory")?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return Err(Error::new("keep logs in", "the sandbox", "it is no directory"));
        }
        let reports = Arc::new(Mailbox::new()?);
        let archive = Archive::new(directory, policy, Arc::clone(&reports));
        let state = State::Prepared(Box::new(Prepared { archive, writers: Vec::new() }));
        Ok(Self {
            commands: Arc::new(Mailbox::new()?),
            reports,
            diagnostics,
            counters: Vec::new(),
            has_work: AtomicBool::new(false),
            untold: AtomicBool::new(false),
            state,
        })
    }

    /// Opens the log `name` as `<name>.log`, in the caller's thread. Fails when that file cannot be written, or is something
    /// that no log may be: a symlink, a FIFO, a directory, a device, a file with a second name. The same name gives the same
    /// log.
    pub fn open(&mut self, name: &str) -> Result<LogId> {
        self.open_with(name, None)
    }

    /// As [`open`](Self::open), with a policy of its own; its `stall` is the common one in any case.
    pub fn open_with(&mut self, name: &str, policy: Option<Policy>) -> Result<LogId> {
        let State::Prepared(prepared) = &mut self.state else {
            return Err(Error::new("open the log", name, "the log thread is already running"));
        };
        let Prepared { archive, writers } = &mut **prepared;
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
            return Err(Error::new("open the log", name, "that is no name of a log"));
        }
        if let Some(known) = archive.find(name) {
            return Ok(LogId(known));
        }
        let writer = Writer::open(archive.directory(), name)?;
        self.counters.push(writer.counter());
        writers.push(writer);
        archive.add(name, policy);
        Ok(LogId(writers.len() - 1))
    }

    /// Makes everything that the thread will need, so that little can fail when children write already. No log can be opened
    /// any more.
    pub fn make_ready(&mut self) -> Result<()> {
        let State::Prepared(prepared) = mem::replace(&mut self.state, State::Stopped) else {
            return Err(Error::new("make ready", "the log thread", "it was made ready before"));
        };
        let Prepared { archive, writers } = *prepared;
        let pump = Pump::new(archive, writers, Arc::clone(&self.commands), self.diagnostics.clone())?;
        self.state = State::Ready(Box::new(pump), Arc::new(Bell::new()?));
        Ok(())
    }

    /// Starts the thread. Pipes that were handed over before are read from now on. When that fails, they are read by
    /// [`stop`](Self::stop), in the caller's thread.
    pub fn start(&mut self) -> Result<()> {
        if let State::Prepared(_) = self.state {
            self.make_ready()?;
        }
        let State::Ready(pump, done) = mem::replace(&mut self.state, State::Stopped) else {
            return Err(Error::new("start", "the log thread", "it was started before"));
        };
        // The closure of a thread that could not be made is dropped; what is in the cell can be taken back.
        let cell = Arc::new(Mutex::new(Some(pump)));
        let (inside, at_end) = (Arc::clone(&cell), AtEnd(Arc::clone(&done), self.diagnostics.clone()));
        self.diagnostics.attend(true);
        let body = move || {
            if let Some(pump) = take(&inside) {
                run(*pump, &at_end);
            }
        };
        match Builder::new().name("minion-log".to_owned()).stack_size(STACK).spawn(body) {
            Ok(thread) => {
                self.state = State::Running { thread, done };
                Ok(())
            }
            Err(cause) => {
                self.diagnostics.attend(false);
                self.state = take(&cell).map_or(State::Stopped, |pump| State::Ready(pump, done));
                Err(cause).during("start", "the log thread")
            }
        }
    }

    /// Hands over the read end of a child's pipe. Every byte of it goes into the log, and [`Report::Ended`] comes when its
    /// last writer has closed it, or after [`finish`](Self::finish). One pipe for a log at a time: a second one would begin
    /// a new line wherever the first one is.
    pub fn relay(&self, log: LogId, stream: StreamId, pipe: OwnedFd) {
        self.relay_later(log, stream, pipe);
        self.tell();
    }

    /// As [`relay`](Self::relay), but the log thread hears of it at the next [`tell`](Self::tell). For a caller that forks
    /// several children: each fork leaves the parent to copy the pages that it writes, and with another thread of it awake
    /// on another processor each copy is an interrupt there, a fifth of the time of the forks. [KF-187]
    pub fn relay_later(&self, log: LogId, stream: StreamId, pipe: OwnedFd) {
        // Best effort, both: a small pipe is only slower, and a descriptor that is no pipe reads as well.
        let _ = fcntl_setpipe_size(&pipe, buffer::SIZE);
        let _ = ioctl_fionbio(&pipe, true);
        self.has_work.store(true, Ordering::Relaxed);
        self.commands.put(Command::Relay { log, stream, pipe });
        self.untold.store(true, Ordering::Relaxed);
    }

    /// Wakes the log thread for what it was not told yet.
    pub fn tell(&self) {
        if self.untold.swap(false, Ordering::Relaxed) {
            self.commands.bell().ring();
        }
    }

    /// None of our processes holds the write end any more: what is in the pipe now is read, then it is closed, even if a
    /// process that we do not know holds it open.
    pub fn finish(&self, stream: StreamId) {
        self.commands.post(Command::Finish(stream));
    }

    /// Rotates every log that is not empty, at the end of its current line.
    pub fn rotate(&self) {
        self.commands.post_if(Command::Rotate, |waiting| !matches!(waiting.last(), Some(Command::Rotate)));
    }

    /// What a log has taken and lost so far. Reads two numbers; waits for nobody.
    pub fn count(&self, log: LogId) -> Count {
        self.counters.get(log.0).map(|counter| counter.now()).unwrap_or_default()
    }

    /// Readable when [`reports`](Self::reports) has something to tell.
    pub fn doorbell(&self) -> BorrowedFd<'_> {
        self.reports.bell().as_fd()
    }

    /// What happened since the last call, in order.
    pub fn reports(&self) -> Vec<Report> {
        self.reports.take()
    }

    /// Writes what is in the pipes and in the diagnostics, and ends the thread. False if it is not done by the deadline, or
    /// if for as long as `patience` no write and no rotation came to its end, because a disk hangs; the thread then stays where
    /// it is, and the caller may exit. The last reports can be fetched after it.
    pub fn stop(&mut self, patience: Duration, deadline: Instant) -> bool {
        let ended = match mem::replace(&mut self.state, State::Stopped) {
            State::Ready(pump, done) if self.has_work.load(Ordering::Relaxed) => {
                self.commands.post(Command::Stop(deadline));
                run(*pump, &AtEnd(done, self.diagnostics.clone()));
                true
            }
            State::Prepared(_) | State::Ready(..) | State::Stopped => true,
            State::Running { thread, done } => {
                self.commands.post(Command::Stop(deadline));
                self.ends(&done, patience, deadline) && thread.join().is_ok()
            }
        };
        self.diagnostics.attend(false);
        if !ended {
            self.diagnostics.distrust();
        }
        self.diagnostics.flush(deadline.min(Instant::now() + patience));
        ended
    }

    /// A disk that is only slow, on a busy machine, is waited for: what is in the pipes is all that there is of it.
    fn ends(&self, done: &Bell, patience: Duration, deadline: Instant) -> bool {
        let steps = || self.counters.iter().fold(0, |sum: u64, counter| sum.wrapping_add(counter.steps()));
        let mut before = steps();
        loop {
            if wait(done, deadline.min(Instant::now() + patience)) {
                return true;
            }
            let now = steps();
            if now == before || Instant::now() >= deadline {
                return false;
            }
            before = now;
        }
    }
}

fn take<T>(cell: &Mutex<Option<T>>) -> Option<T> {
    cell.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
}

/// Rings when the thread ends, however it does.
struct AtEnd(Arc<Bell>, Diagnostics);

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.1.attend(false);
        self.0.ring();
    }
}

fn run(mut pump: Pump, at_end: &AtEnd) {
    // A write into a closed pipe or over RLIMIT_FSIZE is an error here, not a death of the process. [KF-40]
    let _ = SigSet::all().thread_block();
    let mut guarded = |work: fn(&mut Pump) -> Result<ControlFlow<()>>| {
        catch_unwind(AssertUnwindSafe(|| work(&mut pump)))
            .unwrap_or_else(|_| Err(Error::new("run", "the log thread", "it panicked, and goes on")))
    };
    let mut outcome = guarded(|pump| {
        pump.open_up();
        Ok(ControlFlow::Continue(()))
    });
    loop {
        match outcome {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => return,
            Err(error) => {
                at_end.1.push(format!("minion: {error}").as_bytes());
                at_end.1.write();
                pause();
            }
        }
        outcome = guarded(Pump::round);
    }
}

/// True when the bell rings before the deadline.
fn wait(bell: &Bell, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        match poll(&mut [PollFd::new(bell, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return ready == 1,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

fn pause() {
    // Every signal is blocked here, so nothing interrupts it.
    if let Ok(penalty) = PENALTY.try_into() {
        let _ = poll(&mut [], Some(&penalty));
    }
}
