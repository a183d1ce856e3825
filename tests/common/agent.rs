//! minion in a container of a rehearsal agent, with stand-ins for children.

use super::sandbox::until;
use super::{DEADLINE, wait_readable};
use ::minion::rehearsal::{Agent, Builder, Container, Process, Status};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How many numbered lines each stand-in writes at its start; the last one when everything that it starts has started.
pub const LINES: usize = 2001;

/// An agent with a cgroup root of its own, and its name.
pub fn builder() -> (Builder, String) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let root = format!("mesos-test-{}-m{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    (Agent::builder(Path::new(super::minion()), &root).reap_at_once(), root)
}

/// What the two stand-ins do, besides writing their lines and recording what they were given.
pub fn scripts(builder: Builder, executor: &str, proxy: &str) -> Builder {
    let burst = (LINES - 1) * 100;
    let script = |role, verbs| format!("record={role}.json,burst={burst},lines=1,{verbs}");
    builder
        .environment("STAND_IN_EXECUTOR", script("executor", executor))
        .environment("STAND_IN_PROXY", script("proxy", proxy))
}

/// minion, running in its container.
pub struct Contained {
    pub agent: Agent,
    pub container: Container,
    flags: Vec<String>,
}

impl Contained {
    /// In real cgroups.
    pub fn launch(agent: (Builder, String), flags: &[&str]) -> Self {
        let run = Self::launch_anywhere(agent, flags);
        assert_eq!(run.agent.missing(), [] as [&str; 0]);
        run
    }

    /// In whatever the agent can give.
    pub fn launch_anywhere((builder, root): (Builder, String), flags: &[&str]) -> Self {
        let agent = builder.start().unwrap();
        let prefix = format!("--mesos-cgroup-prefix={root}");
        let argv = [&[super::minion(), "run", "--api-servers=http://10.0.0.1:8888", &prefix], flags].concat();
        let container = agent.launch(&argv).unwrap();
        Self { agent, container, flags: argv.iter().map(|&word| word.to_owned()).collect() }
    }

    pub fn sandbox(&self) -> &Path {
        self.container.sandbox()
    }

    /// Sends a signal to the init, which forwards it to minion.
    pub fn signal(&self, signal: Signal) {
        self.container.signal(signal.as_raw()).unwrap();
    }

    /// A file of the sandbox; empty when there is none.
    pub fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.sandbox().join(name)).unwrap_or_default()).into_owned()
    }

    /// Waits until minion's stderr holds `text`: the line.
    pub fn says(&self, text: &str) -> String {
        until(self.sandbox(), text, || self.read("stderr").lines().find(|line| line.contains(text)).map(str::to_owned))
    }

    /// Waits until the log of a stand-in holds its last numbered line.
    pub fn is_ready(&self, role: &str) {
        let last = format!("{role} line {LINES:08} ");
        until(self.sandbox(), &last, || self.read(&format!("{role}.log")).contains(&last).then_some(()));
    }

    pub fn are_ready(&self) {
        self.is_ready("executor");
        self.is_ready("proxy");
    }

    /// What a stand-in recorded.
    pub fn record(&self, role: &str) -> Value {
        let file = self.sandbox().join(format!("{role}.json"));
        until(self.sandbox(), role, || Some(serde_json::from_str(&fs::read_to_string(&file).ok()?).unwrap()))
    }

    pub fn child(&self, role: &str) -> i32 {
        i32::try_from(self.record(role)["pid"].as_i64().unwrap()).unwrap()
    }

    /// minion's pid: the parent of its children.
    pub fn minion(&self) -> i32 {
        i32::try_from(self.record("executor")["ids"]["parent"].as_i64().unwrap()).unwrap()
    }

    /// The same where no stand-in records it: the child of the init.
    pub fn minion_by_init(&self) -> i32 {
        super::proc::children(self.container.pid())[0]
    }

    /// Waits for the end of minion itself: how long that took, and who of the container is alive at that moment. The init
    /// is on its way out and does not count.
    pub fn end_of(&self, minion: &OwnedFd, limit: Duration) -> (Duration, Vec<Process>) {
        let began = Instant::now();
        assert!(wait_readable(minion, began + limit), "still runs: {:?}\n{}", self.flags, self.read("stderr"));
        let took = began.elapsed();
        let alive = self.container.survivors().unwrap();
        (took, alive.into_iter().filter(|process| process.pid != self.container.pid()).collect())
    }

    /// The init's word on how minion ended.
    pub fn status(&mut self) -> Status {
        self.container.wait(Instant::now() + DEADLINE).unwrap()
    }

    /// The numbered lines of a log: from 1 to some number, each whole, none missing, none twice. That number.
    pub fn numbered_lines(&self, role: &str) -> usize {
        let log = self.read(&format!("{role}.log"));
        let lines: Vec<&str> = log.lines().filter(|line| line.starts_with(&format!("{role} line "))).collect();
        for (index, line) in lines.iter().enumerate() {
            assert!(line.len() == 99 && line.starts_with(&format!("{role} line {:08} ", index + 1)), "{line}");
        }
        lines.len()
    }
}

pub fn open(pid: i32) -> OwnedFd {
    pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap()
}

pub fn signal(pid: i32, signal: Signal) {
    pidfd_send_signal(open(pid), signal).unwrap();
}
