//! `minion attach`: what it does, and what it says to each answer of the kernel that can be brought about.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::look::Looked;
use common::{CgroupGuard, DEADLINE, minion, unified, wait_dead};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

const CPU: &str = "/sys/fs/cgroup/cpu";
const CPUSET: &str = "/sys/fs/cgroup/cpuset";
const FREEZER: &str = "/sys/fs/cgroup/freezer";
const MEMORY: &str = "/sys/fs/cgroup/memory";

fn arguments(pid: i32, root: &str) -> Vec<String> {
    ["attach", &pid.to_string(), "--to=c1", "--json", &format!("--mesos-cgroup-prefix={root}")]
        .map(str::to_owned)
        .to_vec()
}

fn attach(pid: i32, root: &str, more: &[&str]) -> Output {
    Command::new(minion()).args(arguments(pid, root)).args(more).output().unwrap()
}

/// The same where the cgroup2 mount is at /sys/fs/cgroup, as on a host without v1.
fn attach_unified(pid: i32, root: &str) -> Output {
    let script = "[ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup2 none /sys/fs/cgroup && exec \"$@\"";
    Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh", minion()])
        .args(arguments(pid, root))
        .output()
        .unwrap()
}

/// The outcome of a hierarchy, and the exit code.
fn outcome(output: &Output, hierarchy: &str) -> (Value, i32) {
    let text = String::from_utf8_lossy(&output.stdout);
    let object: Value = serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{e}: {text} {}", String::from_utf8_lossy(&output.stderr)));
    let outcomes = object["outcomes"].as_array().unwrap();
    let found = outcomes.iter().find(|outcome| outcome["hierarchy"] == hierarchy);
    (found.unwrap_or_else(|| panic!("no {hierarchy}: {text}")).clone(), output.status.code().unwrap())
}

/// The outcome is this errno, and the sentence says so with these words.
fn refused(output: &Output, hierarchy: &str, errno: i32, words: &str) {
    let (outcome, code) = outcome(output, hierarchy);
    assert_eq!((&outcome["result"], &outcome["errno"], code), (&"failed".into(), &errno.into(), 1), "{outcome}");
    assert!(outcome["error"].as_str().unwrap().contains(words), "{outcome}");
}

/// The process could not be attached at all, for this reason.
fn impossible(output: &Output, words: &[&str]) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(words.iter().all(|words| errors.contains(words)), "{errors}");
}

fn is_in(pid: i32, hierarchy: &str) -> PathBuf {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let line = text.lines().find_map(|line| line.split_once(':')?.1.strip_prefix(hierarchy)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {hierarchy} in {text}")).into()
}

#[test]
fn a_stray_process_is_put_back_in_every_hierarchy_and_a_second_time_there_is_nothing_to_do() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[FREEZER, MEMORY, CPUSET], "/c1");
    let looked = Looked::waiting();
    let container = PathBuf::from(format!("/{}/c1", guard.name()));
    let first = attach(looked.pid(), guard.name(), &[]);
    let second = attach(looked.pid(), guard.name(), &[]);
    for hierarchy in ["freezer", "memory", "cpuset"] {
        assert_eq!(is_in(looked.pid(), hierarchy), container);
        let (first, second) = (outcome(&first, hierarchy), outcome(&second, hierarchy));
        assert_eq!((&first.0["result"], first.1), (&"moved".into(), 0));
        assert_eq!((&second.0["result"], second.1), (&"there".into(), 0));
    }
}

/// A process inside of container `a` in freezer, memory and cpuset, beside container `b` with freezer and memory alone.
fn in_a_beside_b() -> (CgroupGuard, Looked) {
    in_a(Looked::waiting())
}

