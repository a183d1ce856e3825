//! What the kernel counts for a cgroup.

use crate::cgroup::{Mount, Version};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, read};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Counts of one cgroup. None where its hierarchy does not count that.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Numbers {
    /// Bytes.
    pub(super) memory: Option<u64>,
    /// Bytes; None also where there is no limit.
    pub(super) limit: Option<u64>,
    /// Nanoseconds.
    pub(super) cpu: Option<u64>,
    /// Processes killed for lack of memory.
    pub(super) oom_kills: Option<u64>,
    /// Per cent of the last ten seconds in which some process waited for a processor.
    pub(super) cpu_pressure: Option<f32>,
    /// The same for memory.
    pub(super) memory_pressure: Option<f32>,
}

/// What v1 shows for "no limit" is this or a page less.
const NO_LIMIT: u64 = 1 << 62;

impl Numbers {
    /// Reads the files that a hierarchy has, of the cgroup `path` below `top`.
    pub(super) fn read(top: &OwnedFd, path: &Path, mount: &Mount) -> Self {
        let mut buffer = [0; 1024];
        let mut file = |name: &str| text(top, path, name, &mut buffer).map(str::to_owned);
        let number = |text: Option<String>| text.and_then(|text| text.trim().parse::<u64>().ok());
        if mount.version == Version::V2 {
            return Self {
                memory: number(file("memory.current")),
                limit: number(file("memory.max")),
                cpu: file("cpu.stat").and_then(|text| field(&text, "usage_usec")).map(|micros| micros * 1000),
                oom_kills: file("memory.events").and_then(|text| field(&text, "oom_kill")),
                cpu_pressure: file("cpu.pressure").and_then(|text| average(&text)),
                memory_pressure: file("memory.pressure").and_then(|text| average(&text)),
            };
        }
        let mut numbers = Self::default();
        if mount.has(OsStr::new("memory")) {
            numbers.memory = number(file("memory.usage_in_bytes"));
            numbers.limit = number(file("memory.limit_in_bytes")).filter(|limit| *limit < NO_LIMIT);
            numbers.oom_kills = file("memory.oom_control").and_then(|text| field(&text, "oom_kill"));
        }
        if mount.has(OsStr::new("cpuacct")) {
            numbers.cpu = number(file("cpuacct.usage"));
        }
        numbers
    }
}

/// The processes of a cgroup itself, in no order. [KF-184]
pub(super) fn pids(top: &OwnedFd, path: &Path) -> Vec<i32> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(file) = openat(top, path.join("cgroup.procs"), flags, Mode::empty()) else { return Vec::new() };
    let (mut pids, mut number, mut piece) = (Vec::new(), 0_i32, [0; 4096]);
    loop {
        match read(&file, &mut piece) {
            Ok(0) => return pids,
            Ok(count) => {
                for byte in &piece[..count] {
                    if byte.is_ascii_digit() {
                        number = number.saturating_mul(10).saturating_add(i32::from(byte - b'0'));
                    } else {
                        // 0 is a process outside of our pid namespace.
                        pids.extend((number > 0).then_some(number));
                        number = 0;
                    }
                }
            }
            Err(Errno::INTR) => {}
            Err(_) => return pids,
        }
    }
}

fn text<'b>(top: &OwnedFd, path: &Path, name: &str, buffer: &'b mut [u8]) -> Option<&'b str> {
    let file = openat(top, path.join(name), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let count = read(file, &mut *buffer).ok()?;
    std::str::from_utf8(&buffer[..count]).ok()
}

/// The number behind a word at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// `some avg10=0.12 …`
fn average(text: &str) -> Option<f32> {
    text.strip_prefix("some avg10=")?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_kernel_prints_them() {
        assert_eq!(field("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "oom_kill"), Some(3));
        assert_eq!(field("oom 1\noom_kill 2\noom_group_kill 0\n", "oom_kill"), Some(2));
        assert_eq!(average("some avg10=12.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=0"), Some(12.5));
        assert_eq!(average(""), None);
    }
}
