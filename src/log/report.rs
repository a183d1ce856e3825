//! What the log thread is told to do and what it tells.

use crate::error::Error;
use std::time::Duration;

/// How logs are kept.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Bytes in a file before it is rotated; 0 never rotates.
    pub max_size: u64,
    /// Backups older than this are removed.
    pub max_age: Option<Duration>,
    /// So many backups of each log are kept; 0 keeps all.
    pub max_backups: u32,
    /// Backups are packed with gzip.
    pub gzip: bool,
    /// How long a child is held back when its log cannot be written, before bytes are dropped.
    pub stall: Duration,
}

/// One log of a [`LogThread`](super::LogThread).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LogId(pub(super) usize);

/// One pipe that is relayed into a log. The caller chooses the number; it is used once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StreamId(pub u64);

/// What the log thread has to tell.
#[derive(Debug)]
pub enum Report {
    /// A pipe is at its end and closed: every byte of it is in a file or counted as dropped.
    Ended {
        /// Which pipe.
        stream: StreamId,
        /// Bytes that came out of the pipe.
        bytes: u64,
        /// Bytes of those that are in no file.
        dropped: u64,
        /// The last lines, dropped or not: at most 20, at most 16 KiB.
        tail: Vec<u8>,
    },
    /// A log cannot be written, or its name leads elsewhere. Told once, until it has recovered.
    Degraded {
        /// The log's name, without `.log`.
        log: String,
        /// Why.
        error: Error,
    },
    /// A degraded log is in order again.
    Recovered {
        /// The log's name.
        log: String,
        /// Bytes that were dropped since it was degraded; the log holds a line that says so.
        dropped: u64,
    },
    /// The disk was full and a backup had to go.
    Sacrificed {
        /// The log that needed the space.
        log: String,
        /// The file that was removed.
        backup: String,
    },
    /// Something beside the relay failed, such as removing or packing a backup; the relay goes on.
    Flaw {
        /// What failed.
        error: Error,
    },
}
