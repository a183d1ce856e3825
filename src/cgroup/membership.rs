//! `/proc/<pid>/cgroup`: in which cgroup of each hierarchy a process is.

use crate::error::{Error, Result};
use crate::process::procfs;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// One line, `4:cpu,cpuacct:/mesos/c1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The controllers and the name of a v1 hierarchy, as the kernel prints them; empty for v2.
    pub(super) hierarchy: &'a [u8],
    /// The cgroup, relative to the root of the reader's cgroup namespace. [KF-20]
    pub(super) path: &'a Path,
}

impl Line<'_> {
    pub(super) fn is_v2(&self) -> bool {
        self.hierarchy.is_empty()
    }
}

/// The lines of the file. A path may hold colons but no line feed: the kernel refuses that in a cgroup's name. [KF-22]
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    text.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut fields = line.splitn(3, |byte| *byte == b':');
        let (_, hierarchy, path) = (fields.next()?, fields.next()?, fields.next()?);
        // Only v2 marks a removed cgroup, and only a zombie is in one. [KF-23]
        let path = match path.strip_suffix(b" (deleted)") {
            Some(alive) if hierarchy.is_empty() => alive,
            _ => path,
        };
        Some(Line { hierarchy, path: Path::new(OsStr::from_bytes(path)) })
    })
}

/// Where the process is in the hierarchy, if the kernel has a line for it.
pub(super) fn path_in<'a>(text: &'a [u8], hierarchy: &[u8]) -> Option<&'a Path> {
    lines(text).find(|line| line.hierarchy == hierarchy).map(|line| line.path)
}

/// Reads the file.
pub(super) fn of(pid: i32) -> Result<Vec<u8>> {
    let path = format!("/proc/{pid}/cgroup");
    procfs::read_piece(&path).map_err(|error| {
        let gone = matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH));
        let error = Error::io("read", path, error);
        if gone { error.hint("the process has ended") } else { error }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_hierarchy_and_path() {
        let text = b"4:cpu,cpuacct:/mesos/c1\n1:name=systemd:/a:b\n0::/x (deleted)\n";
        assert_eq!(path_in(text, b"cpu,cpuacct"), Some(Path::new("/mesos/c1")));
        assert_eq!(path_in(text, b"name=systemd"), Some(Path::new("/a:b")));
        assert_eq!(path_in(text, b""), Some(Path::new("/x")));
        assert_eq!(path_in(text, b"cpu"), None);
        assert_eq!(lines(b"\n:\nx:y\n").count(), 0);
    }

    #[test]
    fn a_v1_cgroup_may_be_called_deleted() {
        assert_eq!(path_in(b"2:pids:/x (deleted)\n", b"pids"), Some(Path::new("/x (deleted)")));
    }

    #[test]
    fn this_process_is_read_whole() {
        let pid = i32::try_from(std::process::id()).unwrap();
        assert_eq!(of(pid).unwrap(), std::fs::read("/proc/self/cgroup").unwrap());
    }

    #[test]
    fn a_process_that_is_not_there_has_ended() {
        let error = of(i32::MAX).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENOENT));
        assert!(error.to_string().contains("has ended"), "{error}");
    }
}
