//! Attaching on this machine's real hierarchies.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::{CgroupGuard, DEADLINE, has, unified, wait_dead, wait_readable};
use minion::cgroup::{self, OomWatch, Placement, Sources};
use minion::mesos::Environment;
use rustix::event::{PollFd, PollFlags, Timespec, epoll};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const FREEZER: &str = "/sys/fs/cgroup/freezer";
const MEMORY: &str = "/sys/fs/cgroup/memory";
const CPUSET: &str = "/sys/fs/cgroup/cpuset";

/// A child that waits, and is ended and reaped when dropped.
struct Waiting(Child);

impl Waiting {
    fn new() -> Self {
        Self::running("read line")
    }

    fn running(script: &str) -> Self {
        let mut command = Command::new("sh");
        Self(command.args(["-c", script]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    fn memberships(&self) -> String {
        fs::read_to_string(format!("/proc/{}/cgroup", self.pid())).unwrap()
    }

    fn is_in(&self, hierarchy: &str) -> PathBuf {
        let text = self.memberships();
        let line = text.lines().find_map(|line| line.split_once(':')?.1.strip_prefix(hierarchy)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no {hierarchy} in {text}")).into()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The placement of container `c1` below `prefix`, by `MESOS_DIRECTORY` alone: this process is outside.
fn placed(sources: &Sources, prefix: &str) -> Placement {
    let vars = [("MESOS_DIRECTORY".into(), OsString::from("/w/runs/c1"))];
    cgroup::discover(sources, prefix, &Environment::from_vars(&vars))
}

fn on_v1(prefix: &str) -> Placement {
    placed(&Sources::read().unwrap(), prefix)
}

/// As on a host without v1: the real cgroup2 mount, and no other line.
fn on_v2(prefix: &str) -> Placement {
    placed(&Sources { cgroup: b"0::/\n".to_vec(), ..Sources::read().unwrap() }, prefix)
}

/// A hierarchy, how a container is found there, and where its processes are: v1 and cgroup2, those that are mounted.
type Version = (&'static Path, fn(&str) -> Placement, &'static str);

fn versions() -> Vec<Version> {
    let v1: Version = (Path::new(FREEZER), on_v1, "/c1");
    let v2: Version = (unified(), on_v2, "/c1/leaf");
    [("v1", v1), ("v2", v2)].into_iter().filter(|(need, _)| has(need).is_ok()).map(|(_, version)| version).collect()
}

fn write(file: impl AsRef<Path>, text: &str) {
    let file = file.as_ref();
    fs::write(file, text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
}

/// Every directory of this test in any hierarchy.
fn cgroups_called(name: &str) -> Vec<PathBuf> {
    fn below(directory: PathBuf, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below(entry.path(), found);
            }
        }
        found.push(directory);
    }
    let mut found = Vec::new();
    for hierarchy in fs::read_dir("/sys/fs/cgroup").unwrap().flatten() {
        let top = hierarchy.path().join(name);
        if top.exists() {
            below(top, &mut found);
        }
    }
    found
}

#[test]
fn a_child_is_moved_where_the_container_has_a_cgroup_and_nothing_is_created() {
    need!("root", "v1");
    let beside = has("v2").ok().map(|()| unified());
    let hierarchies = [FREEZER, MEMORY, CPUSET].into_iter().map(Path::new).chain(beside).collect::<Vec<_>>();
    let guard = CgroupGuard::new(&hierarchies, "/c1");
    let before = cgroups_called(guard.name());
    let container = PathBuf::from(format!("/{}/c1", guard.name()));

    let validated = on_v1(guard.name()).validate().whole().unwrap();
    let mut places: Vec<&str> = validated.places.iter().map(|place| place.hierarchy.as_str()).collect();
    places.sort_unstable();
    assert_eq!(places, ["cpuset", "freezer", "memory"]);
    let inherited: Vec<String> = validated.inherited.iter().map(ToString::to_string).collect();
    assert!(inherited.iter().any(|line| line.contains("pids:") && line.contains("no isolator")), "{inherited:?}");
    let is_beside = |line: &String| line.contains("unified:") && line.contains("beside v1");
    assert_eq!(inherited.iter().any(is_beside), beside.is_some(), "{inherited:?}");

    let child = Waiting::new();
    let others = |text: String| -> Vec<String> {
        let moved = [":freezer:", ":memory:", ":cpuset:"];
        text.lines().filter(|line| !moved.iter().any(|name| line.contains(name))).map(str::to_owned).collect()
    };
    let before_attach = others(child.memberships());
    let attached = validated.attach(child.pid()).unwrap();
    assert_eq!(attached.moved.len(), 3, "{attached}");
    for hierarchy in ["freezer", "memory", "cpuset"] {
        assert_eq!(child.is_in(hierarchy), container);
    }
    assert_eq!(others(child.memberships()), before_attach, "moved in a hierarchy of the agent");
    assert!(validated.attach(child.pid()).unwrap().moved.is_empty(), "written to although in place");
    assert_eq!(cgroups_called(guard.name()), before, "a cgroup was created or removed");
}

#[test]
fn a_partial_attach_names_what_was_moved_and_what_failed() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[FREEZER, CPUSET], "");
    for hierarchy in [FREEZER, CPUSET] {
        // A new v1 cpuset is empty, and nothing fills this one.
        fs::create_dir(Path::new(hierarchy).join(guard.name()).join("c1")).unwrap();
    }
    let child = Waiting::new();
    let error = on_v1(guard.name()).validate().whole().unwrap().attach(child.pid()).unwrap_err();
    assert_eq!(error.errno(), Some(libc::ENOSPC));
    let text = error.to_string();
    for part in ["already moved in freezer", "/sys/fs/cgroup/cpuset/", "c1/cgroup.procs", "cpuset.cpus or cpuset.mems"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn drift_is_seen_and_attaching_again_undoes_it() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[FREEZER, MEMORY], "/c1");
    let validated = on_v1(guard.name()).validate().whole().unwrap();
    let child = Waiting::new();
    validated.attach(child.pid()).unwrap();
    assert_eq!(validated.drift(child.pid()).unwrap(), []);

    write(Path::new(MEMORY).join("cgroup.procs"), &child.pid().to_string());
    let drift = validated.drift(child.pid()).unwrap();
    let line = format!("memory: in /, not in /{}/c1", guard.name());
    assert_eq!(drift.iter().map(ToString::to_string).collect::<Vec<_>>(), [line]);

    assert_eq!(validated.attach(child.pid()).unwrap().moved, ["memory"]);
    assert_eq!(validated.drift(child.pid()).unwrap(), []);
}

#[test]
fn a_zombie_is_not_taken_for_an_attached_child() {
    need!("root");
    for (hierarchy, place, below) in versions() {
        let guard = CgroupGuard::new(&[hierarchy], below);
        let zombie = Waiting::running("exit 0");
        assert!(wait_dead(zombie.pid(), Instant::now() + DEADLINE));
        let error = place(guard.name()).validate().whole().unwrap().attach(zombie.pid()).unwrap_err().to_string();
        assert!(error.contains("it has ended meanwhile"), "{error}");
    }
}

#[test]
fn a_reaped_child_has_ended() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[FREEZER], "/c1");
    let mut child = Waiting::running("exit 0");
    let pid = child.pid();
    child.0.wait().unwrap();
    let error = on_v1(guard.name()).validate().whole().unwrap().attach(pid).unwrap_err();
    assert!(error.to_string().contains("has ended"), "{error}");
}

#[test]
fn a_removed_cgroup_is_named_and_not_made_again() {
    need!("root");
    for (hierarchy, place, below) in versions() {
        let guard = CgroupGuard::new(&[hierarchy], below);
        let validated = place(guard.name()).validate().whole().unwrap();
        let top = hierarchy.join(guard.name());
        let inner = Path::new(below).strip_prefix("/").unwrap().ancestors().filter(|path| *path != Path::new(""));
        inner.for_each(|path| fs::remove_dir(top.join(path)).unwrap());
        let child = Waiting::new();
        let error = validated.attach(child.pid()).unwrap_err();
        assert!(error.to_string().contains("that cgroup was removed"), "{error}");
        assert!(!top.join("c1").exists(), "it was made again");
        assert!(place(guard.name()).validate().whole().unwrap().places.is_empty());
    }
}

#[test]
fn on_v2_a_child_goes_to_the_leaf() {
    need!("root", "v2");
    let guard = CgroupGuard::new(&[unified()], "/c1/leaf");
    let validated = on_v2(guard.name()).validate().whole().unwrap();
    let child = Waiting::new();
    assert_eq!(validated.attach(child.pid()).unwrap().to_string(), "moved in unified");
    assert_eq!(child.is_in(""), Path::new(&format!("/{}/c1/leaf", guard.name())));
    write(unified().join("cgroup.procs"), &child.pid().to_string());
    assert_eq!(validated.drift(child.pid()).unwrap().len(), 1);
}

#[test]
fn on_v2_a_container_without_a_leaf_is_no_target() {
    need!("root", "v2");
    let guard = CgroupGuard::new(&[unified()], "/c1");
    let validated = on_v2(guard.name()).validate().whole().unwrap();
    assert!(validated.places.is_empty(), "{:?}", validated.places);
}

#[test]
fn a_leaf_whose_children_have_controllers_takes_no_process() {
    // Switching a controller on takes a root that gives it to its children, and the root is not the test's to change.
    need!("root", "v2", "v2enabled");
    let guard = CgroupGuard::new(&[unified()], "/c1/leaf");
    guard.enable_memory(unified());
    let child = Waiting::new();
    let error = on_v2(guard.name()).validate().whole().unwrap().attach(child.pid()).unwrap_err();
    assert_eq!(error.errno(), Some(libc::EBUSY), "{error}");
    assert!(error.to_string().contains("cgroup.subtree_control"), "{error}");
}

#[test]
fn a_leaf_beside_a_threaded_cgroup_takes_no_process() {
    need!("root", "v2");
    let guard = CgroupGuard::new(&[unified()], "/c1/leaf");
    let threaded = unified().join(guard.name()).join("c1/t");
    fs::create_dir(&threaded).unwrap();
    write(threaded.join("cgroup.type"), "threaded");
    let child = Waiting::new();
    let error = on_v2(guard.name()).validate().whole().unwrap().attach(child.pid()).unwrap_err();
    assert_eq!(error.errno(), Some(libc::EOPNOTSUPP), "{error}");
    assert!(error.to_string().contains("domain invalid"), "{error}");
}

#[test]
fn a_link_or_a_plain_directory_in_the_place_of_a_hierarchy_is_refused() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[FREEZER], "/c1");
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(FREEZER, &link).unwrap();
    let plain = directory.path().join("plain");
    fs::create_dir_all(plain.join(guard.name()).join("c1")).unwrap();
    for (point, why) in [(link, "symbolic link"), (plain.clone(), "not on a cgroup file system")] {
        let mountinfo = format!("1 2 0:34 / {} rw - cgroup cgroup rw,freezer\n", point.display()).into_bytes();
        let sources = Sources { mountinfo, cgroup: b"6:freezer:/\n".to_vec() };
        let error = placed(&sources, guard.name()).validate().whole().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(fs::read_dir(plain.join(guard.name()).join("c1")).unwrap().count(), 0);
}

