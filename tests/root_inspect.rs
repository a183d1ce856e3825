//! `minion why` on real cgroups: one situation a test, made and undone by it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

#[path = "root_inspect/namespaces.rs"]
mod namespaces;
#[path = "root_inspect/unified.rs"]
mod on_unified;
#[path = "root_inspect/resources.rs"]
mod resources;
#[path = "root_inspect/under_agent.rs"]
mod under_agent;

use common::look::{Looked, Said, Stray, paste_into, why};
use common::{CgroupGuard, minion, unified};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CPU: &str = "/sys/fs/cgroup/cpu";
const CPUSET: &str = "/sys/fs/cgroup/cpuset";
const FREEZER: &str = "/sys/fs/cgroup/freezer";
const MEMORY: &str = "/sys/fs/cgroup/memory";
const PIDS: &str = "/sys/fs/cgroup/pids";

/// Container `c1` in these hierarchies, and the flag that names its root.
struct Container {
    guard: CgroupGuard,
}

impl Container {
    fn new(hierarchies: &[&str]) -> Self {
        Self { guard: CgroupGuard::new(hierarchies, "/c1") }
    }

    fn directory(&self, hierarchy: &str) -> PathBuf {
        Path::new(hierarchy).join(self.guard.name()).join("c1")
    }

    fn prefix(&self) -> String {
        format!("--mesos-cgroup-prefix={}", self.guard.name())
    }

    fn why(&self, looked: &Looked) -> Said {
        why(looked.pid(), &[self.prefix()])
    }

    /// A shell in the container's cgroup of these hierarchies.
    fn with_process_in(&self, hierarchies: &[&str]) -> Looked {
        let looked = Looked::waiting();
        for hierarchy in hierarchies {
            looked.enters_cgroup(&self.directory(hierarchy));
        }
        looked
    }

    /// A shell in every cgroup of the container by its environment, and in none by the kernel.
    fn named_only(&self) -> Looked {
        let mut command = Command::new("bash");
        command.args(["-c", "echo ready; read -r x"]).env("MESOS_DIRECTORY", "/w/runs/c1");
        let _ = self;
        Looked::start(&mut command).0
    }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

#[test]
fn in_place_everywhere_there_is_only_a_note_on_what_the_agent_does_not_isolate() {
    need!("root", "v1");
    let container = Container::new(&[FREEZER, MEMORY]);
    let said = container.why(&container.with_process_in(&[FREEZER, MEMORY]));
    let actual = said.actual("cgroup-no-isolator");
    assert!(actual.contains("pids in ") && !actual.contains("freezer"), "{actual}");
    for kind in ["cgroup-outside", "cgroup-half-attached", "cgroup-drifted", "container-none", "cgroup-removed"] {
        assert!(!said.has(kind), "{kind}: {}", said.text);
    }
    assert_ne!(said.code, 1);
}

#[test]
fn a_process_that_is_in_none_of_its_containers_cgroups_is_outside() {
    need!("root", "v1");
    let container = Container::new(&[FREEZER, MEMORY]);
    let looked = container.named_only();
    let said = container.why(&looked);
    let finding = said.finding("cgroup-outside");
    let expected = format!("memory:/{}/c1", container.guard.name());
    assert!(finding["expected"].as_str().unwrap().contains(&expected), "{finding}");
    assert!(said.cause("cgroup-outside").contains("destroy does not kill it"), "{finding}");
    assert_eq!(said.code, 1);
}

#[test]
fn a_process_in_a_part_of_the_cgroups_is_half_attached_and_the_remedy_works() {
    need!("root", "v1");
    let container = Container::new(&[FREEZER, MEMORY]);
    let looked = container.with_process_in(&[FREEZER]);
    let mut said = container.why(&looked);
    assert!(said.actual("cgroup-half-attached").contains("outside in memory:"), "{}", said.text);
    let args = ["why".to_owned(), looked.pid().to_string(), container.prefix()];
    let page = String::from_utf8(Command::new(minion()).args(args).output().unwrap().stdout).unwrap();
    let whole = format!("  run:      {}", said.commands()[0]);
    assert!(page.lines().any(|line| line == whole), "a broken command cannot be pasted: {page}");
    let pasted = said.pasted();
    assert!(!pasted.is_empty() && pasted.iter().all(|output| output.status.success()), "{pasted:?}");
    assert!(!container.why(&looked).has("cgroup-half-attached"));
}

#[test]
fn a_process_that_left_its_parents_cgroup_has_drifted() {
    need!("root", "v1");
    let container = Container::new(&[FREEZER, MEMORY]);
    let (mut parent, _) = Looked::script("echo ready; read -r go; sleep 1000 & echo $!");
    for hierarchy in [FREEZER, MEMORY] {
        parent.enters_cgroup(&container.directory(hierarchy));
    }
    std::io::Write::write_all(parent.child.stdin.as_mut().unwrap(), b"go\n").unwrap();
    let child = Stray(parent.line().parse().unwrap());
    write(&Path::new(MEMORY).join("cgroup.procs"), &child.0.to_string());
    let said = why(child.0, &[container.prefix()]);
    let actual = said.actual("cgroup-drifted");
    assert!(actual.contains("outside in memory:/") && actual.contains(&format!("pid {}", parent.pid())), "{actual}");
    assert!(!said.has("cgroup-half-attached"));
}

#[test]
fn another_container_than_the_one_asked_for_is_foreign() {
    need!("root", "v1");
    let container = Container::new(&[FREEZER, MEMORY]);
    for hierarchy in [FREEZER, MEMORY] {
        fs::create_dir(Path::new(hierarchy).join(container.guard.name()).join("c2")).unwrap();
    }
    let looked = container.with_process_in(&[FREEZER, MEMORY]);
    let said = why(looked.pid(), &[container.prefix(), "--container=c2".into()]);
    assert_eq!(said.actual("cgroup-foreign-container"), "the kernel has it in container c1");
    said.finding("cgroup-outside");
}

#[test]
fn an_environment_that_names_another_container_disagrees() {
    need!("root", "v1");
    let container = Container::new(&[FREEZER]);
    let mut command = Command::new("bash");
    command.args(["-c", "echo ready; read -r x"]).env("MESOS_DIRECTORY", "/w/runs/other");
    let (looked, _) = Looked::start(&mut command);
    looked.enters_cgroup(&container.directory(FREEZER));
    let expected = container.why(&looked).finding("container-id-disagrees")["expected"].to_string();
    assert!(expected.contains("/w/runs/other"), "{expected}");
}

#[test]
fn a_nested_container_is_noted() {
    need!("root", "v1");
    let container = Container::new(&[FREEZER, MEMORY]);
    let nested = container.directory(FREEZER).join("mesos/c2");
    fs::create_dir_all(&nested).unwrap();
    let looked = container.with_process_in(&[MEMORY]);
    looked.enters_cgroup(&nested);
    let said = container.why(&looked);
    assert!(said.actual("container-nested").starts_with("c1.c2 is nested"), "{}", said.text);
    assert!(!said.has("cgroup-half-attached"), "it shares its parent's memory cgroup: {}", said.text);
}

#[test]
fn a_child_cgroup_is_found_with_what_an_agents_restart_makes_of_it() {
    need!("root", "v1");
    let container = Container::new(&[FREEZER, MEMORY]);
    let looked = container.with_process_in(&[FREEZER]);
    for (below, hazard) in [("kid", "leaves it alone"), ("mesos", "leaves it alone"), ("mesos/kid", "destroys it")] {
        let directory = container.directory(MEMORY).join(below);
        fs::create_dir(&directory).unwrap();
        looked.enters_cgroup(&directory);
        assert!(container.why(&looked).cause("cgroup-child").contains(hazard), "{below}");
    }
}

/// `minion why` where the cgroup2 mount is at /sys/fs/cgroup, as on a host without v1.
fn why_unified(pid: i32, prefix: &str) -> Said {
    let script = "[ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup2 none /sys/fs/cgroup && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh", minion(), "why", &pid.to_string(), "--json", prefix]);
    Said::from(&command.output().unwrap())
}

