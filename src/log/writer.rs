//! One log: the bytes of its streams go into its file, in whole lines, for as long as the disk takes them.

use super::archive::Archive;
use super::count::Counter;
use super::cut::{Cut, cut};
use super::file::LogFile;
use super::loss::Loss;
use super::report::{Report, StreamId};
use super::rotation::{self, Rotated};
use crate::error::{Error, Result};
use rustix::io::Errno;
use std::mem;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// While a log is degraded it is tried so often; while data flows, its name is looked at so often.
const LOOK: Duration = Duration::from_millis(250);
/// A rotation that failed is tried again after this, and until then the file grows.
const ROTATE_AGAIN: Duration = Duration::from_secs(1);

/// Whether the log takes bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// It does.
    Open,
    /// It does not, and its children are held back until the deadline.
    Stalled { until: Instant, retry: Instant },
    /// It does not, and what comes is dropped and counted. It is tried again at that time, or, without one, as soon as the
    /// line ends whose beginning was dropped.
    Dropping { retry: Option<Instant> },
}

/// Something owed could not be written.
struct Unpaid;

/// One log.
pub(super) struct Writer {
    name: String,
    file: LogFile,
    flow: Flow,
    /// Whose byte was the last.
    owner: Option<StreamId>,
    /// Lines of our own that stand before the next byte of a child.
    owed: Vec<u8>,
    loss: Loss,
    counter: Arc<Counter>,
    /// Bytes dropped since the log was degraded.
    dropped: u64,
    why: Option<Errno>,
    /// The last `why`, for a loss that is told after the log has recovered.
    blamed: Option<Errno>,
    looked: Instant,
    /// The name leads to something that is no log of ours; said once.
    misplaced: bool,
    rotate_now: bool,
    /// Rotation failed; not before this.
    rotate_after: Option<Instant>,
}

