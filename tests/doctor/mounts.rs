//! Mounts and disks as the doctor meets them, made in a mount namespace of the test's own.

use crate::common::minion;
use crate::{Report, need};
use std::process::Command;

/// The doctor as the last word of a script, below a host whose pid 1 is the test's.
fn below_a_host(flags: &[&str], script: &str) -> Report {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount", "--propagation=shared", "--mount-proc"]);
    // A shell that stays is pid 1.
    command.args(["sh", "-c", "\"$@\"; exit $?", "sh", "unshare"]).args(flags);
    command.args(["sh", "-c", &format!("{script} \"$0\" doctor --json $1"), minion()]);
    Report::from(&command.output().unwrap())
}

/// In a sandbox on a tmpfs of these options, after a script there.
fn on_a_disk(options: &str, script: &str) -> Report {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().display();
    let mount = format!("mount -t tmpfs -o {options} none {place} && cd {place} && {{ {script}; }};");
    below_a_host(&["--mount", "--propagation=slave"], &mount)
}

#[test]
fn the_propagation_of_the_root_is_told_and_a_private_one_is_deaf() {
    need!("root", "mountns");
    below_a_host(&["--mount", "--propagation=private"], "").says(
        "propagation of /",
        "warn",
        "private, in a mount namespace",
    );
    below_a_host(&["--mount", "--propagation=slave"], "").says("propagation of /", "ok", "slave, in a mount namespace");
    below_a_host(&["--uts"], "").says("propagation of /", "ok", "shared, in the mount namespace of the host");
}

#[test]
fn a_sandbox_where_nothing_can_be_started_or_written_is_told() {
    need!("root", "mountns");
    on_a_disk("noexec", "true").says("sandbox mount", "warn", "noexec");
    on_a_disk("size=64m", "mount -o remount,ro $PWD").says("sandbox", "fail", "is not writable: EROFS");
    on_a_disk("size=1g", "true").says("sandbox", "ok", "is writable");
}

#[test]
fn a_disk_that_is_smaller_than_all_logs_or_has_no_inode_left_is_told() {
    need!("root", "mountns");
    let small = on_a_disk("size=64m", "true");
    small.says("log space", "warn", "10 MiB x 6 files x 2 logs = 120 MiB at most; 64 MiB are free");
    on_a_disk("size=1g", "true").says("log space", "ok", "120 MiB at most; 1.0 GiB are free");
    on_a_disk("size=1g,nr_inodes=2", "touch last").says("log space", "fail", "but no inode is");
}