/// What it says to be done, there too: then the process is in the leaf.
fn paste_unified(said: &Said) {
    for command in said.commands() {
        let script = "[ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup2 none /sys/fs/cgroup && exec sh -c \"$1\"";
        let output = paste_into(Command::new("unshare").args(["--mount", "sh", "-c", script, "sh"]), &command);
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn on_v2_the_inner_node_and_a_cgroup_below_the_leaf_are_told_apart() {
    need!("root", "v2");
    let container = Container::new(&[unified().to_str().unwrap()]);
    let inner = container.directory(unified().to_str().unwrap());
    fs::create_dir_all(inner.join("leaf/init")).unwrap();
    let looked = Looked::waiting();
    looked.enters_cgroup(&inner);
    let said = why_unified(looked.pid(), &container.prefix());
    assert!(said.finding("cgroup-v2-inner")["expected"].to_string().contains("/c1/leaf"), "{}", said.text);
    paste_unified(&said);
    looked.enters_cgroup(&inner.join("leaf/init"));
    let said = why_unified(looked.pid(), &container.prefix());
    assert!(said.cause("cgroup-child").contains("its next recovery fails"), "{}", said.text);
    paste_unified(&said);
    let said = why_unified(looked.pid(), &container.prefix());
    assert!(!said.has("cgroup-child") && !said.has("cgroup-v2-inner") && !said.has("cgroup-outside"), "{}", said.text);
}

#[test]
fn a_cgroup_tree_that_something_covers_is_a_problem_of_its_own() {
    need!("root", "v1");
    let container = Container::new(&[FREEZER]);
    let looked = container.with_process_in(&[FREEZER]);
    let script = "mount -t tmpfs none \"$1\" && mkdir -p \"$2\" && shift 2 && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh", FREEZER]).arg(container.directory(FREEZER));
    command.args([minion(), "why", &looked.pid().to_string(), "--json", &container.prefix()]);
    let said = Said::from(&command.output().unwrap());
    assert!(said.actual("cgroup-tree-covered").contains("freezer:/"), "{}", said.text);
}

#[test]
fn a_container_is_shown_with_all_its_processes() {
    need!("root", "v1");
    let container = Container::new(&[FREEZER, MEMORY]);
    let (whole, half) = (container.with_process_in(&[FREEZER, MEMORY]), container.with_process_in(&[MEMORY]));
    let output = Command::new(minion()).args(["inspect", "c1", &container.prefix()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("container c1\n  2 processes in 2 hierarchies\n"), "{text}");
    let line = |pid: i32| {
        let word = pid.to_string();
        text.lines().find(|line| line.split_whitespace().next() == Some(&word)).unwrap_or_else(|| panic!("{text}"))
    };
    assert!(line(whole.pid()).ends_with('-') && line(half.pid()).ends_with("freezer"), "{text}");
    let said =
        Said::from(&Command::new(minion()).args(["inspect", "c1", "--json", &container.prefix()]).output().unwrap());
    assert_eq!(said.json["schema"], "minion.inspect/1");
    assert_eq!(said.json["container"]["members"].as_array().unwrap().len(), 2);
    assert_eq!(said.json["processes"].as_array().unwrap().len(), 2);
}
