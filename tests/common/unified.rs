//! A host with cgroup2 alone: as it is, or in a mount namespace of the test's own.

use super::unified;
use rustix::mount::{MountFlags, mount};
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Where agents that know v2 want it.
pub const TREE: &str = "/sys/fs/cgroup";

/// The mount namespace that the test was started in: it must not mount there.
const OUTSIDE: &str = "MINION_TEST_OUTSIDE";

/// Runs `test` in a process and a mount namespace of its own where cgroup2 is mounted in the place of the tree.
///
/// The calling test is started again there, so nothing may happen before this call but `need!`.
pub fn on_unified_host(test: fn()) {
    if let Some(outside) = env::var_os(OUTSIDE) {
        assert_ne!(fs::read_link("/proc/self/ns/mnt").unwrap(), outside, "not in a mount namespace of its own");
        // The kernel does not mount what is there already over itself.
        if unified() != Path::new(TREE) {
            mount("none", TREE, "cgroup2", MountFlags::empty(), None).unwrap();
        }
        return test();
    }
    let thread = std::thread::current();
    let name = thread.name().expect("a test's thread is called as the test").to_owned();
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private"])
        .arg(env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(OUTSIDE, fs::read_link("/proc/self/ns/mnt").unwrap())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{errors}");
}
