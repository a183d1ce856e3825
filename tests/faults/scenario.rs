//! A short life of minion under strace, and what must hold of it whatever fails.

use super::common::fifo::Lines;
use super::common::minion::{FLAGS, Minion, Sandbox};
use super::common::{self, CgroupGuard, wait_readable};
use super::schedule::Fault;
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// After this the children go on, though what they wait for did not come.
const GO_ON: Duration = Duration::from_secs(4);
/// After this it is asked to end.
const ASK: Duration = Duration::from_secs(12);
/// By this it has ended.
const END: Duration = Duration::from_secs(40);

/// What the executor says when it is told to end.
const GOODBYE: &str = "goodbye";

/// How the life goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// kube-proxy crashes, leaves a process behind, is started again; the logs are rotated; the executor ends with 7.
    Crash,
    /// SIGTERM, with a process that does not obey it; stdout has logs of its own; a private mount namespace.
    Stop,
}

impl Scenario {
    fn km(self) -> &'static str {
        match self {
            Self::Crash => {
                "case $1 in
                 proxy)
                   if [ ! -e once ]; then : >once; setsid sleep 100 & exit 1; fi
                   echo >gate; exec sleep 100 ;;
                 executor)
                   seq -f 'e %g' 1 300 >&2
                   read -r _ <gate
                   kill -USR1 $PPID
                   seq -f 'e %g' 301 600 >&2
                   exit 7 ;;
                 esac\n"
            }
            Self::Stop => {
                "case $1 in
                 proxy)
                   setsid sh -c 'trap \"\" TERM; exec sleep 100' &
                   echo >gate; exec sleep 100 ;;
                 executor)
                   trap 'echo goodbye; echo goodbye >&2; exit 0' TERM
                   seq -f 'e %g' 1 300
                   seq -f 'e %g' 1 300 >&2
                   read -r _ <gate
                   kill -TERM $PPID
                   read -r _ <never ;;
                 esac\n"
            }
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Crash => &["--restart-delay=0s", "--grace=2s", "--log-stall=100ms"],
            Self::Stop => &["--stdout=separate", "--grace=800ms", "--log-stall=100ms"],
        }
    }

    /// The logs of the executor, and the number of its last line.
    fn logs(self) -> (&'static [&'static str], usize) {
        match self {
            Self::Crash => (&["executor"], 600),
            Self::Stop => (&["executor", "executor.stdout"], 300),
        }
    }

    /// The exit codes that are documented for it, the first one being that without a fault.
    fn codes(self) -> &'static [i32] {
        match self {
            Self::Crash => &[7, 111],
            Self::Stop => &[0, 111, 113],
        }
    }
}

/// Where minion runs.
pub struct Stage {
    cgroups: Option<CgroupGuard>,
    root: bool,
}

impl Stage {
    /// With cgroups and a mount namespace where this machine lets us.
    pub fn new() -> Self {
        let root = common::has("root").is_ok();
        let hierarchies = ["/sys/fs/cgroup/freezer", "/sys/fs/cgroup/memory"];
        let cgroups = (root && common::has("v1").is_ok()).then(|| CgroupGuard::new(&hierarchies, "/c1"));
        Self { cgroups, root }
    }

    fn command(&self, scenario: Scenario, sandbox: &Sandbox, strace: &[String]) -> Command {
        let mut command = Command::new("strace");
        // Children are let go when they exec: only what minion does is traced.
        command.args(["-f", "-q", "-b", "execve", "-o"]).arg(sandbox.path("trace")).args(strace);
        command.arg(common::minion()).args(FLAGS).args(scenario.flags());
        sandbox.mark(&mut command);
        if let Some(cgroups) = &self.cgroups {
            command.args(["--cgroup-attach=require", "--mesos-cgroup-prefix", cgroups.name()]);
            command.env("MESOS_DIRECTORY", "/w/runs/c1");
        }
        if self.root && scenario == Scenario::Stop {
            command.arg("--private-mountns");
        }
        command
    }

    /// Runs it without a fault, and gives the trace.
    pub fn trace(&self, scenario: Scenario) -> String {
        let (sandbox, ended) = self.play(scenario, &[]);
        let problems = problems(scenario, &sandbox, &ended);
        assert_eq!(problems, Vec::<String>::new(), "{scenario:?} without a fault");
        fs::read_to_string(sandbox.path("trace")).unwrap()
    }

    /// Runs it with a fault.
    pub fn inject(&self, scenario: Scenario, fault: Fault) -> Verdict {
        let Fault { call, errno, nth } = fault;
        let mut strace = vec![format!("-etrace={call}"), format!("-einject={call}:error={errno}:when={nth}")];
        let (sandbox, ended) = if call == "execve" {
            // The first execve of all is that of minion itself.
            let sandbox = prepared(scenario);
            strace.push(format!("-P{}", sandbox.path("km").display()));
            let ended = self.play_in(&sandbox, scenario, &strace);
            (sandbox, ended)
        } else {
            self.play(scenario, &strace)
        };
        let injected = fs::read_to_string(sandbox.path("trace")).unwrap_or_default().matches("(INJECTED)").count();
        let code = ended.code;
        let stderr = ended.stderr.clone();
        Verdict { injected, code, problems: problems(scenario, &sandbox, &ended), stderr }
    }

    fn play(&self, scenario: Scenario, strace: &[String]) -> (Sandbox, Ended) {
        let sandbox = prepared(scenario);
        let ended = self.play_in(&sandbox, scenario, strace);
        (sandbox, ended)
    }

