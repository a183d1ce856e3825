//! 200 clients at once, of one kind, for as long as it takes: a crash is followed by a restart and logs rotate, on time.

use super::common::control::Up;
use super::common::minion::Sandbox;
use super::common::sandbox::until;
use super::common::{DEADLINE, logs, wait_readable};
use rustix::net::{RecvFlags, recv};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const CROWD: usize = 200;

/// What each client of a crowd does, again and again.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Nothing.
    Silent,
    /// Sends what is no request.
    Garbage,
    /// Asks for everything at once, and reads a byte at a time.
    Slow,
}

/// The clients, until it is dropped: then how often one of them connected.
struct Crowd {
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<usize>>,
}

impl Crowd {
    fn of(kind: Kind, socket: PathBuf) -> Self {
        let (stopped, stop) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let (all, told) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let mut told = Some(told);
        let thread = std::thread::spawn(move || {
            let mut clients: Vec<UnixStream> = Vec::new();
            let mut connected = 0;
            // A round each 5 ms: 40,000 bytes of garbage a second, or 40,000 bytes read.
            while !wait_readable(&stopped, Instant::now() + Duration::from_millis(5)) {
                clients.retain_mut(|client| act(kind, client));
                // Those that were refused come again.
                while clients.len() < CROWD {
                    let Ok(client) = UnixStream::connect(&socket) else { break };
                    client.set_nonblocking(true).unwrap();
                    if let Kind::Slow = kind {
                        let asked = "{\"minion\":1,\"request\":\"status\"}\n".repeat(60);
                        let _ = (&client).write(asked.as_bytes());
                    }
                    connected += 1;
                    clients.push(client);
                }
                // Its end says that all are there.
                told.take_if(|_| clients.len() == CROWD);
            }
            connected
        });
        assert!(wait_readable(all, Instant::now() + DEADLINE), "all clients are there");
        Self { stop: Some(stop), thread: Some(thread) }
    }

    fn end(mut self) -> usize {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Whether the connection still is one.
fn act(kind: Kind, client: &mut UnixStream) -> bool {
    match kind {
        Kind::Silent => {}
        Kind::Garbage => drop(client.write(b"\xff\xfe{\n\x00")),
        Kind::Slow => {
            let mut byte = [0];
            return !matches!(recv(&*client, &mut byte, RecvFlags::DONTWAIT), Ok((_, 0)));
        }
    }
    // Without reading what it was told: only its end is looked at.
    !matches!(recv(&*client, &mut [0_u8; 1][..], RecvFlags::DONTWAIT | RecvFlags::PEEK), Ok((_, 0)))
}

/// Crashes kube-proxy three times and lets the executor fill ten logs meanwhile.
fn nothing_changes(kind: Kind) {
    let script = "echo $1 $$ >events\n[ $1 = executor ] || exec sleep 300\nn=0\n\
                  while :; do n=$((n + 1)); echo line $n of the executor; [ $((n % 10)) = 0 ] && sleep 0.05; done\n";
    let flags = ["--restart-delay=200ms", "--restart-delay-max=200ms", "--max-log-size=512", "--max-log-backups=1000"];
    let mut up = Up::in_sandbox(Sandbox::with_km(script), &flags);
    let directory = up.sandbox.path("");
    let crowd = Crowd::of(kind, up.sandbox.path("minion.sock"));
    let backups = || logs::files(&directory, "executor").len();
    let before = backups();
    for _ in 0..3 {
        let killed = Instant::now();
        kill_process(Pid::from_raw(up.proxy).unwrap(), Signal::KILL).unwrap();
        up.proxy = up.events.next().strip_prefix("proxy ").unwrap().parse().unwrap();
        let took = killed.elapsed();
        assert!(took >= Duration::from_millis(200) && took < DEADLINE, "{kind:?}: {took:?}");
        eprintln!("{kind:?}: started again {} ms after its delay", took.as_millis() - 200);
    }
    until(&directory, "ten rotations", || (backups() >= before + 10).then_some(()));
    let asked = Instant::now();
    up.minion.stop().assert_code(0);
    assert!(asked.elapsed() < DEADLINE, "{kind:?}");
    let connected = crowd.end();
    assert!(connected >= CROWD, "{kind:?}: {connected}");
    let files = logs::files(&directory, "executor");
    assert!(files.iter().all(|file| logs::content(file).len() <= 512), "rotated in time");
    let text = String::from_utf8(logs::whole(&directory, "executor")).unwrap();
    for (nth, line) in text.lines().enumerate() {
        assert_eq!(line, format!("line {} of the executor", nth + 1), "{kind:?}");
    }
}

#[test]
fn two_hundred_silent_clients_change_nothing_for_the_children() {
    nothing_changes(Kind::Silent);
}

#[test]
fn two_hundred_clients_that_send_garbage_change_nothing_for_the_children() {
    nothing_changes(Kind::Garbage);
}

#[test]
fn two_hundred_clients_that_read_slowly_change_nothing_for_the_children() {
    nothing_changes(Kind::Slow);
}
