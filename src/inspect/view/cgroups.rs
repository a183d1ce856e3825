//! Each hierarchy: where the process is, and where it should be.

use super::Question;
use super::kin::{Kin, variables};
use crate::cgroup::{self, Layout, Placement, Sources, Version};
use crate::error::Result;
use crate::inspect::proc::mounts::{self, Mount};
use crate::inspect::proc::seen::{self, Seen};
use crate::inspect::proc::{self, stat::Stat};
use crate::mesos::Environment;
use crate::mesos::recovery::LEAF;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The agent's `--cgroups_root` where nobody says another.
const PREFIX: &str = "mesos";

/// A process in the hierarchies of this host.
#[derive(Debug)]
pub(in crate::inspect) struct Cgroups {
    pub(in crate::inspect) layout: Layout,
    /// The container that it should be in.
    pub(in crate::inspect) container: Option<String>,
    /// How that is known, in one line.
    pub(in crate::inspect) evidence: String,
    /// What the kernel says of the process itself, where that is another container.
    pub(in crate::inspect) foreign: Option<String>,
    /// Whether the kernel and the process's own `MESOS_DIRECTORY` name different containers.
    pub(in crate::inspect) disagreement: bool,
    pub(in crate::inspect) nested: bool,
    /// Why the container's directories could not be opened.
    pub(in crate::inspect) trouble: Option<String>,
    pub(in crate::inspect) rows: Vec<Row>,
}

/// One hierarchy.
#[derive(Debug)]
pub(in crate::inspect) struct Row {
    /// `freezer`, `cpu,cpuacct`, `name=systemd`, `unified`.
    pub(in crate::inspect) hierarchy: String,
    pub(in crate::inspect) version: Version,
    pub(in crate::inspect) actual: PathBuf,
    /// Where its parent is.
    pub(in crate::inspect) parent: Option<PathBuf>,
    /// The directory of the cgroup that it is in.
    pub(in crate::inspect) directory: Option<PathBuf>,
    pub(in crate::inspect) standing: Standing,
}

/// How the place of a process stands to that of its container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) enum Standing {
    /// In the container's cgroup.
    Inside {
        /// Its directory.
        directory: PathBuf,
    },
    /// In a cgroup below it.
    Below {
        /// The container's cgroup.
        expected: PathBuf,
    },
    /// In the container's v2 cgroup and not in the leaf.
    Inner {
        /// The leaf.
        expected: PathBuf,
    },
    /// Somewhere else.
    Outside {
        /// The container's cgroup.
        expected: PathBuf,
        /// Its directory.
        directory: PathBuf,
    },
    /// The container has no cgroup in this hierarchy, for this reason.
    None(String),
}

impl Cgroups {
    pub(in crate::inspect) fn of(
        stat: &Stat,
        kin: &Kin,
        sandbox: &Seen<Option<PathBuf>>,
        question: &Question,
    ) -> Result<Self> {
        let mountinfo = Sources::read()?.mountinfo;
        let prefix = question.prefix.clone().or_else(|| flag(&kin.minion_arguments)).unwrap_or_else(|| PREFIX.into());
        let text = |pid: i32| seen::read(&proc::path(pid, "cgroup")).known().cloned().unwrap_or_default();
        let at = |cgroup: Vec<u8>, directory: Option<PathBuf>| {
            let sources = Sources { mountinfo: mountinfo.clone(), cgroup };
            cgroup::discover(&sources, &prefix, &environment(directory))
        };
        let own = at(text(stat.pid), sandbox.known().cloned().flatten());
        // Where it should be is the reader's word, or its minion's: a child belongs where its supervisor is.
        let reference = match (&question.container, &kin.minion) {
            // With nobody in a container the name alone decides which it is.
            (Some(container), _) => Some(at(outside(&text(stat.pid)), Some(Path::new("/").join(container)))),
            (None, Some(minion)) if minion.pid != stat.pid => {
                let directory = variables(minion.pid).known().and_then(|variables| variables.directory.clone());
                Some(at(text(minion.pid), directory)).filter(|placement| placement.container_id().is_some())
            }
            (None, _) => None,
        };
        let parent = kin.parent.as_ref().map(|parent| at(text(parent.pid), None));
        let mounts = mounts::parse(&mountinfo);
        Ok(Self::compare(&own, reference.as_ref(), parent.as_ref(), &mounts))
    }

