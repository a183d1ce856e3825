//! Whether the container runs out of memory, and how many of its processes the kernel killed for it.

use super::directory::{self, Place, Validated};
use super::mountinfo::Version;
use crate::error::{During, Error, Result};
use crate::mesos::recovery::LEAF;
use rustix::event::epoll::EventFlags;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, pread, read, write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// A watch on the container's memory cgroup. Two descriptors, on v1 three, no thread.
#[derive(Debug)]
pub struct OomWatch {
    version: Version,
    /// `memory.oom_control` or `memory.events`: holds the counts, and on v2 signals that one of them changed.
    counter: OwnedFd,
    /// v1: becomes readable at an OOM.
    event: Option<OwnedFd>,
    cgroup: OwnedFd,
    /// The counts that were seen last.
    seen: Counts,
    /// For messages.
    path: PathBuf,
}

/// What of the counts speaks of an OOM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// How often an allocation failed at the limit: `oom`, v2 alone.
    failures: Option<u64>,
    /// `oom_kill`.
    kills: Option<u64>,
}

/// What the container's memory cgroup says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oom {
    /// Processes killed for memory since the cgroup was made. `None` on v1 before Linux 4.13, which does not count them.
    pub kills: Option<u64>,
    /// The limit in bytes. `None` where there is none.
    pub limit: Option<u64>,
    /// What is used now, in bytes.
    pub usage: Option<u64>,
}

impl OomWatch {
    /// Starts the watch. `None` where the container has no memory cgroup of its own.
    pub fn open(validated: &Validated) -> Result<Option<Self>> {
        for place in &validated.places {
            match place.version {
                Version::V1 if place.hierarchy.split(',').any(|controller| controller == "memory") => {
                    return Self::v1(place).map(Some);
                }
                Version::V2 => return Self::v2(place),
                Version::V1 => {}
            }
        }
        Ok(None)
    }

