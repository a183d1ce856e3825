//! Mount namespaces against a host that the test makes: pid 1 of a pid namespace, with shared mounts as systemd has them.

use crate::common::look::Said;
use crate::common::minion;
use crate::need;
use std::process::Command;

/// Runs `inner` in a mount namespace of its own, made with `unshare FLAGS`, below such a host, and asks why.
fn below_a_host(flags: &str, inner: &str) -> Said {
    // The two FIFOs hold the inner process where it is to be looked at.
    let script = format!(
        "mkfifo $0/up $0/down
         unshare {flags} sh -c '{inner}; echo > \"$0/up\"; read x < \"$0/down\"' $0 >&2 &
         read x < $0/up
         {minion} why $! --json
         code=$?
         echo > $0/down; wait; exit $code",
        minion = minion()
    );
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount", "--propagation=shared", "--mount-proc", "sh", "-c", &script]);
    Said::from(&command.arg(directory.path()).output().unwrap())
}

#[test]
fn a_private_mount_namespace_is_deaf_and_its_mounts_are_listed() {
    need!("root", "mountns");
    let said = below_a_host("--mount --propagation=private", "mount -t tmpfs none /mnt");
    assert!(said.actual("mounts-private").starts_with("/ is private; the host"), "{}", said.text);
    assert!(said.actual("mounts-differ").contains("has /mnt (tmpfs)"), "{}", said.text);
    said.finding("mount-namespace-own");
    assert!(!said.has("mounts-leak"));
    assert_eq!(said.code, 1);
}

#[test]
fn a_slave_mount_namespace_is_as_it_should_be() {
    need!("root", "mountns");
    let said = below_a_host("--mount --propagation=slave", "true");
    said.finding("mount-namespace-own");
    for kind in ["mounts-private", "mounts-leak", "mounts-differ", "namespaces-differ"] {
        assert!(!said.has(kind), "{kind}: {}", said.text);
    }
}

#[test]
fn a_mount_namespace_that_sends_its_mounts_to_the_host_leaks() {
    need!("root", "mountns");
    let said = below_a_host("--mount --propagation=unchanged", "true");
    assert!(said.actual("mounts-leak").contains("shared:"), "{}", said.text);
    assert!(!said.has("mounts-private"));
}

#[test]
fn other_namespaces_are_named() {
    need!("root", "mountns");
    let said = below_a_host("--uts --ipc", "true");
    assert_eq!(said.actual("namespaces-differ"), "its own: ipc, uts");
    assert!(!said.has("mount-namespace-own"));
}

#[test]
fn a_mount_in_the_place_of_the_hosts_shadows_it() {
    need!("root", "mountns");
    let said = below_a_host(
        "--mount --propagation=private",
        "mount -t ramfs none /proc/sys/kernel && mount -t tmpfs none /dev/shm",
    );
    assert!(said.actual("mounts-differ").contains("has another tmpfs at /dev/shm"), "{}", said.text);
}
