//! The rehearsal agent on real cgroups: where processes are, what a destroy does, what an agent's restart would find.

#![allow(clippy::unwrap_used, clippy::panic)] // what serves a test is a test

mod common;

use ::minion::rehearsal::{Agent, Builder, Container, Process};
use common::{DEADLINE, a_moment, minion, unified, wait_dead};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

fn builder() -> Builder {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let root = format!("mesos-test-{}-r{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    Agent::builder(Path::new(minion()), &root).reap_at_once().freeze_retry(Duration::from_millis(500))
}

/// Longer than the 10 s after which an agent kills, thaws and freezes again what does not freeze.
fn soon() -> Instant {
    Instant::now() + DEADLINE * 3
}

/// The hierarchies of a container by default, one name for those that share a directory (cpu,cpuacct).
fn hierarchies() -> Vec<&'static str> {
    let shared = fs::canonicalize("/sys/fs/cgroup/cpuacct").unwrap().ends_with("cpu,cpuacct");
    ["freezer", "systemd", "cpu", "cpuacct", "memory"]
        .into_iter()
        .filter(|name| !(shared && *name == "cpuacct"))
        .collect()
}

fn start(builder: Builder) -> Agent {
    let agent = builder.start().unwrap();
    assert_eq!(agent.missing(), [] as [&str; 0]);
    agent
}

/// A container whose executor ended at once and left what `script` says.
fn ended(agent: &Agent) -> Container {
    let mut container = agent.launch(&["./km", "executor"]).unwrap();
    assert_eq!(container.wait(soon()).unwrap().raw, 0);
    // A vfork's parent goes on a moment before the child has a command line of its own, and nothing tells when: so another look.
    let is_amid_exec =
        |process: &Process| process.command.contains("--offspring daemon") || process.command.starts_with('[');
    let deadline = soon();
    while container.survivors().unwrap().iter().any(is_amid_exec) {
        assert!(Instant::now() < deadline, "the daemon executes nothing");
        a_moment();
    }
    container
}

fn directory(container: &Container, hierarchy: &str) -> PathBuf {
    let found = container.cgroups().iter().find(|(name, _)| name == hierarchy);
    found.unwrap_or_else(|| panic!("no {hierarchy}: {:?}", container.cgroups())).1.clone()
}

fn assert_gone(container: &Container) {
    for (_, directory) in container.cgroups() {
        assert!(!directory.exists(), "{}", directory.display());
    }
}

#[test]
fn the_command_finds_itself_in_the_containers_cgroups_and_nowhere_else() {
    need!("root", "v1");
    let agent = start(builder());
    let mut container = agent.launch(&["/bin/cat", "/proc/self/cgroup"]).unwrap();
    let names: Vec<String> = container.cgroups().iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names, hierarchies());
    assert_eq!(container.wait(soon()).unwrap().raw, 0);
    let own = fs::read_to_string("/proc/self/cgroup").unwrap();
    let seen = fs::read_to_string(container.sandbox().join("stdout")).unwrap();
    assert_eq!(own.lines().count(), seen.lines().count());
    for line in seen.lines() {
        let (controllers, path) = line.split_once(':').unwrap().1.split_once(':').unwrap();
        let name = controllers.trim_start_matches("name=");
        if names.iter().any(|one| name.split(',').any(|part| part == one)) {
            assert!(path.starts_with("/mesos-test-") && path.ends_with(container.id()), "{line}");
        } else {
            assert!(own.lines().any(|one| one == line), "{line} is not inherited");
        }
    }
    let pid = agent.directory().join("run/containers").join(container.id()).join("pid");
    assert_eq!(fs::read_to_string(pid).unwrap(), container.pid().to_string());
    assert!(container.destroy(soon()).unwrap().is_clean());
    assert_gone(&container);
    assert_eq!(container.recovery_check(), []);
}

#[test]
fn destroy_kills_a_descendant_in_its_own_session_that_ignores_sigterm_and_names_it() {
    need!("root", "v1");
    let agent = start(builder().environment("STAND_IN_EXECUTOR", "daemonise,stubborn,crash-after=0ms:0"));
    let mut container = ended(&agent);
    let alive = container.survivors().unwrap();
    assert_eq!(container.members().len(), 1);
    let report = container.destroy(soon()).unwrap();
    assert_eq!(report.killed, alive);
    assert!(report.killed[0].command.contains("stand-in --offspring idle stubborn"), "{report:?}");
    assert!(wait_dead(report.killed[0].pid, Instant::now()));
    assert_gone(&container);
}

#[test]
fn destroy_ends_five_hundred_processes_and_those_that_keep_forking() {
    need!("root", "v1");
    let agent = start(builder().environment("STAND_IN_EXECUTOR", "forkloop=500,hop=8,crash-after=0ms:0"));
    let mut container = ended(&agent);
    let report = container.destroy(soon()).unwrap();
    assert!(report.killed.len() >= 500, "{}", report.killed.len());
    assert_eq!(container.survivors().unwrap(), []);
    assert_gone(&container);
}

#[test]
fn a_process_that_left_the_freezer_alone_makes_destroy_fail_with_evidence() {
    need!("root", "v1");
    let agent = start(builder().environment("STAND_IN_EXECUTOR", "daemonise,crash-after=0ms:0"));
    let mut container = ended(&agent);
    let escaped = container.survivors().unwrap().remove(0);
    fs::write("/sys/fs/cgroup/freezer/cgroup.procs", escaped.pid.to_string()).unwrap();
    let error = container.destroy(Instant::now() + Duration::from_secs(1)).unwrap_err().to_string();
    let systemd = directory(&container, "systemd");
    let expected =
        format!("remove cgroup {}: Device or resource busy (hint: still in it: {escaped})", systemd.display());
    assert_eq!(error, expected);
    assert!(!directory(&container, "freezer").exists() && directory(&container, "memory").exists());
    let directories: Vec<PathBuf> = container.cgroups().iter().map(|(_, path)| path.clone()).collect();
    drop(container);
    assert!(wait_dead(escaped.pid, Instant::now()), "dropping takes it too");
    assert!(directories.iter().all(|directory| !directory.exists()), "{directories:?}");
}

