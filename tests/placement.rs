//! Placement on recorded and constructed texts of many hosts: `tests/fixtures/cgroup/<host>/{mountinfo,cgroup,expected}`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

use minion::cgroup::{self, Hierarchy, Placement, Sources, Target};
use minion::mesos::Environment;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const ID: &str = "5f0c7a52-3d1e-4b8a-9c61-0d7c8f1b2e34";

/// Fixture, the agent's `--cgroups_root`, and the last component of `MESOS_DIRECTORY` (none: the variable is not set).
const HOSTS: &[(&str, &str, Option<&str>)] = &[
    ("this-host", "mesos", None),
    ("debian11-unified", "mesos", None),
    ("debian10-hybrid", "mesos", None),
    ("centos7-legacy", "mesos", Some(ID)),
    ("docker-v1", "mesos", Some(ID)),
    ("docker-v2", "mesos", Some(ID)),
    ("mesos-v1-default", "mesos", Some(ID)),
    ("mesos-v1-all", "/test//root/./x/../", Some(ID)),
    ("mesos-v1-inherit", "../mesos/", Some(ID)),
    ("mesos-v1-image", "mesos", Some(ID)),
    ("mesos-v1-nested", "mesos", None),
    ("mesos-v1-command", "mesos", Some("another")),
    ("clusterd-v2", "mesos", Some(ID)),
    ("clusterd-v2-agent", "mesos", None),
    ("clusterd-v2-image", "mesos", Some(ID)),
    ("clusterd-v2-image-deep", "mesos", Some(ID)),
    ("clusterd-v2-nested", "mesos", None),
    ("unified-with-net-cls", "mesos", Some(ID)),
    ("several-mounts", "mesos", Some("..")),
    ("posix-launcher", "mesos", Some(ID)),
    ("no-cgroups", "mesos", None),
];

fn environment(own: Option<&str>) -> Environment {
    let directory = own.map(|own| ("MESOS_DIRECTORY".into(), OsString::from(format!("/w/runs/{own}"))));
    Environment::from_vars(&directory.into_iter().collect::<Vec<_>>())
}

fn placement(host: &str, prefix: &str, own: Option<&str>) -> Placement {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cgroup").join(host);
    let read = |name: &str| fs::read(fixture.join(name)).unwrap_or_else(|e| panic!("{host}/{name}: {e}"));
    cgroup::discover(&Sources { mountinfo: read("mountinfo"), cgroup: read("cgroup") }, prefix, &environment(own))
}

/// A placement as text: the set-up and the evidence, then one line a hierarchy with the candidates in order.
fn render(placement: &Placement) -> String {
    let mut text = format!("{} {:?}\n{}\n", placement.layout, placement.identity.verdict(), placement.identity);
    if let Some(root) = placement.cgroup_root() {
        writeln!(text, "--cgroup-root={}", root.display()).unwrap();
    }
    for hierarchy in &placement.hierarchies {
        writeln!(text, "{}", line(hierarchy)).unwrap();
    }
    text
}

fn line(hierarchy: &Hierarchy) -> String {
    let target = match &hierarchy.target {
        Target::Nowhere(why) => format!("none: {why}"),
        Target::Candidates(candidates) => candidates
            .iter()
            .map(|candidate| format!("{} at {}", candidate.path.display(), candidate.directory().display()))
            .collect::<Vec<_>>()
            .join(", or "),
    };
    format!("{} in {}: {target}", hierarchy.label(), hierarchy.here.display())
}

#[test]
fn every_host_is_placed_as_expected() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cgroup");
    for (host, prefix, own) in HOSTS {
        let expected = fs::read_to_string(fixtures.join(host).join("expected")).unwrap_or_default();
        assert_eq!(render(&placement(host, prefix, *own)), expected, "{host}");
    }
    assert_eq!(fs::read_dir(&fixtures).unwrap().count(), HOSTS.len(), "a fixture without a row");
}

#[test]
fn directly_below_the_root_the_kernel_only_confirms() {
    let slice = placement("debian11-unified", "/", None);
    assert!(slice.container_id().is_none(), "{}", slice.identity);
    let sources = Sources { cgroup: b"6:freezer:/c1\n".to_vec(), ..Sources::default() };
    let confirmed = cgroup::discover(&sources, "", &environment(Some("c1")));
    assert_eq!(confirmed.identity.verdict(), cgroup::Verdict::Agreement);
    assert_eq!(confirmed.cgroup_root().as_deref(), Some(Path::new("/c1")));
}

#[test]
fn a_prefix_never_leaves_the_hierarchy() {
    for prefix in ["..", "/../..", "mesos/../..", "../mesos/..", ""] {
        assert_eq!(placement("no-cgroups", prefix, None).root, Path::new("/"), "{prefix:?}");
    }
    assert_eq!(placement("no-cgroups", "//a/./b/../c//", None).root, Path::new("/a/c"));
}

#[test]
fn evidence_from_outside_stays_on_one_line() {
    let sources = Sources { cgroup: b"6:freezer:/mesos/c1\n".to_vec(), ..Sources::default() };
    let vars = [("MESOS_DIRECTORY".into(), OsString::from("/w/c1\nerror: all is lost"))];
    let placement = cgroup::discover(&sources, "mesos", &Environment::from_vars(&vars));
    assert_eq!(placement.identity.verdict(), cgroup::Verdict::Disagreement);
    assert!(!placement.identity.to_string().contains('\n'), "{}", placement.identity);
}
