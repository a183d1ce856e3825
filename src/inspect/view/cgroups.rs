//! Each hierarchy: where the process is, and where it should be.

use super::Question;
use super::kin::{Kin, variables};
use crate::cgroup::{self, Layout, Nowhere, Placement, Sources, Version};
use crate::error::{Error, Result};
use crate::inspect::proc::mounts::{self, Mount};
use crate::inspect::proc::once::Once;
use crate::inspect::proc::seen::Seen;
use crate::inspect::proc::{self, stat::Stat};
use crate::mesos::recovery::LEAF;
use crate::mesos::{Environment, SEPARATOR};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The agent's `--cgroups_root` where nobody says another.
pub(in crate::inspect) const PREFIX: &str = "mesos";

/// A process in the hierarchies of this host.
#[derive(Debug)]
pub(in crate::inspect) struct Cgroups {
    pub(in crate::inspect) layout: Layout,
    /// The agent's `--cgroups_root`, as far as it is known.
    pub(in crate::inspect) prefix: String,
    /// The container that it should be in.
    pub(in crate::inspect) container: Option<String>,
    /// How that is known, in one line.
    pub(in crate::inspect) evidence: String,
    /// What the kernel says of the process itself, where that is another container.
    pub(in crate::inspect) foreign: Option<String>,
    /// Whether the reader or its minion says which container it should be in, and not the process's own cgroups.
    pub(in crate::inspect) referred: bool,
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
    /// The other container that it is inside of here.
    pub(in crate::inspect) other: Option<String>,
}

/// A hierarchy in which a process is inside of another container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct Elsewhere {
    pub(in crate::inspect) hierarchy: String,
    pub(in crate::inspect) cgroup: PathBuf,
    pub(in crate::inspect) container: String,
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
    /// The container has no cgroup in this hierarchy, for this reason; None where its directories could not be opened.
    None(Option<Nowhere>),
}

impl Cgroups {
    pub(in crate::inspect) fn of(
        stat: &Stat,
        kin: &Kin,
        sandbox: &Seen<Option<PathBuf>>,
        question: &Question,
        once: &Once,
    ) -> Result<Self> {
        let host = Host::read(question.prefix.clone().or_else(|| flag(&kin.minion_arguments)), once)?;
        let text = |pid: i32| once.piece(proc::path(pid, "cgroup")).known().cloned().unwrap_or_default();
        let own = host.discover(text(stat.pid), sandbox.known().cloned().flatten());
        // Where it should be is the reader's word, or its minion's: a child belongs where its supervisor is.
        let reference = match (&question.container, &kin.minion) {
            (Some(container), _) => Some(host.container(container, &text(stat.pid))),
            (None, Some(minion)) if minion.pid != stat.pid => {
                let directory = variables(minion.pid, once).known().and_then(|variables| variables.directory.clone());
                Some(host.discover(text(minion.pid), directory)).filter(|placement| placement.container_id().is_some())
            }
            (None, _) => None,
        };
        let parent = kin.parent.as_ref().map(|parent| host.discover(text(parent.pid), None));
        let mut cgroups = Self::compare(&own, reference.as_ref(), parent.as_ref(), &mounts::parse(&host.mountinfo));
        cgroups.prefix.clone_from(&host.prefix);
        cgroups.referred = reference.is_some();
        let elsewhere = cgroups.container.as_ref().map(|id| host.elsewhere(&text(stat.pid), id)).unwrap_or_default();
        for Elsewhere { hierarchy, container, .. } in elsewhere {
            if let Some(row) = cgroups.rows.iter_mut().find(|row| row.hierarchy == hierarchy) {
                row.other = Some(container);
            }
        }
        if let Some(container) = &question.container {
            cgroups.evidence = format!("container {container}: it was asked for by name");
        }
        Ok(cgroups)
    }