#[test]
fn destroy_takes_child_cgroups_with_it_even_one_that_is_frozen() {
    need!("root", "v1");
    let agent = start(builder().environment("STAND_IN_EXECUTOR", "forkloop=3,crash-after=0ms:0"));
    let mut container = ended(&agent);
    let members: Vec<i32> = container.members().into_iter().collect();
    for (hierarchy, pid) in [("freezer", members[0]), ("memory", members[1]), ("cpu", members[2])] {
        let kid = directory(&container, hierarchy).join("kid/sub");
        fs::create_dir_all(&kid).unwrap();
        fs::write(kid.join("cgroup.procs"), pid.to_string()).unwrap();
    }
    fs::write(directory(&container, "freezer").join("kid/freezer.state"), "FROZEN").unwrap();
    assert_eq!(container.recovery_check(), [], "names without the separator are no containers on v1");
    let report = container.destroy(soon()).unwrap();
    assert_eq!(report.killed.len(), 3, "{report:?}");
    assert_gone(&container);
}

#[test]
fn the_recovery_check_finds_a_nested_container_and_ignores_other_children() {
    need!("root", "v1");
    let agent = start(builder());
    let mut container = agent.launch(&["/bin/sleep", "60"]).unwrap();
    let memory = directory(&container, "memory");
    fs::create_dir(memory.join("foo")).unwrap();
    assert_eq!(container.recovery_check(), []);
    fs::create_dir_all(memory.join("mesos/foo")).unwrap();
    let found = container.recovery_check();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].id, format!("{}.foo", container.id()));
    assert_eq!(found[0].directory, memory.join("mesos/foo"));
    assert!(!agent.recovery_check(&[]).is_empty(), "an agent that forgot the container takes it for an orphan");
    let report = container.destroy(soon()).unwrap();
    assert_eq!(report.killed[0].pid, container.pid());
    assert_eq!(container.recovery_check(), []);
    assert_gone(&container);
}

#[test]
fn memory_limit_and_cpuset_are_set_before_the_command_runs() {
    need!("root", "v1");
    let hierarchies = ["freezer", "memory", "cpuset"];
    let agent = start(builder().hierarchies(&hierarchies).memory(64 << 20));
    let mut container = agent.launch(&["/bin/cat", "/proc/self/cgroup"]).unwrap();
    container.wait(soon()).unwrap();
    let memory = directory(&container, "memory");
    for file in ["memory.limit_in_bytes", "memory.soft_limit_in_bytes"] {
        assert_eq!(fs::read_to_string(memory.join(file)).unwrap().trim(), (64 << 20).to_string(), "{file}");
    }
    let seen = fs::read_to_string(container.sandbox().join("stdout")).unwrap();
    assert!(seen.contains(":cpuset:/mesos-test-"), "{seen}");
    let cpuset = directory(&container, "cpuset");
    let value = |path: &Path| fs::read_to_string(path.join("cpuset.cpus")).unwrap();
    assert_eq!(value(&cpuset), value(Path::new("/sys/fs/cgroup/cpuset")));
}

#[test]
fn a_panic_leaves_no_cgroup_no_process_and_no_directory() {
    need!("root", "v1");
    let mut left = (Vec::new(), PathBuf::new(), Vec::new());
    let result = catch_unwind(AssertUnwindSafe(|| {
        let agent = start(builder().environment("STAND_IN_EXECUTOR", "daemonise,stubborn,crash-after=0ms:0"));
        let container = ended(&agent);
        left.0 = container.members().into_iter().collect();
        left.1 = agent.directory().to_owned();
        left.2 = container.cgroups().iter().map(|(_, path)| path.parent().unwrap().to_owned()).collect();
        assert!(left.2.len() == hierarchies().len() && left.2.iter().all(|root| root.exists()));
        panic!("as a failing test does");
    }));
    assert!(result.is_err());
    let (pids, directory, roots) = left;
    assert!(pids.len() == 1 && wait_dead(pids[0], Instant::now()), "{pids:?}");
    assert!(!directory.exists());
    assert!(roots.iter().all(|root| !root.exists()), "{roots:?}");
}

#[test]
fn on_v2_the_processes_are_in_leaf_and_any_child_cgroup_is_an_orphan() {
    need!("root", "v2");
    let agent = start(builder().v2(unified()).environment("STAND_IN_EXECUTOR", "daemonise,stubborn,crash-after=0ms:0"));
    let mut container = ended(&agent);
    let top = directory(&container, "unified");
    assert_eq!(fs::read_to_string(top.join("cgroup.procs")).unwrap(), "");
    assert_eq!(fs::read_to_string(top.join("leaf/cgroup.procs")).unwrap().lines().count(), 1);
    assert_eq!(container.recovery_check(), []);
    fs::create_dir(top.join("leaf/sub")).unwrap();
    let found = container.recovery_check();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].id, format!("{}.leaf.sub", container.id()));
    let report = container.destroy(soon()).unwrap();
    assert_eq!(report.killed.len(), 1, "{report:?}");
    assert_gone(&container);
}
