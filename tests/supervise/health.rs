//! Health: the verdict restarts a sidecar, and ends the run for the executor.

use super::{IDLE, sh, start};
use crate::common::minion::Sandbox;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

fn sidecar(health: &str) -> String {
    format!(
        "{IDLE}[[sidecar]]\nname = 'side'\ncommand = ['sleep', '1000']\nrestart-delay = '10ms'\nhealth = {health}\n"
    )
}

#[test]
fn a_command_that_fails_restarts_a_sidecar() {
    let sandbox = Sandbox::with_km("");
    std::fs::write(sandbox.path("well"), "").unwrap();
    let check = sh("test -e well");
    let mut minion =
        start(&sandbox, &sidecar(&format!("{{ command = {check}, every = '20ms', timeout = '5s', failures = 2 }}")));
    let first = minion.started("side");
    std::fs::remove_file(sandbox.path("well")).unwrap();
    let line = minion.says("unhealthy");
    assert!(line.contains("the command exited with 1"), "{line}");
    std::fs::write(sandbox.path("well"), "").unwrap();
    assert_ne!(minion.started("side"), first);
    minion.stop().assert_code(0);
}

#[test]
fn a_command_that_hangs_is_a_failure_and_is_killed() {
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let lifeline = sandbox.lifeline();
    let check = sh("exec 9>lifeline; echo asks >events; exec sleep 1000");
    let mut minion =
        start(&sandbox, &sidecar(&format!("{{ command = {check}, every = '20ms', timeout = '1s', failures = 1 }}")));
    events.next_with("asks");
    let line = minion.says("unhealthy");
    assert!(line.contains("did not answer in time"), "{line}");
    minion.stop().assert_code(0);
    lifeline.assert_cut();
    sandbox.assert_deserted();
}

#[test]
fn an_answer_may_take_its_time_and_no_longer() {
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let check = sh("echo asks >events; exec sleep 1000");
    let mut minion =
        start(&sandbox, &sidecar(&format!("{{ command = {check}, every = '20ms', timeout = '3s', failures = 1 }}")));
    events.next_with("asks");
    let asked = Instant::now();
    minion.says("unhealthy");
    // A second for a machine that reads the event late; the default is one second.
    assert!(asked.elapsed() > Duration::from_secs(2), "{:?}", asked.elapsed());
    minion.stop().assert_code(0);
}

#[test]
fn so_many_failures_in_a_row_are_a_verdict() {
    let sandbox = Sandbox::with_km("");
    // Two failures, a success, and failures from then on.
    let check = sh("echo x >>asked; test $(wc -l <asked) = 3");
    let health = format!("{{ command = {check}, every = '10ms', timeout = '5s', failures = 4 }}");
    start(&sandbox, &format!("[executor]\ncommand = ['sleep', '1000']\nhealth = {health}\n")).wait().assert_code(112);
    assert_eq!(sandbox.read("asked").lines().count(), 7);
}

#[test]
fn a_file_that_is_gone_and_a_socket_that_is_closed() {
    for (way, name) in [("file = 'there'", "there"), ("unix = 'there'", "there")] {
        let sandbox = Sandbox::with_km("");
        let listener = UnixListener::bind(sandbox.path(name)).unwrap();
        let mut minion =
            start(&sandbox, &sidecar(&format!("{{ {way}, every = '20ms', timeout = '5s', failures = 1 }}")));
        let first = minion.started("side");
        drop(listener);
        std::fs::remove_file(sandbox.path(name)).unwrap();
        minion.says("unhealthy");
        let _listener = UnixListener::bind(sandbox.path(name)).unwrap();
        assert_ne!(minion.started("side"), first);
        minion.stop().assert_code(0);
    }
}

/// Answers each request with the next of these statuses, the last one for ever.
pub(super) fn http_server(statuses: &'static [u16]) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let Ok(mut stream) = stream else { return };
            let status = statuses[n.min(statuses.len() - 1)];
            let mut request = [0; 512];
            let read = stream.read(&mut request).unwrap_or(0);
            assert!(request[..read].starts_with(b"GET /healthz?x=1 HTTP/1.0\r\n"));
            let _ = write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
        }
    });
    address
}

