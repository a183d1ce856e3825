//! Files of `/proc` that several questions need, each read once: an answer comes quickly, and is of one moment.

use super::seen::{self, Seen};
use super::stat::Stat;
use crate::process::{procfs, tree};
use std::cell::RefCell;
use std::collections::HashMap;

/// What was read already. A look at one thing has one; it is never kept for a second look.
#[derive(Debug, Default)]
pub(in crate::inspect) struct Once {
    texts: RefCell<HashMap<String, Seen<Vec<u8>>>>,
    listeners: RefCell<HashMap<(u64, u64), Option<i32>>>,
}

impl Once {
    /// A file that the kernel makes in one piece. [KF-24]
    pub(in crate::inspect) fn piece(&self, path: String) -> Seen<Vec<u8>> {
        self.read(path, seen::read)
    }

    /// A file that the kernel may hand out in several pieces, a list: `mountinfo`, `children`.
    pub(in crate::inspect) fn list(&self, path: String) -> Seen<Vec<u8>> {
        self.read(path, |path| procfs::read(path).map_or_else(|error| Seen::not(path, &error), Seen::Known))
    }

    /// The environment that a process was started with; amid its exec it is waited for.
    pub(in crate::inspect) fn environment(&self, pid: i32) -> Seen<Vec<u8>> {
        self.read(super::path(pid, "environ"), |path| {
            tree::start_environment(pid, tree::exec_end()).map_or_else(|error| Seen::not(path, &error), Seen::Known)
        })
    }

    /// `/proc/<pid>/stat`.
    pub(in crate::inspect) fn stat(&self, pid: i32) -> Seen<Stat> {
        let path = super::path(pid, "stat");
        self.piece(path.clone()).and_then(|line| Stat::parse(&line).ok_or_else(|| format!("{path} is no stat line")))
    }

    /// Who listens on a socket, which is its device and inode: many processes work where it is.
    pub(in crate::inspect) fn listener(&self, socket: (u64, u64), who: impl FnOnce() -> Option<i32>) -> Option<i32> {
        *self.listeners.borrow_mut().entry(socket).or_insert_with(who)
    }

    fn read(&self, path: String, how: impl FnOnce(&str) -> Seen<Vec<u8>>) -> Seen<Vec<u8>> {
        if let Some(text) = self.texts.borrow().get(&path) {
            return text.clone();
        }
        let text = how(&path);
        self.texts.borrow_mut().insert(path, text.clone());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_once_whatever_becomes_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("text").to_str().unwrap().to_owned();
        let once = Once::default();
        std::fs::write(&path, "first").unwrap();
        assert_eq!(once.piece(path.clone()).known().unwrap(), b"first");
        std::fs::write(&path, "second").unwrap();
        assert_eq!(once.list(path.clone()).known().unwrap(), b"first");
        assert_eq!(Once::default().list(path).known().unwrap(), b"second");
    }
}
