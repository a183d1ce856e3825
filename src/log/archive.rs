//! The directory of the logs: what all logs share, and the backups in it.

use super::backup::{Named, Retention, backups, scan};
use super::mailbox::Mailbox;
use super::packing::Packer;
use super::report::{Policy, Report};
use super::rotation;
use crate::error::Error;
use rustix::fs::{AtFlags, fstatvfs, unlinkat};
use rustix::process::{Resource, getrlimit};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So much room ends the dropping, in bytes; less on a small file system.
const ROOM: u64 = 128 * 1024;

/// The sandbox, the policy and the names of all logs.
pub(super) struct Archive {
    directory: OwnedFd,
    pub(super) policy: Policy,
    pub(super) logs: Vec<String>,
    pub(super) packer: Packer,
    pub(super) reports: Arc<Mailbox<Report>>,
    /// When the oldest backup is over its age.
    pub(super) expiry: Option<Instant>,
}

impl Archive {
    pub(super) fn new(directory: OwnedFd, mut policy: Policy, reports: Arc<Mailbox<Report>>) -> Self {
        // Longer than anybody waits, and still a moment on the clock.
        policy.stall = policy.stall.min(Duration::from_secs(365 * 86_400));
        // A file cannot grow over this in any case, and a rotation at a line end is better than an error inside one. [KF-40]
        if let Some(most) = getrlimit(Resource::Fsize).current {
            policy.max_size = if policy.max_size == 0 { most } else { policy.max_size.min(most) };
        }
        Self { directory, policy, logs: Vec::new(), packer: Packer::default(), reports, expiry: None }
    }

    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    pub(super) fn retention(&self) -> Retention {
        Retention { count: self.policy.max_backups, age: self.policy.max_age }
    }

    pub(super) fn report(&self, report: Report) {
        self.reports.post(report);
    }

    pub(super) fn flaw(&self, error: Error) {
        self.report(Report::Flaw { error });
    }

    /// A backup was made just now.
    pub(super) fn archived(&mut self, backup: Option<String>) {
        if let (true, Some(backup)) = (self.policy.gzip, backup) {
            self.packer.add(backup);
        }
        if let (None, Some(age)) = (self.expiry, self.policy.max_age) {
            self.expiry = Instant::now().checked_add(age);
        }
    }

    /// At the start: what an earlier minion left half packed or unpacked, and what is over.
    pub(super) fn open_up(&mut self) {
        for log in self.logs.clone() {
            let found = scan(self.directory(), &log).unwrap_or_default();
            for (_, name) in found.into_iter().filter(|(named, _)| *named == Named::Partial) {
                if let Err(error) = unlinkat(&self.directory, &name, AtFlags::empty()) {
                    self.flaw(Error::io("remove", name, error));
                }
            }
        }
        self.prune();
        if self.policy.gzip {
            for log in self.logs.clone() {
                let plain = backups(self.directory(), &log).unwrap_or_default().into_iter().filter(|b| !b.packed);
                plain.rev().for_each(|backup| self.packer.add(backup.file_name(&log)));
            }
        }
    }

    /// Removes what is over, and sets the time when the next backup will be.
    pub(super) fn prune(&mut self) {
        let mut oldest = None;
        for log in &self.logs {
            match rotation::prune(self.directory(), log, self.retention()) {
                Ok(stamp) => oldest = oldest.max(stamp),
                Err(error) => self.flaw(error),
            }
        }
        // A moment later than due, so that the look at that time finds it over.
        self.expiry = self.policy.max_age.zip(oldest).and_then(|(most, stamp)| {
            let left = most.saturating_sub(stamp.age()).saturating_add(Duration::from_millis(2));
            Instant::now().checked_add(left)
        });
    }

    /// Packs the next slice of a backup, if one waits for it.
    pub(super) fn pack(&mut self, buffer: &mut [u8]) {
        if let Err(error) = self.packer.step(self.directory.as_fd(), buffer) {
            self.flaw(error);
        }
    }

    /// Nothing half packed stays behind; the next start packs it.
    pub(super) fn stop_packing(&mut self) {
        self.packer.abort(self.directory.as_fd());
    }

    /// Whether the disk has enough room that it is worth to stop dropping: a few free bytes in the last block of a file would
    /// take one line and refuse the next.
    pub(super) fn has_room(&self) -> bool {
        fstatvfs(&self.directory).map_or(true, |disk| {
            disk.f_bavail.saturating_mul(disk.f_frsize) >= ROOM || disk.f_bavail >= disk.f_blocks / 16
        })
    }

    /// Removes the oldest backup, of this log first, then of the others, to make room. False when there is nothing left.
    pub(super) fn sacrifice(&mut self, log: &str) -> bool {
        if self.packer.abort(self.directory.as_fd()) {
            return true;
        }
        let others = self.logs.iter().map(String::as_str).filter(|other| *other != log);
        let gone = std::iter::once(log).chain(others).find_map(|candidate| {
            let oldest = backups(self.directory(), candidate).ok()?.pop()?.file_name(candidate);
            unlinkat(&self.directory, &oldest, AtFlags::empty()).ok().map(|()| oldest)
        });
        let Some(backup) = gone else { return false };
        self.report(Report::Sacrificed { log: log.to_owned(), backup });
        true
    }
}
