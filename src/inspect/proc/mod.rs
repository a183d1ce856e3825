//! `/proc/<pid>` as far as the tools read it: texts to values, and what could not be read kept as a value too.

pub(super) mod mounts;
pub(super) mod once;
pub(super) mod seen;
pub(super) mod stat;
pub(super) mod status;

use crate::process::procfs;
use once::Once;
use seen::Seen;
use stat::Stat;
use std::collections::HashSet;
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
pub(super) fn arguments(pid: i32, once: &Once) -> Seen<Vec<String>> {
    once.piece(path(pid, "cmdline")).map(|text| {
        let text = text.strip_suffix(b"\0").unwrap_or(&text);
        if text.is_empty() { Vec::new() } else { split(text) }
    })
}

fn split(text: &[u8]) -> Vec<String> {
    text.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

/// The children of all threads of a process. Best effort: what dies meanwhile is missing.
pub(super) fn children(stat: &Stat, once: &Once) -> Vec<i32> {
    let pid = stat.pid;
    match stat.threads {
        // Nothing to list.
        0 | 1 => children_of_thread(pid, pid, once),
        _ => {
            let threads = procfs::numbers(path(pid, "task")).unwrap_or_default();
            threads.into_iter().flat_map(|thread| children_of_thread(pid, thread, once)).collect()
        }
    }
}

/// What one thread has started. The first of a process has its number.
pub(super) fn children_of_thread(pid: i32, thread: i32, once: &Once) -> Vec<i32> {
    let text = once.list(path(pid, &format!("task/{thread}/children")));
    let words = text.known().map(|text| String::from_utf8_lossy(text).into_owned()).unwrap_or_default();
    words.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The parent of all threads of the kernel, wherever it can be seen. [KF-186]
pub(super) const KTHREADD: i32 = 2;

/// The pids that `/proc` shows.
pub(super) fn everyone() -> Vec<i32> {
    procfs::numbers("/proc").unwrap_or_default()
}

/// The same without what plainly belongs to the kernel: its threads have no program, and are most of an idle host's pids.
///
/// All of them are children of kthreadd, which is pid 2 wherever it can be seen. [KF-186]
pub(super) fn programs(once: &Once) -> Vec<i32> {
    let pids = everyone();
    match once.stat(KTHREADD) {
        Seen::Known(stat) if stat.name == "kthreadd" && stat.parent == 0 => {
            let threads: HashSet<i32> = children_of_thread(KTHREADD, KTHREADD, once).into_iter().collect();
            pids.into_iter().filter(|pid| *pid != KTHREADD && !threads.contains(pid)).collect()
        }
        Seen::Known(_) | Seen::Unknown(_) => pids,
    }
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
