//! How a task says that it can serve, and what happens when it does not.

use super::{IDLE, sh, start};
use crate::common::minion::{Minion, Sandbox};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::time::Duration;

/// A sidecar with this command and readiness, and an executor that waits for it.
fn file(command: &str, readiness: &str) -> String {
    format!(
        "[executor]\ncommand = {}\nafter = ['side']\n[[sidecar]]\nname = 'side'\ncommand = {command}\nreadiness = {readiness}\n",
        sh("echo executor >events; exec sleep 1000")
    )
}

/// Everything is up once the sidecar is ready, and not before.
fn ready_after(command: &str, readiness: &str, become_ready: impl FnOnce(&Sandbox, &mut Minion)) {
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let mut minion = start(&sandbox, &file(command, readiness));
    minion.started("side");
    become_ready(&sandbox, &mut minion);
    minion.says("ready task=side");
    events.next_with("executor");
    let said = minion.stop().assert_code(0);
    assert!(said.find("ready task=side") < said.find("started task=executor"), "{said}");
}

const SLEEPS: &str = "['sleep', '1000']";

#[test]
fn a_file_that_appears() {
    ready_after(SLEEPS, "{ file = 'there', every = '20ms', within = '10s' }", |sandbox, _| {
        std::fs::write(sandbox.path("there"), "").unwrap();
    });
}

#[test]
fn a_command_that_succeeds() {
    let readiness = format!("{{ command = {}, every = '20ms', within = '10s' }}", sh("test -e there"));
    ready_after(SLEEPS, &readiness, |sandbox, _| std::fs::write(sandbox.path("there"), "").unwrap());
}

#[test]
fn a_tcp_port_that_accepts() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut listener = None;
    ready_after(SLEEPS, &format!("{{ tcp = '{port}', every = '20ms', within = '10s' }}"), |_, _| {
        listener = Some(TcpListener::bind(port).unwrap());
    });
}

#[test]
fn a_unix_socket_with_a_path_that_is_longer_than_an_address() {
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let directory = sandbox.path(&"d".repeat(120));
    std::fs::create_dir(&directory).unwrap();
    let readiness = format!("{{ unix = '{}/there', every = '20ms', within = '10s' }}", directory.display());
    let mut minion = start(&sandbox, &file(SLEEPS, &readiness));
    minion.started("side");
    let open = std::fs::File::open(&directory).unwrap();
    let _listener = UnixListener::bind(format!("/proc/self/fd/{}/there", open.as_raw_fd())).unwrap();
    minion.says("ready task=side");
    events.next_with("executor");
    minion.stop().assert_code(0);
}

#[test]
fn a_unix_socket_that_nobody_makes_is_named_with_what_connect_said() {
    let sandbox = Sandbox::with_km("");
    let file = file(SLEEPS, "{ unix = 'nothing', every = '500ms', within = '3s' }");
    let mut minion = start(&sandbox, &file);
    let line = minion.says("not ready");
    assert!(line.contains("connect to nothing: No such file or directory"), "{line}");
    minion.stop();
}

#[test]
fn a_unix_socket_that_accepts() {
    let mut listener = None;
    ready_after(SLEEPS, "{ unix = 'there', every = '20ms', within = '10s' }", |sandbox, _| {
        listener = Some(UnixListener::bind(sandbox.path("there")).unwrap());
    });
}

#[test]
fn an_http_answer_that_is_good() {
    let address = super::health::http_server(&[503, 404, 200]);
    let readiness = format!("{{ http = 'http://{address}/healthz?x=1', every = '20ms', within = '10s' }}");
    ready_after(SLEEPS, &readiness, |_, _| {});
}

#[test]
fn a_probe_pauses_between_two_tries() {
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let readiness = format!("{{ command = {}, every = '700ms' }}", sh("date +%s%N >events; exit 1"));
    let minion =
        start(&sandbox, &format!("{IDLE}[[sidecar]]\nname = 'side'\ncommand = {SLEEPS}\nreadiness = {readiness}\n"));
    let moments: Vec<u64> = (0..3).map(|_| events.next().parse().unwrap()).collect();
    // Half of the pause is for a machine that starts one of the commands late; a pause of 250 ms, the default, is shorter.
    assert!((moments[2] - moments[0]) / 1_000_000 >= 700, "{moments:?}");
    minion.stop().assert_code(0);
}

#[test]
fn a_newline_on_an_fd() {
    let command = sh("read go <go; echo >&7; exec sleep 1000");
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let _go = sandbox.events("go");
    let mut minion = start(&sandbox, &file(&command, "{ fd = 7, within = '10s' }"));
    minion.started("side");
    std::fs::write(sandbox.path("go"), "go\n").unwrap();
    minion.says("ready task=side");
    events.next_with("executor");
    minion.stop().assert_code(0);
}

