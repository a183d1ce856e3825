//! What an agent does on v2 alone: it lives in a cgroup of its own, gives a container with an image a cgroup namespace, and
//! nests containers.

use super::agent::{Agent, Empty};
use super::container::Container;
use super::{environment, sandbox};
use crate::error::{During, Error, Result};
use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The one place where a container with an image finds cgroups.
const SEEN_AT: &str = "/sys/fs/cgroup";

/// The calling process in the agent's cgroup; back where it was when dropped.
#[derive(Debug)]
pub(super) struct Home {
    before: PathBuf,
}

impl Home {
    /// Moves all threads of this process to `leaf`, somewhere below a cgroup2 mount.
    pub(super) fn enter(leaf: (&Path, PathBuf)) -> Result<Self> {
        let (mount, leaf) = leaf;
        let own = fs::read_to_string("/proc/self/cgroup").during("read", "/proc/self/cgroup")?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let home = Self { before: mount.join(own).join("cgroup.procs") };
        let procs = leaf.join("cgroup.procs");
        fs::write(&procs, "0").during("enter", procs.display())?;
        Ok(home)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Without it the agent's cgroup stays; it names itself.
        let _ = fs::write(&self.before, "0");
    }
}

impl Agent {
    /// Launches `argv` in a container as one with an image has it, as far as cgroups go: a cgroup namespace that was made
    /// before the init moved out of the agent's cgroup, and of all cgroups only its own leaf, at `/sys/fs/cgroup`. [ME-81]
    ///
    /// The agent must inhabit its cgroup. There is no image: the file systems are the host's.
    pub fn launch_with_image<A: AsRef<OsStr>>(&self, argv: &[A]) -> Result<Container> {
        let container = self.empty()?;
        let leaf = container.group.as_ref().and_then(|group| group.directory("unified")).map(|top| top.join("leaf"));
        let (Some(leaf), Some(_)) = (leaf, &self.host().home) else {
            return Err(Error::new("launch with image", &container.id, "the agent is not in a v2 cgroup of its own"));
        };
        self.host().run(container, argv, |command| {
            // Namespaces are a thread's, and a child gets those of the thread that forks it.
            std::thread::scope(|scope| scope.spawn(|| see_only(&leaf).and_then(|()| command.spawn())).join())
                .unwrap_or_else(|_| Err(io::Error::other("the thread that forks panicked")))
        })
    }

    /// Launches `argv` in a container nested in `parent`, as a task of a pod is: `<parent>/mesos/<child>/leaf`, hardly any
    /// environment, no `MESOS_DIRECTORY`. v2 only. [ME-82]
    pub fn launch_nested<A: AsRef<OsStr>>(&self, parent: &Container, argv: &[A]) -> Result<Container> {
        let own = sandbox::uuid()?;
        let id = format!("{}.{own}", parent.id());
        let Some(group) = self.host().tree.as_ref().zip(parent.group()).map(|(tree, group)| tree.nest(group, &own))
        else {
            return Err(Error::new("launch nested", id, "its parent has no cgroup"));
        };
        let sandbox = sandbox::make_nested(parent.sandbox(), &own)?;
        let environment = environment::nested(&sandbox, self.host().command_environment());
        let container = Empty { id, sandbox, group: Some(group?), environment };
        self.host().run(container, argv, Command::spawn)
    }
}

/// Puts the calling thread into a mount and a cgroup namespace of its own in which `leaf` is the whole cgroup tree.
fn see_only(leaf: &Path) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWCGROUP)?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    Ok(mount_bind(leaf, SEEN_AT)?)
}
