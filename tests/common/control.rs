//! Talking to a minion's control socket, by hand and by the commands.

use super::fifo::Lines;
use super::minion::{Minion, Sandbox};
use super::{DEADLINE, minion};
use ::minion::control::protocol::{Event, Status};
use std::io::{ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Children that say who they are.
pub const OBEDIENT: &str = "echo $1 $$ >events\nexec sleep 300\n";

/// A connection.
pub struct Asker {
    pub socket: UnixStream,
    pub lines: Lines,
}

impl Asker {
    pub fn of(sandbox: &Sandbox) -> Self {
        Self::at(&sandbox.path("minion.sock"))
    }

    pub fn at(path: &Path) -> Self {
        let socket = UnixStream::connect(path).unwrap();
        let lines = Lines::of(socket.try_clone().unwrap().into());
        Self { socket, lines }
    }

    /// Sends bytes as they are. False when the other side has closed.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        match self.socket.write_all(bytes) {
            Ok(()) => true,
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => false,
            Err(error) => panic!("send: {error}"),
        }
    }

    /// Sends a line and gives the answer.
    pub fn ask(&mut self, line: &str) -> String {
        assert!(self.send(format!("{line}\n").as_bytes()));
        self.lines.next()
    }

    pub fn status(&mut self) -> Status {
        serde_json::from_str(&self.ask(r#"{"minion":1,"request":"status"}"#)).unwrap()
    }

    pub fn command(&mut self, request: &str, task: &str) -> String {
        self.ask(&format!(r#"{{"minion":1,"request":"{request}","task":"{task}"}}"#))
    }

    /// Subscribes.
    pub fn subscribe(mut self) -> Self {
        assert!(self.ask(r#"{"minion":1,"request":"events"}"#).contains("\"subscribed\":"));
        self
    }

    /// The next event that is so called.
    pub fn event(&mut self, name: &str) -> Event {
        serde_json::from_str(&self.lines.next_with(&format!("\"event\":\"{name}\""))).unwrap()
    }

    /// What comes until the other side closes.
    pub fn rest(mut self) -> String {
        self.lines.read_all(Instant::now() + DEADLINE);
        self.lines.everything()
    }
}

/// A minion with both children up, and their pids: proxy, executor.
pub struct Up {
    pub sandbox: Sandbox,
    pub minion: Minion,
    pub events: Lines,
    pub proxy: i32,
    pub executor: i32,
}

impl Up {
    pub fn start(script: &str, flags: &[&str]) -> Self {
        Self::in_sandbox(Sandbox::with_km(script), flags)
    }

    pub fn in_sandbox(sandbox: Sandbox, flags: &[&str]) -> Self {
        Self::with(sandbox, flags, |_| {})
    }

    pub fn with(sandbox: Sandbox, flags: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let events = sandbox.events("events");
        let mut command = sandbox.command(flags);
        change(&mut command);
        let mut up = Self { minion: Minion::spawn(&mut command), sandbox, events, proxy: 0, executor: 0 };
        up.minion.is_up();
        let first = up.events.next();
        let second = up.events.next();
        for line in [first, second] {
            match line.split_once(' ').unwrap() {
                ("proxy", pid) => up.proxy = pid.parse().unwrap(),
                (_, pid) => up.executor = pid.parse().unwrap(),
            }
        }
        up
    }

    pub fn asker(&self) -> Asker {
        Asker::of(&self.sandbox)
    }

    /// A command about this minion: exit code, stdout, stderr.
    pub fn cli(&self, words: &[&str]) -> (i32, String, String) {
        let mut words = words.to_vec();
        let sandbox = self.sandbox.path("");
        words.extend(["--sandbox", sandbox.to_str().unwrap()]);
        cli(&words)
    }
}

/// A command's exit code, stdout and stderr.
pub fn cli(words: &[&str]) -> (i32, String, String) {
    let output = Command::new(minion()).args(words).current_dir("/").stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}
