//! On cgroup2 alone: the container has the limits, its leaf has the processes.

use super::{Container, write};
use crate::common::look::Looked;
use crate::common::{DEADLINE, unified};
use crate::need;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

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
    let deadline = Instant::now() + DEADLINE;
    while !fs::read_to_string(directory.join("cgroup.events")).unwrap().contains("frozen 1") {
        assert!(Instant::now() < deadline, "never frozen");
    }
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
    let spin = format!(
        "echo $$ > {}; until [[ $(< {}) =~ nr_throttled\\ [1-9] ]]; do :; done; echo ready",
        leaf.join("cgroup.procs").display(),
        directory.join("cpu.stat").display()
    );
    let (looked, _) = Looked::script(&spin);
    assert!(container.why(&looked).actual("cpu-throttled").starts_with("throttled in "));
}

#[test]
fn who_was_killed_for_memory_is_named_with_the_containers_limit() {
    need!("root", "v2enabled");
    let (container, directory, leaf) = on_v2("+memory");
    write(&directory.join("memory.max"), "16777216");
    // It eats alone, and until its memory is back: else the one that is looked at would be killed too.
    let eat = "head -c 100m /dev/zero | sh -c 'echo $$ > $PROCS; exec tail -c 100m' > /dev/null & eater=$!; wait $eater; \
               until read -r used < $USED && [ $used -lt 8388608 ]; do :; done; echo $$ > $PROCS; echo $eater";
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{{ {eat}; }} 2>/dev/null; read -r x")]).env("PROCS", leaf.join("cgroup.procs"));
    let (looked, eater) = Looked::start(command.env("USED", directory.join("memory.current")));
    let said = container.why(&looked);
    let actual = said.actual("oom-killed");
    let counted = format!("1 killed in {}: ", directory.display());
    assert!(actual.starts_with(&counted) && actual.contains("of 16 MiB in use"), "{actual}");
    let limit = format!(", by the limit of /{}/c1", container.guard.name());
    let reported = actual.contains(&format!(" was pid {eater} (tail), ")) && actual.contains(&limit);
    // After ten kills in 5 s, of whatever else runs here.
    assert!(reported || actual.contains("without a report, here or elsewhere, the last of pid "), "{actual}");
}

#[test]
fn a_container_that_is_almost_out_of_memory_is_found() {
    need!("root", "v2enabled");
    let (container, directory, leaf) = on_v2("+memory");
    write(&directory.join("memory.max"), "67108864");
    let file = format!("/dev/shm/{}", container.guard.name());
    // 62 MiB of 64.
    let fill = format!(
        "echo $$ > {}; dd if=/dev/zero of={file} bs=64k count=992 2>/dev/null; echo ready",
        leaf.join("cgroup.procs").display()
    );
    let (looked, _) = Looked::script(&fill);
    let said = container.why(&looked);
    fs::remove_file(file).unwrap();
    assert!(said.actual("memory-at-limit").contains("of 64 MiB in use"), "{}", said.text);
    assert!(!said.has("oom-killed"));
}