#[test]
fn http_statuses_are_told_apart_and_the_evidence_is_named() {
    let sandbox = Sandbox::with_km("");
    let address = http_server(&[200, 302, 503]);
    let health = format!("{{ http = 'http://{address}/healthz?x=1', every = '20ms', timeout = '5s', failures = 3 }}");
    let file = format!("[executor]\ncommand = ['sleep', '1000']\nhealth = {health}\n");
    let said = start(&sandbox, &file).wait().assert_code(112);
    assert!(said.contains("unhealthy: HTTP status 503"), "{said}");
    sandbox.assert_deserted();
}

#[test]
fn a_tcp_port_that_nobody_listens_on() {
    let sandbox = Sandbox::with_km("");
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let health = format!("{{ tcp = '{address}', every = '20ms', timeout = '1s', failures = 2 }}");
    let said = start(&sandbox, &format!("[executor]\ncommand = ['sleep', '1000']\nhealth = {health}\n")).wait();
    let said = said.assert_code(112);
    assert!(said.contains("Connection refused"), "{said}");
}

#[test]
fn a_watchdog_that_falls_silent() {
    let program = "import os,socket,time; \
        s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); \
        s.connect(\"\\0\"+os.environ[\"NOTIFY_SOCKET\"][1:]); \
        usec=int(os.environ[\"WATCHDOG_USEC\"]); \
        [(s.send(b\"WATCHDOG=1\"),time.sleep(usec/4e6)) for _ in range(8)]; \
        time.sleep(1000)";
    let sandbox = Sandbox::with_km("");
    let file =
        format!("[executor]\ncommand = ['python3', '-c', '{program}']\nhealth = {{ watchdog = true, every = '2s' }}\n");
    let said = start(&sandbox, &file).wait().assert_code(112);
    assert!(said.contains("no WATCHDOG=1 for 2s"), "{said}");
}

#[test]
fn commands_that_ask_one_task_are_no_leftovers_of_another() {
    let sandbox = Sandbox::with_km("");
    // One leaves something behind that has to be killed; meanwhile the other is asked all the time.
    let leaves = sh(r#"(trap "" TERM; exec setsid sleep 1000) & exit 1"#);
    let file = format!(
        "{IDLE}[[sidecar]]\nname = 'asked'\ncommand = ['sleep', '1000']\n\
         health = {{ command = ['true'], every = '1ms', timeout = '5s' }}\n\
         [[sidecar]]\nname = 'leaves'\ncommand = {leaves}\nrestart-delay = '1ms'\nrestart-delay-max = '1ms'\n"
    );
    let mut minion = start(&sandbox, &file);
    for _ in 0..3 {
        minion.started("leaves");
    }
    minion.stop().assert_code(0);
    sandbox.assert_deserted();
}

#[test]
fn a_server_that_writes_its_body_behind_its_status_is_not_reset() {
    let sandbox = Sandbox::with_km("");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut first, _) = listener.accept().unwrap();
        let mut request = [0; 512];
        let _ = first.read(&mut request).unwrap();
        first.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        // The status was read, and the answer drawn from it, when the next question comes or minion has said so.
        let gone =
            crate::common::wait_readable(&first, std::time::Instant::now() + std::time::Duration::from_millis(300));
        let written = first.write_all(b"a body").and_then(|()| first.write_all(b" in two pieces"));
        (gone, written)
    });
    let health = format!("{{ http = 'http://{address}/', every = '1m', timeout = '5s' }}");
    let readiness = format!("{{ http = 'http://{address}/', every = '1m', within = '10s' }}");
    let file = format!("[executor]\ncommand = ['sleep', '1000']\nreadiness = {readiness}\nhealth = {health}\n");
    let mut minion = start(&sandbox, &file);
    minion.says("info ready task=executor");
    let (gone, written) = server.join().unwrap();
    assert!(!gone && written.is_ok(), "closed: {gone}, {written:?}");
    minion.stop().assert_code(0);
}
