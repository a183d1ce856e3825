//! The private mount namespace, between a stand-in for the host and the process that enters.
//!
//! The usual harness runs each test in a thread, and here there must be none: this file has a main of its own, which starts
//! itself again for each role. What stands in for the host is itself in a private namespace, so nothing is mounted outside.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "clippy takes a test's helpers for production"
)]

mod common;

use common::alone::{self, Named, again};
use minion::namespace::enter_private_mounts;
use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use rustix::thread::CapabilitySet;
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

const DIRECTORY: &str = "MINION_TEST_DIRECTORY";

const TESTS: &[Named] = &[
    ("mounts_come_in_and_do_not_get_out", mounts_come_in_and_do_not_get_out),
    ("a_process_with_another_thread_is_refused", || run("refused_with_threads")),
    ("an_older_thread_stays_in_the_old_namespace", || run("older_thread")),
    ("without_the_capability_the_hint_names_it", || run("without_capability")),
    ("another_user_is_told_to_be_root", || run("another_user")),
];

const ROLES: &[Named] = &[
    ("host", host),
    ("entering", entering),
    ("refused_with_threads", refused_with_threads),
    ("older_thread", older_thread),
    ("without_capability", without_capability),
    ("another_user", another_user),
];

fn main() {
    alone::main(TESTS, ROLES);
}

fn run(role: &str) {
    need!("root", "mountns");
    alone::run(role);
}

fn namespace(of: &str) -> PathBuf {
    fs::read_link(format!("/proc/{of}/ns/mnt")).unwrap()
}

fn mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").unwrap()
}

fn mounts_come_in_and_do_not_get_out() {
    need!("root", "mountns");
    let directory = tempfile::tempdir().unwrap();
    for name in ["from-host", "from-child"] {
        fs::create_dir(directory.path().join(name)).unwrap();
    }
    let status = again("host").env(DIRECTORY, directory.path()).status().unwrap();
    assert!(status.success(), "{status}");
    let after = mounts();
    assert!(!after.contains(directory.path().to_str().unwrap()), "the real host sees a mount of the test: {after}");
}

/// A directory for mounts, `from-host` or `from-child`.
fn place(name: &str) -> PathBuf {
    PathBuf::from(env::var_os(DIRECTORY).unwrap()).join(name)
}

fn tmpfs(at: &Path) {
    mount("none", at, "tmpfs", MountFlags::empty(), None).unwrap();
    fs::write(at.join("seen"), "").unwrap();
}

/// As a host with systemd: all mounts shared. Private first, so that they have no peers on the real host.
fn host() {
    unshare(CloneFlags::CLONE_NEWNS).unwrap();
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
    mount_change("/", MountPropagationFlags::SHARED | MountPropagationFlags::REC).unwrap();
    let mut child = again("entering").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut expect = |answer: &str| assert_eq!(answers.next().unwrap().unwrap(), answer);

    expect("entered");
    tmpfs(&place("from-host"));
    tell(&mut child, "mounted");
    expect("sees the host's mount");
    unmount(place("from-host"), UnmountFlags::empty()).unwrap();
    tell(&mut child, "unmounted");
    expect("does not hold it");
    expect("mounted");
    assert!(!place("from-child").join("seen").exists(), "the host sees the child's mount");
    assert!(!mounts().contains("from-child"));
    tell(&mut child, "done");
    assert!(child.wait().unwrap().success());
}

fn tell(child: &mut Child, word: &str) {
    writeln!(child.stdin.as_mut().unwrap(), "{word}").unwrap();
}

fn entering() {
    let mut words = io::stdin().lines();
    let mut expect = |word: &str| assert_eq!(words.next().unwrap().unwrap(), word);
    let private = enter_private_mounts().unwrap();
    assert!(!mounts().contains(" shared:"), "{}", mounts());
    assert!(mounts().contains(" master:"), "private, not slave: {}", mounts());
    println!("entered");
    expect("mounted");
    assert!(place("from-host").join("seen").exists(), "what the host mounts does not come in");
    println!("sees the host's mount");
    expect("unmounted");
    assert!(!place("from-host").join("seen").exists(), "a mount of the host is held here");
    println!("does not hold it");

    let mut inside = Command::new("sh").args(["-c", "read line"]).stdin(Stdio::piped()).spawn().unwrap();
    assert!(private.contains(i32::try_from(inside.id()).unwrap()).unwrap());
    let host = rustix::process::getppid().unwrap().as_raw_nonzero().get();
    assert!(!private.contains(host).unwrap());
    inside.kill().unwrap();
    inside.wait().unwrap();
    let error = private.contains(i32::MAX).unwrap_err().to_string();
    assert!(error.contains("has ended"), "{error}");

    tmpfs(&place("from-child"));
    println!("mounted");
    expect("done");
}

/// Runs `work` while a second thread is there, and gives what that thread sees at the end.
fn beside_a_thread<T: Send + 'static>(work: impl FnOnce(), see: impl FnOnce() -> T + Send + 'static) -> T {
    let (go, wait) = mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        wait.recv().unwrap();
        see()
    });
    work();
    go.send(()).unwrap();
    thread.join().unwrap()
}

fn refused_with_threads() {
    let before = namespace("thread-self");
    let work = || {
        let error = enter_private_mounts().unwrap_err().to_string();
        assert!(error.contains("2 threads"), "{error}");
    };
    beside_a_thread(work, || ());
    assert_eq!(namespace("thread-self"), before, "moved although it was refused");
}

fn older_thread() {
    let before = namespace("thread-self");
    let thread = beside_a_thread(|| unshare(CloneFlags::CLONE_NEWNS).unwrap(), || namespace("thread-self"));
    assert_eq!(thread, before);
    assert_ne!(namespace("thread-self"), before);
}

fn without_capability() {
    let mut sets = rustix::thread::capabilities(None).unwrap();
    sets.effective.remove(CapabilitySet::SYS_ADMIN);
    rustix::thread::set_capabilities(None, sets).unwrap();
    let error = enter_private_mounts().unwrap_err();
    assert_eq!(error.errno(), Some(libc::EPERM));
    assert!(error.to_string().contains("uid 0 without CAP_SYS_ADMIN"), "{error}");
}

fn another_user() {
    nix::unistd::setuid(nix::unistd::Uid::from_raw(65534)).unwrap();
    let error = enter_private_mounts().unwrap_err();
    assert_eq!(error.errno(), Some(libc::EPERM));
    assert!(error.to_string().contains("uid 65534 has no CAP_SYS_ADMIN"), "{error}");
}
