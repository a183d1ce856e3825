//! Which calls this kernel, and what stands before it, lets through; and with which privileges.

use super::{Check, Depth, of_seen};
use crate::inspect::proc::seen::{Seen, errno_name};
use crate::inspect::proc::status::{SYS_ADMIN, Status, can, capabilities};
use crate::process::probe;
use nix::sched::{CloneFlags, unshare};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::process::{PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use std::io;
use std::path::Path;

/// A call that minion makes.
struct Call {
    name: &'static str,
    /// The first kernel that has it.
    since: &'static str,
    /// What minion does without it. None: it does not start.
    without: Option<&'static str>,
    /// Makes the call in a form that changes nothing. Ok also where it answers an error that only it can give.
    attempt: fn() -> io::Result<()>,
}

/// The one call that minion avoids. [KF-151]
const CLONE3: &str = "clone3";

/// The calls, each tried in a form without effect.
static CALLS: [Call; 6] = [
    Call { name: "pidfd_open", since: "5.3", without: None, attempt: open_pidfd },
    Call {
        name: "pidfd_send_signal",
        since: "5.1",
        without: Some("children are signalled by number while they are not reaped"),
        attempt: signal_no_pidfd,
    },
    Call {
        name: "pidfd group signal",
        since: "6.9",
        without: Some("a group is signalled by number while its leader is not reaped"),
        attempt: probe::signal_group,
    },
    Call {
        name: CLONE3,
        since: "5.3",
        without: Some(
            "minion's own thread is made with clone; other programs with a new C library may not get threads",
        ),
        attempt: probe::clone3,
    },
    Call {
        name: "close_range",
        since: "5.11",
        without: Some("descriptors are marked close-on-exec one by one"),
        attempt: probe::close_range,
    },
    Call {
        name: "openat2",
        since: "5.6",
        without: Some("cgroup directories are opened one component at a time"),
        attempt: open_root,
    },
];

/// One line for each call. By its errno, for a seccomp profile says EPERM where an old kernel says ENOSYS. [ME-30]
pub(super) fn calls(depth: Depth) -> Vec<Check> {
    // A profile may kill for a call, and a supervisor at work makes none that it can do without.
    let tried = CALLS.iter().filter(|call| depth == Depth::Full || call.name != CLONE3);
    let mut checks: Vec<Check> = tried.map(judge).collect();
    checks.push(cgroup_kill());
    checks
}

fn judge(call: &Call) -> Check {
    let Err(error) = (call.attempt)() else { return Check::ok(call.name, "tried: it works") };
    let evidence = format!("tried: {}", errno_name(&error));
    let old = matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL));
    let remedy = match error.raw_os_error() {
        Some(libc::ENOSYS | libc::EINVAL) => format!("Linux {} has it", call.since),
        Some(libc::EPERM) => "add it to the agent's seccomp profile (linux/seccomp)".to_owned(),
        _ => "neither an old kernel nor a seccomp profile answers this: please report it".to_owned(),
    };
    match call.without {
        None => Check::fail(call.name, evidence, format!("{remedy}; minion does not start without it")),
        // Nobody gets a newer kernel for it, and nothing is missing.
        Some(without) if old => Check::ok(call.name, format!("{evidence} ({remedy}): {without}")),
        Some(without) => Check::warn(call.name, evidence, format!("{remedy}; until then {without}")),
    }
}

fn open_pidfd() -> io::Result<()> {
    pidfd_open(getpid(), PidfdFlags::empty()).map(drop).map_err(io::Error::from)
}

/// Through a descriptor that is no pidfd: only the call itself answers EBADF. [KF-102]
fn signal_no_pidfd() -> io::Result<()> {
    let directory = openat(CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    match pidfd_send_signal(directory, Signal::CONT) {
        Err(rustix::io::Errno::BADF) => Ok(()),
        answer => answer.map_err(io::Error::from),
    }
}

fn open_root() -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(CWD, "/", flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).map(drop).map_err(io::Error::from)
}

