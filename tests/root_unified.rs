//! minion under a rehearsal agent on cgroup2 alone: where everything is, and that no stage of a run leaves anything that
//! stops the agent when it restarts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use ::minion::rehearsal::{Agent, Builder, Container};
use common::oom::{AFTER_SPARE, FIRST, SPARE};
use common::sandbox::until;
use common::unified::{TREE, on_unified_host};
use common::{DEADLINE, minion, proc, wait_dead, write_program};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What the agent enables for its containers.
const CONTROLLERS: [&str; 6] = ["cpu", "memory", "io", "hugetlb", "cpuset", "pids"];

fn soon() -> Instant {
    Instant::now() + DEADLINE
}

fn root() -> String {
    format!("mesos-test-{}-u", std::process::id())
}

fn builder() -> Builder {
    Agent::builder(Path::new(minion()), &root())
        .v2_inhabited(Path::new(TREE))
        .reap_at_once()
        .environment("STAND_IN_PROXY", "record=record-proxy-%p.json,crash-after=300ms:3,once")
        .environment("STAND_IN_EXECUTOR", "record=record-executor-%p.json,lines=1000000,every=50ms")
}

fn start(builder: Builder) -> Agent {
    let agent = builder.start().unwrap();
    assert_eq!(agent.missing(), [] as [&str; 0]);
    agent
}

fn command_line(km: &Path) -> Vec<String> {
    let km = format!("--km-binary={}", km.display());
    let prefix = format!("--mesos-cgroup-prefix={}", root());
    let flags = ["--api-servers=http://127.0.0.1:8888", "--restart-delay=100ms", "--cgroup-attach=require"];
    [minion(), "run", &km, &prefix].into_iter().chain(flags).map(str::to_owned).collect()
}

fn stand_ins() -> Vec<String> {
    command_line(Path::new("./km"))
}

/// The pid of a child of this role other than `not`, from the record that it writes of itself.
fn child(container: &Container, role: &str, not: &[i32]) -> i32 {
    let prefix = format!("record-{role}-");
    until(container.sandbox(), role, || {
        let entries = fs::read_dir(container.sandbox()).unwrap().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let pids = names.filter_map(|name| name.strip_prefix(&prefix)?.strip_suffix(".json")?.parse().ok());
        pids.filter(|pid| !not.contains(pid) && proc::is_alive(*pid)).min()
    })
}

fn stderr(container: &Container) -> String {
    fs::read_to_string(container.sandbox().join("stderr")).unwrap()
}

/// The line of minion's stderr that holds `text`.
fn says(container: &Container, text: &str) -> String {
    until(container.sandbox(), text, || stderr(container).lines().find(|line| line.contains(text)).map(str::to_owned))
}

fn top(container: &Container) -> PathBuf {
    let [(name, directory)] = container.cgroups() else { panic!("{:?}", container.cgroups()) };
    assert_eq!(name, "unified");
    directory.clone()
}