    fn play_in(&self, sandbox: &Sandbox, scenario: Scenario, strace: &[String]) -> Ended {
        let (_never, _gate) = (sandbox.events("never"), sandbox.events("gate"));
        let mut minion = Minion::spawn(&mut self.command(scenario, sandbox, strace));
        let begin = Instant::now();
        let mut hung = false;
        if !wait_readable(&minion.pidfd, begin + GO_ON) {
            for _ in 0..2 {
                fs::write(sandbox.path("gate"), "\n").unwrap();
            }
            if !wait_readable(&minion.pidfd, begin + ASK) {
                signal_minion(sandbox, Signal::TERM);
                hung = !wait_readable(&minion.pidfd, begin + END);
            }
        }
        if hung {
            signal_minion(sandbox, Signal::KILL);
        }
        Ended::of(&mut minion, hung)
    }
}

fn prepared(scenario: Scenario) -> Sandbox {
    Sandbox::with_km(scenario.km())
}

/// Signals the tracee: minion itself, not strace.
fn signal_minion(sandbox: &Sandbox, signal: Signal) {
    let minion = sandbox.alive().into_iter().find(|(_, command)| command.starts_with(common::minion()));
    let pid = minion.and_then(|(pid, _)| rustix::process::Pid::from_raw(pid));
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

struct Ended {
    code: Option<i32>,
    hung: bool,
    stderr: String,
}

impl Ended {
    fn of(minion: &mut Minion, hung: bool) -> Self {
        let code = minion.reap();
        let lines: &mut Lines = &mut minion.stderr;
        lines.read_all(Instant::now() + common::DEADLINE);
        Self { code, hung, stderr: lines.everything() }
    }
}

/// What came of a fault.
pub struct Verdict {
    /// How many calls failed: the nth of each thread and process.
    pub injected: usize,
    pub code: Option<i32>,
    /// What should not be.
    pub problems: Vec<String>,
    pub stderr: String,
}

fn problems(scenario: Scenario, sandbox: &Sandbox, ended: &Ended) -> Vec<String> {
    let mut problems = Vec::new();
    if ended.hung {
        problems.push("it did not end".to_owned());
    }
    match ended.code {
        Some(code) if scenario.codes().contains(&code) || is_the_executors(code, &ended.stderr) => {}
        code => problems.push(format!("exit code {code:?}")),
    }
    // Where file-rotate asserts, the log thread goes on. [CR-42]
    if ended.stderr.lines().any(|line| line.contains("panicked at") && !line.contains("/file-rotate-")) {
        problems.push("it panicked".to_owned());
    }
    if ended.code == Some(111) && !ended.stderr.lines().any(is_failure) {
        problems.push("exit 111 without a line that says why".to_owned());
    }
    let alive = remaining(sandbox);
    if !alive.is_empty() {
        problems.push(format!("alive after it: {alive:?}"));
    }
    for log in scenario.logs().0 {
        problems.extend(loss(sandbox, log, scenario, ended));
    }
    problems
}

/// The executor ended with it, it is said.
fn is_the_executors(code: i32, stderr: &str) -> bool {
    let end = format!(" state=ended exit={code}");
    code != 101 && stderr.lines().any(|line| line.contains("task=executor") && line.ends_with(&end))
}

fn is_failure(line: &str) -> bool {
    line.contains(" error ") || line.starts_with("minion: ")
}

/// Who is alive a moment after minion's end: what the kernel kills needs that moment.
fn remaining(sandbox: &Sandbox) -> Vec<String> {
    let deadline = Instant::now() + common::DEADLINE;
    let mut alive = sandbox.alive();
    alive.retain(|(pid, _)| !common::wait_dead(*pid, deadline));
    alive.into_iter().map(|(pid, command)| format!("{pid} {command}")).collect()
}

/// Lines that are torn, out of order, or missing without a word.
fn loss(sandbox: &Sandbox, log: &str, scenario: Scenario, ended: &Ended) -> Option<String> {
    let (directory, last) = (sandbox.path("."), scenario.logs().1);
    let text = String::from_utf8_lossy(&whole(&directory, log)).into_owned();
    let told = text.contains("minion: dropped ")
        || ["dropped", "read a child's output", "watch a child's output", "removed a backup"]
            .iter()
            .any(|words| ended.stderr.contains(words));
    let mut next = 1;
    // The shell says when a child of its own is killed.
    let foreign = |line: &&str| line.starts_with("minion: ") || [GOODBYE, "Terminated"].contains(line);
    for line in text.lines().filter(|line| !foreign(line)) {
        let number: Option<usize> = line.strip_prefix("e ").and_then(|number| number.parse().ok());
        match number {
            Some(number) if number == next => next += 1,
            Some(number) if number > next && told => next = number + 1,
            _ if told => {}
            _ => return Some(format!("{log}.log: {line:?} in the place of line {next}")),
        }
    }
    // When set-up failed the executor may have been ended at any moment.
    if told || ended.code == Some(111) || ended.stderr.contains("executor exited with 127") {
        // 127 is the end of a child at its gate: it has executed nothing.
        None
    } else if next <= last {
        Some(format!("{log}.log: ends with line {}", next - 1))
    } else {
        // A shell may miss a signal that comes right before a read that waits; then it was killed.
        let obeyed = scenario == Scenario::Stop && ended.stderr.contains("exited with 0");
        (obeyed && !text.ends_with("goodbye\n")).then(|| format!("{log}.log: no {GOODBYE}"))
    }
}

fn whole(directory: &Path, log: &str) -> Vec<u8> {
    if directory.join(format!("{log}.log")).exists() { common::logs::whole(directory, log) } else { Vec::new() }
}
