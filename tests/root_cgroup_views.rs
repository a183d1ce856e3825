//! Placement and attach where the tree is seen otherwise than on the host: cgroup2 in its place, a container's own cgroups
//! bound over it, a cgroup namespace.
//!
//! Each test starts itself again in namespaces of its own (`unshare`), and the inner half mounts there and only there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::{CgroupGuard, unified};
use minion::cgroup::{self, Layout, Placement, Sources, Verdict};
use minion::mesos::Environment;
use rustix::mount::{MountFlags, mount, mount_bind};
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const FREEZER: &str = "/sys/fs/cgroup/freezer";
const MEMORY: &str = "/sys/fs/cgroup/memory";
const TREE: &str = "/sys/fs/cgroup";

/// The mount namespace of the outer half: the inner one must not be in it.
const OUTSIDE: &str = "MINION_TEST_OUTSIDE";
const PREFIX: &str = "MINION_TEST_PREFIX";

/// Runs an inner half, after `before`, in new namespaces.
fn inside(inner: &str, prefix: &str, before: &str, namespaces: &str) {
    let script = format!("{before} exec unshare {namespaces} --propagation private \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(env::current_exe().unwrap())
        .args(["--exact", inner, "--ignored", "--nocapture"])
        .env(OUTSIDE, fs::read_link("/proc/self/ns/mnt").unwrap())
        .env(PREFIX, prefix)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{errors}");
}

/// The agent's root, in an inner half. `None` when somebody runs that by itself.
fn prefix() -> Option<String> {
    let outside = env::var_os(OUTSIDE)?;
    assert_ne!(fs::read_link("/proc/self/ns/mnt").unwrap(), outside, "not in a mount namespace of its own");
    env::var(PREFIX).ok()
}

fn placed(prefix: &str) -> Placement {
    let vars = [("MESOS_DIRECTORY".into(), OsString::from("/w/runs/c1"))];
    cgroup::discover(&Sources::read().unwrap(), prefix, &Environment::from_vars(&vars))
}

fn waiting() -> Child {
    Command::new("sh").args(["-c", "read line"]).stdin(Stdio::piped()).spawn().unwrap()
}

fn pid(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap()
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn join(cgroup: impl AsRef<Path>) {
    fs::write(cgroup.as_ref().join("cgroup.procs"), "0").unwrap();
}

fn members(cgroup: impl AsRef<Path>) -> String {
    fs::read_to_string(cgroup.as_ref().join("cgroup.procs")).unwrap()
}

#[test]
fn on_a_unified_host_a_child_goes_to_the_leaf() {
    need!("root", "v2", "mountns");
    let guard = CgroupGuard::new(&[unified()], "/c1/leaf");
    inside("inner_unified", guard.name(), "", "-m");
}

#[test]
#[ignore = "inner half of on_a_unified_host_a_child_goes_to_the_leaf"]
fn inner_unified() {
    let Some(prefix) = prefix() else { return };
    if unified() != Path::new(TREE) {
        mount("none", TREE, "cgroup2", MountFlags::empty(), None).unwrap();
    }
    let placement = placed(&prefix);
    assert_eq!(placement.layout, Layout::Unified);
    let validated = placement.validate().whole().unwrap();
    // The v1 mounts still stand in mountinfo, but cgroup2 lies over them.
    assert_eq!(validated.places.len(), 1, "{:?}", validated.places);
    let child = waiting();
    assert_eq!(validated.attach(pid(&child)).unwrap().moved, ["unified"]);
    let leaf = Path::new(TREE).join(&prefix).join("c1/leaf");
    assert_eq!(members(leaf).trim(), child.id().to_string());
    end(child);
}

#[test]
fn in_a_v1_container_with_an_image_its_own_cgroups_are_the_mounts() {
    need!("root", "v1", "mountns");
    let guard = CgroupGuard::new(&[FREEZER, MEMORY], "/c1");
    inside("inner_v1_image", guard.name(), "", "-m");
}

#[test]
#[ignore = "inner half of in_a_v1_container_with_an_image_its_own_cgroups_are_the_mounts"]
fn inner_v1_image() {
    let Some(prefix) = prefix() else { return };
    let outside = waiting();
    let own = [FREEZER, MEMORY].map(|hierarchy| (hierarchy, Path::new(hierarchy).join(&prefix).join("c1")));
    let own = own.map(|(hierarchy, cgroup)| {
        join(&cgroup);
        (hierarchy, File::open(cgroup).unwrap())
    });
    mount("none", TREE, "tmpfs", MountFlags::empty(), None).unwrap();
    for (hierarchy, cgroup) in &own {
        fs::create_dir(hierarchy).unwrap();
        mount_bind(format!("/proc/self/fd/{}", cgroup.as_raw_fd()), *hierarchy).unwrap();
    }

    let placement = placed(&prefix);
    assert_eq!(placement.identity.verdict(), Verdict::Agreement, "{}", placement.identity);
    let validated = placement.validate().whole().unwrap();
    let directories: Vec<&Path> = validated.places.iter().map(|place| place.directory.as_path()).collect();
    assert_eq!(directories, [Path::new(FREEZER), Path::new(MEMORY)]);
    assert_eq!(validated.attach(pid(&outside)).unwrap().moved, ["freezer", "memory"]);
    let born_inside = waiting();
    assert!(validated.attach(pid(&born_inside)).unwrap().moved.is_empty());
    end(outside);
    end(born_inside);
}

#[test]
fn in_a_v2_container_with_an_image_the_path_climbs_out_of_the_namespace() {
    need!("root", "v2", "mountns");
    let guard = CgroupGuard::new(&[unified()], "");
    let root = unified().join(guard.name());
    for below in ["agent", "agent/leaf", "c1", "c1/leaf"] {
        fs::create_dir(root.join(below)).unwrap();
    }
    // The agent makes the namespace while it is in its own leaf, and moves the executor afterwards.
    let before = format!("echo 0 > {}/agent/leaf/cgroup.procs;", root.display());
    inside("inner_v2_image", guard.name(), &before, "-m -C");
}

#[test]
#[ignore = "inner half of in_a_v2_container_with_an_image_the_path_climbs_out_of_the_namespace"]
fn inner_v2_image() {
    let Some(prefix) = prefix() else { return };
    let outside = waiting();
    let leaf = unified().join(&prefix).join("c1/leaf");
    join(&leaf);
    mount_bind(&leaf, TREE).unwrap();

    let placement = placed(&prefix);
    assert_eq!(placement.layout, Layout::Unified);
    assert_eq!(placement.identity.verdict(), Verdict::Agreement, "{}", placement.identity);
    assert!(placement.identity.to_string().contains("0::/../../c1/leaf"), "{}", placement.identity);
    let validated = placement.validate().whole().unwrap();
    let directories: Vec<&Path> = validated.places.iter().map(|place| place.directory.as_path()).collect();
    assert_eq!(directories, [Path::new(TREE)]);
    assert_eq!(validated.attach(pid(&outside)).unwrap().moved, ["unified"]);
    let error = cgroup::OomWatch::open(&validated).unwrap_err().to_string();
    assert!(error.contains("only the leaf is mounted here"), "{error}");
    end(outside);
}