fn read(file: impl AsRef<Path>) -> String {
    let file = file.as_ref();
    fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// The path of a process on cgroup2.
fn place(pid: i32) -> String {
    let text = read(format!("/proc/{pid}/cgroup"));
    text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_else(|| panic!("{text}")).to_owned()
}

fn assert_in_leaf(container: &Container, pids: &[i32]) {
    let leaf = top(container).join("leaf");
    for pid in pids {
        assert_eq!(Path::new(TREE).join(place(*pid).trim_start_matches('/')), leaf);
    }
    assert_eq!(read(top(container).join("cgroup.procs")), "");
}

/// SHUTDOWN, obeyed; nothing is left that the agent has to kill or to wait for.
fn end(mut container: Container) {
    let ending = container.shutdown().unwrap();
    assert!(ending.obeyed && ending.status.raw == 0, "{ending:?}\n{}", stderr(&container));
    assert!(ending.report.is_clean(), "{ending:?}");
    assert!(!top(&container).exists());
}

#[test]
fn agent_and_container_are_where_a_v2_agent_puts_them() {
    need!("root", "v2", "mountns");
    on_unified_host(|| {
        let agent = start(builder());
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(place(own), format!("/{}/agent/leaf", root()));
        let mut container = agent.launch(&["/bin/cat", "/proc/self/cgroup"]).unwrap();
        let top = top(&container);
        assert_eq!(container.wait(soon()).unwrap().raw, 0);
        let seen = read(container.sandbox().join("stdout"));
        assert!(seen.contains(&format!("0::/{}/{}/leaf\n", root(), container.id())), "{seen}");
        let offered = read(Path::new(TREE).join(root()).join("cgroup.controllers"));
        for name in CONTROLLERS.into_iter().filter(|name| offered.split_ascii_whitespace().any(|one| one == *name)) {
            for above in [top.parent().unwrap(), &top] {
                assert!(read(above.join("cgroup.subtree_control")).contains(name), "{name} of {}", above.display());
            }
        }
        assert_eq!(read(top.join("leaf/cgroup.subtree_control")).trim(), "");
        assert!(container.destroy(soon()).unwrap().is_clean());
        drop(container);
        drop(agent);
        assert_ne!(place(own), format!("/{}/agent/leaf", root()));
        assert!(!Path::new(TREE).join(root()).exists());
    });
}

#[test]
fn no_stage_of_a_run_leaves_anything_that_stops_an_agents_restart() {
    need!("root", "v2", "mountns");
    on_unified_host(|| {
        // The first proxy is looked at before it is gone.
        let agent = start(builder().environment("STAND_IN_PROXY", "record=record-proxy-%p.json,crash-after=3s:3,once"));
        let container = agent.launch(&stand_ins()).unwrap();
        let check = |stage: &str| assert_eq!(container.recovery_check(), [], "{stage}");
        let executor = child(&container, "executor", &[]);
        let first = child(&container, "proxy", &[]);
        assert_in_leaf(&container, &[container.pid(), executor, first]);
        check("started");
        assert!(wait_dead(first, soon()));
        let second = child(&container, "proxy", &[first]);
        assert_in_leaf(&container, &[executor, second]);
        check("the proxy was started again");
        container.signal(libc::SIGUSR1).unwrap();
        until(container.sandbox(), "a backup", || {
            let names = fs::read_dir(container.sandbox())
                .unwrap()
                .flatten()
                .filter_map(|one| one.file_name().into_string().ok());
            names.into_iter().find(|name| name.starts_with("executor-"))
        });
        check("rotated");
        assert!(says(&container, "the kernel (").contains("agree"));
        let mut container = container;
        let ending = container.shutdown().unwrap();
        assert!(ending.obeyed && ending.report.is_clean(), "{ending:?}\n{}", stderr(&container));
        assert_eq!(container.recovery_check(), [], "stopped");
        assert!(!stderr(&container).contains("cgroup-hazard"), "{}", stderr(&container));
        assert_eq!(agent.recovery_check(&[]), []);
    });
}

#[test]
fn after_a_sigkill_of_minion_nothing_stops_an_agents_restart() {
    need!("root", "v2", "mountns");
    on_unified_host(|| {
        let agent = start(builder());
        let mut container = agent.launch(&stand_ins()).unwrap();
        let executor = child(&container, "executor", &[]);
        let minion: i32 = proc::stat(executor).unwrap()[1].parse().unwrap();
        let minion = rustix::process::Pid::from_raw(minion).unwrap();
        rustix::process::kill_process(minion, rustix::process::Signal::KILL).unwrap();
        assert!(wait_dead(executor, soon()), "the executor outlives minion");
        assert_eq!(container.wait(soon()).unwrap().raw, libc::SIGKILL);
        assert_eq!(container.recovery_check(), []);
        container.destroy(soon()).unwrap();
        assert!(!top(&container).exists());
        assert_eq!(agent.recovery_check(&[]), []);
    });
}

#[test]
fn in_a_container_with_an_image_children_are_in_the_leaf_that_it_sees() {
    need!("root", "v2", "mountns");
    on_unified_host(|| {
        let agent = start(builder());
        let container = agent.launch_with_image(&stand_ins()).unwrap();
        let executor = child(&container, "executor", &[]);
        assert_in_leaf(&container, &[executor]);
        let identity = says(&container, "the kernel (");
        assert!(identity.contains(&format!("0::/../../{}/leaf", container.id())), "{identity}");
        assert!(identity.contains("agree"), "{identity}");
        let namespace = |of: &str| fs::read_link(format!("/proc/{of}/ns/cgroup")).unwrap();
        assert_ne!(namespace(&executor.to_string()), namespace("self"));
        // As this process sees the mount, which is in the namespace of the host.
        let mounts = read(format!("/proc/{executor}/mountinfo"));
        let seen = format!(" /{}/{}/leaf {TREE} ", root(), container.id());
        assert!(mounts.lines().any(|line| line.contains(&seen) && line.contains("- cgroup2")), "{seen} in {mounts}");
        assert_eq!(container.recovery_check(), []);
        end(container);
    });
}

#[test]
fn in_a_nested_container_children_are_in_its_own_leaf() {
    need!("root", "v2", "mountns");
    on_unified_host(|| {
        let agent = start(builder());
        let mut parent = agent.launch(&["/bin/sleep", "60"]).unwrap();
        let nested = agent.launch_nested(&parent, &stand_ins()).unwrap();
        let executor = child(&nested, "executor", &[]);
        assert_in_leaf(&nested, &[executor]);
        assert!(top(&nested).starts_with(top(&parent).join("mesos")), "{}", top(&nested).display());
        let identity = says(&nested, "the kernel (");
        assert!(identity.contains(nested.id()) && identity.contains("MESOS_DIRECTORY is not set"), "{identity}");
        assert_eq!(agent.recovery_check(&[&parent, &nested]), []);
        let orphans = agent.recovery_check(&[&parent]);
        assert!(!orphans.is_empty() && orphans.iter().all(|orphan| orphan.id == nested.id()), "{orphans:?}");
        end(nested);
        assert_eq!(parent.destroy(soon()).unwrap().killed.len(), 2, "the init and its sleep");
    });
}

/// A km that does what `script` says in the shell, and then is the stand-in.
fn km(script: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("km");
    let own = "cgroup=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)";
    let text = format!("#!/bin/sh\n{own}\n{script}\nexec {} stand-in km \"$@\"\n", minion());
    write_program(&path, text, 0o755);
    (directory, path)
}

#[test]
fn a_child_that_makes_a_cgroup_is_found_out_while_it_runs_and_once() {
    need!("root", "v2", "mountns");
    on_unified_host(|| {
        let (_directory, km) = km("mkdir -p $cgroup/kubepods/burstable $cgroup/../system.slice");
        let agent = start(builder());
        let mut container = agent.launch(&command_line(&km)).unwrap();
        let executor = child(&container, "executor", &[]);
        assert_in_leaf(&container, &[executor]);
        // The first look at the placement is a second after the start.
        let id = container.id().to_owned();
        for made in ["leaf.kubepods", "leaf.kubepods.burstable", "system.slice"] {
            let made = format!("{id}.{made}");
            let line = says(&container, &format!("{made} "));
            assert!(line.contains("cgroup-hazard") && line.contains("fails"), "{line}");
            let orphans = container.recovery_check();
            assert!(orphans.iter().any(|orphan| orphan.id == made || made.ends_with("system.slice")), "{orphans:?}");
        }
        let ending = container.shutdown().unwrap();
        assert!(ending.obeyed, "{}", stderr(&container));
        assert_eq!(stderr(&container).matches("cgroup-hazard").count(), 3, "{}", stderr(&container));
        assert!(!top(&container).exists());
        assert_eq!(agent.recovery_check(&[]), []);
    });
}

#[test]
fn a_cgroup_that_a_child_leaves_behind_at_its_end_is_said_too() {
    need!("root", "v2", "mountns");
    on_unified_host(|| {
        // Nothing is left to do after a second, and so nothing is looked at before the end.
        let (_directory, km) = km("[ $1 = proxy ] || { mkdir $cgroup/late; exit 7; }");
        let agent = start(builder());
        let mut container = agent.launch(&command_line(&km)).unwrap();
        let status = container.wait(soon()).unwrap();
        assert!(status.exit().code().is_some_and(|code| code != 0), "{status:?}");
        let text = stderr(&container);
        assert!(text.contains("cgroup-hazard") && text.contains(".leaf.late "), "{text}");
        container.destroy(soon()).unwrap();
        assert!(!top(&container).exists());
    });
}

#[test]
fn destroy_kills_all_at_once_even_what_is_frozen_or_keeps_forking() {
    need!("root", "v2", "mountns");
    on_unified_host(|| {
        let script = "forkloop=40,hop=4,stubborn,crash-after=0ms:0";
        let agent = start(builder().environment("STAND_IN_EXECUTOR", script));
        let mut container = agent.launch(&["./km", "executor"]).unwrap();
        container.wait(soon()).unwrap();
        let frozen = top(&container).join("leaf/frozen");
        fs::create_dir(&frozen).unwrap();
        let one = *container.members().first().unwrap();
        let _ = fs::write(frozen.join("cgroup.procs"), one.to_string());
        fs::write(frozen.join("cgroup.freeze"), "1").unwrap();
        let report = container.destroy(soon()).unwrap();
        assert!(report.killed.len() >= 40, "{}", report.killed.len());
        assert_eq!(container.survivors().unwrap(), []);
        assert!(!top(&container).exists());
    });
}

#[test]
fn a_child_that_the_kernel_kills_for_memory_is_named_as_that() {
    need!("root", "v2memory", "mountns");
    on_unified_host(|| {
        let eat = "a=xxxxxxxxxxxxxxxx; while :; do a=$a$a; done";
        let (_directory, km) = km(&format!("if [ $1 = proxy ]; then {SPARE}; else {AFTER_SPARE}; {FIRST}; {eat}; fi"));
        let agent = start(builder().memory(64 << 20).environment("STAND_IN_PROXY", ""));
        let mut container = agent.launch(&command_line(&km)).unwrap();
        let status = container.wait(Instant::now() + Duration::from_secs(30)).unwrap();
        assert_eq!(status.exit().code(), Some(128 + libc::SIGKILL), "{}", stderr(&container));
        let text = stderr(&container);
        assert!(text.contains("by the kernel for lack of memory (limit 67108864"), "{text}");
        container.destroy(soon()).unwrap();
    });
}
