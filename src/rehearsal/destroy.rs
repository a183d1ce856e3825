//! How an agent destroys a container: everything in the freezer is stopped, killed, let go, and then each hierarchy is
//! removed. There is no SIGTERM and no killing outside the freezer.

use super::cgroups::{Group, Layout, living, members, post_order};
use super::proc::{Process, kill};
use super::wait;
use crate::error::{During, Error, Result};
use crate::process::Pidfd;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the agent looks whether a freezer is frozen.
const FREEZE_POLL: Duration = Duration::from_millis(100);
/// How often a v2 agent tries to remove.
const V2_RETRY: Duration = Duration::from_millis(1);

/// What a destroy had to do.
#[derive(Clone, Debug, Default)]
pub struct DestroyReport {
    /// Who was still alive and got SIGKILL.
    pub killed: Vec<Process>,
    /// Cgroups whose removal was refused at first (EBUSY).
    pub retried: Vec<PathBuf>,
    /// How long it took.
    pub took: Duration,
}

impl DestroyReport {
    /// Whether the container had ended by itself, whole: nobody to kill, nothing busy.
    pub fn is_clean(&self) -> bool {
        self.killed.is_empty() && self.retried.is_empty()
    }
}

/// Destroys the container's cgroups. The error of a failed destroy names the cgroup and who holds it.
pub(super) fn destroy(group: &Group, freeze_retry: Duration, deadline: Instant) -> Result<DestroyReport> {
    let began = Instant::now();
    let mut report = DestroyReport::default();
    match group.layout() {
        Layout::V1 => destroy_v1(group, freeze_retry, deadline, &mut report)?,
        Layout::V2 => destroy_v2(group, deadline, &mut report)?,
    }
    report.took = began.elapsed();
    Ok(report)
}

/// Freezer first, with the killing; then systemd, then each controller, where only directories are removed. [ME-45]
fn destroy_v1(group: &Group, freeze_retry: Duration, deadline: Instant, report: &mut DestroyReport) -> Result<()> {
    if let Some(freezer) = group.directory("freezer") {
        let cgroups = post_order(freezer);
        for cgroup in &cgroups {
            freeze(cgroup, freeze_retry, deadline, report)?;
        }
        empty(&cgroups, deadline, report)?;
    }
    for (_, top) in group.directories() {
        for cgroup in post_order(top) {
            remove(&cgroup, Duration::ZERO, deadline, report)?;
        }
    }
    Ok(())
}

fn destroy_v2(group: &Group, deadline: Instant, report: &mut DestroyReport) -> Result<()> {
    for (_, top) in group.directories() {
        report.killed.extend(post_order(top).iter().flat_map(|cgroup| living(cgroup)));
        kill_all(top, deadline)?;
        for cgroup in post_order(top) {
            remove(&cgroup, V2_RETRY, deadline, report)?;
        }
    }
    Ok(())
}

/// `cgroup.kill` takes the cgroup and all below it at once. Before Linux 5.14, which has no such file, the cgroup is frozen,
/// so that nobody forks meanwhile, and each process is killed. [KF-130]
fn kill_all(top: &Path, deadline: Instant) -> Result<()> {
    let file = top.join("cgroup.kill");
    if file.exists() {
        return fs::write(&file, "1").during("write", file.display());
    }
    let file = top.join("cgroup.freeze");
    fs::write(&file, "1").during("write", file.display())?;
    loop {
        let alive: Vec<Process> = post_order(top).iter().flat_map(|cgroup| living(cgroup)).collect();
        if alive.is_empty() {
            return Ok(());
        }
        for handle in alive.iter().filter_map(|process| Pidfd::open(process.pid).ok()) {
            kill(&handle)?;
            if !wait::readable(&handle, deadline)? {
                return Err(Error::new("kill", format!("{alive:?}"), "alive at the deadline"));
            }
        }
    }
}

/// Ends every process of these frozen cgroups, all at once: one that is thawed stays frozen as long as its parent is.
fn empty(cgroups: &[PathBuf], deadline: Instant, report: &mut DestroyReport) -> Result<()> {
    let mut handles = Vec::new();
    for cgroup in cgroups {
        handles.extend(kill_members(cgroup, report)?);
    }
    // A frozen process keeps its SIGKILL until it is thawed. [KF-64]
    cgroups.iter().try_for_each(|cgroup| set_state(cgroup, "THAWED"))?;
    for handle in handles {
        if !wait::readable(&handle, deadline)? {
            let top = cgroups.last().map_or(Path::new(""), PathBuf::as_path);
            return Err(Error::new("destroy", top.display(), format!("processes remain: {}", names(top))));
        }
    }
    Ok(())
}

/// Writes FROZEN and looks every 100 ms. What does not freeze is killed, thawed and frozen again after `retry`: a process
/// that waits for its vfork'ed child, which is frozen, never freezes. [KF-61]
fn freeze(cgroup: &Path, retry: Duration, deadline: Instant, report: &mut DestroyReport) -> Result<()> {
    let mut next = Instant::now() + retry;
    set_state(cgroup, "FROZEN")?;
    loop {
        let file = cgroup.join("freezer.state");
        let state = fs::read_to_string(&file).during("read", file.display())?;
        let now = Instant::now();
        if state.trim() == "FROZEN" {
            return Ok(());
        }
        if now >= deadline {
            return Err(Error::new("freeze", cgroup.display(), format!("it stays {}", state.trim())));
        }
        if now >= next {
            kill_members(cgroup, report)?;
            set_state(cgroup, "THAWED")?;
            set_state(cgroup, "FROZEN")?;
            next = now + retry;
        }
        wait::pause(FREEZE_POLL)?;
    }
}

fn set_state(cgroup: &Path, state: &str) -> Result<()> {
    let file = cgroup.join("freezer.state");
    fs::write(&file, state).during("write", file.display())
}

/// SIGKILL to all in one cgroup; those that were alive go into the report, once.
fn kill_members(cgroup: &Path, report: &mut DestroyReport) -> Result<Vec<Pidfd>> {
    for process in living(cgroup) {
        if report.killed.iter().all(|killed| killed.pid != process.pid) {
            report.killed.push(process);
        }
    }
    let handles: Vec<Pidfd> = members(cgroup).into_iter().filter_map(|pid| Pidfd::open(pid).ok()).collect();
    handles.iter().try_for_each(kill)?;
    Ok(handles)
}

/// `rmdir(2)`, again after EBUSY: at once, then after 1, 2, 4 … ms, or always after `step` when it is not zero.
fn remove(cgroup: &Path, step: Duration, deadline: Instant, report: &mut DestroyReport) -> Result<()> {
    let mut delay = step;
    let mut refused = false;
    loop {
        match fs::remove_dir(cgroup) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                let now = Instant::now();
                if now >= deadline {
                    return Err(Error::io("remove cgroup", cgroup.display(), error)
                        .hint(format!("still in it: {}", names(cgroup))));
                }
                if !refused {
                    report.retried.push(cgroup.to_owned());
                    refused = true;
                }
                wait::pause(delay.min(deadline - now))?;
                delay = if step.is_zero() { (delay * 2).max(Duration::from_millis(1)) } else { step };
            }
            Err(error) => return Err(Error::io("remove cgroup", cgroup.display(), error)),
        }
    }
}

/// Who is in the cgroup or below it, in words.
fn names(cgroup: &Path) -> String {
    let found: Vec<String> =
        post_order(cgroup).iter().flat_map(|one| living(one)).map(|process| process.to_string()).collect();
    if found.is_empty() { "no living process".to_owned() } else { found.join(", ") }
}
