//! Values of minion's own flags.

use super::options::{CgroupAttach, CgroupDrift, LogFormat};
use crate::hyperkube::duration::GoDuration;
use crate::hyperkube::value::{self, Refusal};
use crate::task::spec::StdoutMode;
use std::ffi::OsStr;
use std::time::Duration;

const DAY: u64 = 24 * 60 * 60;

/// A number of days. Zero for what is below: whatever the age, as in the original.
pub(super) fn days(value: &OsStr) -> Result<Duration, Refusal> {
    let days = u64::try_from(value::int64(value)?).unwrap_or(0);
    Ok(Duration::from_secs(days.saturating_mul(DAY)))
}

/// A number of files. 0 for 0 and below: all of them, as in the original.
pub(super) fn count(value: &OsStr) -> Result<u32, Refusal> {
    let count = value::int64(value)?.max(0);
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Whole seconds, or a Go duration. [GO-11]
pub(super) fn seconds(value: &OsStr) -> Result<GoDuration, Refusal> {
    const REFUSAL: Refusal =
        Refusal { wrong: "not a duration", takes: "seconds, or a number with a unit such as 24h; 0 changes nothing" };
    match value::int64(value) {
        Ok(seconds) => GoDuration::from_secs(seconds).ok_or(REFUSAL),
        Err(_) => value::duration(value).map_err(|_| REFUSAL),
    }
}

pub(super) fn stdout(value: &OsStr) -> Result<StdoutMode, Refusal> {
    let named = StdoutMode::ALL.into_iter().find(|mode| value == mode.word());
    named.ok_or(Refusal { wrong: "no such choice", takes: "merge, separate or discard" })
}

/// The words of [`CgroupAttach`], as the table offers them.
pub(super) const CGROUP_ATTACH: &[&str] = &["auto", "require", "off"];

pub(super) fn cgroup_attach(value: &OsStr) -> Result<CgroupAttach, Refusal> {
    match value.to_str() {
        Some("auto") => Ok(CgroupAttach::Auto),
        Some("require") => Ok(CgroupAttach::Require),
        Some("off") => Ok(CgroupAttach::Off),
        _ => Err(Refusal { wrong: "no such choice", takes: "auto, require or off" }),
    }
}

/// The words of [`CgroupDrift`], as the table offers them.
pub(super) const CGROUP_DRIFT: &[&str] = &["warn", "reattach"];

pub(super) fn cgroup_drift(value: &OsStr) -> Result<CgroupDrift, Refusal> {
    match value.to_str() {
        Some("warn") => Ok(CgroupDrift::Warn),
        Some("reattach") => Ok(CgroupDrift::Reattach),
        _ => Err(Refusal { wrong: "no such choice", takes: "warn or reattach" }),
    }
}

/// The words of [`LogFormat`], as the table offers them.
pub(super) const LOG_FORMAT: &[&str] = &["text", "json"];

pub(super) fn log_format(value: &OsStr) -> Result<LogFormat, Refusal> {
    match value.to_str() {
        Some("text") => Ok(LogFormat::Text),
        Some("json") => Ok(LogFormat::Json),
        _ => Err(Refusal { wrong: "no such choice", takes: "text or json" }),
    }
}
