//! Who may talk to a minion.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers fail and skip as tests do")]

mod common;

use ::minion::control::server::CLIENTS;
use common::control::{OBEDIENT, Up, cli};
use common::fifo::Lines;
use common::look::Looked;
use common::minion::Sandbox;
use common::sandbox::until;
use common::{copy_program, minion};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const NOBODY: u32 = 65534;

/// `minion status` of the sandbox as another user.
fn as_nobody(up: &Up) -> Output {
    // A path through nothing that is root's alone: the binary of the test may lie in a private directory.
    let copy = up.sandbox.path("minion-copy");
    if !copy.exists() {
        copy_program(minion(), &copy, 0o755);
    }
    fs::set_permissions(up.sandbox.path(""), Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(copy);
    command.args(["status", "--sandbox"]).arg(up.sandbox.path("")).current_dir("/").uid(NOBODY).gid(NOBODY);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn another_user_is_refused_by_the_mode_of_the_socket() {
    need!("root");
    let up = Up::start(OBEDIENT, &[]);
    let output = as_nobody(&up);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("Permission denied (hint: it is for root and for the user that minion runs as)"), "{error}");
    up.minion.stop().assert_code(0);
}

#[test]
fn another_user_is_refused_even_when_somebody_opened_the_mode() {
    need!("root");
    let up = Up::start(OBEDIENT, &[]);
    let socket = up.sandbox.path("minion.sock");
    until(&up.sandbox.path(""), "the socket", || socket.exists().then_some(()));
    fs::set_permissions(socket, Permissions::from_mode(0o666)).unwrap();
    let output = as_nobody(&up);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("uid 65534 is neither root nor the user that minion runs as"), "{error}");
    assert_eq!(up.cli(&["status"]).0, 0, "root is served");
    up.minion.stop().assert_code(0);
}

#[test]
fn root_is_served_although_the_user_of_minion_holds_every_place_for_events() {
    need!("root", "nobody", "python3");
    let sandbox = Sandbox::with_km(OBEDIENT);
    let directory = sandbox.path("");
    let up = Up::with(sandbox, &[], |command| {
        let own = |path: &Path| chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        for entry in fs::read_dir(&directory).unwrap() {
            own(&entry.unwrap().path());
        }
        own(&directory);
        command.uid(NOBODY).gid(NOBODY);
    });
    // A process of nobody's with a place for each client, and every one reads events.
    let script = format!(
        "import socket, sys\nall = []\nfor _ in range({CLIENTS}):\n s = socket.socket(socket.AF_UNIX)\n s.connect('minion.sock')\n \
         s.sendall(b'{{\"minion\":1,\"request\":\"events\"}}\\n')\n s.recv(4096)\n all.append(s)\nprint('there', flush=True)\n\
         sys.stdin.read()\n"
    );
    let mut readers = Command::new("python3");
    readers.args(["-c", &script]).current_dir(&directory).uid(NOBODY).gid(NOBODY);
    let mut readers = readers.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    Lines::of(readers.stdout.take().unwrap().into()).next_with("there");
    assert_eq!(up.cli(&["status"]).0, 0, "root takes the place of one");
    let (code, _, said) = up.cli(&["signal", "proxy", "CONT"]);
    assert_eq!((code, said.as_str()), (0, ""));
    up.minion.stop().assert_code(0);
    readers.wait().unwrap();
}

/// Becomes user nobody, says that it listens, and answers every line with a status of its own.
const LIAR: &str = "import socket, os
os.setgroups([]); os.setgid(65534); os.setuid(65534)
s = socket.socket(socket.AF_UNIX)
s.bind('minion.sock')
os.chmod('minion.sock', 0o777)
s.listen(8)
print('ready', flush=True)
while True:
    c, _ = s.accept()
    try: c.sendall(b'{\"minion\":1,\"done\":\"lies\",\"task\":\"proxy\",\"state\":\"down\"}\\n')
    except OSError: pass
    c.close()
";

#[test]
fn a_socket_of_another_user_is_not_believed_and_in_the_search_it_is_none() {
    need!("root", "python3");
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    let (liar, _) = Looked::start(Command::new("python3").args(["-c", LIAR]).current_dir(directory.path()));
    let path = directory.path().to_str().unwrap();
    // Another user, by a copy: the binary of the test may lie in a private directory.
    let copy = directory.path().join("minion-copy");
    copy_program(minion(), &copy, 0o755);
    for words in [&["status", "--sandbox", path][..], &["stop", "proxy", "--sandbox", path], &["events", path]] {
        let output = Command::new(&copy).args(words).current_dir("/").uid(NOBODY - 1).gid(NOBODY - 1).output().unwrap();
        let error = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{words:?}: {error}");
        assert!(error.contains("uid 65534 listens there, which is neither root nor this user"), "{error}");
    }
    // Root looks after the minions of every user, but has to say which: this one it finds, and sees that it lies.
    let (code, said, error) = cli(&["status", &liar.pid().to_string()]);
    assert!(code == 2 && said.is_empty() && error.contains("missing field"), "{said} {error}");
    let (_, said, error) = cli(&["status"]);
    assert!(!said.contains(path) && !error.contains(path), "{said} {error}");
}
