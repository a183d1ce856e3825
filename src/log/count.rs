//! How many bytes a log took and lost, readable by the supervisor at any moment.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the children, since the log was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// In the log's files, as far as nobody removed them.
    pub written: u64,
    /// In no file.
    pub dropped: u64,
}

/// The log thread adds, the supervisor reads; the two numbers need not be of one moment.
#[derive(Default)]
pub(super) struct Counter {
    written: AtomicU64,
    dropped: AtomicU64,
    steps: AtomicU64,
}

impl Counter {
    pub(super) fn wrote(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn dropped(&self, bytes: usize) {
        self.dropped.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// A write or a rotation is done, whoever's bytes it was about.
    pub(super) fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// How many that were, for who waits for a disk: while the number grows it does not hang.
    pub(super) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    pub(super) fn now(&self) -> Count {
        Count { written: self.written.load(Ordering::Relaxed), dropped: self.dropped.load(Ordering::Relaxed) }
    }
}
