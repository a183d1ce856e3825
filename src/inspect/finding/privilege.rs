//! What a process may do, and what has been taken from under it.

use super::Words;
use crate::inspect::proc::status::{Limit, SYS_ADMIN, can, capabilities};
use crate::inspect::view::View;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A kubelet with its pods opens more files than this.
const FILES: u64 = 4096;
/// Fewer processes of one user are soon too few for a node.
const PROCESSES: u64 = 1024;

/// A seccomp filter answers for the kernel.
pub(super) fn seccomp(view: &View) -> Option<Words> {
    (view.status.known()?.seccomp == 2).then_some(())?;
    Words::new(
        "no seccomp filter",
        "a filter is active (Seccomp: 2)",
        "the agent's linux/seccomp isolator. Its profile answers EPERM to calls that it does not know, which looks like a lack \
         of privilege",
        "minion doctor in the container tries each call; newer ones (clone3, pidfd_open, close_range, openat2) must be in the \
         profile",
    )
}

/// Set-user-id programs stay without effect.
pub(super) fn no_new_privs(view: &View) -> Option<Words> {
    view.status.known()?.no_new_privs.then_some(())?;
    Words::new(
        "set-user-id programs and file capabilities work",
        "no_new_privs is set",
        "the agent's linux/nnp isolator, or the program itself before a seccomp filter; it cannot be unset",
        "start what needs more privilege outside of this container",
    )
}

/// Root by number only.
pub(super) fn no_sys_admin(view: &View) -> Option<Words> {
    let status = view.status.known()?;
    (status.uid == 0 && !can(status.effective, SYS_ADMIN) && !view.stat.is_zombie()).then_some(())?;
    let lasting =
        if can(status.bounding, SYS_ADMIN) { "" } else { "; nor in the bounding set, so no exec brings it back" };
    Words::new(
        "root with CAP_SYS_ADMIN",
        format!("uid 0 has: {}{lasting}", capabilities(status.effective)),
        "the agent's linux/capabilities isolator dropped it: mount, unshare and setns answer EPERM",
        "grant CAP_SYS_ADMIN in the task's LinuxInfo or --effective_capabilities; --private-mountns needs it",
    )
}

/// Few descriptors.
pub(super) fn few_files(view: &View) -> Option<Words> {
    let soft = soft(view, "Max open files").filter(|soft| *soft < FILES)?;
    Words::new(
        format!("at least {FILES} open files"),
        format!("the soft limit is {soft}"),
        "the agent's own limit is inherited (LimitNOFILE= of its unit), or posix/rlimits sets it",
        format!("prlimit --pid {} --nofile=65536 for this one; the unit's limit for all later ones", view.stat.pid),
    )
}

/// Few processes.
pub(super) fn few_processes(view: &View) -> Option<Words> {
    let soft = soft(view, "Max processes").filter(|soft| *soft < PROCESSES)?;
    Words::new(
        format!("at least {PROCESSES} processes of one user"),
        format!("the soft limit is {soft}"),
        "it counts every process of the user on the host, not of the container: fork answers EAGAIN (root is exempt)",
        format!("prlimit --pid {} --nproc=65536; LimitNPROC= of the agent's unit for all later ones", view.stat.pid),
    )
}

/// The program's file was replaced.
pub(super) fn executable_deleted(view: &View) -> Option<Words> {
    let path = deleted(view.executable.known()?)?;
    Words::new(
        format!("{path} is the program that runs"),
        "its file was deleted or replaced since",
        "an upgrade while it ran: it goes on with the old program, and starts its next child from the new one or not at all",
        "restart it when that suits",
    )
}

/// Its working directory is gone.
pub(super) fn sandbox_deleted(view: &View) -> Option<Words> {
    let path = deleted(view.directory.known()?)?;
    Words::new(
        format!("its working directory {path} exists"),
        "it was deleted",
        "the agent's garbage collection removed the sandbox: the container is over for the agent and this process was left \
         behind",
        format!("logs and relative paths are lost to it; end it: kill {}", view.stat.pid),
    )
}

fn soft(view: &View, name: &str) -> Option<u64> {
    let named = |limit: &&Limit| limit.name == name;
    view.limits.known()?.iter().find(named)?.soft
}

/// The path without the kernel's mark, if it has it and nothing is there by the whole name. [KF-101]
fn deleted(path: &Path) -> Option<String> {
    let alive = path.as_os_str().as_bytes().strip_suffix(b" (deleted)")?;
    (!path.exists()).then(|| String::from_utf8_lossy(alive).into_owned())
}
