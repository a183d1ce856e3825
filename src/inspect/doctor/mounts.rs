//! The mounts that decide what children see: `/`, and what the sandbox is on.

use super::{Check, of_seen};
use crate::inspect::proc::mounts::{self, Mount};
use crate::inspect::proc::once::Once;
use crate::inspect::proc::{self, seen::Seen};
use crate::process::own_pid;
use rustix::fs::{StatVfsMountFlags, statvfs};
use std::path::Path;

pub(super) fn all(sandbox: &Path) -> [Check; 2] {
    let mounts = mounts::read(own_pid(), &Once::default());
    [
        of_seen("propagation of /", &mounts, |mounts| root(mounts)),
        of_seen("sandbox mount", &mounts, |m| around(m, sandbox)),
    ]
}

/// Whether what the host mounts later arrives here. [ME-11]
fn root(mounts: &[Mount]) -> Check {
    let name = "propagation of /";
    let Some(root) = mounts.iter().find(|mount| mount.point == "/") else {
        return Check::unknown(name, "no mount at / in /proc/self/mountinfo");
    };
    let propagation = root.propagation();
    match (proc::namespace(own_pid(), "mnt"), proc::namespace(1, "mnt")) {
        (Seen::Known(own), Seen::Known(host)) if own == host => {
            Check::ok(name, format!("{propagation}, in the mount namespace of the host"))
        }
        (Seen::Known(own), Seen::Known(_)) if root.master.is_none() && root.shared.is_none() => Check::warn(
            name,
            format!("private, in a mount namespace of its own (mnt:[{own}])"),
            "volumes that the agent mounts later do not appear: the agent's filesystem/linux makes / a slave, something else \
             made it private",
        ),
        (Seen::Known(own), Seen::Known(_)) => {
            Check::ok(name, format!("{propagation}, in a mount namespace of its own (mnt:[{own}])"))
        }
        (Seen::Unknown(why), _) | (_, Seen::Unknown(why)) => {
            Check::unknown(name, format!("{propagation}; whether the namespace is the host's is not known: {why}"))
        }
    }
}

/// What the sandbox is on.
fn around(mounts: &[Mount], sandbox: &Path) -> Check {
    let name = "sandbox mount";
    let around = mounts.iter().filter(|mount| sandbox.starts_with(&mount.point)).max_by_key(|mount| mount.point.len());
    let Some(mount) = around else { return Check::unknown(name, format!("{} is on no mount", sandbox.display())) };
    let evidence = format!("{} is on {} at {} ({})", sandbox.display(), mount.kind, mount.point, mount.propagation());
    let flags = statvfs(sandbox).map_or_else(|_| StatVfsMountFlags::empty(), |status| status.f_flag);
    if flags.contains(StatVfsMountFlags::NOEXEC) {
        return Check::warn(
            name,
            format!("{evidence}, noexec"),
            "a km in the sandbox cannot be started: keep it elsewhere",
        );
    }
    Check::ok(name, evidence)
}
