//! The mounts of a process against those of the host.

use super::Namespace;
use crate::inspect::proc::mounts::{Mount, read};
use crate::inspect::proc::once::Once;
use crate::inspect::proc::seen::Seen;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What a process sees mounted.
#[derive(Debug)]
pub(in crate::inspect) struct Mounts {
    /// Its mounts that matter: `/`, that of the sandbox, that of `/sys/fs/cgroup`.
    pub(in crate::inspect) own: Seen<Vec<Mount>>,
    /// The host's mount at `/`, where the namespace is another one.
    pub(in crate::inspect) host: Seen<Option<Mount>>,
    /// What is mounted at a place here and not, or otherwise, on the host.
    pub(in crate::inspect) differences: Vec<Difference>,
}

/// One place where the two namespaces show different things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) enum Difference {
    /// Only the host has it.
    Missing(Place),
    /// Only the process has it.
    Extra(Place),
    /// Both have one, of different file systems: one of them is in the shadow.
    Shadowed {
        /// What the process sees.
        own: Place,
        /// What the host sees.
        host: Place,
    },
}

/// A mount in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct Place {
    pub(in crate::inspect) point: String,
    pub(in crate::inspect) kind: String,
}

impl Mounts {
    pub(in crate::inspect) fn of(
        pid: i32,
        namespaces: &[Namespace],
        sandbox: &Seen<Option<PathBuf>>,
        once: &Once,
    ) -> Self {
        let own = read(pid, once);
        let namespace = namespaces.iter().find(|namespace| namespace.kind == "mnt");
        let same =
            namespace.is_some_and(|namespace| namespace.own.known().is_some() && namespace.own == namespace.host);
        let host = if same { Seen::Known(Vec::new()) } else { read(1, once) };
        let differences = match (&own, &host) {
            (Seen::Known(own), Seen::Known(host)) if !same => differences(own, host),
            _ => Vec::new(),
        };
        let sandbox = sandbox.known().and_then(Option::as_deref);
        Self {
            own: own.map(|mounts| those_that_matter(&mounts, sandbox)),
            host: host.map(|mounts| mounts.into_iter().find(|mount| mount.point == "/")),
            differences,
        }
    }

    /// Its mount at `/`.
    pub(in crate::inspect) fn root(&self) -> Option<&Mount> {
        self.own.known()?.iter().find(|mount| mount.point == "/")
    }
}

fn those_that_matter(mounts: &[Mount], sandbox: Option<&Path>) -> Vec<Mount> {
    let around =
        |path: &Path| mounts.iter().filter(|mount| path.starts_with(&mount.point)).max_by_key(|m| m.point.len());
    let mut matter: Vec<&Mount> = [Some(Path::new("/")), sandbox, Some(Path::new("/sys/fs/cgroup"))]
        .into_iter()
        .flatten()
        .filter_map(around)
        .collect();
    matter.dedup_by_key(|mount| mount.point.clone());
    matter.into_iter().cloned().collect()
}

fn differences(own: &[Mount], host: &[Mount]) -> Vec<Difference> {
    let by_point = |mounts: &[Mount]| mounts.iter().map(|m| (m.point.clone(), m.clone())).collect::<HashMap<_, _>>();
    let (theirs, hosts) = (by_point(own), by_point(host));
    let place = |mount: &Mount| Place { point: mount.point.clone(), kind: mount.kind.clone() };
    let mut found: Vec<Difference> = own
        .iter()
        .filter_map(|mount| match hosts.get(&mount.point) {
            None => Some(Difference::Extra(place(mount))),
            Some(other) if (&other.device, &other.root) != (&mount.device, &mount.root) => {
                Some(Difference::Shadowed { own: place(mount), host: place(other) })
            }
            Some(_) => None,
        })
        .collect();
    let missing = host.iter().filter(|mount| !theirs.contains_key(&mount.point));
    found.extend(missing.map(|mount| Difference::Missing(place(mount))));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::proc::mounts::parse;

    #[test]
    fn every_place_that_differs_is_named_once() {
        let host = parse(b"1 0 8:1 / / rw - ext4 a rw\n2 1 0:9 / /vol rw - nfs b rw\n3 1 0:5 / /tmp rw - tmpfs c rw\n");
        let own =
            parse(b"1 0 8:1 / / rw - ext4 a rw\n4 1 0:7 / /tmp rw - tmpfs d rw\n5 1 0:8 / /new rw - tmpfs e rw\n");
        let place = |point: &str, kind: &str| Place { point: point.into(), kind: kind.into() };
        assert_eq!(
            differences(&own, &host),
            [
                Difference::Shadowed { own: place("/tmp", "tmpfs"), host: place("/tmp", "tmpfs") },
                Difference::Extra(place("/new", "tmpfs")),
                Difference::Missing(place("/vol", "nfs")),
            ]
        );
        assert_eq!(differences(&host, &host), []);
    }
}
