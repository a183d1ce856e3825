//! One rotation, done by `file-rotate`: the name of the backup, the rename, and the backups that go.
//!
//! The crate never sees a byte of a log and never opens a file that was not checked: where it fails to open, it drops what
//! is written to it and says nothing [CR-40], it follows symlinks, and it cuts lines [CR-41]. So a fresh `FileRotate` is
//! made for each rotation, over a file that we have open and have just seen in its place.

use super::backup::{Backup, Retention, Scheme};
use super::file::LogFile;
use crate::error::{Error, Result};
use crate::process::procfs;
use file_rotate::compression::Compression;
use file_rotate::{ContentLimit, FileRotate};
use rustix::fs::{AtFlags, OFlags, Stat, fstat, stat, unlinkat};
use std::fs::OpenOptions;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// What a rotation did.
pub(super) struct Rotated {
    /// The new file at the log's name.
    pub(super) file: LogFile,
    /// The newest backup, a file name in the directory.
    pub(super) backup: Option<String>,
    /// The rotation is done, but something beside it failed: a backup that could not be removed.
    pub(super) flaw: Option<Error>,
}

/// Makes the log's file a backup, removes the backups that are over, and opens a new file.
///
/// Fails when the name no longer leads to `file`, when the rename failed, or when the new file could not be opened. Then
/// `file` is still good to write to, and the next look finds out where its name leads.
pub(super) fn rotate(
    directory: BorrowedFd<'_>,
    log: &str,
    retention: Retention,
    file: &mut LogFile,
) -> Result<Rotated> {
    let failed = |error| Error::io("rotate", file_name(log), error);
    if !file.is_in_place(directory).map_err(failed)? {
        return LogFile::open(directory, &file_name(log)).map(|file| Rotated { file, backup: None, flaw: None });
    }
    let path = by_descriptor(directory)?.join(file_name(log));
    let scheme = Scheme { directory, log, retention };
    // It asserts that the file is there and the backup is not [CR-42]: both was seen a moment ago, but others may act.
    let outcome = catch_unwind(AssertUnwindSafe(move || {
        let mut rotation = FileRotate::new(path, scheme, ContentLimit::None, Compression::None, Some(only_existing()));
        let result = rotation.rotate();
        (result, rotation.log_paths().pop())
    }));
    let (result, newest) = outcome
        .unwrap_or_else(|_| (Err(std::io::Error::other("file-rotate found a file missing, or one in its way")), None));
    if file.is_in_place(directory).map_err(failed)? {
        let cause = result.err().unwrap_or_else(|| std::io::Error::other("the file kept its name"));
        return Err(Error::io("rotate", file_name(log), cause));
    }
    let flaw = result.err().map(|cause| Error::io("remove old backups of", file_name(log), cause));
    let backup = newest.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
    LogFile::open(directory, &file_name(log)).map(|file| Rotated { file, backup, flaw })
}

/// The directory by its descriptor. Looked at first, for where no proc is mounted the crate would make directories of these
/// names. [CR-45]
fn by_descriptor(directory: BorrowedFd<'_>) -> Result<PathBuf> {
    let path = procfs::descriptor(directory.as_raw_fd());
    let same = |there: &Stat, here: &Stat| (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino);
    match (stat(&path), fstat(directory)) {
        (Ok(there), Ok(here)) if same(&there, &here) => Ok(path),
        _ => {
            Err(Error::new("rotate logs through", path.display(), "it does not lead to the sandbox")
                .hint("mount /proc"))
        }
    }
}

/// `executor.log`
pub(super) fn file_name(log: &str) -> String {
    format!("{log}.log")
}

/// Without `O_CREAT`, so that the crate can rename and remove, but not make a file. [CR-40]
fn only_existing() -> OpenOptions {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.read(true).append(true).custom_flags(flags.bits().cast_signed());
    options
}

/// Removes the backups that are over. For the start and for the age timer: `file-rotate` does it at a rotation only.
/// Returns those that stay, and what went wrong last.
pub(super) fn prune(
    directory: BorrowedFd<'_>,
    log: &str,
    backups: Vec<Backup>,
    retention: Retention,
) -> (Vec<Backup>, Option<Error>) {
    let mut flaw = None;
    let (over, kept): (Vec<_>, Vec<_>) =
        backups.into_iter().enumerate().partition(|(index, backup)| retention.is_over(backup.stamp, *index));
    for (_, backup) in over {
        let name = backup.file_name(log);
        if let Err(error) = unlinkat(directory, &name, AtFlags::empty()) {
            flaw = Some(Error::io("remove the backup", name, error));
        }
    }
    (kept.into_iter().map(|(_, backup)| backup).collect(), flaw)
}