/// A datagram to `NOTIFY_SOCKET`, from Python: the shell has no sockets.
fn notifies(message: &str) -> String {
    let program = "import os,socket,time; \
        s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); \
        s.connect(\"\\0\"+os.environ[\"NOTIFY_SOCKET\"][1:]); \
        s.send(b\"MESSAGE\"); \
        time.sleep(1000)";
    format!("['python3', '-c', '{}']", program.replace("MESSAGE", message))
}

#[test]
fn sd_notify_with_a_status() {
    ready_after(&notifies("STATUS=warm\\nREADY=1"), "{ notify = true, within = '10s' }", |_, minion| {
        minion.says("says: warm task=side");
    });
}

#[test]
fn a_readiness_that_does_not_come_is_a_failure_with_the_last_lines() {
    let sandbox = Sandbox::with_km("");
    let command = sh("echo why I am slow; exec sleep 1000");
    let file = format!("{}restart = 'never'\n", file(&command, "{ file = 'never', every = '20ms', within = '2s' }"));
    // Nothing can start behind it any more: that is no set-up.
    let said = start(&sandbox, &file).wait().assert_code(111);
    assert!(said.contains("not ready within 2s"), "{said}");
    assert!(said.contains("| why I am slow"), "{said}");
    assert!(!said.contains("started task=executor"), "{said}");
    sandbox.assert_deserted();
}

#[test]
fn a_sidecar_that_never_gets_ready_is_tried_again_and_harms_nobody() {
    let sandbox = Sandbox::with_km("");
    let file = format!(
        "{IDLE}[[sidecar]]\nname = 'side'\ncommand = {SLEEPS}\nrestart-delay = '10ms'\n\
         readiness = {{ file = 'never', every = '20ms', within = '100ms' }}\n"
    );
    let mut minion = start(&sandbox, &file);
    for _ in 0..3 {
        minion.says("not ready within 100ms");
    }
    minion.stop().assert_code(0);
    sandbox.assert_deserted();
}

#[test]
fn an_executor_that_does_not_get_ready_ends_the_run_with_112() {
    let sandbox = Sandbox::with_km("");
    let file = format!("[executor]\ncommand = {SLEEPS}\nreadiness = {{ file = 'never', within = '200ms' }}\n");
    let said = start(&sandbox, &file).wait_within(Duration::from_secs(10)).assert_code(112);
    assert!(said.contains("not ready within 200ms"), "{said}");
}

#[test]
fn a_daemon_that_names_its_main_process_is_followed() {
    // The parent says MAINPID and exits; the child is the task from then on.
    let program = "import os,socket,time\n\
        s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\n\
        s.connect(\"\\0\"+os.environ[\"NOTIFY_SOCKET\"][1:])\n\
        r,w=os.pipe()\n\
        pid=os.fork()\n\
        if pid:\n    os.read(r,1)\n    s.send((\"MAINPID=%d\\nREADY=1\"%pid).encode())\n    os._exit(0)\n\
        os.setsid()\nos.write(w,b\"x\")\ntime.sleep(1000)\n";
    let sandbox = Sandbox::with_km("");
    std::fs::write(sandbox.path("daemon.py"), program).unwrap();
    let mut events = sandbox.events("events");
    let mut minion = start(&sandbox, &file("['python3', 'daemon.py']", "{ notify = true, within = '10s' }"));
    let first = minion.started("side");
    let line = minion.says("its main process is this one now");
    assert!(!line.contains(&format!("pid={first}")), "{line}");
    events.next_with("executor");
    let said = minion.stop().assert_code(0);
    assert!(!said.contains("left processes behind"), "{said}");
    sandbox.assert_deserted();
}

#[test]
fn minion_itself_is_a_good_service() {
    let sandbox = Sandbox::with_km("");
    let socket = std::os::unix::net::UnixDatagram::bind(sandbox.path("manager")).unwrap();
    socket.set_read_timeout(Some(crate::common::DEADLINE)).unwrap();
    let mut command = super::command(&sandbox);
    command.env("NOTIFY_SOCKET", sandbox.path("manager")).env("WATCHDOG_USEC", "200000");
    std::fs::write(sandbox.path("tasks.toml"), format!("[executor]\ncommand = {}\n", sh("env; exec sleep 1000")))
        .unwrap();
    let minion = Minion::spawn(&mut command);
    let mut receive = || {
        let mut text = [0; 256];
        let read = socket.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..read]).into_owned()
    };
    // On a busy machine pulses may come first.
    let first = std::iter::repeat_with(&mut receive).find(|text| text != "WATCHDOG=1").unwrap();
    assert_eq!(first, "READY=1\nSTATUS=1 task ready");
    assert_eq!(receive(), "WATCHDOG=1");
    minion.stop().assert_code(0);
    let last = std::iter::repeat_with(&mut receive).find(|text| text != "WATCHDOG=1").unwrap();
    assert!(last.starts_with("STOPPING=1"), "{last}");
    // What the manager gave minion is minion's own.
    assert!(!sandbox.read("executor.log").contains("NOTIFY_SOCKET"), "{}", sandbox.read("executor.log"));
}
