//! The control socket of an earlier run, as the doctor meets it.

use crate::Report;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with};
use std::fs;
use std::os::unix::net::UnixListener;

#[test]
fn sockets_of_a_living_and_of_a_dead_minion_are_told_apart() {
    let sandbox = tempfile::tempdir().unwrap();
    let socket = sandbox.path().join("minion.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    Report::of(sandbox.path(), &[], &[]).says("control socket", "fail", "listens");
    drop(listener);
    // A child of another test may hold that one until its exec: the dead one never listened.
    fs::remove_file(&socket).unwrap();
    let dead = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    bind(&dead, &SocketAddrUnix::new(&socket).unwrap()).unwrap();
    Report::of(sandbox.path(), &[], &[]).says("control socket", "warn", "nobody listens");
    fs::remove_file(&socket).unwrap();
    fs::write(&socket, "").unwrap();
    Report::of(sandbox.path(), &[], &[]).says("control socket", "warn", "no socket");
}

#[test]
fn a_minion_that_does_not_accept_is_one_that_listens_and_nobody_waits_for_it() {
    let sandbox = tempfile::tempdir().unwrap();
    let socket = || socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::NONBLOCK, None).unwrap();
    let address = SocketAddrUnix::new(sandbox.path().join("minion.sock")).unwrap();
    let listener = socket();
    bind(&listener, &address).unwrap();
    listen(&listener, 0).unwrap();
    // Until its queue is full.
    let clients = std::iter::repeat_with(socket);
    let _waiting: Vec<_> = clients.take_while(|client| connect(client, &address).is_ok()).collect();
    Report::of(sandbox.path(), &[], &[]).says("control socket", "fail", "does not accept");
}
