//! The socket as a file.

use super::common::control::{Asker, OBEDIENT, Up, cli};
use super::common::minion::Sandbox;
use minion::control::server::Server;
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;

#[test]
fn it_is_for_its_owner_alone_and_gone_at_the_end() {
    let up = Up::start(OBEDIENT, &[]);
    let file = fs::symlink_metadata(up.sandbox.path("minion.sock")).unwrap();
    assert!(file.file_type().is_socket());
    assert_eq!(file.permissions().mode() & 0o7777, 0o600);
    up.minion.stop().assert_code(0);
    assert!(!up.sandbox.path("minion.sock").exists());
}

#[test]
fn a_dead_minions_socket_says_so_and_is_replaced() {
    let up = Up::start(OBEDIENT, &[]);
    up.minion.signal(Signal::KILL);
    let _ = up.minion.wait();
    up.sandbox.assert_deserted();
    let directory = up.sandbox.path("");
    let socket = up.sandbox.path("minion.sock");
    assert!(socket.exists(), "nobody was there to remove it");
    for verb in [&["status"][..], &["events"], &["metrics"], &["stop", "proxy"]] {
        let words = [verb, &["--sandbox", directory.to_str().unwrap()]].concat();
        let (code, said, error) = cli(&words);
        assert_eq!((code, said.as_str()), (2, ""), "{error}");
        assert!(error.contains("Connection refused (hint: that minion is gone and did not end in order"), "{error}");
    }
    let server = Server::open(&directory).unwrap();
    drop(Asker::at(&socket));
    drop(server);
    assert!(!socket.exists());
}

#[test]
fn a_living_minions_socket_is_left_alone_and_the_second_one_runs_without() {
    let sandbox = Sandbox::with_km(OBEDIENT);
    let socket = sandbox.path("minion.sock");
    let living = UnixListener::bind(&socket).unwrap();
    let inode = fs::symlink_metadata(&socket).unwrap().ino();
    let up = Up::in_sandbox(sandbox, &[]);
    let said = up.minion.stop().assert_code(0);
    assert!(said.contains("warn make minion.sock: another minion is listening on it; nobody can ask"), "{said}");
    assert_eq!(fs::symlink_metadata(&socket).unwrap().ino(), inode);
    drop(living);
}

#[test]
fn a_file_that_is_no_socket_is_never_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("minion.sock");
    fs::write(&path, "precious").unwrap();
    let error = Server::open(directory.path()).unwrap_err().to_string();
    assert_eq!(error, "make minion.sock: there is a file of that name that is no socket");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/nowhere/else", &path).unwrap();
    assert!(Server::open(directory.path()).is_err());
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
}

#[test]
fn only_the_own_socket_is_removed_at_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("minion.sock");
    let server = Server::open(directory.path()).unwrap();
    fs::remove_file(&path).unwrap();
    let other = UnixListener::bind(&path).unwrap();
    drop(server);
    assert!(path.exists());
    drop(other);
}

#[test]
fn a_sandbox_may_have_a_path_longer_than_an_address() {
    let base = tempfile::tempdir().unwrap();
    let long = base.path().join("x".repeat(120)).join("y".repeat(120));
    fs::create_dir_all(&long).unwrap();
    let mut server = Server::open(&long).unwrap();
    let link = base.path().join("short");
    std::os::unix::fs::symlink(&long, &link).unwrap();
    let mut asker = Asker::at(&link.join("minion.sock"));
    assert!(asker.send(b"{\"minion\":1,\"request\":\"status\"}\n"));
    let mut asked = server.serve();
    asked.extend(server.serve());
    let [(client, _)] = asked[..] else { panic!("{asked:?}") };
    server.reply(client, &"here");
    assert_eq!(asker.lines.next(), "\"here\"");
}
