//! What `/proc` says of other processes.

use ::minion::process::tree;
use std::fs;
use std::time::Instant;

/// A field of `/proc/<pid>/status`, as the kernel prints it.
pub fn status(pid: i32, field: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    field_of(&text, field)
}

/// The same out of a copy of the file.
pub fn field_of(text: &str, field: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {field} in {text}")).trim().to_owned()
}

/// The fields of `/proc/<pid>/stat` behind the name: state, parent, group, session, …
pub fn stat(pid: i32) -> Option<Vec<String>> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let fields = String::from_utf8_lossy(&text[end + 1..]).into_owned();
    Some(fields.split_ascii_whitespace().map(str::to_owned).collect())
}

/// Whether it exists and is no zombie.
pub fn is_alive(pid: i32) -> bool {
    stat(pid).is_some_and(|fields| fields[0] != "Z" && fields[0] != "X")
}

/// CPU time in clock ticks, user and system.
pub fn ticks(pid: i32) -> u64 {
    let fields = stat(pid).unwrap();
    // utime and stime are fields 14 and 15 of the whole line; the state is the third.
    [11, 12].map(|index: usize| fields[index].parse::<u64>().unwrap()).iter().sum()
}

pub fn count_fds(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// The children of a process's main thread.
pub fn children(pid: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// The living processes that were started with `entry` (`NAME=value`) in the environment: pid and command line.
pub fn alive_with(entry: &str) -> Vec<(i32, String)> {
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|one| one.file_name().to_str()?.parse().ok());
    pids.filter(|pid| carries(*pid, entry.as_bytes()) && is_alive(*pid)).map(|pid| (pid, command(pid))).collect()
}

fn carries(pid: i32, entry: &[u8]) -> bool {
    // Nobody is waited for: what hops from process to process meanwhile would be passed over.
    let environment = tree::start_environment(pid, Instant::now()).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|one| one == entry)
}

fn command(pid: i32) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).replace('\0', " ")
}