#[test]
fn another_hierarchy_on_the_mount_point_hides_the_one_that_is_meant() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[FREEZER, MEMORY], "/c1");
    // The line says freezer, the directory is memory's: its device number does not match.
    let mountinfo = b"1 2 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,freezer\n".to_vec();
    let sources = Sources { mountinfo, cgroup: b"6:freezer:/\n".to_vec() };
    let validated = placed(&sources, guard.name()).validate().whole().unwrap();
    assert!(validated.places.is_empty(), "{:?}", validated.places);
}

#[test]
fn an_oom_kill_in_the_container_wakes_the_watch_and_is_counted() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[MEMORY], "/c1");
    let limit = 8 << 20;
    write(Path::new(MEMORY).join(guard.name()).join("c1/memory.limit_in_bytes"), &limit.to_string());
    let validated = on_v1(guard.name()).validate().whole().unwrap();
    let mut watch = OomWatch::open(&validated).unwrap().expect("a memory cgroup is there");
    assert_eq!(watch.interest(), epoll::EventFlags::IN);
    let before = watch.read().unwrap();
    assert_eq!((before.kills, before.limit), (Some(0), Some(limit)));

    // Doubles a string until the kernel ends it.
    let mut eater = Waiting::running("read line; a=xxxxxxxxxxxxxxxx; while :; do a=$a$a; done");
    validated.attach(eater.pid()).unwrap();
    drop(eater.0.stdin.take());
    assert!(wait_readable(watch.fd(), Instant::now() + DEADLINE), "no event");
    assert!(wait_dead(eater.pid(), Instant::now() + DEADLINE), "not killed");
    assert_eq!(watch.read().unwrap().kills, Some(1));
    assert!(wait_readable(watch.fd(), Instant::now()), "a look takes no event");
    assert_eq!(watch.take().unwrap().and_then(|oom| oom.kills), Some(1));
    assert!(!wait_readable(watch.fd(), Instant::now()), "the event was not taken");
    assert_eq!(watch.take().unwrap(), None);
}

