//! What a stand-in was given, written down by itself: argv, environment, signals, fds, cgroups.

use crate::error::{During, Result};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// The record as it is now, before the stand-in opens or blocks anything.
///
/// `signals` holds the masks of `/proc/self/status` as the kernel prints them, in hexadecimal. SIGPIPE is always in `SigIgn`
/// and some handlers in `SigCgt`: those are the Rust runtime's, set before `main`. [KF-67]
pub(super) fn take(argv: &[OsString]) -> Value {
    json!({
        "pid": std::process::id(),
        "argv": argv.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>(),
        "env": environment(),
        "cwd": std::env::current_dir().unwrap_or_default().to_string_lossy(),
        "ids": ids(),
        "signals": status_fields(&["SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"]),
        "umask": status_fields(&["Umask"]).remove("Umask"),
        "fds": fds(),
        "cgroup": fs::read_to_string("/proc/self/cgroup").unwrap_or_default().lines().collect::<Vec<_>>(),
        "namespaces": namespaces(),
        "realtime_ns": SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(0)),
    })
}

/// Writes the record to `name` in the working directory, under another name first: who sees the file sees it whole.
pub(super) fn write(record: &Value, name: &str) -> Result<()> {
    let name = name.replace("%p", &std::process::id().to_string());
    let part = format!(".{name}.part");
    fs::write(&part, format!("{record:#}\n")).during("write", &part)?;
    fs::rename(&part, &name).during("rename", part)
}

fn environment() -> Map<String, Value> {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value).into())).collect()
}

fn ids() -> Value {
    json!({
        "parent": nix::unistd::getppid().as_raw(),
        "group": nix::unistd::getpgrp().as_raw(),
        "session": nix::unistd::getsid(None).map_or(0, nix::unistd::Pid::as_raw),
        "uid": rustix::process::getuid().as_raw(),
    })
}

fn status_fields(names: &[&str]) -> Map<String, Value> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let fields = status.lines().filter_map(|line| line.split_once(':'));
    fields
        .filter(|(name, _)| names.contains(name))
        .map(|(name, value)| (name.to_owned(), value.trim().into()))
        .collect()
}

/// fd to what it is. The listing's own is left out.
fn fds() -> Map<String, Value> {
    let directory = "/proc/self/fd";
    let Ok(entries) = fs::read_dir(directory) else {
        return Map::new();
    };
    let names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let target = |fd: &String| fs::read_link(format!("{directory}/{fd}")).ok();
    names.iter().filter_map(|fd| Some((fd.clone(), target(fd)?.to_string_lossy().into()))).collect()
}

fn namespaces() -> Map<String, Value> {
    let target = |name: &str| fs::read_link(format!("/proc/self/ns/{name}")).ok();
    ["cgroup", "ipc", "mnt", "net", "pid", "user"]
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), target(name)?.to_string_lossy().into())))
        .collect()
}
