//! `/proc/<pid>` as far as the tools read it: texts to values, and what could not be read kept as a value too.

pub(super) mod mounts;
pub(super) mod seen;
pub(super) mod stat;
pub(super) mod status;

use seen::Seen;
use std::path::PathBuf;

/// The namespaces of a process, as `/proc/<pid>/ns` names them.
pub(super) const NAMESPACES: [&str; 8] = ["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"];

/// A file below `/proc/<pid>`.
pub(super) fn path(pid: i32, file: &str) -> String {
    format!("/proc/{pid}/{file}")
}

/// A namespace as the number of its inode, which is its name for as long as it exists.
pub(super) fn namespace(pid: i32, kind: &str) -> Seen<u64> {
    seen::link(&path(pid, &format!("ns/{kind}"))).and_then(|target| {
        let text = target.to_string_lossy().into_owned();
        let number = text.split_once(":[").and_then(|(_, rest)| rest.strip_suffix(']')?.parse().ok());
        number.ok_or_else(|| format!("{text:?} is no namespace"))
    })
}

/// The arguments that a process was started with. Empty for a kernel thread and a zombie.
pub(super) fn arguments(pid: i32) -> Seen<Vec<String>> {
    seen::read(&path(pid, "cmdline")).map(|text| {
        let text = text.strip_suffix(b"\0").unwrap_or(&text);
        if text.is_empty() { Vec::new() } else { split(text) }
    })
}

fn split(text: &[u8]) -> Vec<String> {
    text.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

/// The children of all threads of a process. Best effort: what dies meanwhile is missing.
pub(super) fn children(pid: i32) -> Vec<i32> {
    let threads = std::fs::read_dir(path(pid, "task")).into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    texts
        .flat_map(|text| text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The pids that `/proc` shows.
pub(super) fn everyone() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What a file descriptor of a process leads to: `pipe:[123]`, `socket:[4]`, a path.
pub(super) fn fd_targets(pid: i32) -> Seen<Vec<(i32, PathBuf)>> {
    let directory = path(pid, "fd");
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries.flatten(),
        Err(error) => return Seen::not(&directory, &error),
    };
    let target = |entry: std::fs::DirEntry| {
        let fd = entry.file_name().to_str()?.parse().ok()?;
        Some((fd, std::fs::read_link(entry.path()).ok()?))
    };
    Seen::Known(entries.filter_map(target).collect())
}
