//! Which container this is, and how that is known.

use crate::error::Error;
use crate::mesos::ContainerId;
use std::fmt;
use std::path::PathBuf;

/// The evidence for the container's id, from both sides that know it.
///
/// The kernel is believed: nothing but the agent writes there. `MESOS_DIRECTORY` can be overridden by a hook or a task and
/// is missing in nested containers; it counts alone where the kernel shows nothing. [ME-02]
#[derive(Debug)]
pub struct Identity {
    /// What `/proc/self/cgroup` says.
    pub kernel: Kernel,
    /// What `MESOS_DIRECTORY` says.
    pub directory: Directory,
}

/// What the kernel says about the container.
#[derive(Debug)]
pub enum Kernel {
    /// This process is inside a container's cgroup.
    Inside {
        /// The container.
        id: ContainerId,
        /// The line that shows it, `freezer:/mesos/c1`.
        line: String,
    },
    /// No cgroup of this process is below the agent's root.
    Outside {
        /// The agent's root.
        root: PathBuf,
        /// All lines.
        lines: String,
    },
}

/// What `MESOS_DIRECTORY` says about the container.
#[derive(Debug)]
pub enum Directory {
    /// The variable is not set.
    Absent,
    /// Its last component is a container id.
    Names {
        /// The container.
        id: ContainerId,
        /// The value.
        value: PathBuf,
    },
    /// It is set, and no container can be called that.
    Unusable(Error),
}

/// How the two sides stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both name the same container.
    Agreement,
    /// Both are there, and do not name the same container.
    Disagreement,
    /// At least one side says nothing.
    Absence,
}

impl Identity {
    /// The container's id, by the kernel or else by `MESOS_DIRECTORY`.
    pub fn id(&self) -> Option<&ContainerId> {
        match (&self.kernel, &self.directory) {
            (Kernel::Inside { id, .. }, _) | (Kernel::Outside { .. }, Directory::Names { id, .. }) => Some(id),
            (Kernel::Outside { .. }, Directory::Absent | Directory::Unusable(_)) => None,
        }
    }

    /// Whether both sides say the same.
    pub fn verdict(&self) -> Verdict {
        match (&self.kernel, &self.directory) {
            // A sandbox is called by the container's own id, without its parents.
            (Kernel::Inside { id, .. }, Directory::Names { id: named, .. }) if id.own() == named.own() => {
                Verdict::Agreement
            }
            (Kernel::Inside { .. }, Directory::Names { .. } | Directory::Unusable(_)) => Verdict::Disagreement,
            (Kernel::Inside { .. }, Directory::Absent) | (Kernel::Outside { .. }, _) => Verdict::Absence,
        }
    }
}

/// One line with all the evidence.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kernel {
            Kernel::Inside { id, line } if self.verdict() == Verdict::Agreement => {
                write!(f, "container {id}: the kernel ({line:?}) and {} agree", self.directory)
            }
            Kernel::Inside { id, line } if self.verdict() == Verdict::Disagreement => {
                write!(f, "container {id}: the kernel ({line:?}) is believed, but {}", self.directory)
            }
            Kernel::Inside { id, line } => {
                write!(f, "container {id}: the kernel ({line:?}) says so; {}", self.directory)
            }
            Kernel::Outside { root, lines } => {
                match self.id() {
                    Some(id) => write!(f, "container {id}: by {} alone", self.directory)?,
                    None => write!(f, "no container: {}", self.directory)?,
                }
                write!(f, "; no cgroup of this process is below {root:?} ({lines:?})")
            }
        }
    }
}

impl fmt::Display for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("MESOS_DIRECTORY is not set"),
            Self::Names { value, .. } => write!(f, "MESOS_DIRECTORY={value:?}"),
            Self::Unusable(error) => write!(f, "{error}"),
        }
    }
}
