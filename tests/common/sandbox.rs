//! Waiting for what happens in a directory: a file that appears, a log that grows.

use super::{DEADLINE, wait_readable};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::path::Path;
use std::time::Instant;

/// Looks with `probe` now and after each change in `directory` until it sees something. Panics at the deadline.
pub fn until<T>(directory: &Path, what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).expect("inotify");
    let flags = WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVED_TO | WatchFlags::DELETE;
    inotify::add_watch(&watch, directory, flags).expect("the directory is there");
    loop {
        if let Some(seen) = probe() {
            return seen;
        }
        assert!(wait_readable(&watch, deadline), "not seen in {}: {what}", directory.display());
        while rustix::io::read(&watch, &mut [0_u8; 4096]).is_ok() {}
    }
}