    /// Registers an eventfd with the cgroup. Needs write permission to the cgroup's `cgroup.event_control`. [KF-30]
    fn v1(place: &Place) -> Result<Self> {
        let watch = "watch for OOM in";
        let subject = || format!("{:?}", place.directory);
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).during(watch, subject())?;
        let counter = file(&place.fd, "memory.oom_control", OFlags::RDONLY).during(watch, subject())?;
        let control = file(&place.fd, "cgroup.event_control", OFlags::WRONLY).during(watch, subject())?;
        let request = format!("{} {}", event.as_raw_fd(), counter.as_raw_fd());
        write(control, request.as_bytes()).during(watch, subject())?;
        let cgroup = place.fd.try_clone().during(watch, subject())?;
        let path = place.directory.clone();
        Self { version: Version::V1, counter, event: Some(event), cgroup, seen: Counts::default(), path }.begun()
    }

    /// The limits, and so the events, are those of the cgroup above the leaf. [ME-06]
    fn v2(place: &Place) -> Result<Option<Self>> {
        let subject = || format!("{:?}", place.directory);
        let below = match place.candidate.below.parent() {
            Some(container) if place.candidate.below.ends_with(LEAF) => container,
            _ => {
                return Err(Error::new("watch for OOM above", subject(), "only the leaf is mounted here")
                    .hint("in a container with an image the cgroup that has the limit is out of sight"));
            }
        };
        let Some(cgroup) = directory::open(&place.candidate.mount, below)? else {
            return Err(Error::io("watch for OOM above", subject(), Errno::NOENT));
        };
        let path = place.candidate.mount.point.join(below);
        match file(&cgroup, "memory.events", OFlags::RDONLY) {
            Ok(counter) => {
                let watch = Self { version: Version::V2, counter, event: None, cgroup, seen: Counts::default(), path };
                watch.begun().map(Some)
            }
            // The file is there when the memory controller is enabled for this cgroup, and only then.
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(Error::io("watch for OOM in", format!("{path:?}"), error)),
        }
    }

    /// What was counted before the watch is none of its events.
    fn begun(self) -> Result<Self> {
        let seen = self.counts()?;
        Ok(Self { seen, ..self })
    }

    /// What to put into epoll.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.event.as_ref().unwrap_or(&self.counter).as_fd()
    }

    /// For what: a cgroup file is always readable, its change is an exceptional condition. [KF-31]
    pub fn interest(&self) -> EventFlags {
        match self.version {
            Version::V1 => EventFlags::IN,
            Version::V2 => EventFlags::PRI,
        }
    }

    /// Takes the event: what the cgroup says, when it ran out of memory since the last call. `None` when something else has
    /// changed: on v2 an event comes for every reclaim at the limit too, which is everyday's. [KF-31]
    ///
    /// v1 signals before it kills, so at the event the count may still be the old one. Whether a death was an OOM is found by
    /// [`read`](Self::read) when the death is known: the count has moved by then. [KF-30]
    pub fn take(&mut self) -> Result<Option<Oom>> {
        let signalled = match &self.event {
            None => false,
            Some(event) => match read(event, &mut [0; 8]) {
                Ok(_) => true,
                Err(Errno::AGAIN | Errno::INTR) => false,
                Err(error) => return Err(Error::io("read OOM event of", format!("{:?}", self.path), error)),
            },
        };
        // From the start and through the same descriptor: on v2 this is what arms the next event. [KF-31]
        let counts = self.counts()?;
        let moved = std::mem::replace(&mut self.seen, counts) != counts;
        let is_oom = if self.event.is_some() { signalled } else { moved };
        Ok(is_oom.then(|| self.with_memory(counts.kills)))
    }

    /// What the cgroup says now. Takes no event.
    pub fn read(&self) -> Result<Oom> {
        let counts = match self.version {
            Version::V1 => self.counts()?,
            // A read through the watched descriptor would take the event.
            Version::V2 => {
                let counter = file(&self.cgroup, "memory.events", OFlags::RDONLY);
                self.counts_of(&counter.during("open OOM count of", format!("{:?}", self.path))?)?
            }
        };
        Ok(self.with_memory(counts.kills))
    }

    /// How many processes were killed for memory, as [`Oom::kills`].
    pub fn kills(&self) -> Option<u64> {
        self.read().ok().and_then(|oom| oom.kills)
    }

    fn counts(&self) -> Result<Counts> {
        self.counts_of(&self.counter)
    }

    fn counts_of(&self, counter: &OwnedFd) -> Result<Counts> {
        let mut text = [0; 1024];
        let length = pread(counter, &mut text, 0).during("read OOM count of", format!("{:?}", self.path))?;
        Ok(Counts::of(&text[..length]))
    }

    fn with_memory(&self, kills: Option<u64>) -> Oom {
        let (limit, usage) = match self.version {
            Version::V1 => (self.number("memory.limit_in_bytes"), self.number("memory.usage_in_bytes")),
            Version::V2 => (self.number("memory.max"), self.number("memory.current")),
        };
        Oom { kills, limit, usage }
    }

    fn number(&self, name: &str) -> Option<u64> {
        let file = file(&self.cgroup, name, OFlags::RDONLY).ok()?;
        let mut text = [0; 32];
        let length = read(file, &mut text).ok()?;
        number(&text[..length])
    }
}

fn file(cgroup: &OwnedFd, name: &str, access: OFlags) -> Result<OwnedFd, Errno> {
    openat(cgroup, name, access | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())
}

impl Counts {
    /// Of the lines `oom_kill <n>`, the same word in both versions, and `oom <n>`.
    fn of(text: &[u8]) -> Self {
        let value = |name: &[u8]| text.split(|byte| *byte == b'\n').find_map(|line| number(line.strip_prefix(name)?));
        Self { failures: value(b"oom "), kills: value(b"oom_kill ") }
    }
}

/// A number of bytes. Without a limit v2 says `max`, and v1 the largest whole number of pages below 2^63.
fn number(text: &[u8]) -> Option<u64> {
    const UNLIMITED: u64 = 0x7fff_ffff_ffff_0000;
    let number: u64 = std::str::from_utf8(text).ok()?.trim_ascii().parse().ok()?;
    (number < UNLIMITED).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_the_oom_lines_of_either_version() {
        let counts = |failures, kills| Counts { failures, kills };
        assert_eq!(Counts::of(b"oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), counts(None, Some(3)));
        let v2 = b"low 0\nhigh 0\nmax 9\noom 4\noom_kill 2\noom_group_kill 1\n";
        assert_eq!(Counts::of(v2), counts(Some(4), Some(2)));
        assert_eq!(Counts::of(b"oom_kill_disable 0\nunder_oom 0\n"), counts(None, None));
    }

    #[test]
    fn no_limit_is_none() {
        assert_eq!(number(b"max\n"), None);
        assert_eq!(number(b"9223372036854771712\n"), None);
        assert_eq!(number(b"8388608\n"), Some(8_388_608));
    }
}