fn in_a(looked: Looked) -> (CgroupGuard, Looked) {
    let guard = CgroupGuard::new(&[FREEZER, MEMORY, CPUSET], "/a");
    for hierarchy in [FREEZER, MEMORY, CPUSET] {
        looked.enters_cgroup(&Path::new(hierarchy).join(guard.name()).join("a"));
    }
    for hierarchy in [FREEZER, MEMORY] {
        fs::create_dir(Path::new(hierarchy).join(guard.name()).join("b")).unwrap();
    }
    (guard, looked)
}

fn attach_to_b(pid: i32, guard: &CgroupGuard, more: &[&str]) -> Output {
    let prefix = format!("--mesos-cgroup-prefix={}", guard.name());
    Command::new(minion()).args(["attach", &pid.to_string(), "--to=b", &prefix]).args(more).output().unwrap()
}

#[test]
fn a_process_inside_another_container_is_left_there_unless_the_move_is_asked_for() {
    need!("root", "v1");
    let (guard, looked) = in_a_beside_b();
    let words = ["inside another container, a, in", "freezer", "cpuset", "--move takes it out"];
    for more in [&[][..], &["--only=memory"]] {
        impossible(&attach_to_b(looked.pid(), &guard, more), &words);
        for hierarchy in ["freezer", "memory", "cpuset"] {
            assert_eq!(is_in(looked.pid(), hierarchy), PathBuf::from(format!("/{}/a", guard.name())));
        }
    }
}

#[test]
fn a_move_says_where_the_process_stays_in_the_other_container() {
    need!("root", "v1");
    let (guard, looked) = in_a_beside_b();
    let output = attach_to_b(looked.pid(), &guard, &["--move", "--json"]);
    assert_eq!(outcome(&output, "memory").0["result"], "moved");
    let (left, code) = outcome(&output, "cpuset");
    assert_eq!((&left["result"], &left["cgroup"]), (&"left".into(), &format!("/{}/a", guard.name()).into()));
    assert_eq!((code, is_in(looked.pid(), "memory")), (1, PathBuf::from(format!("/{}/b", guard.name()))));
    let page = attach_to_b(looked.pid(), &guard, &["--move"]);
    let text = String::from_utf8(page.stdout).unwrap();
    assert!(text.contains("STAYS in container a") && !text.contains("it is where it should be"), "{text}");
    assert!(text.contains("in two containers now: in cpuset") && page.status.code() == Some(1), "{text}");
}

#[test]
fn why_calls_a_place_in_another_container_a_problem_and_advises_what_containers_does() {
    need!("root", "v1");
    let (guard, looked) = in_a_beside_b();
    attach_to_b(looked.pid(), &guard, &["--move"]);
    let prefix = format!("--mesos-cgroup-prefix={}", guard.name());
    let mut said = common::look::why(looked.pid(), &[&prefix]);
    assert!(said.code == 1 && said.actual("cgroup-two-containers").contains("/a (container a)"), "{}", said.text);
    assert!(!said.text.contains(&format!("cpuset in /{}/a", guard.name())), "{}", said.text);
    let containers = Command::new(minion()).args(["containers", "--json", &prefix]).output().unwrap();
    let survey: Value = serde_json::from_slice(&containers.stdout).unwrap();
    let advised = format!("minion attach {} --to=a {prefix} --move", looked.pid());
    assert_eq!(said.commands(), [advised.as_str()]);
    let of_containers = common::look::commands(&survey["findings"]);
    assert!(of_containers.contains(&advised), "{of_containers:?}");
    assert!(said.pasted()[0].status.success());
    for hierarchy in ["freezer", "memory", "cpuset"] {
        assert_eq!(is_in(looked.pid(), hierarchy), PathBuf::from(format!("/{}/a", guard.name())));
    }
    assert!(!common::look::why(looked.pid(), &[&prefix]).has("cgroup-two-containers"));
}

