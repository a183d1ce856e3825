//! Notification sockets of minions that do not see one another: containers with a pid namespace each, and one network.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::minion;
use common::minion::{Minion, Sandbox};
use rustix::process::Signal;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::Command;

/// `minion supervise` of a file, as the second process of a pid namespace of its own: as the agent's `namespaces/pid` has it.
fn in_pid_namespace(sandbox: &Sandbox, file: &str) -> Minion {
    std::fs::write(sandbox.path("minion.toml"), file).unwrap();
    let mut command = Command::new("unshare");
    sandbox.mark(&mut command);
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", "\"$@\"; exit $?", "sh", minion()]);
    command.args(["supervise", "--cgroup-attach=off", "--config=minion.toml"]);
    Minion::spawn(&mut command)
}

/// Says where it is spoken to, and nothing there.
const TASK: &str = r#"[executor]
command = ['/bin/sh', '-c', 'echo "$NOTIFY_SOCKET" >events; exec sleep 1000']
readiness = { notify = true, within = '1m' }
"#;

#[test]
fn two_containers_with_the_same_pids_on_one_network_have_sockets_of_their_own() {
    need!("root", "mountns");
    let sandboxes = [Sandbox::with_km(""), Sandbox::with_km("")];
    let mut names = Vec::new();
    let mut minions = Vec::new();
    for sandbox in &sandboxes {
        let mut events = sandbox.events("events");
        minions.push(in_pid_namespace(sandbox, TASK));
        names.push(events.next());
    }
    assert_ne!(names[0], names[1]);
}

#[test]
fn a_sender_of_another_pid_namespace_is_a_stranger_and_told_once() {
    need!("root", "mountns");
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let mut minion = in_pid_namespace(&sandbox, TASK);
    let name = events.next();
    let address = SocketAddr::from_abstract_name(name.strip_prefix('@').unwrap()).unwrap();
    let socket = UnixDatagram::unbound().unwrap();
    for _ in 0..3 {
        socket.send_to_addr(b"READY=1", &address).unwrap();
    }
    let line = minion.says("a stranger spoke");
    assert!(line.contains("pid=0"), "{line}");
    socket.send_to_addr(b"STATUS=x", &address).unwrap();
    // The namespace goes with who made it.
    minion.signal(Signal::KILL);
    let said = minion.wait().stderr;
    assert_eq!(said.matches("a stranger spoke").count(), 1, "{said}");
    assert!(!said.contains("info ready"), "{said}");
}
