//! Backups: their names, which are the original's, and the scheme that gives these names to `file-rotate`. [GO-40]

use chrono::{DateTime, Datelike, NaiveDate, Timelike, Utc};
use file_rotate::SuffixInfo;
use file_rotate::suffix::{Representation, SuffixScheme};
use rustix::fs::{AtFlags, Dir, FileType, statat};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The moment of a rotation, UTC, in milliseconds of the Unix epoch. Orders the newest first, as `file-rotate` wants it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stamp(Reverse<i64>);

/// Of `2026-11-30T01-18-34.945`.
const STAMP_LENGTH: usize = 23;

/// A newest backup that is further ahead than this was not named by a clock that was set back, but by something else.
const CLOCK_STEP: i64 = 3_600_000;

impl Stamp {
    /// This moment.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// From milliseconds of the Unix epoch.
    pub fn from_millis(millis: i64) -> Self {
        Self(Reverse(millis))
    }

    /// In milliseconds of the Unix epoch.
    pub fn millis(self) -> i64 {
        self.0.0
    }

    /// Reads `2026-11-30T01-18-34.945`, exactly.
    fn parse(text: &str) -> Option<Self> {
        let shape = text.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
        if !shape.eq(*b"0000-00-00T00-00-00.000") {
            return None;
        }
        let number = |from: usize, to: usize| text[from..to].parse::<u32>().ok();
        let year = text[..4].parse().ok()?;
        let date = NaiveDate::from_ymd_opt(year, number(5, 7)?, number(8, 10)?)?;
        let time = date.and_hms_milli_opt(number(11, 13)?, number(14, 16)?, number(17, 19)?, number(20, 23)?)?;
        Some(Self::from_millis(time.and_utc().timestamp_millis()))
    }

    /// Reads a time in UTC as a person writes it: `2026-11-30`, `2026-11-30T01:18`, `…:34`, `…:34.945`, with or without `Z`, a
    /// blank for the `T`, and as it stands in a backup's name.
    pub fn parse_utc(text: &str) -> Option<Self> {
        const FULL: &str = "0000-00-00T00-00-00.000";
        let text = text.strip_suffix('Z').unwrap_or(text).replace([' ', ':'], "-");
        if ![10, 16, 19, 23].contains(&text.len()) || !text.is_ascii() {
            return None;
        }
        let mut padded = text.clone() + &FULL[text.len()..];
        if padded.as_bytes()[10] == b'-' {
            padded.replace_range(10..11, "T");
        }
        Self::parse(&padded)
    }

    /// How long ago this was; nothing for a moment in the future.
    pub(super) fn age(self) -> Duration {
        let millis = Self::now().millis().saturating_sub(self.millis());
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    fn time(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.millis()).unwrap_or_default()
    }

    /// `2026-11-30T01:18:34.945Z`, for people.
    pub(super) fn iso(self) -> String {
        let t = self.time();
        format!("{}T{:02}:{:02}:{:02}.{:03}Z", t.date_naive(), t.hour(), t.minute(), t.second(), self.millis() % 1000)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let t = self.time();
        write!(f, "{:04}-{:02}-{:02}T", t.year(), t.month(), t.day())?;
        write!(f, "{:02}-{:02}-{:02}.{:03}", t.hour(), t.minute(), t.second(), self.millis().rem_euclid(1000))
    }
}

impl Representation for Stamp {
    fn to_path(&self, basepath: &Path) -> PathBuf {
        let log = basepath.file_stem().unwrap_or_default().to_string_lossy();
        basepath.with_file_name(file_name(&log, *self))
    }
}

/// The name of a backup: `executor-2026-11-30T01-18-34.945.log`.
pub(super) fn file_name(log: &str, stamp: Stamp) -> String {
    format!("{log}-{stamp}.log")
}

/// One backup in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backup {
    pub(super) stamp: Stamp,
    pub(super) packed: bool,
}

impl Backup {
    pub(super) fn file_name(self, log: &str) -> String {
        let plain = file_name(log, self.stamp);
        if self.packed { plain + PACKED } else { plain }
    }
}

/// What a packed backup's name ends with.
pub(super) const PACKED: &str = ".gz";
/// What the name of a backup that is being packed ends with. It is ours to remove: nothing else has a stamp and this end.
pub(super) const PARTIAL: &str = ".gz.partial";

/// What a file name says about the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Backup(Backup),
    /// A backup that was being packed when minion was killed.
    Partial,
    /// Not ours: never touched.
    Foreign,
}

/// Reads a file name of the logs' directory: whose it is, and what.
fn split_name(file: &str) -> Option<(&str, Named)> {
    let (rest, is) = [PACKED, PARTIAL, ""].into_iter().find_map(|end| {
        let rest = file.strip_suffix(end)?.strip_suffix(".log")?;
        Some((rest, end))
    })?;
    let (log, stamp) = rest.split_at_checked(rest.len().checked_sub(STAMP_LENGTH)?)?;
    let (log, stamp) = (log.strip_suffix('-')?, Stamp::parse(stamp)?);
    let named = if is == PARTIAL { Named::Partial } else { Named::Backup(Backup { stamp, packed: is == PACKED }) };
    Some((log, named))
}

/// Reads a file name of the log's directory.
pub(super) fn read_name(log: &str, file: &str) -> Named {
    split_name(file).filter(|(owner, _)| *owner == log).map_or(Named::Foreign, |(_, named)| named)
}

/// A regular file of the directory that belongs to a log by name.
pub(super) struct Found {
    pub(super) log: String,
    pub(super) named: Named,
    pub(super) file: String,
}