    fn compare(own: &Placement, reference: Option<&Placement>, parent: Option<&Placement>, mounts: &[Mount]) -> Self {
        let wanted = reference.unwrap_or(own);
        let (places, inherited, trouble) = match wanted.validate() {
            Ok(validated) => (validated.places, validated.inherited, None),
            Err(error) => (Vec::new(), Vec::new(), Some(error.to_string())),
        };
        let row = |hierarchy: &cgroup::Hierarchy| {
            let label = hierarchy.label();
            let same = |other: &&cgroup::Hierarchy| other.label() == label;
            let place = places.iter().find(|place| place.hierarchy == label);
            let why = inherited.iter().find(|inherited| inherited.hierarchy == label);
            let standing = match place {
                Some(place) => standing(&place.path, &place.directory, hierarchy),
                None => Standing::None(why.map_or_else(|| "unknown".to_owned(), |inherited| inherited.why.to_string())),
            };
            Row {
                version: hierarchy.version,
                actual: hierarchy.here.clone(),
                parent: parent.and_then(|parent| Some(parent.hierarchies.iter().find(same)?.here.clone())),
                directory: directory(mounts, &label, hierarchy.version, &hierarchy.here),
                standing,
                hierarchy: label,
            }
        };
        let id = wanted.container_id();
        let foreign = match (&own.identity.kernel, id) {
            (cgroup::Kernel::Inside { id: own, .. }, Some(id)) if own != id => Some(own.to_string()),
            _ => None,
        };
        Self {
            layout: own.layout,
            container: id.map(ToString::to_string),
            evidence: wanted.identity.to_string(),
            foreign,
            disagreement: own.identity.verdict() == cgroup::Verdict::Disagreement,
            nested: id.is_some_and(|id| id.parent().is_some()),
            trouble,
            rows: own.hierarchies.iter().map(row).collect(),
        }
    }

    /// The row of a controller, or of the unified hierarchy where that has the controllers.
    pub(in crate::inspect) fn controller(&self, name: &str) -> Option<&Row> {
        let has = |row: &&Row| match row.version {
            Version::V1 => row.hierarchy.split(',').any(|controller| controller == name),
            Version::V2 => self.layout == Layout::Unified,
        };
        self.rows.iter().find(has)
    }
}

impl Row {
    /// Whether the container has a cgroup here and the process is not in it.
    pub(in crate::inspect) fn is_out(&self) -> bool {
        matches!(self.standing, Standing::Outside { .. })
    }

    /// Whether it is where it should be, or below.
    pub(in crate::inspect) fn is_in(&self) -> bool {
        matches!(self.standing, Standing::Inside { .. } | Standing::Below { .. } | Standing::Inner { .. })
    }

    /// The container's directory.
    pub(in crate::inspect) fn container(&self) -> Option<&Path> {
        match &self.standing {
            Standing::Inside { directory } | Standing::Outside { directory, .. } => Some(directory),
            Standing::Below { .. } | Standing::Inner { .. } | Standing::None(_) => None,
        }
    }
}

fn standing(expected: &Path, directory: &Path, hierarchy: &cgroup::Hierarchy) -> Standing {
    let here = &hierarchy.here;
    if here == expected {
        return Standing::Inside { directory: directory.to_owned() };
    }
    let expected = expected.to_owned();
    match hierarchy.version {
        Version::V2 if expected.ends_with(LEAF) && expected.parent() == Some(here) => Standing::Inner { expected },
        // Beside the leaf is inside the container all the same.
        Version::V2 if expected.parent().is_some_and(|container| here.starts_with(container)) => {
            Standing::Below { expected }
        }
        Version::V1 if here.starts_with(&expected) => Standing::Below { expected },
        Version::V1 | Version::V2 => Standing::Outside { expected, directory: directory.to_owned() },
    }
}

/// `--mesos-cgroup-prefix` in either form.
fn flag(arguments: &[String]) -> Option<String> {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.strip_prefix("--mesos-cgroup-prefix") {
            Some("") => return rest.next().cloned(),
            Some(value) => return value.strip_prefix('=').map(str::to_owned),
            None => {}
        }
    }
    None
}

fn environment(directory: Option<PathBuf>) -> Environment {
    let variable = directory.map(|directory| (OsString::from("MESOS_DIRECTORY"), directory.into_os_string()));
    Environment::from_vars(&variable.into_iter().collect::<Vec<_>>())
}

/// The same hierarchies with everybody at the root.
fn outside(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let root = |line: &str| line.splitn(3, ':').take(2).map(|field| format!("{field}:")).collect::<String>() + "/\n";
    text.lines().map(root).collect::<String>().into_bytes()
}

/// The directory that shows a cgroup of a hierarchy.
pub(in crate::inspect) fn directory(mounts: &[Mount], label: &str, version: Version, path: &Path) -> Option<PathBuf> {
    let first = label.split(',').next().unwrap_or_default();
    let shows = |mount: &&Mount| match version {
        Version::V1 => mount.kind == "cgroup" && mount.options.split(',').any(|option| option == first),
        Version::V2 => mount.kind == "cgroup2",
    };
    mounts.iter().filter(shows).find_map(|mount| {
        let below = path.strip_prefix(&mount.root).ok()?;
        Some(Path::new(&mount.point).components().chain(below.components()).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_taken_from_either_form_of_the_flag() {
        let flag = |arguments: &[&str]| super::flag(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(flag(&["minion", "--mesos-cgroup-prefix=a/b", "-v"]), Some("a/b".into()));
        assert_eq!(flag(&["minion", "run", "--mesos-cgroup-prefix", "x"]), Some("x".into()));
        assert_eq!(flag(&["minion", "run"]), None);
    }

    #[test]
    fn lines_without_places_keep_their_hierarchies() {
        assert_eq!(outside(b"4:cpu,cpuacct:/mesos/c1\n0::/x:y\n"), b"4:cpu,cpuacct:/\n0::/\n");
    }
}
