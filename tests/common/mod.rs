//! What every test file shares: needs and skips, deadlines, cgroups that remove themselves.
//!
//! No helper sleeps: each waits on a file descriptor with a deadline.

#![allow(dead_code, unused_imports, unreachable_pub)] // each test file is a crate of its own and uses a part of this
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

pub mod agent;
pub mod alone;
pub mod control;
pub mod fifo;
pub mod keys;
pub mod logs;
pub mod look;
pub mod minion;
pub mod oom;
pub mod proc;
pub mod sandbox;
pub mod scheduler;
pub mod simulation;
pub mod unified;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a test waits for something that takes milliseconds when it works.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Returns from the test, loudly, when the machine lacks what it needs; fails where `MINION_TEST_REQUIRE` names it.
///
/// `need!("root")`, `need!("root", "v1")`: root, v1 (cgroup v1 hierarchies), v2 (a cgroup2 mount), v2memory (and it has the
/// memory controller), v2enabled (and its root gives that to its children), rt (v1 cpu cgroups budget real-time processes),
/// mountns, userns (user namespaces, for nobody too), `prometheus_client` (its Python module).
#[macro_export]
macro_rules! need {
    ($($what:literal),+) => {
        $(if let Err(reason) = $crate::common::has($what) {
            let test = std::thread::current().name().unwrap_or("test").to_owned();
            let required = std::env::var("MINION_TEST_REQUIRE").unwrap_or_default();
            assert!(
                !required.split(',').any(|name| name == $what),
                "{test} needs {}: {reason}, and MINION_TEST_REQUIRE={required}", $what
            );
            eprintln!("SKIP {test}: {} ({reason})", $what);
            return;
        })+
    };
}

/// Whether this machine has what a test needs, and why not.
pub fn has(what: &str) -> Result<(), String> {
    let there = |path: &str| fs::metadata(path).map(drop).map_err(|e| format!("{path}: {e}"));
    match what {
        "root" => rustix::process::geteuid().is_root().then_some(()).ok_or_else(|| "not root".to_owned()),
        "v1" => there("/sys/fs/cgroup/freezer/cgroup.procs"),
        "v2" => there(&unified().join("cgroup.controllers").to_string_lossy()),
        "v2memory" => names_memory(&unified().join("cgroup.controllers")),
        "v2enabled" => names_memory(&unified().join("cgroup.subtree_control")),
        "rt" => there("/sys/fs/cgroup/cpu/cpu.rt_runtime_us"),
        "mountns" => there("/proc/self/ns/mnt"),
        "prometheus_client" => python_with("prometheus_client").map(drop),
        "nobody" => nobody_may_run(minion()),
        "userns" => user_namespaces(),
        tool @ ("script" | "strace" | "fsfreeze" | "unshare" | "setpriv" | "prlimit" | "perl" | "python3"
        | "mkfs.ext4") => in_path(tool),
        other => panic!("no such need: {other}"),
    }
}

/// A Python that has the module: the one in `PATH`, or the one that the distribution's packages are for.
pub fn python_with(module: &str) -> Result<&'static str, String> {
    let imports = |python: &&str| {
        let tried = std::process::Command::new(python).args(["-c", &format!("import {module}")]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(|python| imports(python));
    found.ok_or_else(|| format!("no python3 has {module}: sh tests/setup"))
}

/// Whether a cgroup2 list of controllers has memory in it.
fn names_memory(file: &Path) -> Result<(), String> {
    let listed = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let there = listed.split_ascii_whitespace().any(|one| one == "memory");
    there.then_some(()).ok_or_else(|| format!("{} says {:?}", file.display(), listed.trim()))
}

/// Whether user nobody may execute a program, which a home that is closed to others prevents.
fn nobody_may_run(program: &str) -> Result<(), String> {
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "test", "-x", program];
    let tried = std::process::Command::new("setpriv").args(nobody).status().map_err(|e| format!("setpriv: {e}"))?;
    tried.success().then_some(()).ok_or_else(|| format!("not even {program}"))
}

/// Whether user namespaces may be made, by root and by others.
fn user_namespaces() -> Result<(), String> {
    let nobody = ["--reuid=65534", "--regid=65533", "--clear-groups", "unshare", "--user", "--map-root-user", "true"];
    let tried = std::process::Command::new("setpriv").args(nobody).output().map_err(|e| format!("setpriv: {e}"))?;
    tried.status.success().then_some(()).ok_or_else(|| String::from_utf8_lossy(&tried.stderr).into_owned())
}

/// Whether a program is in `PATH`, or where only root has it.
fn in_path(tool: &str) -> Result<(), String> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let found = path.split(':').any(|directory| Path::new(directory).join(tool).exists());
    found.then_some(()).ok_or_else(|| format!("no {tool} in {path}"))
}

/// Where cgroup2 is mounted: beside v1, or in its place.
pub fn unified() -> &'static Path {
    let beside = Path::new("/sys/fs/cgroup/unified");
    if beside.join("cgroup.procs").exists() { beside } else { Path::new("/sys/fs/cgroup") }
}

/// Another name for a program: a link where that is possible.
pub fn another_name(program: impl AsRef<Path>, name: &Path) {
    let program = program.as_ref();
    if fs::hard_link(program, name).is_err() {
        copy_program(program, name, 0o755);
    }
}

