//! The one read buffer of the log thread, which costs nothing while no child writes.

use memmap2::MmapMut;
use std::time::{Duration, Instant};

/// Bytes that one read can bring: the size of the pipes.
pub(super) const SIZE: usize = 256 * 1024;
/// So much may stay in memory when nothing happens.
const KEPT: u64 = 16 * 1024;
/// Without a large read for this long, the memory goes back.
const IDLE: Duration = Duration::from_secs(1);

/// A mapping of its own: what the allocator gives and takes back stays with the process, once it has been used. [CR-44]
pub(super) struct Buffer {
    map: Option<MmapMut>,
    /// For a machine that is out of memory.
    spare: Vec<u8>,
    used: bool,
    /// When it is asked next whether the buffer was used.
    due: Option<Instant>,
}

impl Buffer {
    pub(super) fn new() -> Self {
        Self { map: None, spare: vec![0; 4096], used: false, due: None }
    }

    /// The memory to read into. Nothing of it is touched by this.
    pub(super) fn memory(&mut self) -> &mut [u8] {
        if self.map.is_none() {
            self.map = MmapMut::map_anon(SIZE).ok();
        }
        match &mut self.map {
            Some(map) => map,
            None => &mut self.spare,
        }
    }

    /// So many bytes were read.
    pub(super) fn touched(&mut self, count: u64) {
        if count > KEPT {
            self.used = true;
            self.due.get_or_insert_with(|| Instant::now() + IDLE);
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Gives the memory back when it was not used since the last time.
    pub(super) fn release(&mut self, now: Instant) {
        if std::mem::take(&mut self.used) {
            self.due = Some(now + IDLE);
        } else {
            self.map = None;
            self.due = None;
        }
    }
}