#[test]
fn a_process_that_was_started_in_the_container_it_is_in_is_not_advised_back_into_the_other() {
    need!("root", "v1");
    let mut command = Command::new("bash");
    command.args(["-c", "echo ready; read -r x"]).env("MESOS_DIRECTORY", "/w/runs/b");
    let (guard, looked) = in_a(Looked::start(&mut command).0);
    attach_to_b(looked.pid(), &guard, &["--move"]);
    let prefix = format!("--mesos-cgroup-prefix={}", guard.name());
    let said = common::look::why(looked.pid(), &[&prefix]);
    let remedy = said.finding("cgroup-two-containers")["remedy"].as_str().unwrap();
    assert!(said.commands().is_empty() && remedy.starts_with("b has no cgroup there"), "{}", said.text);
    let containers = Command::new(minion()).args(["containers", "--json", &prefix]).output().unwrap();
    let survey: Value = serde_json::from_slice(&containers.stdout).unwrap();
    let advised = common::look::commands(&survey["findings"]);
    assert!(advised.contains(&format!("minion attach {} --to=b {prefix} --move", looked.pid())), "{advised:?}");
    assert!(!advised.iter().any(|command| command.contains("--to=a")), "{advised:?}");
}

#[test]
fn a_kernel_thread_is_told_to_be_one_and_not_to_be_a_real_time_process() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[FREEZER, MEMORY], "/c1");
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n") {
        refused(&attach(2, guard.name(), &[]), "memory", libc::EINVAL, "thread of the kernel");
        let outcome = outcome(&attach(2, guard.name(), &[]), "freezer").0.to_string();
        assert!(!outcome.contains("real-time"), "{outcome}");
    }
}

#[test]
fn only_one_hierarchy_is_written_to_when_only_one_is_named() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[FREEZER, MEMORY], "/c1");
    let looked = Looked::waiting();
    let before = is_in(looked.pid(), "freezer");
    let output = attach(looked.pid(), guard.name(), &["--only=memory"]);
    assert_eq!(outcome(&output, "memory").0["result"], "moved");
    assert_eq!(is_in(looked.pid(), "freezer"), before);
    impossible(&attach(looked.pid(), guard.name(), &["--only=cpu"]), &["hierarchy of \"cpu\"", "freezer, memory"]);
}

#[test]
fn a_real_time_process_is_einval_in_a_v1_cpu_cgroup() {
    need!("root", "v1", "rt");
    let guard = CgroupGuard::new(&[CPU, MEMORY], "/c1");
    let mut command = Command::new("chrt");
    let (looked, _) = Looked::start(command.args(["--fifo", "1", "bash", "-c", "echo ready; read -r x"]));
    let output = attach(looked.pid(), guard.name(), &[]);
    refused(&output, "cpu", libc::EINVAL, &format!("chrt --other --pid 0 {}", looked.pid()));
    assert_eq!(outcome(&output, "memory").0["result"], "moved", "one refusal does not keep it out of the others");
}

#[test]
fn an_empty_cpuset_is_enospc() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[CPUSET], "");
    // Nothing fills this one: a new v1 cpuset is empty.
    fs::create_dir(Path::new(CPUSET).join(guard.name()).join("c1")).unwrap();
    let looked = Looked::waiting();
    refused(&attach(looked.pid(), guard.name(), &[]), "cpuset", libc::ENOSPC, "cpuset.cpus or cpuset.mems is empty");
}

/// The v2 container `c1` with its leaf, and the leaf's path.
fn on_v2() -> (CgroupGuard, PathBuf) {
    let guard = CgroupGuard::new(&[unified()], "/c1/leaf");
    let leaf = unified().join(guard.name()).join("c1/leaf");
    (guard, leaf)
}

#[test]
fn a_leaf_whose_children_have_controllers_is_ebusy() {
    need!("root", "v2", "v2enabled");
    let (guard, _leaf) = on_v2();
    guard.enable_memory(unified());
    let looked = Looked::waiting();
    let output = attach_unified(looked.pid(), guard.name());
    refused(&output, "unified", libc::EBUSY, "cgroup.subtree_control");
}

