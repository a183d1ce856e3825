//! A queue between two threads whose reader waits in an epoll: a list behind a lock that is held for moments, and an eventfd.

use crate::error::{During, Result};
use rustix::event::{EventfdFlags, eventfd};
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock also after a panic of its holder: what the locks here guard is whole at every moment.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An eventfd that is readable from the first ring until it is silenced.
pub(super) struct Bell(OwnedFd);

impl Bell {
    pub(super) fn new() -> Result<Self> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Self).during("create", "an eventfd")
    }

    pub(super) fn ring(&self) {
        // The only failure is a counter at its maximum, and then the bell has been ringing for long.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    pub(super) fn silence(&self) {
        // Nothing to read is fine: it did not ring.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The queue. Neither side ever waits for the other's work.
pub(super) struct Mailbox<T> {
    items: Mutex<Vec<T>>,
    bell: Bell,
}

impl<T> Mailbox<T> {
    pub(super) fn new() -> Result<Self> {
        Ok(Self { items: Mutex::new(Vec::new()), bell: Bell::new()? })
    }

    pub(super) fn post(&self, item: T) {
        self.put(item);
        self.bell.ring();
    }

    /// Posts only where what waits already leaves a need for it: so nothing piles up.
    pub(super) fn post_if(&self, item: T, wanted: impl FnOnce(&[T]) -> bool) {
        let mut items = locked(&self.items);
        if wanted(&items) {
            items.push(item);
        }
        drop(items);
        self.bell.ring();
    }

    /// As [`post`](Self::post), without the bell: for several, or for the next one that rings.
    pub(super) fn put(&self, item: T) {
        locked(&self.items).push(item);
    }

    /// Everything that was posted, in order. The bell is silent until the next post.
    pub(super) fn take(&self) -> Vec<T> {
        // Silence first: a post between the two leaves the bell ringing for nothing, the other way round it would be lost.
        self.bell.silence();
        mem::take(&mut *locked(&self.items))
    }

    pub(super) fn bell(&self) -> &Bell {
        &self.bell
    }
}