/// A program of these bytes. Not written by this process: a child that another test forks meanwhile would hold the file open for
/// writing, and then it cannot be executed. [KF-80]
pub fn write_program(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>, mode: u32) {
    let mut command = Command::new("sh");
    command.args(["-c", "cat > \"$1\" && chmod \"$2\" \"$1\"", "sh"]).arg(path.as_ref()).arg(format!("{mode:o}"));
    let mut writer = command.stdin(Stdio::piped()).spawn().unwrap();
    writer.stdin.take().unwrap().write_all(bytes.as_ref()).unwrap();
    assert!(writer.wait().unwrap().success(), "{}", path.as_ref().display());
}

/// A copy of a program, not made by this process either.
pub fn copy_program(program: impl AsRef<Path>, copy: &Path, mode: u32) {
    assert!(Command::new("cp").arg(program.as_ref()).arg(copy).status().unwrap().success());
    fs::set_permissions(copy, fs::Permissions::from_mode(mode)).unwrap();
}

/// The program under test.
pub fn minion() -> &'static str {
    env!("CARGO_BIN_EXE_minion")
}

/// Waits until `fd` is readable (or hung up): true; false when `deadline` passes first.
pub fn wait_readable(fd: impl AsFd, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).expect("a deadline is near");
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return ready == 1,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("poll: {error}"),
        }
    }
}

/// Lets others work, where nothing tells when what is waited for is there: before another look.
pub fn a_moment() {
    let (quiet, _held) = rustix::pipe::pipe().unwrap();
    wait_readable(quiet, Instant::now() + Duration::from_millis(5));
}

/// Waits until the process is dead (a zombie counts). True also when it does not exist.
pub fn wait_dead(pid: i32, deadline: Instant) -> bool {
    let pid = Pid::from_raw(pid).expect("a pid is positive");
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => wait_readable(pidfd, deadline),
        Err(rustix::io::Errno::SRCH) => true,
        Err(error) => panic!("pidfd_open {pid:?}: {error}"),
    }
}

/// A cgroup of this test's own, `mesos-test-<pid>-<n>`, in each of the given hierarchies; gone when dropped.
pub struct CgroupGuard {
    name: String,
    directories: Vec<PathBuf>,
}

impl CgroupGuard {
    /// Makes `<hierarchy>/<name><below>` in each hierarchy (`/sys/fs/cgroup/memory`, …), e.g. `below` = `/<id>`.
    pub fn new<P: AsRef<Path>>(hierarchies: &[P], below: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mesos-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut guard = Self { name, directories: Vec::new() };
        for hierarchy in hierarchies {
            let top = hierarchy.as_ref().join(&guard.name);
            fs::create_dir(&top).unwrap_or_else(|e| panic!("{}: {e}", top.display()));
            guard.directories.push(top.clone());
            inherit_cpuset(&top);
            let mut path = top;
            for part in below.split('/').filter(|part| !part.is_empty()) {
                path.push(part);
                fs::create_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                inherit_cpuset(&path);
            }
        }
        guard
    }

    /// Gives the memory controller to the children of every cgroup that it made in this cgroup2 hierarchy.
    pub fn enable_memory(&self, hierarchy: &Path) {
        let mut directory = hierarchy.join(&self.name);
        loop {
            let file = directory.join("cgroup.subtree_control");
            fs::write(&file, "+memory").unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let below = fs::read_dir(&directory).unwrap().flatten().find(|entry| entry.path().is_dir());
            let Some(below) = below else { return };
            directory = below.path();
        }
    }

    /// The name at the top of each hierarchy: what `--mesos-cgroup-prefix` takes.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A new v1 cpuset cgroup is empty and takes no process before it has cpus and memory nodes.
fn inherit_cpuset(directory: &Path) {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let parent = directory.parent().expect("a cgroup has a parent").join(file);
        let own = directory.join(file);
        // On v2 a parent that keeps the controller to itself has the file and its children have not.
        if let (Ok(value), true) = (fs::read(&parent), own.exists()) {
            fs::write(own, value).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
        }
    }
}

impl Drop for CgroupGuard {
    fn drop(&mut self) {
        let deadline = Instant::now() + DEADLINE;
        let problems: Vec<String> =
            self.directories.iter().filter_map(|top| remove_cgroup(top, deadline).err()).collect();
        assert!(problems.is_empty() || std::thread::panicking(), "cgroups left behind: {problems:?}");
    }
}

/// Ends every process of the cgroup and of those below it, then removes them.
fn remove_cgroup(directory: &Path, deadline: Instant) -> Result<(), String> {
    let entries = fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_cgroup(&entry.path(), deadline)?;
        }
    }
    loop {
        let members = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
        for pid in members.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
            if let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) {
                let _ = pidfd_send_signal(&pidfd, Signal::KILL);
                wait_readable(pidfd, deadline);
            }
        }
        match fs::remove_dir(directory) {
            Ok(()) => return Ok(()),
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) && Instant::now() < deadline => {}
            Err(e) => return Err(format!("{}: {e}", directory.display())),
        }
    }
}
