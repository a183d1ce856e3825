//! On cgroup2 alone: the container has the limits, its leaf has the processes.

use super::resources::{assert_almost_full, assert_named, await_frozen, eats_alone, throttled};
use super::{Container, write};
use crate::common::look::Looked;
use crate::common::unified;
use crate::need;
use std::fs;
use std::path::{Path, PathBuf};

/// The container `c1` with these controllers, its directory and its leaf.
fn on_v2(controllers: &str) -> (Container, PathBuf, PathBuf) {
    let container = Container::new(&[unified().to_str().unwrap()]);
    let directory = container.directory(unified().to_str().unwrap());
    write(&directory.with_file_name("cgroup.subtree_control"), controllers);
    let leaf = directory.join("leaf");
    fs::create_dir(&leaf).unwrap();
    (container, directory, leaf)
}

fn in_leaf(leaf: &Path) -> Looked {
    let looked = Looked::waiting();
    looked.enters_cgroup(leaf);
    looked
}

#[test]
fn a_frozen_container_is_told() {
    need!("root", "v2enabled");
    let (container, directory, leaf) = on_v2("+pids");
    let looked = in_leaf(&leaf);
    write(&directory.join("cgroup.freeze"), "1");
    await_frozen(&directory.join("cgroup.events"), "frozen 1");
    let said = container.why(&looked);
    write(&directory.join("cgroup.freeze"), "0");
    assert!(said.actual("frozen").contains("/c1/leaf"), "{}", said.text);
}

#[test]
fn a_process_that_is_in_the_container_by_its_environment_alone_is_outside() {
    need!("root", "v2enabled");
    let (container, _directory, _leaf) = on_v2("+pids");
    let looked = container.named_only();
    let said = container.why(&looked);
    assert!(said.finding("cgroup-outside")["expected"].to_string().contains("/c1/leaf"), "{}", said.text);
}

#[test]
fn the_limit_of_the_container_is_the_one_that_is_reached() {
    need!("root", "v2enabled");
    let (container, directory, leaf) = on_v2("+pids");
    let looked = in_leaf(&leaf);
    write(&directory.join("pids.max"), "1");
    let said = container.why(&looked);
    let expected = format!("pids.current is 1 and pids.max 1 in {}", directory.display());
    assert!(said.actual("pids-at-max").starts_with(&expected), "{}", said.text);
}

#[test]
fn a_container_that_is_held_back_by_its_quota_is_told() {
    need!("root", "v2enabled");
    let (container, directory, leaf) = on_v2("+cpu");
    write(&directory.join("cpu.max"), "1000 100000");
    let looked = throttled(&leaf, &directory);
    assert!(container.why(&looked).actual("cpu-throttled").starts_with("throttled in "));
}

#[test]
fn who_was_killed_for_memory_is_named_with_the_containers_limit() {
    need!("root", "v2enabled");
    let (container, directory, leaf) = on_v2("+memory");
    write(&directory.join("memory.max"), "16777216");
    let (looked, eater) = eats_alone(&leaf, &directory.join("memory.current"));
    let said = container.why(&looked);
    let actual = said.actual("oom-killed");
    let counted = format!("1 killed in {}: ", directory.display());
    assert!(actual.starts_with(&counted) && actual.contains("of 16 MiB in use"), "{actual}");
    assert_named(&actual, &eater, &container);
}

#[test]
fn a_container_that_is_almost_out_of_memory_is_found() {
    need!("root", "v2enabled");
    let (container, directory, leaf) = on_v2("+memory");
    write(&directory.join("memory.max"), "67108864");
    assert_almost_full(&container, &leaf);
}