#[test]
fn a_leaf_that_is_domain_invalid_is_eopnotsupp() {
    need!("root", "v2");
    let (guard, leaf) = on_v2();
    let threaded = leaf.with_file_name("threaded");
    fs::create_dir(&threaded).unwrap();
    fs::write(threaded.join("cgroup.type"), "threaded").unwrap();
    assert_eq!(fs::read_to_string(leaf.join("cgroup.type")).unwrap(), "domain invalid\n");
    let looked = Looked::waiting();
    refused(&attach_unified(looked.pid(), guard.name()), "unified", libc::EOPNOTSUPP, "domain invalid");
}

#[test]
fn a_cgroup_that_is_removed_after_it_was_found_is_enodev() {
    need!("root", "v1");
    // The command looks and writes in one go; the library's two halves let something come in between.
    let guard = CgroupGuard::new(&[MEMORY], "/c1");
    let looked = Looked::waiting();
    let variable = ("MESOS_DIRECTORY".into(), "/w/runs/c1".into());
    let environment = ::minion::mesos::Environment::from_vars(&[variable]);
    let sources = ::minion::cgroup::Sources::read().unwrap();
    let validated = ::minion::cgroup::discover(&sources, guard.name(), &environment).validate().whole().unwrap();
    fs::remove_dir(Path::new(MEMORY).join(guard.name()).join("c1")).unwrap();
    let error = validated.attach(looked.pid()).unwrap_err();
    assert!(matches!(error.errno(), Some(libc::ENODEV | libc::ENOENT)), "{error}");
    assert!(error.to_string().contains("that cgroup was removed"), "{error}");
    impossible(
        &attach(looked.pid(), guard.name(), &[]),
        &["container \"c1\"", "no cgroup in any hierarchy", "has destroyed it"],
    );
}

#[test]
fn a_process_that_is_gone_is_told_with_esrchs_words() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[MEMORY], "/c1");
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let pid = i32::try_from(gone.id()).unwrap();
    impossible(&attach(pid, guard.name(), &[]), &[&format!("pid {pid}: No such process"), "has ended"]);
    impossible(&attach(0, guard.name(), &[]), &["not the pid of a process"]);
}

#[test]
fn a_zombie_is_refused_where_the_kernel_would_say_yes_and_do_nothing() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[MEMORY], "/c1");
    let mut child = Command::new("true").spawn().unwrap();
    let zombie = i32::try_from(child.id()).unwrap();
    assert!(wait_dead(zombie, Instant::now() + DEADLINE));
    // The silent success itself:
    fs::write(Path::new(MEMORY).join(guard.name()).join("c1/cgroup.procs"), zombie.to_string()).unwrap();
    impossible(
        &attach(zombie, guard.name(), &[]),
        &["it is a zombie", &format!("its parent, pid {}", std::process::id())],
    );
    child.wait().unwrap();
}

#[test]
fn a_user_who_may_not_write_there_is_told_so() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[MEMORY], "/c1");
    let looked = Looked::waiting();
    let directory = tempfile::tempdir_in("/tmp").unwrap();
    let program = directory.path().join("minion");
    common::another_name(minion(), &program);
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    let output = command.args(arguments(looked.pid(), guard.name())).current_dir("/").output().unwrap();
    refused(&output, "memory", libc::EACCES, "this user may not write");
}

#[test]
fn the_page_says_of_each_hierarchy_what_was_done() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[FREEZER, MEMORY], "/c1");
    let looked = Looked::waiting();
    fs::write(Path::new(MEMORY).join(guard.name()).join("c1/cgroup.procs"), looked.pid().to_string()).unwrap();
    let prefix = format!("--mesos-cgroup-prefix={}", guard.name());
    let output =
        Command::new(minion()).args(["attach", &looked.pid().to_string(), "--to", "c1", &prefix]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
    assert!(line("freezer").ends_with("moved") && line("memory").ends_with("was there already"), "{text}");
    assert!(text.contains("it is where it should be"), "{text}");
}
