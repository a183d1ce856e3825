//! Cgroups in the container that would stop a restarted agent.
//!
//! Only v2 has them: a v1 agent leaves alone what is not shaped like its own. [ME-05]

use super::directory::{Place, Validated};
use super::mountinfo::Version;
use crate::mesos::recovery::{self, LEAF, Reading};
use crate::process::procfs;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// So many are looked for: one of them is enough to stop the agent, and a kubelet makes thousands.
const MOST: usize = 64;

/// A cgroup that some process of the container made, and that the agent's next recovery fails over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// Its directory.
    pub directory: PathBuf,
    /// The container that the agent will take it for, `parent.child`; its path where that is no valid id.
    pub taken_for: String,
}

impl Validated {
    /// The hazards that there are now, or as many of them as an operator can want to read. What cannot be listed is passed over:
    /// it may be going away at this moment.
    ///
    /// A cgroup that looks exactly like a nested container's (`<id>/mesos/<child>`) is taken for one of the agent's own: only
    /// the agent knows better. Where no more than the leaf is mounted, no more is seen.
    pub fn hazards(&self) -> Vec<Hazard> {
        self.places.iter().filter(|place| place.version == Version::V2).flat_map(Place::hazards).collect()
    }
}

impl Place {
    fn hazards(&self) -> Vec<Hazard> {
        // By the end of its path, because the root is out of sight in a cgroup namespace. How deep the container is nested
        // changes nothing about how the agent reads what is below it.
        let Some(own) = self.path.parent().and_then(Path::file_name) else { return Vec::new() };
        let (top, below) = match self.directory.parent() {
            Some(container) if self.candidate.below.ends_with(LEAF) => (container, PathBuf::from(own)),
            Some(_) | None => (self.directory.as_path(), Path::new(own).join(LEAF)),
        };
        let mut hazards = Vec::new();
        look_below(top, &below, own, &mut hazards);
        hazards
    }
}

/// Reads every cgroup below `directory`; `path` is what the agent sees of it below its root, from the container on.
fn look_below(directory: &Path, path: &Path, own: &OsStr, hazards: &mut Vec<Hazard>) {
    for name in procfs::directories(directory).unwrap_or_default() {
        if hazards.len() >= MOST {
            return;
        }
        let (directory, path) = (directory.join(&name), path.join(&name));
        if let Some(taken_for) = taken_for(&path, own) {
            hazards.push(Hazard { directory: directory.clone(), taken_for });
        }
        look_below(&directory, &path, own, hazards);
    }
}

/// What the agent takes this cgroup for, when that is a container that it has not made.
fn taken_for(path: &Path, own: &OsStr) -> Option<String> {
    match recovery::v2(path) {
        Reading::Root | Reading::Agent | Reading::Ignored => None,
        Reading::Malformed => Some(path.display().to_string()),
        Reading::Container(id) => {
            let is_own = id.parent().is_none() && id.own() == own;
            let made_by_the_agent = path == id.cgroup_path() || path == id.cgroup_path().join(LEAF);
            (!is_own && !made_by_the_agent).then(|| id.to_string())
        }
    }
}

/// `/sys/fs/cgroup/mesos/c1/leaf/kubepods, which an agent that restarts takes for container c1.leaf.kubepods`.
impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { directory, taken_for } = self;
        write!(f, "{directory:?}, which an agent that restarts takes for a container {taken_for} that it does not know")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> Option<String> {
        taken_for(Path::new(path), OsStr::new("c1"))
    }

    #[test]
    fn what_the_agent_makes_is_no_hazard() {
        for path in
            ["c1/leaf", "c1/mesos", "c1/mesos/n1", "c1/mesos/n1/leaf", "c1/mesos/n1/mesos/n2/leaf", "c1/leaf/agent"]
        {
            assert_eq!(found(path), None, "{path}");
        }
    }

    #[test]
    fn what_else_is_there_is_one_and_says_what_it_is_taken_for() {
        for (path, id) in [
            ("c1/kubepods", "c1.kubepods"),
            ("c1/leaf/kubepods", "c1.leaf.kubepods"),
            ("c1/leaf/init", "c1.leaf.init"),
            ("c1/leaf/leaf", "c1.leaf"),
            ("c1/leaf/mesos/x", "c1.leaf.x"),
            ("c1/mesos/n1/leaf/x", "c1.n1.leaf.x"),
        ] {
            assert_eq!(found(path), Some(id.to_owned()), "{path}");
        }
        assert_eq!(found("c1/leaf/a b"), Some("c1/leaf/a b".to_owned()));
    }

    #[test]
    fn a_hazard_is_one_line() {
        let hazard = Hazard { directory: "/sys/fs/cgroup/mesos/c1/leaf/x".into(), taken_for: "c1.leaf.x".into() };
        let line = hazard.to_string();
        assert!(
            line.contains("\"/sys/fs/cgroup/mesos/c1/leaf/x\"") && line.ends_with("c1.leaf.x that it does not know")
        );
    }
}
