//! Where the logs are.

use crate::error::{Error, Result};
use crate::inspect::minion::{self, cwd};
use crate::inspect::proc::once::Once;
use crate::inspect::target::begins;
use crate::log::History;
use crate::process::tree::Process;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The sandbox that holds the log of `task`: the one that was named (a directory, a pid, a container's id or its beginning),
/// else the working directory, else that of the one minion on this host whose sandbox holds it.
///
/// The path may lead through `/proc/<pid>/cwd`, for a sandbox in another mount namespace.
pub fn sandbox(task: &str, named: Option<&OsStr>) -> Result<PathBuf> {
    let Some(named) = named else { return without_a_name(task) };
    if Path::new(named).is_dir() {
        return Ok(named.into());
    }
    let word = named.to_string_lossy();
    let by_pid = word.parse::<i32>().ok().map(|pid| of_process(task, pid));
    if let Some(Ok(found)) = by_pid {
        return Ok(found);
    }
    let mut found = minions(task);
    let id =
        |directory: &Path| directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    found.retain(|directory, _| begins(&id(directory), &word));
    if found.keys().any(|directory| id(directory) == word) {
        found.retain(|directory, _| id(directory) == word);
    }
    match (found.values().collect::<Vec<_>>().as_slice(), by_pid) {
        ([pid], _) => Ok(cwd(**pid)),
        ([], Some(Err(error))) => Err(error),
        ([], _) => Err(Error::new(
            "find the sandbox",
            format!("{named:?}"),
            "it is no directory, no pid, and no container of a minion here",
        )
        .hint("the sandbox of a container that has ended is a directory below the agent's work_dir")),
        _ => Err(several(task, &found)),
    }
}

fn without_a_name(task: &str) -> Result<PathBuf> {
    let here = PathBuf::from(".");
    if holds(&here, task) {
        return Ok(here);
    }
    let minions = minions(task);
    match minions.values().collect::<Vec<_>>().as_slice() {
        [pid] => Ok(cwd(**pid)),
        [] => Err(Error::new(
            "find",
            format!("{task}.log"),
            "it is neither here nor in the sandbox of a minion that runs",
        )
        .hint("--sandbox names the directory, a pid or a container")),
        _ => Err(several(task, &minions)),
    }
}

fn several(task: &str, minions: &BTreeMap<PathBuf, i32>) -> Error {
    let list: Vec<String> = minions.iter().map(|(directory, pid)| format!("{pid} in {directory:?}")).collect();
    Error::new("choose", format!("{task}.log"), format!("{} minions have one", minions.len()))
        .hint(format!("--sandbox names one: {}", list.join("; ")))
}

/// The working directory of the process, or of the nearest one above it whose directory holds the log.
fn of_process(task: &str, pid: i32) -> Result<PathBuf> {
    let mut above = pid;
    while above > 0 {
        if holds(&cwd(above), task) {
            return Ok(cwd(above));
        }
        above = match Process::read(above) {
            Ok(process) => process.parent,
            Err(cause) if above == pid => return Err(Error::io("look at", format!("process {pid}"), cause)),
            Err(_) => 0,
        };
    }
    Err(Error::new("find", format!("{task}.log"), format!("neither process {pid} nor one above it works where one is")))
}

/// The sandboxes of living minions that hold the log, each with the pid of one.
fn minions(task: &str) -> BTreeMap<PathBuf, i32> {
    let once = Once::default();
    let pids = minion::all(&once).into_iter().flatten();
    let minions = pids.filter(|pid| minion::live(*pid, &once).is_some() && holds(&cwd(*pid), task));
    minions.filter_map(|pid| Some((fs::read_link(cwd(pid)).ok()?, pid))).collect()
}

fn holds(directory: &Path, task: &str) -> bool {
    History::open(directory, task).is_ok_and(|history| history.exists())
}