/// A file of every v2 cgroup but the root; minion does not need it, an agent on v2 does.
fn cgroup_kill() -> Check {
    let name = "cgroup.kill";
    let Some(mount) = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        .map(Path::new)
        .into_iter()
        .find(|mount| mount.join("cgroup.controllers").exists())
    else {
        return Check::ok(name, "no cgroup2 is mounted: nobody uses it");
    };
    let below = std::fs::read_dir(mount).into_iter().flatten().flatten().map(|entry| entry.path());
    match below.filter(|path| path.join("cgroup.procs").exists()).take(1).map(|path| path.join(name).exists()).next() {
        Some(true) => Check::ok(name, format!("it is in the cgroups below {}", mount.display())),
        Some(false) => Check::warn(
            name,
            format!("the cgroups below {} do not have it", mount.display()),
            "Linux 5.14 has it; an agent on cgroups v2 ends containers with it",
        ),
        None => Check::ok(name, format!("no cgroup below {} to look at, and minion needs none", mount.display())),
    }
}

/// Seccomp, capabilities, `no_new_privs`, and whether a mount namespace can be had.
pub(super) fn privileges(status: &Seen<Status>, private_mountns: bool) -> Vec<Check> {
    let mut checks = vec![
        of_seen("seccomp", status, |status| match status.seccomp {
            0 => Check::ok("seccomp", "off"),
            _ => Check::ok("seccomp", "a filter is active; the calls above were tried through it"),
        }),
        of_seen("capabilities", status, |status| {
            Check::ok("capabilities", format!("uid {}: {}", status.uid, capabilities(status.effective)))
        }),
        of_seen("no_new_privs", status, |status| {
            if status.no_new_privs {
                let remedy = "the agent's linux/nnp isolator sets it; sudo and the like do not work in tasks";
                Check::warn("no_new_privs", "set: set-user-id programs have no effect", remedy)
            } else {
                Check::ok("no_new_privs", "not set")
            }
        }),
    ];
    if private_mountns {
        checks.push(of_seen("private mounts", status, private_mounts));
    }
    checks
}

/// `unshare(0)` changes nothing and shows whether a filter lets the call through. [KF-103]
fn private_mounts(status: &Status) -> Check {
    let name = "private mounts";
    if !can(status.effective, SYS_ADMIN) {
        let evidence = format!("uid {} has no CAP_SYS_ADMIN", status.uid);
        return Check::fail(
            name,
            evidence,
            "run the executor as root with CAP_SYS_ADMIN, or without --private-mountns",
        );
    }
    match unshare(CloneFlags::empty()) {
        Ok(()) => Check::ok(name, "CAP_SYS_ADMIN is there, and unshare is let through"),
        Err(errno) => Check::fail(
            name,
            format!("CAP_SYS_ADMIN is there, and unshare answers {errno:?}"),
            "allow unshare and mount in the agent's seccomp profile, or run without --private-mountns",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::*;

    fn refusing(errno: i32) -> [Check; 2] {
        let eperm = || Err(io::Error::from_raw_os_error(libc::EPERM));
        let enosys = || Err(io::Error::from_raw_os_error(libc::ENOSYS));
        let attempt: fn() -> io::Result<()> = if errno == libc::EPERM { eperm } else { enosys };
        [None, Some("by number")].map(|without| judge(&Call { name: "x", since: "5.3", without, attempt }))
    }

    #[test]
    fn a_profile_and_an_old_kernel_are_told_apart() {
        let [needed, other] = refusing(libc::EPERM);
        assert_eq!((needed.health, other.health), (Health::Fail, Health::Warn));
        assert!(needed.remedy.contains("seccomp") && other.remedy.contains("until then by number"), "{other:?}");
        let [needed, other] = refusing(libc::ENOSYS);
        assert_eq!((needed.health, other.health), (Health::Fail, Health::Ok));
        assert!(needed.remedy.contains("Linux 5.3") && other.evidence.contains("by number"), "{other:?}");
    }

    #[test]
    fn capabilities_decide_over_a_mount_namespace() {
        let lacking = Status { uid: 7, ..Status::default() };
        assert!(private_mounts(&lacking).evidence.contains("uid 7 has no CAP_SYS_ADMIN"));
    }
}