#[test]
fn reclaim_at_the_limit_is_no_lack_of_memory() {
    need!("root", "v2memory");
    let guard = CgroupGuard::new(&[unified()], "/c1");
    let top = unified().join(guard.name());
    write(top.join("cgroup.subtree_control"), "+memory");
    let (container, leaf) = (top.join("c1"), top.join("c1/leaf"));
    fs::create_dir(&leaf).unwrap();
    write(container.join("cgroup.subtree_control"), "+memory");
    write(container.join("memory.high"), &(1 << 20).to_string());
    let validated = on_v2(guard.name()).validate().whole().unwrap();
    let mut watch = OomWatch::open(&validated).unwrap().expect("a memory cgroup is there");

    let mut eater = Waiting::running("read line; a=xxxxxxxxxxxxxxxx; while [ ${#a} -lt 4000000 ]; do a=$a$a; done");
    validated.attach(eater.pid()).unwrap();
    drop(eater.0.stdin.take());
    // Its end is not waited for: who is above the limit is made to wait, on Linux 5.10 for a minute.
    let deadline = Instant::now() + DEADLINE;
    let events = || fs::read_to_string(container.join("memory.events")).unwrap();
    while events().contains("\nhigh 0\n") {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).unwrap();
        let mut fds = [PollFd::from_borrowed_fd(watch.fd(), PollFlags::PRI)];
        assert_eq!(rustix::event::poll(&mut fds, Some(&left)), Ok(1), "{}", events());
        assert_eq!(watch.take().unwrap(), None);
    }
    assert!(events().contains("\noom 0\n"), "{}", events());
    assert_eq!(watch.take().unwrap(), None);
    assert_eq!(watch.read().unwrap().kills, Some(0));
}

