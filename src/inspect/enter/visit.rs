//! In the namespaces of another process, for a moment.

use super::target::Target;
use crate::error::{During, Error, Result};
use nix::sched::{CloneFlags, setns};
use rustix::fs::{Mode, OFlags, open, readlink};
use rustix::process::{chroot, fchdir};
use std::os::fd::{AsFd, OwnedFd};

/// The kinds of namespace that we visit, as `/proc/<pid>/ns` and `setns` call them; the one of mounts last, for behind it
/// `/proc` is another. Not the one of users: from there nobody comes back, so the command alone goes there. [KF-185]
const KINDS: [(&str, CloneFlags); 7] = [
    ("uts", CloneFlags::CLONE_NEWUTS),
    ("ipc", CloneFlags::CLONE_NEWIPC),
    ("net", CloneFlags::CLONE_NEWNET),
    ("pid", CloneFlags::CLONE_NEWPID),
    ("cgroup", CloneFlags::CLONE_NEWCGROUP),
    // CLONE_NEWTIME, which nix does not name.
    ("time", CloneFlags::from_bits_retain(0x80)),
    ("mnt", CloneFlags::CLONE_NEWNS),
];

/// This process is elsewhere. [`end`](Self::end) brings it home.
#[must_use]
pub(super) struct Visit {
    home: Vec<(CloneFlags, OwnedFd)>,
    root: OwnedFd,
    directory: OwnedFd,
}

impl Visit {
    /// Joins every namespace of the target that is not ours already, and takes its root and its working directory.
    ///
    /// `setns(pidfd, flags)`, all at once since Linux 5.8; one by one before that.
    pub(super) fn begin(target: &Target) -> Result<Self> {
        let pid = target.pid();
        let mut kinds = Vec::new();
        for (kind, flag) in KINDS {
            if differs(target, kind)? {
                kinds.push((kind, flag));
            }
        }
        let home = kinds.iter().map(|(kind, flag)| Ok((*flag, namespace("self", kind)?))).collect::<Result<_>>()?;
        let visit = Self { home, root: directory("/")?, directory: directory(".")? };
        let (root, cwd) = (directory(&format!("/proc/{pid}/root"))?, directory(&format!("/proc/{pid}/cwd"))?);
        if let Err(error) = join(target, &kinds).and_then(|()| settle(&root, &cwd)) {
            visit.end()?;
            return Err(error);
        }
        Ok(visit)
    }

    /// Whether a child that is forked now gets a number in another pid namespace, and its orphans another reaper.
    pub(super) fn has_other_pids(&self) -> bool {
        self.home.iter().any(|(flag, _)| *flag == CloneFlags::CLONE_NEWPID)
    }

    /// Back to where this process was.
    pub(super) fn end(self) -> Result<()> {
        for (flag, namespace) in &self.home {
            setns(namespace, *flag).during("return to", "our own namespaces")?;
        }
        settle(&self.root, &self.directory)
    }
}

/// The user namespace that the command is to join, where the target is in another one than we.
pub(super) fn users(target: &Target) -> Result<Option<OwnedFd>> {
    differs(target, "user")?.then(|| namespace(&target.pid().to_string(), "user")).transpose()
}

fn differs(target: &Target, kind: &str) -> Result<bool> {
    let at = |pid: &str| readlink(format!("/proc/{pid}/ns/{kind}"), Vec::new());
    // A kind that this kernel does not have, it has for nobody.
    let Ok(own) = at("self") else { return Ok(false) };
    let pid = target.pid();
    let theirs = at(&pid.to_string()).during("look at", format_args!("the {kind} namespace of process {pid}"))?;
    Ok(own != theirs)
}

fn join(target: &Target, kinds: &[(&str, CloneFlags)]) -> Result<()> {
    let failed = |error: nix::Error| {
        Error::io("join the namespaces of", format!("process {}", target.pid()), error)
            .hint("it needs CAP_SYS_ADMIN, and a process that is still alive")
    };
    let all = kinds.iter().fold(CloneFlags::empty(), |all, (_, flag)| all | *flag);
    if all.is_empty() {
        return Ok(());
    }
    match setns(target.pidfd(), all) {
        // Before 5.8 a pidfd is no namespace.
        Err(nix::Error::EINVAL) => {
            let pid = target.pid().to_string();
            let fds = kinds.iter().map(|(kind, flag)| Ok((*flag, namespace(&pid, kind)?)));
            fds.collect::<Result<Vec<_>>>()?.iter().try_for_each(|(flag, fd)| setns(fd, *flag).map_err(failed))
        }
        result => result.map_err(failed),
    }
}

/// The root first: a joined mount namespace begins at its own, and the process may have changed it since.
fn settle(root: impl AsFd, directory: impl AsFd) -> Result<()> {
    fchdir(root).during("go to", "the root directory")?;
    chroot(".").during("change the root to", "the root directory")?;
    fchdir(directory).during("go to", "the working directory")
}

fn namespace(pid: &str, kind: &str) -> Result<OwnedFd> {
    let path = format!("/proc/{pid}/ns/{kind}");
    open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).during("open", path)
}

fn directory(path: &str) -> Result<OwnedFd> {
    open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).during("open", path)
}