/// What there is of all logs. One look: with a log for each of 200 tasks, one each is a fifth of the work of their start.
pub(super) fn scan(directory: BorrowedFd<'_>) -> rustix::io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        let Some((log, named)) = split_name(name) else { continue };
        if is_regular(directory, name, entry.file_type()) {
            found.push(Found { log: log.to_owned(), named, file: name.to_owned() });
        }
    }
    Ok(found)
}

/// A log's backups among what was found, the newest first.
pub(super) fn backups_of(found: &[Found], log: &str) -> Vec<Backup> {
    let own = found.iter().filter(|found| found.log == log);
    let mut backups: Vec<Backup> = own
        .filter_map(|found| match found.named {
            Named::Backup(backup) => Some(backup),
            Named::Partial | Named::Foreign => None,
        })
        .collect();
    backups.sort_by_key(|backup| backup.stamp);
    backups
}

/// The log's backups, the newest first.
pub(super) fn backups(directory: BorrowedFd<'_>, log: &str) -> rustix::io::Result<Vec<Backup>> {
    Ok(backups_of(&scan(directory)?, log))
}

fn is_regular(directory: BorrowedFd<'_>, name: &str, kind: FileType) -> bool {
    // Some file systems do not say.
    let looked = || {
        statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
    };
    kind == FileType::RegularFile || (kind == FileType::Unknown && looked())
}

/// How many backups are kept and for how long. Both hold at once; `file-rotate`'s own schemes know one or the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retention {
    /// 0 keeps any number.
    pub(super) count: u32,
    pub(super) age: Option<Duration>,
}

impl Retention {
    /// Whether the `index`-th newest backup is to go.
    pub(super) fn is_over(&self, stamp: Stamp, index: usize) -> bool {
        let too_many = self.count > 0 && u32::try_from(index).is_ok_and(|index| index >= self.count);
        too_many || self.age.is_some_and(|most| stamp.age() > most)
    }
}

/// The original's names for `file-rotate`.
pub(super) struct Scheme<'a> {
    pub(super) directory: BorrowedFd<'a>,
    pub(super) log: &'a str,
    pub(super) retention: Retention,
}

impl Scheme<'_> {
    fn is_free(&self, stamp: Stamp) -> bool {
        let plain = file_name(self.log, stamp);
        [plain.clone() + PACKED, plain].iter().all(|name| {
            matches!(statat(self.directory, name, AtFlags::SYMLINK_NOFOLLOW), Err(rustix::io::Errno::NOENT))
        })
    }
}

impl SuffixScheme for Scheme<'_> {
    type Repr = Stamp;

    /// A name that is free and newer than every backup: `file-rotate` asserts the first [CR-42], and the second keeps the
    /// order when two rotations fall into one millisecond or the clock was set back.
    fn rotate_file(&mut self, _: &Path, newest: Option<&Stamp>, suffix: &Option<Stamp>) -> io::Result<Stamp> {
        if suffix.is_some() {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists));
        }
        let now = Stamp::now().millis();
        let first = newest.map(|stamp| stamp.millis() + 1).filter(|next| *next <= now + CLOCK_STEP).unwrap_or(now);
        (first.max(now)..)
            .take(10_000)
            .map(Stamp::from_millis)
            .find(|stamp| self.is_free(*stamp))
            .ok_or_else(|| io::Error::from(io::ErrorKind::AlreadyExists))
    }

    fn parse(&self, suffix: &str) -> Option<Stamp> {
        Stamp::parse(suffix)
    }

    fn too_old(&self, stamp: &Stamp, index: usize) -> bool {
        self.retention.is_over(*stamp, index)
    }

    fn scan_suffixes(&self, _: &Path) -> BTreeSet<SuffixInfo<Stamp>> {
        backups(self.directory, self.log)
            .unwrap_or_default()
            .into_iter()
            .map(|backup| SuffixInfo { suffix: backup.stamp, compressed: backup.packed })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: i64 = 1_796_001_514_945;

    #[test]
    fn names_are_the_originals() {
        let backup = Backup { stamp: Stamp::from_millis(STAMP), packed: false };
        assert_eq!(backup.file_name("executor"), "executor-2026-11-30T01-18-34.945.log");
        assert_eq!(read_name("executor", "executor-2026-11-30T01-18-34.945.log"), Named::Backup(backup));
        let packed = Backup { packed: true, ..backup };
        assert_eq!(read_name("executor", &packed.file_name("executor")), Named::Backup(packed));
        assert_eq!(Stamp::from_millis(STAMP).iso(), "2026-11-30T01:18:34.945Z");
    }

    #[test]
    fn other_names_are_foreign() {
        for name in [
            "executor.log",
            "executor-2026-11-30T01-18-34.945",
            "executor-2026-11-30T01-18-34.945.log.bz2",
            "executor-2026-11-30T01-18-34.945.log.gz.gz",
            "executor-2026-13-30T01-18-34.945.log",
            "executor-2026-11-30T01-18-34.9456.log",
            "executor-2026-11-30 01-18-34.945.log",
            "executor-stdout-2026-11-30T01-18-34.945.log",
            "executor-2026-11-30T01-18-34.9é.log",
            "proxy-2026-11-30T01-18-34.945.log",
        ] {
            assert_eq!(read_name("executor", name), Named::Foreign, "{name}");
        }
        assert_eq!(read_name("executor", "executor-2026-11-30T01-18-34.945.log.gz.partial"), Named::Partial);
    }

    #[test]
    fn count_and_age_hold_together() {
        let old = Stamp::from_millis(Stamp::now().millis() - 10_000);
        let both = Retention { count: 3, age: Some(Duration::from_secs(5)) };
        assert!(both.is_over(old, 0));
        assert!(both.is_over(Stamp::now(), 3));
        assert!(!both.is_over(Stamp::now(), 2));
        let all = Retention { count: 0, age: None };
        assert!(!all.is_over(Stamp::from_millis(0), 1_000_000));
    }
}