#[test]
fn without_a_memory_cgroup_of_its_own_there_is_nothing_to_watch() {
    need!("root", "v1", "v2");
    let guard = CgroupGuard::new(&[Path::new(FREEZER), unified()], "/c1");
    fs::create_dir(unified().join(guard.name()).join("c1/leaf")).unwrap();
    assert!(OomWatch::open(&on_v1(guard.name()).validate().whole().unwrap()).unwrap().is_none());
    // Beside v1 the memory controller is there and not here.
    assert!(OomWatch::open(&on_v2(guard.name()).validate().whole().unwrap()).unwrap().is_none());
}

#[test]
fn a_cgroup_file_signals_its_change_until_it_is_read_again_through_the_same_descriptor() {
    need!("root", "v2");
    // What the v2 watch rests on, shown on cgroup.events: memory.events needs the controller, which v1 has here.
    let guard = CgroupGuard::new(&[unified()], "/c1");
    let cgroup = unified().join(guard.name()).join("c1");
    let events = fs::File::open(cgroup.join("cgroup.events")).unwrap();
    let changed = || {
        let mut fds = [PollFd::new(&events, PollFlags::PRI)];
        rustix::event::poll(&mut fds, Some(&Timespec::default())).unwrap() == 1
    };
    let read = || rustix::io::pread(&events, &mut [0; 64], 0).unwrap();
    read();
    assert!(!changed());
    let child = Waiting::new();
    write(cgroup.join("cgroup.procs"), &child.pid().to_string());
    assert!(changed() && changed());
    read();
    assert!(!changed());
}

#[test]
fn the_kernel_refuses_a_line_feed_in_a_cgroups_name_and_takes_a_colon() {
    need!("root");
    for (hierarchy, ..) in versions() {
        let guard = CgroupGuard::new(&[hierarchy], "/a:b");
        let made = fs::create_dir(hierarchy.join(guard.name()).join("a\nb"));
        assert_eq!(made.unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }
}
