//! Work beside the loop, which waits for nobody: the checks of the doctor, whose disk may hang.

use crate::process::memory;
use crate::process::thread::Aside;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tracing::info;

/// What is done beside. It has nothing to say any more once that is set.
pub type Work = Box<dyn FnOnce(&AtomicBool) + Send>;

/// Address space of its stack; only what is used of it becomes memory, and only for a moment.
const STACK: usize = 256 * 1024;

/// Work that is to begin, goes on, or is over.
pub(super) enum Beside {
    /// Nothing has begun.
    Waiting(Work),
    /// Until it is over it may be silenced.
    Begun { aside: Aside, silence: Arc<AtomicBool> },
    /// There is nothing to do.
    Nothing,
}

impl Beside {
    pub(super) fn new(work: Option<Work>) -> Self {
        work.map_or(Self::Nothing, Self::Waiting)
    }

    /// Whether it waits for its time.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self, Self::Waiting(_))
    }

    /// Does it on a thread of its own. Best effort: where no thread can be had, the children matter more.
    pub(super) fn begin(&mut self) {
        let Self::Waiting(work) = std::mem::replace(self, Self::Nothing) else { return };
        let silence = Arc::new(AtomicBool::new(false));
        let silenced = Arc::clone(&silence);
        let then_tidy = move || {
            work(&silenced);
            // It is never done again, and the loop may rest already. Best effort: it only saves memory.
            memory::release_heap();
            let _ = memory::release_text();
        };
        match Aside::begin("minion-beside", STACK, then_tidy) {
            Ok(aside) => *self = Self::Begun { aside, silence },
            Err(cause) => info!("no thread for the checks: {cause}"),
        }
    }

    /// Waits until what has begun is over, but no longer than this. Afterwards it is silent.
    pub(super) fn finish(&mut self, limit: Duration) {
        if let Self::Begun { aside, silence } = self {
            aside.wait(limit);
            silence.store(true, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn it_is_waited_for_and_no_longer_than_that_and_is_silent_then() {
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let mut beside = Beside::new(Some(Box::new(move |_| is_done.store(true, Ordering::Release))));
        beside.finish(Duration::from_secs(10)); // it has not begun
        assert!(beside.is_waiting() && !done.load(Ordering::Acquire));
        beside.begin();
        beside.finish(Duration::from_secs(10));
        assert!(done.load(Ordering::Acquire));

        let (let_go, held) = mpsc::channel::<()>();
        let (says, said) = mpsc::channel();
        let mut hangs = Beside::new(Some(Box::new(move |silence| {
            let _ = held.recv();
            says.send(silence.load(Ordering::Acquire)).unwrap();
        })));
        hangs.begin();
        hangs.finish(Duration::from_millis(1));
        drop(let_go);
        assert!(said.recv().unwrap());
    }
}
