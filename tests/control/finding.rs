//! Which minion is meant.

use super::common::DEADLINE;
use super::common::control::{OBEDIENT, Up, cli};
use super::common::look::Looked;
use super::common::minion::Sandbox;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with};
use rustix::process::Signal;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::time::Instant;

#[test]
fn a_minion_is_found_by_its_pid_a_childs_pid_and_its_sandbox() {
    let up = Up::start(OBEDIENT, &[]);
    let here = format!("minion     pid {}, ", up.minion.pid());
    let sandbox = up.sandbox.path("");
    for target in [up.minion.pid().to_string(), up.proxy.to_string(), sandbox.to_str().unwrap().to_owned()] {
        let (code, screen, error) = cli(&["status", &target]);
        assert_eq!(code, 0, "{target}: {error}");
        assert!(screen.contains(&here), "{target}: {screen}");
    }
    let (code, said, _) = cli(&["signal", "proxy", "CONT", "--target", &up.executor.to_string()]);
    assert_eq!((code, said), (0, format!("sent SIGCONT to proxy, pid {}\n", up.proxy)));
    up.minion.stop().assert_code(0);
}

#[test]
fn a_container_is_found_by_the_beginning_of_its_id() {
    let id = format!("5f0c{}-3d1e-4b8a-9c61-0d7c8f1b2e34", std::process::id());
    let directory = format!("/w/runs/{id}");
    let up = Up::with(Sandbox::with_km(OBEDIENT), &[], |command| {
        command.env("MESOS_DIRECTORY", &directory);
    });
    let (code, screen, error) = cli(&["status", &id[..id.len() - 4]]);
    assert_eq!(code, 0, "{error}");
    assert!(screen.starts_with(&format!("container  {id}, one source alone\n")), "{screen}");
    let (code, _, error) = cli(&["status", "5f0"]);
    assert!(code == 2 && error.contains("too short"), "{error}");
    let (code, _, error) = cli(&["status", "nosuchcontainer"]);
    assert!(code == 2 && error.contains("none is seen"), "{error}");
    up.minion.stop().assert_code(0);
}

#[test]
fn a_beginning_that_is_all_digits_is_a_container_where_no_such_pid_leads_to_a_minion() {
    // More than any pid may be.
    let digits = format!("9{:07}", std::process::id());
    let up = Up::with(Sandbox::with_km(OBEDIENT), &[], |command| {
        command.env("MESOS_DIRECTORY", format!("/w/runs/{digits}-1111-4b8a-9c61-0d7c8f1b2e34"));
    });
    let (code, screen, error) = cli(&["status", &digits]);
    assert_eq!(code, 0, "{error}");
    assert!(screen.starts_with(&format!("container  {digits}-1111-")), "{screen}");
    let (code, _, error) = cli(&["status", &format!("8{}", &digits[1..])]);
    assert!(code == 2 && error.contains("look at pid 8"), "{error}");
    up.minion.stop().assert_code(0);
}

#[test]
fn minions_that_do_not_accept_are_listed_and_not_waited_for() {
    let socket = || socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::NONBLOCK, None).unwrap();
    let stuck = || {
        let directory = tempfile::tempdir().unwrap();
        let address = SocketAddrUnix::new(directory.path().join("minion.sock")).unwrap();
        let listener = socket();
        bind(&listener, &address).unwrap();
        listen(&listener, 0).unwrap();
        // Until its queue is full.
        let waiting: Vec<OwnedFd> =
            std::iter::repeat_with(socket).take_while(|client| connect(client, &address).is_ok()).collect();
        let process = Looked::start(Command::new("bash").args(["-c", "echo ready; read -r x"]).current_dir(&directory));
        (directory, listener, waiting, process)
    };
    let all = [stuck(), stuck(), stuck()];
    let begin = Instant::now();
    let (code, _, error) = cli(&["status"]);
    assert!(begin.elapsed() < DEADLINE, "{:?}", begin.elapsed());
    assert_eq!(code, 2);
    assert!(all.iter().all(|(directory, ..)| error.contains(directory.path().to_str().unwrap())), "{error}");
}

#[test]
fn with_several_minions_all_are_listed_and_none_is_chosen() {
    let (one, two) = (Up::start(OBEDIENT, &[]), Up::start(OBEDIENT, &[]));
    let (code, said, error) = cli(&["status"]);
    assert_eq!((code, said.as_str()), (2, ""));
    for up in [&one, &two] {
        let path = up.sandbox.path("");
        let line =
            format!("\n  {}  no container  {}", up.minion.pid(), path.display().to_string().trim_end_matches('/'));
        assert!(error.contains(&line), "{error}");
    }
    one.minion.stop().assert_code(0);
    two.minion.stop().assert_code(0);
}

#[test]
fn a_stopped_minion_is_known_for_what_it_is() {
    let up = Up::start(OBEDIENT, &[]);
    up.minion.signal(Signal::STOP);
    let (code, said, error) = up.cli(&["status"]);
    assert_eq!((code, said.as_str()), (2, ""));
    let hint = format!(
        "it does not answer within 5 s (hint: pid {0} is stopped; kill -CONT {0} lets it go on)",
        up.minion.pid()
    );
    assert!(error.contains(&hint), "{error}");
    up.minion.signal(Signal::CONT);
    up.minion.stop().assert_code(0);
}

#[test]
fn where_no_minion_is_that_is_said() {
    let empty = tempfile::tempdir().unwrap();
    let (code, _, error) = cli(&["status", "--sandbox", empty.path().to_str().unwrap()]);
    assert!(code == 2 && error.contains("No such file or directory (hint: no minion runs there"), "{error}");
    let (code, _, error) = cli(&["status", "1"]);
    assert!(code == 2 && error.contains("no process above it is one"), "{error}");
    let (code, _, error) = cli(&["status", "x", "--sandbox", "y"]);
    assert!(code == 100 && error.contains("two minions"), "{error}");
}
