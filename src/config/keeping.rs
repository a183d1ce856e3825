//! How a log is kept: what was said last counts, and what nobody says is here.

use crate::task::spec::{LogSettings, StdoutMode};
use std::time::Duration;

/// How long a task waits when its log cannot be written, where nobody says it.
pub const STALL: Duration = Duration::from_secs(5);

/// How a log is kept, whole. The defaults are those of the original. [GO-04]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Bytes in a file before it is rotated; 0 never rotates.
    pub max_size: u64,
    /// Backups older than this are removed; None keeps them whatever their age.
    pub max_age: Option<Duration>,
    /// So many backups are kept; 0 keeps all.
    pub max_backups: u32,
    /// Backups are packed.
    pub gzip: bool,
    /// What becomes of stdout.
    pub stdout: StdoutMode,
}

impl Keeping {
    /// Fills in what `settings` leave open.
    pub fn of(settings: LogSettings) -> Self {
        let LogSettings { max_size, max_age, max_backups, gzip, stdout } = settings;
        Self {
            max_size: max_size.unwrap_or(10 << 20),
            max_age: Some(max_age.unwrap_or(Duration::from_secs(7 * 24 * 60 * 60))).filter(|age| !age.is_zero()),
            max_backups: max_backups.unwrap_or(5),
            gzip: gzip.unwrap_or(false),
            stdout: stdout.unwrap_or_default(),
        }
    }
}

/// `over` where it says something, else `under`.
pub fn layered(over: LogSettings, under: LogSettings) -> LogSettings {
    LogSettings {
        max_size: over.max_size.or(under.max_size),
        max_age: over.max_age.or(under.max_age),
        max_backups: over.max_backups.or(under.max_backups),
        gzip: over.gzip.or(under.gzip),
        stdout: over.stdout.or(under.stdout),
    }
}
