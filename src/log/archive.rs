//! The directory of the logs: what all logs share, and the backups in it.

use super::backup::{Backup, Named, Retention, backups, backups_of, scan};
use super::mailbox::Mailbox;
use super::packing::Packer;
use super::report::{Policy, Report};
use super::rotation;
use crate::error::Error;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use rustix::fs::{AtFlags, fstatvfs, unlinkat};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So much room ends the dropping, in bytes; less on a small file system.
const ROOM: u64 = 128 * 1024;

/// The sandbox, the policy and the names of all logs.
pub(super) struct Archive {
    directory: OwnedFd,
    /// What no file may grow over.
    most: Option<u64>,
    /// What counts for a log without one of its own, and for all of them where they share something.
    pub(super) policy: Policy,
    /// Each log's name and policy.
    logs: Vec<(String, Policy)>,
    pub(super) packer: Packer,
    pub(super) reports: Arc<Mailbox<Report>>,
    /// When the oldest backup is over its age.
    pub(super) expiry: Option<Instant>,
}

impl Archive {
    pub(super) fn new(directory: OwnedFd, policy: Policy, reports: Arc<Mailbox<Report>>) -> Self {
        let most = largest_file();
        Self {
            directory,
            most,
            policy: possible(policy, most),
            logs: Vec::new(),
            packer: Packer::default(),
            reports,
            expiry: None,
        }
    }

    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// The index of a log, when it is known.
    pub(super) fn find(&self, log: &str) -> Option<usize> {
        self.logs.iter().position(|(name, _)| name == log)
    }

    /// One more log; the same policy as the others, unless it has its own.
    pub(super) fn add(&mut self, log: &str, policy: Option<Policy>) {
        let policy = policy.map_or(self.policy, |policy| possible(policy, self.most));
        self.logs.push((log.to_owned(), policy));
    }

    /// How a log is kept.
    pub(super) fn policy_of(&self, log: &str) -> Policy {
        self.find(log).and_then(|log| self.logs.get(log)).map_or(self.policy, |(_, policy)| *policy)
    }

    pub(super) fn retention(&self, log: &str) -> Retention {
        let policy = self.policy_of(log);
        Retention { count: policy.max_backups, age: policy.max_age }
    }

    pub(super) fn report(&self, report: Report) {
        self.reports.post(report);
    }

    pub(super) fn flaw(&self, error: Error) {
        self.report(Report::Flaw { error });
    }

    /// A backup of a log was made just now.
    pub(super) fn archived(&mut self, log: &str, backup: Option<String>) {
        let policy = self.policy_of(log);
        if let (true, Some(backup)) = (policy.gzip, backup) {
            self.packer.add(backup);
        }
        let over = policy.max_age.and_then(|age| Instant::now().checked_add(age));
        self.expiry = [self.expiry, over].into_iter().flatten().min();
    }

    /// At the start: what an earlier minion left half packed or unpacked, and what is over.
    pub(super) fn open_up(&mut self) {
        for found in scan(self.directory()).unwrap_or_default() {
            if found.named == Named::Partial
                && self.find(&found.log).is_some()
                && let Err(error) = unlinkat(&self.directory, &found.file, AtFlags::empty())
            {
                self.flaw(Error::io("remove", found.file, error));
            }
        }
        let kept = self.prune();
        for (log, _) in self.logs.iter().filter(|(_, policy)| policy.gzip) {
            let plain = kept.iter().filter(|(owner, backup)| owner == log && !backup.packed);
            plain.rev().for_each(|(_, backup)| self.packer.add(backup.file_name(log)));
        }
    }

    /// Removes what is over, and sets the time when the next backup will be. What is left, of each log the newest first.
    pub(super) fn prune(&mut self) -> Vec<(String, Backup)> {
        let found = match scan(self.directory()) {
            Ok(found) => found,
            Err(error) => {
                self.flaw(Error::io("list", "the backups of the logs", error));
                Vec::new()
            }
        };
        let mut expiry = None;
        let mut kept = Vec::new();
        for (log, policy) in &self.logs {
            let (left, flaw) = rotation::prune(self.directory(), log, backups_of(&found, log), self.retention(log));
            if let Some(flaw) = flaw {
                self.flaw(flaw);
            }
            // A moment later than due, so that the look at that time finds it over.
            let over = policy.max_age.zip(left.last()).and_then(|(most, oldest)| {
                let left = most.saturating_sub(oldest.stamp.age()).saturating_add(Duration::from_millis(2));
                Instant::now().checked_add(left)
            });
            expiry = [expiry, over].into_iter().flatten().min();
            kept.extend(left.into_iter().map(|backup| (log.clone(), backup)));
        }
        self.expiry = expiry;
        kept
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
        let others = self.logs.iter().map(|(name, _)| name.as_str()).filter(|other| *other != log);
        let gone = std::iter::once(log).chain(others).find_map(|candidate| {
            let oldest = backups(self.directory(), candidate).ok()?.pop()?.file_name(candidate);
            unlinkat(&self.directory, &oldest, AtFlags::empty()).ok().map(|()| oldest)
        });
        let Some(backup) = gone else { return false };
        self.report(Report::Sacrificed { log: log.to_owned(), backup });
        true
    }
}

/// A policy that the kernel lets us keep, where a file may grow to `most`.
fn possible(mut policy: Policy, most: Option<u64>) -> Policy {
    // Longer than anybody waits, and still a moment on the clock.
    policy.stall = policy.stall.min(Duration::from_secs(365 * 86_400));
    // A file cannot grow over this in any case, and a rotation at a line end is better than an error inside one. [KF-40]
    if let Some(most) = most {
        policy.max_size = if policy.max_size == 0 { most } else { policy.max_size.min(most) };
    }
    policy
}

/// `RLIMIT_FSIZE`, where there is one. nix's call, for rustix's panics where a filter forbids it. [CR-151]
fn largest_file() -> Option<u64> {
    getrlimit(Resource::RLIMIT_FSIZE).ok().map(|(soft, _)| soft).filter(|most| *most != RLIM_INFINITY)
}