impl Writer {
    /// Opens the log `name` in the directory.
    pub(super) fn open(directory: BorrowedFd<'_>, name: &str) -> Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            file: LogFile::open(directory, &rotation::file_name(name))?,
            flow: Flow::Open,
            owner: None,
            owed: Vec::new(),
            loss: Loss::default(),
            counter: Arc::default(),
            dropped: 0,
            why: None,
            blamed: None,
            looked: Instant::now(),
            misplaced: false,
            rotate_now: false,
            rotate_after: None,
        })
    }

    pub(super) fn counter(&self) -> Arc<Counter> {
        Arc::clone(&self.counter)
    }

    pub(super) fn flow(&self) -> Flow {
        self.flow
    }

    /// When the log has to be tried again.
    pub(super) fn retry(&self) -> Option<Instant> {
        match self.flow {
            Flow::Open => None,
            Flow::Stalled { until, retry } => Some(retry.min(until)),
            Flow::Dropping { retry } => retry,
        }
    }

    /// Puts a stream's bytes into the log. `Err` says how many of them it took before it could take no more; from then on
    /// [`flow`](Self::flow) is not open.
    pub(super) fn append(&mut self, archive: &mut Archive, stream: StreamId, data: &[u8]) -> Result<(), usize> {
        self.look(archive, false);
        // The last line of the stream before stays as it is; this one begins a line of its own.
        let begins = self.owner.replace(stream) != Some(stream);
        self.pay(archive, begins).map_err(|Unpaid| 0_usize)?;
        let result = self.put(archive, data);
        self.counter.wrote(result.err().unwrap_or(data.len()));
        result
    }

    /// Writes what is owed, before which no child's byte may be written: a newline, and the line about a loss.
    fn pay(&mut self, archive: &mut Archive, begins: bool) -> Result<(), Unpaid> {
        let lost = self.loss.bytes > 0;
        if (begins || lost) && self.owed.is_empty() && !self.file.is_at_line_start() {
            self.owed.push(b'\n');
        }
        let before = self.owed.len();
        if lost {
            self.owed.extend_from_slice(self.loss.marker(self.why.or(self.blamed)).as_bytes());
        }
        if self.owed.is_empty() {
            return Ok(());
        }
        let owed = mem::take(&mut self.owed);
        let result = self.put(archive, &owed);
        let taken = result.err().unwrap_or(owed.len());
        if taken > before {
            // The line about the loss is begun, its count is fixed: what is lost from now on gets a line of its own.
            self.loss = Loss::default();
            self.owed.extend_from_slice(&owed[taken..]);
        } else {
            self.owed.extend_from_slice(&owed[taken..before]);
        }
        result.map_err(|_| Unpaid)
    }

    fn put(&mut self, archive: &mut Archive, data: &[u8]) -> Result<(), usize> {
        let mut taken = 0;
        while let Some(rest @ [_, ..]) = data.get(taken..) {
            self.counter.step();
            match cut(rest, self.file.size(), self.limit(archive), self.file.is_at_line_start()) {
                Cut::Rotate => self.rotate(archive),
                Cut::Write(count) => {
                    let (done, result) = self.file.write(&rest[..count]);
                    taken += done;
                    if let Err(errno) = result
                        && !self.make_room(archive, errno)
                    {
                        self.degrade(archive, errno);
                        return Err(taken);
                    }
                }
            }
        }
        Ok(())
    }

    fn limit(&self, archive: &Archive) -> u64 {
        if self.rotate_after.is_some_and(|after| Instant::now() < after) {
            return u64::MAX;
        }
        match archive.policy_of(&self.name).max_size {
            _ if self.rotate_now && self.file.size() > 0 => self.file.size(),
            0 => u64::MAX,
            limit => limit,
        }
    }

    /// After a failed write: whether there is reason to try again at once.
    fn make_room(&mut self, archive: &mut Archive, errno: Errno) -> bool {
        match errno {
            Errno::NOSPC | Errno::DQUOT => archive.sacrifice(&self.name),
            // The file may not grow (RLIMIT_FSIZE), but another one may, even if it takes the rest of a line. [KF-40]
            Errno::FBIG => {
                let before = self.file.size();
                if before > 0 {
                    self.rotate(archive);
                }
                self.file.size() < before
            }
            _ => false,
        }
    }

    fn degrade(&mut self, archive: &Archive, errno: Errno) {
        let now = Instant::now();
        if self.why != Some(errno) {
            let error = Error::io("write", self.file.name(), errno);
            archive.report(Report::Degraded { log: self.name.clone(), error });
            self.why = Some(errno);
        }
        let retry = now + LOOK;
        self.flow = match self.flow {
            Flow::Open => Flow::Stalled { until: now + archive.policy.stall, retry },
            Flow::Stalled { until, .. } => Flow::Stalled { until, retry },
            Flow::Dropping { .. } => Flow::Dropping { retry: Some(retry) },
        };
    }

    /// Nobody can wait for space any more.
    pub(super) fn stall_no_longer(&mut self, now: Instant) {
        if let Flow::Stalled { .. } = self.flow {
            self.flow = Flow::Stalled { until: now, retry: now };
        }
    }

    /// The time of holding back is over: what comes from now on is dropped, until the disk takes bytes again.
    pub(super) fn give_up(&mut self) {
        self.flow = Flow::Dropping { retry: Some(Instant::now() + LOOK) };
    }

    /// A stream is inside a line that is being dropped: the marker has to wait for its end.
    pub(super) fn wait_for_line(&mut self) {
        self.flow = Flow::Dropping { retry: None };
    }

    /// Counts bytes that are in no file.
    pub(super) fn lose(&mut self, data: &[u8]) {
        self.loss.add(data);
        self.dropped += data.len() as u64;
        self.counter.dropped(data.len());
    }

    /// Tries to write what is owed, after which children's bytes may follow.
    pub(super) fn settle(&mut self, archive: &mut Archive) -> bool {
        self.pay(archive, false).is_ok()
    }

    /// Everything that was held back is written: the children go on.
    pub(super) fn resume(&mut self, archive: &Archive) {
        self.flow = Flow::Open;
        self.blamed = self.why.take();
        let dropped = mem::take(&mut self.dropped);
        archive.report(Report::Recovered { log: self.name.clone(), dropped });
    }

    /// Tries to tell the loss in the log. True when that worked, and the log takes bytes again.
    pub(super) fn recover(&mut self, archive: &mut Archive) -> bool {
        if self.why == Some(Errno::NOSPC) && !archive.has_room() {
            self.flow = Flow::Dropping { retry: Some(Instant::now() + LOOK) };
            return false;
        }
        self.look(archive, true);
        let told = self.pay(archive, false).is_ok();
        if told {
            self.resume(archive);
        }
        told
    }

    /// Notices when the name leads elsewhere: removed, replaced or truncated from outside. At most four times a second. [GO-42]
    fn look(&mut self, archive: &Archive, now_at_all_events: bool) {
        let now = Instant::now();
        if !now_at_all_events && now.duration_since(self.looked) < LOOK {
            return;
        }
        self.looked = now;
        let placed = match self.file.is_in_place(archive.directory()) {
            Ok(true) => Ok(()),
            Ok(false) => LogFile::open(archive.directory(), self.file.name()).map(|file| {
                self.file = file;
                self.owner = None;
            }),
            Err(error) => Err(Error::io("look at", self.file.name(), error)),
        };
        match placed {
            Ok(()) if mem::take(&mut self.misplaced) => {
                archive.report(Report::Recovered { log: self.name.clone(), dropped: 0 });
            }
            // The file that is open stays in use: better an unlinked log than none.
            Err(error) if !mem::replace(&mut self.misplaced, true) => {
                archive.report(Report::Degraded { log: self.name.clone(), error });
            }
            Ok(()) | Err(_) => {}
        }
    }

    /// Rotation was asked for: now, or at the end of the line that a live stream is in.
    pub(super) fn rotate_soon(&mut self, archive: &mut Archive, is_live: bool) {
        self.look(archive, true);
        self.rotate_now = self.file.size() > 0;
        if self.rotate_now && (self.file.is_at_line_start() || !is_live) {
            self.rotate(archive);
        }
    }

    /// A stream is at its end. `is_live` says whether the log has others.
    pub(super) fn ended(&mut self, archive: &mut Archive, is_live: bool) {
        self.look(archive, true);
        if let Flow::Dropping { retry: None } = self.flow {
            self.give_up();
        }
        if self.flow == Flow::Open && self.loss.bytes > 0 {
            // Told now, or by the retry that the failure sets.
            let _ = self.pay(archive, false);
        }
        if self.rotate_now && !is_live {
            self.rotate(archive);
        }
    }

    fn rotate(&mut self, archive: &mut Archive) {
        match rotation::rotate(archive.directory(), &self.name, archive.retention(&self.name), &mut self.file) {
            Ok(Rotated { file, backup, flaw }) => {
                self.file = file;
                self.rotate_now = false;
                self.rotate_after = None;
                if let Some(error) = flaw {
                    archive.flaw(error);
                }
                archive.archived(&self.name, backup);
            }
            Err(error) => {
                if self.rotate_after.replace(Instant::now() + ROTATE_AGAIN).is_none() {
                    archive.flaw(error);
                }
                self.look(archive, true);
            }
        }
    }
}
