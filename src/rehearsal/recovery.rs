//! What an agent's restart makes of the cgroups that it finds below its root.

use super::cgroups::Layout;
use crate::mesos::recovery::{Reading, v1, v2};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// A cgroup that the agent would take for a container that nobody knows: v1 destroys it, v2 fails its whole recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// The container id that the agent would read out of the path, as it prints it: `parent.child`.
    pub id: String,
    /// The cgroup's directory.
    pub directory: PathBuf,
}

impl fmt::Display for Orphan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.directory.display())
    }
}

/// The orphans among `found`: pairs of a cgroup's path below the root and its directory.
pub(super) fn orphans(layout: Layout, known: &BTreeSet<String>, found: &[(PathBuf, PathBuf)]) -> Vec<Orphan> {
    let orphan = |(path, directory): &(PathBuf, PathBuf)| {
        let id = id(layout, path).filter(|id| !known.contains(id))?;
        Some(Orphan { id, directory: directory.clone() })
    };
    found.iter().filter_map(orphan).collect()
}

fn id(layout: Layout, path: &Path) -> Option<String> {
    let reading = match layout {
        Layout::V1 => v1(path),
        Layout::V2 => v2(path),
    };
    match reading {
        Reading::Root | Reading::Agent | Reading::Ignored => None,
        Reading::Container(id) => Some(id.to_string()),
        Reading::Malformed => Some(path.display().to_string()),
    }
}