    fn compare(own: &Placement, reference: Option<&Placement>, parent: Option<&Placement>, mounts: &[Mount]) -> Self {
        let wanted = reference.unwrap_or(own);
        let cgroup::Validated { places, inherited, refused } = wanted.validate();
        let trouble = refused.first().map(|(_, error)| error.to_string());
        let row = |hierarchy: &cgroup::Hierarchy| {
            let label = hierarchy.label();
            let same = |other: &&cgroup::Hierarchy| other.label() == label;
            let place = places.iter().find(|place| place.hierarchy == label);
            let why = inherited.iter().find(|inherited| inherited.hierarchy == label);
            let standing = match place {
                Some(place) => standing(&place.path, &place.directory, hierarchy),
                None => Standing::None(why.map(|inherited| inherited.why)),
            };
            Row {
                version: hierarchy.version,
                actual: hierarchy.here.clone(),
                parent: parent.and_then(|parent| Some(parent.hierarchies.iter().find(same)?.here.clone())),
                directory: directory(mounts, &label, hierarchy.version, &hierarchy.here),
                standing,
                hierarchy: label,
                other: None,
            }
        };
        let id = wanted.container_id();
        let foreign = match (&own.identity.kernel, id) {
            (cgroup::Kernel::Inside { id: own, .. }, Some(id)) if own != id => Some(own.to_string()),
            _ => None,
        };
        Self {
            layout: own.layout,
            prefix: PREFIX.to_owned(),
            container: id.map(ToString::to_string),
            evidence: wanted.identity.to_string(),
            foreign,
            referred: false,
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

/// The hierarchies of this host, for placing processes and containers in.
#[derive(Debug)]
pub(in crate::inspect) struct Host {
    pub(in crate::inspect) mountinfo: Vec<u8>,
    prefix: String,
}

impl Host {
    pub(in crate::inspect) fn read(prefix: Option<String>, once: &Once) -> Result<Self> {
        match once.list("/proc/self/mountinfo".to_owned()) {
            Seen::Known(mountinfo) => Ok(Self { mountinfo, prefix: prefix.unwrap_or_else(|| PREFIX.into()) }),
            Seen::Unknown(why) => Err(Error::new("read", "the mounts", why)),
        }
    }

    /// The placement of a process by its lines and its `MESOS_DIRECTORY`.
    fn discover(&self, cgroup: Vec<u8>, directory: Option<PathBuf>) -> Placement {
        let variable = directory.map(|directory| (OsString::from("MESOS_DIRECTORY"), directory.into_os_string()));
        let environment = Environment::from_vars(&variable.into_iter().collect::<Vec<_>>());
        cgroup::discover(&Sources { mountinfo: self.mountinfo.clone(), cgroup }, &self.prefix, &environment)
    }

    /// Where a process of these lines is inside of a container that is neither this one nor around it: a nested container
    /// shares the controllers' cgroups of those around it. [ME-10]
    pub(in crate::inspect) fn elsewhere(&self, cgroup: &[u8], container: &str) -> Vec<Elsewhere> {
        let is_around =
            |id: &str| container.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let one = |line: &[u8]| {
            let placement = self.discover(line.to_vec(), None);
            let cgroup::Kernel::Inside { id, .. } = &placement.identity.kernel else { return None };
            let (hierarchy, id) = (placement.hierarchies.first()?, id.to_string());
            (!is_around(&id)).then(|| Elsewhere {
                hierarchy: hierarchy.label(),
                cgroup: hierarchy.here.clone(),
                container: id,
            })
        };
        // Most are at the top in most hierarchies, which needs no look at the mounts.
        let lines = cgroup.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.ends_with(b":/"));
        lines.filter_map(one).collect()
    }

    /// The placement of a container by its name, `parent.child` for a nested one: that of a process which is inside of it in
    /// each hierarchy that `text` lists.
    pub(in crate::inspect) fn container(&self, container: &str, text: &[u8]) -> Placement {
        let root = self.discover(Vec::new(), None).root;
        let path = container.split('.').collect::<Vec<_>>().join(&format!("/{SEPARATOR}/"));
        let inside = |line: &str| {
            let mut fields = line.splitn(3, ':');
            let (number, hierarchy) = (fields.next()?, fields.next()?);
            let leaf = if hierarchy.is_empty() { format!("/{LEAF}") } else { String::new() };
            Some(format!("{number}:{hierarchy}:{}{leaf}\n", root.join(&path).display()))
        };
        let text = String::from_utf8_lossy(text);
        self.discover(text.lines().filter_map(inside).collect::<String>().into_bytes(), None)
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
    fn a_container_is_found_by_its_name_in_every_hierarchy() {
        let mountinfo = b"1 0 0:30 / /sys/fs/cgroup/freezer rw - cgroup c rw,freezer\n".to_vec();
        let host = Host { mountinfo, prefix: "/a/b/".into() };
        let placement = host.container("c1.c2", b"4:freezer:/\n0::/x:y\n");
        assert_eq!(placement.container_id().unwrap().to_string(), "c1.c2");
        assert_eq!(placement.hierarchies[0].here, Path::new("/a/b/c1/mesos/c2"));
        assert_eq!(placement.hierarchies[1].here, Path::new("/a/b/c1/mesos/c2/leaf"));
        assert!(host.container("../x", b"4:freezer:/\n").container_id().is_none());
    }

    #[test]
    fn another_container_is_one_that_is_not_around_this_one() {
        let host = Host { mountinfo: Vec::new(), prefix: "mesos".into() };
        let elsewhere = |container: &str| {
            let text = b"4:freezer:/mesos/c1/mesos/c2\n3:memory:/mesos/c1/x\n2:pids:/\n1:cpu:/system.slice\n";
            let found = host.elsewhere(text, container);
            found.into_iter().map(|one| (one.hierarchy, one.container)).collect::<Vec<_>>()
        };
        assert_eq!(elsewhere("c1.c2"), []);
        assert_eq!(elsewhere("c1"), [("freezer".into(), "c1.c2".into())]);
        let both = [("freezer".into(), "c1.c2".into()), ("memory".into(), "c1".into())];
        assert_eq!((elsewhere("c"), elsewhere("c11")), (both.to_vec(), both.to_vec()));
    }
}
