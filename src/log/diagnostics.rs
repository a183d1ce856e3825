//! minion's own log lines on their way to stderr: a bounded queue that never makes its user wait.

use super::mailbox::{Bell, locked};
use super::stderr::{Sink, Written};
use crate::error::{During, Result};
use crate::process::thread::Aside;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::mem;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Address space of the stack of a thread that writes the last lines.
const STACK: usize = 64 * 1024;

/// So much waits at most, in bytes.
const LIMIT: usize = 64 * 1024;

/// Finished lines of minion's own log. Cheap to clone; all clones are one queue.
///
/// While the log thread runs, it does the writing. Before that and after it, [`push`](Self::push) writes what stderr takes
/// without waiting, and [`flush`](Self::flush) waits for it.
#[derive(Clone)]
pub struct Diagnostics(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    /// Held while writing, which can last as long as a disk hangs; so the queue has a lock of its own.
    sink: Mutex<Sink>,
    bell: Bell,
    /// The log thread writes.
    attended: AtomicBool,
    /// Nobody reads stderr any more, for good.
    deaf: AtomicBool,
    /// A disk hangs, and stderr may be a file on it: nobody who has to go on writes.
    hung: AtomicBool,
    notice: fn(u64) -> String,
}

#[derive(Default)]
struct Queue {
    lines: Vec<u8>,
    /// Bytes of `lines` and of what the sink has taken and not yet written.
    waiting: usize,
    lost: u64,
}

impl Diagnostics {
    /// Lines for this process's stderr. `notice` words the line that stands where lines were dropped.
    pub fn new(notice: fn(u64) -> String) -> Result<Self> {
        let stderr = match rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3) {
            Ok(stderr) => Some(stderr),
            Err(Errno::BADF) => None,
            Err(error) => return Err(error).during("duplicate", "stderr"),
        };
        Self::onto(stderr, notice)
    }

    /// Lines for any descriptor, or for none.
    pub fn onto(stderr: Option<OwnedFd>, notice: fn(u64) -> String) -> Result<Self> {
        let deaf = AtomicBool::new(stderr.is_none());
        Ok(Self(Arc::new(Shared {
            queue: Mutex::default(),
            sink: Mutex::new(Sink::new(stderr)),
            bell: Bell::new()?,
            attended: AtomicBool::new(false),
            deaf,
            hung: AtomicBool::new(false),
            notice,
        })))
    }

    /// Queues one line; a missing newline is added. With the queue full it is counted instead, and the log will say so.
    pub fn push(&self, line: &[u8]) {
        let shared = &*self.0;
        if shared.deaf.load(Ordering::Relaxed) {
            return;
        }
        locked(&shared.queue).push(line, shared.notice);
        if shared.attended.load(Ordering::Acquire) {
            shared.bell.ring();
        } else if !shared.hung.load(Ordering::Acquire) {
            self.write();
        }
    }

    /// Waits until everything is written, or the deadline: the last words. While the log thread runs, it returns at once.
    pub fn flush(&self, deadline: Instant) {
        if self.0.attended.load(Ordering::Acquire) {
            return;
        }
        if !self.0.hung.load(Ordering::Acquire) {
            while let Ok(mut sink) = self.0.sink.try_lock() {
                let blocked = self.write_by(&mut sink);
                drop(sink);
                if !blocked || !self.wait_writable(deadline) {
                    return;
                }
            }
        }
        // Whoever holds the sink hangs in it, or has not been given the processor since. Without a thread the lines are lost:
        // nothing may hang here.
        let lines = self.clone();
        let write = move || while lines.write_by(&mut locked(&lines.0.sink)) && lines.wait_writable(deadline) {};
        if let Ok(aside) = Aside::begin("minion-lines", STACK, write) {
            aside.wait(deadline.saturating_duration_since(Instant::now()));
        }
    }

    /// The log thread hangs in its disk. Where stderr is a file, it may be on the same: from now on only a thread that may hang
    /// as well writes.
    pub(super) fn distrust(&self) {
        // Whoever holds the sink hangs in it.
        let may_hang = self.0.sink.try_lock().map_or(true, |sink| sink.is_file());
        self.0.hung.store(may_hang, Ordering::Release);
    }

    /// For the log thread: from now on it writes, or no longer.
    pub(super) fn attend(&self, attended: bool) {
        self.0.attended.store(attended, Ordering::Release);
    }

    pub(super) fn bell(&self) -> &Bell {
        &self.0.bell
    }

    /// Writes what stderr takes now. True when there is more, for when it is writable.
    pub(super) fn write(&self) -> bool {
        // Another writer is at it, or hangs in it.
        self.0.sink.try_lock().is_ok_and(|mut sink| self.write_by(&mut sink))
    }

    fn write_by(&self, sink: &mut Sink) -> bool {
        let shared = &*self.0;
        loop {
            if sink.is_empty() {
                let mut queue = locked(&shared.queue);
                queue.tell_loss(shared.notice);
                if queue.lines.is_empty() {
                    return false;
                }
                sink.load(mem::take(&mut queue.lines));
            }
            match sink.write() {
                Written::Some(count) => locked(&shared.queue).waiting -= count,
                Written::Refused { bytes, lines } => {
                    let mut queue = locked(&shared.queue);
                    queue.waiting -= bytes;
                    queue.lost += lines;
                    return false;
                }
                Written::Blocked => return true,
                Written::Deaf => {
                    shared.deaf.store(true, Ordering::Relaxed);
                    *locked(&shared.queue) = Queue::default();
                    return false;
                }
            }
        }
    }

    /// Hands the descriptor to `ask` when there is one that can be waited for.
    pub(super) fn with_stderr<T>(&self, ask: impl FnOnce(BorrowedFd<'_>) -> T) -> Option<T> {
        let sink = self.0.sink.try_lock().ok()?;
        sink.fd().map(ask)
    }

    fn wait_writable(&self, deadline: Instant) -> bool {
        let Ok(left) = deadline.saturating_duration_since(Instant::now()).try_into() else { return false };
        let ready = self.with_stderr(|fd| poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::OUT)], Some(&left)));
        matches!(ready, Some(Ok(1..) | Err(Errno::INTR)))
    }
}

