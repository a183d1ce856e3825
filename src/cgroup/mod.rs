//! Where the container is in each cgroup hierarchy, and keeping children there.
//!
//! ```text
//! Sources::read ──> discover ──> Placement::validate ──> Validated ──> attach(pid), drift(pid)
//! three texts       pure         directories opened      keeps them    OomWatch::open, hazards()
//! ```
//!
//! Nothing here creates a cgroup, and nothing moves a process out of one that an agent put it into, except into the
//! container's own. [ME-05]

mod attach;
mod directory;
mod hazard;
mod hierarchy;
mod hint;
mod identity;
mod membership;
mod mountinfo;
mod oom;
mod placement;

pub use attach::{Attached, Drift};
pub use directory::{Inherited, Place, Validated};
pub use hazard::Hazard;
pub use hierarchy::{Candidate, Hierarchy, Nowhere, Target};
pub use identity::{Directory, Identity, Kernel, Verdict};
pub use mountinfo::{Mount, Version};
pub use oom::{Oom, OomWatch};
pub use placement::{Layout, Placement, discover};

use crate::error::{During, Result};
use crate::process::procfs;
use std::io::ErrorKind;
use std::path::Path;

/// The texts of the kernel that a placement is found from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// `/proc/self/mountinfo`.
    pub mountinfo: Vec<u8>,
    /// `/proc/self/cgroup`. Empty on a kernel without cgroups.
    pub cgroup: Vec<u8>,
}

/// The mounts of cgroup hierarchies in the text of a `mountinfo`; of several on one point only the one that is seen.
pub fn mounts(mountinfo: &[u8]) -> Vec<Mount> {
    mountinfo::cgroups(mountinfo)
}

/// Where a process is, from the text of its `/proc/<pid>/cgroup`: the hierarchy as the kernel calls it (`cpu,cpuacct`,
/// `name=systemd`, nothing for v2), and the cgroup.
pub fn memberships(cgroup: &[u8]) -> impl Iterator<Item = (&[u8], &Path)> {
    membership::lines(cgroup).map(|line| (line.hierarchy, line.path))
}

impl Sources {
    /// Reads each file once: the only input of [`discover`] besides the environment.
    pub fn read() -> Result<Self> {
        let mountinfo = procfs::read("/proc/self/mountinfo").during("read", "/proc/self/mountinfo")?;
        let cgroup = match procfs::read_piece("/proc/self/cgroup") {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            cgroup => cgroup.during("read", "/proc/self/cgroup")?,
        };
        Ok(Self { mountinfo, cgroup })
    }
}