impl Queue {
    fn push(&mut self, line: &[u8], notice: fn(u64) -> String) {
        let newline = usize::from(!line.ends_with(b"\n"));
        let told = if self.lost > 0 { notice(self.lost) } else { String::new() };
        if self.waiting + told.len() + line.len() + newline > LIMIT {
            self.lost += 1;
            return;
        }
        if !told.is_empty() {
            self.lost = 0;
        }
        self.add(told.as_bytes());
        self.add(line);
        self.add(&b"\n"[..newline]);
    }

    /// Everything before the loss is written.
    fn tell_loss(&mut self, notice: fn(u64) -> String) {
        if self.lost > 0 && self.lines.is_empty() {
            let told = notice(mem::take(&mut self.lost));
            self.add(told.as_bytes());
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.lines.extend_from_slice(bytes);
        self.waiting += bytes.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::time::Duration;

    #[test]
    fn the_last_words_wait_for_whoever_is_writing() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let lines = Diagnostics::onto(Some(write), |_| String::new()).unwrap();
        let writing = lines.0.sink.lock().unwrap();
        lines.push(b"the last word");
        let last = lines.clone();
        let flush = std::thread::spawn(move || last.flush(Instant::now() + Duration::from_secs(10)));
        let waits = || {
            let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
            tasks.filter_map(|task| std::fs::read(task.path().join("comm")).ok()).any(|name| name == b"minion-lines\n")
        };
        while !waits() && !flush.is_finished() {
            std::thread::yield_now();
        }
        drop(writing);
        flush.join().unwrap();
        drop(lines);
        let mut said = String::new();
        std::fs::File::from(read).read_to_string(&mut said).unwrap();
        assert_eq!(said, "the last word\n");
    }
}
