//! The rehearsal agent without root: sandbox, environment, init, shutdown, and that it leaves nothing behind.

#![allow(clippy::unwrap_used, clippy::panic)] // what serves a test is a test

mod common;

use ::minion::rehearsal::{Agent, Builder, Container, Process};
use common::sandbox::until;
use common::{DEADLINE, minion, wait_dead, wait_readable};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn builder() -> Builder {
    Agent::builder(Path::new(minion()), "mesos-test-none").without_cgroups().reap_at_once()
}

fn soon() -> Instant {
    Instant::now() + DEADLINE
}

/// Runs `script` in a container to its end: raw wait status, and what it wrote on stdout.
fn run(script: &str) -> (i32, String) {
    let agent = builder().start().unwrap();
    let mut container = agent.launch(&["/bin/sh", "-c", script]).unwrap();
    let status = container.wait(soon()).unwrap();
    (status.raw, fs::read_to_string(container.sandbox().join("stdout")).unwrap())
}

/// A FIFO that a container's process writes lines to and the test reads, with a deadline.
struct Lines {
    path: PathBuf,
    file: File,
    _directory: tempfile::TempDir,
}

impl Lines {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
        Self { path, file, _directory: directory }
    }

    fn next(&mut self) -> String {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            let mut byte = [0];
            match self.file.read(&mut byte) {
                Ok(1) => line.push(byte[0]),
                other => assert!(wait_readable(self.file.as_fd(), soon()), "no line, {other:?}, {line:?}"),
            }
        }
        String::from_utf8(line).unwrap().trim().to_owned()
    }
}

#[test]
fn the_sandbox_is_where_an_agent_puts_it() {
    let agent = builder().executor_id("my executor").start().unwrap();
    let mut container = agent.launch(&["/bin/sh", "-c", "pwd; umask"]).unwrap();
    container.wait(soon()).unwrap();
    let sandbox = container.sandbox();
    let parts: Vec<_> =
        sandbox.strip_prefix(agent.directory()).unwrap().iter().map(|part| part.to_str().unwrap()).collect();
    assert_eq!(
        [parts[0], parts[1], parts[3], parts[5], parts[6], parts[7]],
        ["work", "slaves", "frameworks", "executors", "my executor", "runs"]
    );
    assert!(parts[2].len() == 39 && parts[2].ends_with("-S0") && parts[4].ends_with("-0000"), "{parts:?}");
    assert_eq!(parts[8], container.id());
    assert_eq!(container.id().len(), 36);
    assert_eq!(fs::metadata(sandbox).unwrap().permissions().mode() & 0o7777, 0o750);
    let runs = sandbox.parent().unwrap();
    assert_eq!(fs::read_link(runs.join("latest")).unwrap(), sandbox, "the link is absolute");
    let slaves = agent.directory().join("work/slaves");
    assert_eq!(fs::read_link(slaves.join("latest")).unwrap(), slaves.join(parts[2]));
    let stdout = fs::read_to_string(sandbox.join("stdout")).unwrap();
    assert_eq!(stdout.lines().next().unwrap(), sandbox.to_str().unwrap(), "it is the working directory");
    assert_eq!(fs::metadata(sandbox.join("stderr")).unwrap().permissions().mode() & 0o777, 0o644);

    let second = agent.launch(&["/bin/true"]).unwrap();
    assert_eq!(fs::read_link(runs.join("latest")).unwrap(), second.sandbox());
}

/// What the facts list for shell=false, by an executor that prints its environment.
fn environment(agent: &Agent) -> BTreeMap<String, String> {
    let mut container = agent.launch(&["/usr/bin/env"]).unwrap();
    assert_eq!(container.wait(soon()).unwrap().raw, 0);
    let text = fs::read_to_string(container.sandbox().join("stdout")).unwrap();
    let pairs = text.lines().map(|line| line.split_once('=').unwrap());
    let mut found: BTreeMap<String, String> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let sandbox = container.sandbox().to_str().unwrap();
    for name in ["MESOS_DIRECTORY", "MESOS_SANDBOX"] {
        assert_eq!(found.remove(name).as_deref(), Some(sandbox), "{name}");
    }
    for (name, folder) in [("MESOS_SLAVE_ID", "/slaves/"), ("MESOS_FRAMEWORK_ID", "/frameworks/")] {
        let id = found.remove(name).unwrap();
        assert!(sandbox.contains(&format!("{folder}{id}/")), "{name}={id} {sandbox}");
    }
    found
}

#[test]
fn the_environment_is_the_agents_list_and_nothing_else() {
    let common = [
        ("LIBPROCESS_IP", "127.0.0.1"),
        ("LIBPROCESS_PORT", "0"),
        ("MESOS_AGENT_ENDPOINT", "127.0.0.1:5051"),
        ("MESOS_CHECKPOINT", "0"),
        ("MESOS_EXECUTOR_ID", "stand-in executor"),
        ("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD", "5secs"),
        ("MESOS_HTTP_COMMAND_EXECUTOR", "0"),
        ("MESOS_SLAVE_PID", "slave(1)@127.0.0.1:5051"),
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ];
    let mut expected: BTreeMap<String, String> =
        common.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    assert_eq!(environment(&builder().start().unwrap()), expected);

    expected.insert("MESOS_CHECKPOINT".into(), "1".into());
    expected.insert("MESOS_RECOVERY_TIMEOUT".into(), "15mins".into());
    expected.insert("MESOS_SUBSCRIPTION_BACKOFF_MAX".into(), "2secs".into());
    expected.insert("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD".into(), "1500ms".into());
    expected.insert("PATH".into(), "/opt/bin:/usr/bin".into());
    expected.insert("OWN".into(), "1".into());
    let agent = builder().checkpoint(true).grace(Duration::from_millis(1500));
    let agent = agent.environment("OWN", "1").environment("PATH", "/opt/bin:/usr/bin").start().unwrap();
    assert_eq!(environment(&agent), expected);
}

#[test]
fn the_status_file_holds_the_raw_wait_status() {
    assert_eq!(run("exit 0").0, 0);
    assert_eq!(run("exit 3").0, 3 << 8);
    assert_eq!(run("exit 137").0, 137 << 8);
    assert_eq!(run("kill -KILL $$").0, 9);
    assert_eq!(run("ulimit -c 0; kill -SEGV $$").0, 11);
}

#[test]
fn a_command_that_cannot_be_executed_ends_with_1_and_says_why() {
    let agent = builder().start().unwrap();
    let mut container = agent.launch(&["./nothing-here"]).unwrap();
    assert_eq!(container.wait(soon()).unwrap().raw, 1 << 8);
    let said = fs::read_to_string(container.sandbox().join("stderr")).unwrap();
    assert_eq!(said, "rehearsal-init: execute \"./nothing-here\": No such file or directory\n");
}

#[test]
fn an_init_that_was_killed_leaves_no_status_and_counts_as_killed() {
    let mut lines = Lines::new();
    let agent = builder().start().unwrap();
    let script = "echo ready >\"$1\"; exec sleep 60";
    let mut container = agent.launch(&["/bin/sh", "-c", script, "sh", lines.path.to_str().unwrap()]).unwrap();
    lines.next();
    container.signal(libc::SIGKILL).unwrap();
    let status = container.wait(soon()).unwrap();
    assert_eq!((status.raw, status.written), (9, false));
    let report = container.destroy(soon()).unwrap();
    assert_eq!(report.killed.len(), 1, "the init does not take the command with it: {report:?}");
}

#[test]
fn the_init_forwards_every_signal_but_three() {
    let mut lines = Lines::new();
    let agent = builder().start().unwrap();
    let numbers: Vec<i32> = (1..=64).filter(|n| ![9, 17, 19, 32, 33].contains(n)).collect();
    let words: Vec<String> = numbers.iter().map(i32::to_string).collect();
    let script = format!(
        "exec 3>\"$1\"; for n in {}; do trap \"echo $n >&3\" $n; done; sleep 60 & echo ready >&3; while :; do wait; done",
        words.join(" ")
    );
    // bash: dash has no trap for real-time signals.
    let argv = ["/bin/bash", "-c", &script, "bash", lines.path.to_str().unwrap()];
    let container = agent.launch(&argv).unwrap();
    assert_eq!(lines.next(), "ready");
    for (number, word) in numbers.iter().zip(&words) {
        container.signal(*number).unwrap();
        assert_eq!(&lines.next(), word, "signal {number}");
    }
}

#[test]
fn the_init_does_not_take_a_stop_of_the_command_for_its_end() {
    let mut lines = Lines::new();
    let agent = builder().start().unwrap();
    let script = "echo $$ >\"$1\"; kill -STOP $$; exit 4";
    let mut container = agent.launch(&["/bin/sh", "-c", script, "sh", lines.path.to_str().unwrap()]).unwrap();
    let command: i32 = lines.next().parse().unwrap();
    let deadline = soon();
    while common::proc::stat(command).unwrap()[0] != "T" {
        assert!(Instant::now() < deadline, "it does not stop");
    }
    assert!(container.wait(Instant::now() + Duration::from_millis(50)).is_err(), "it has stopped, not ended");
    container.signal(libc::SIGCONT).unwrap();
    assert_eq!(container.wait(soon()).unwrap().raw, 4 << 8);
}

#[test]
fn the_command_gets_three_fds_an_empty_mask_and_default_dispositions() {
    let leaked = File::open("/dev/zero").unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let (_, stdout) = run("exec cat /proc/self/status");
    for field in ["SigBlk", "SigIgn", "SigCgt"] {
        let mask = stdout.lines().find_map(|line| line.strip_prefix(field)).unwrap().trim_start_matches(":\t");
        assert_eq!(mask, "0000000000000000", "{field}: {stdout}");
    }
    let (_, stdout) = run("for fd in /proc/$$/fd/*; do readlink $fd; done");
    let open: Vec<&str> = stdout.lines().collect();
    assert_eq!(open.len(), 3, "{stdout}");
    assert!(open[0] == "/dev/null" && open[1].ends_with("/stdout") && open[2].ends_with("/stderr"), "{stdout}");
}

#[test]
fn the_command_is_a_member_and_not_the_leader_of_the_containers_session() {
    let agent = builder().start().unwrap();
    let mut container = agent.launch(&["/bin/cat", "/proc/self/stat"]).unwrap();
    container.wait(soon()).unwrap();
    let stat = fs::read_to_string(container.sandbox().join("stdout")).unwrap();
    let fields: Vec<i32> =
        stat.split(") ").nth(1).unwrap().split(' ').skip(1).take(3).map(|n| n.parse().unwrap()).collect();
    let init = container.pid();
    assert_eq!(fields, [init, init, init], "parent, group, session");
}

/// An init of its own, with its runtime directory, whose agent is the test.
fn bare_init() -> (std::process::Child, tempfile::TempDir) {
    let runtime = tempfile::tempdir().unwrap();
    let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, runtime.path(), WatchFlags::CREATE).unwrap();
    let init = Command::new(minion())
        .args(["rehearsal-init", "launch", "/bin/true"])
        .env("MESOS_CONTAINERIZER_RUNTIME_DIRECTORY", runtime.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(wait_readable(&watch, soon()), "the status file is made, with the signals blocked before that");
    (init, runtime)
}

#[test]
fn an_init_whose_agent_goes_away_starts_nothing_and_ends() {
    let (mut init, runtime) = bare_init();
    drop(init.stdin.take());
    assert_eq!(init.wait().unwrap().code(), Some(1));
    assert_eq!(fs::read_to_string(runtime.path().join("status")).unwrap(), "256");
}

#[test]
fn a_signal_before_the_command_exists_is_the_inits_own_end() {
    let (mut init, runtime) = bare_init();
    let pid = rustix::process::Pid::from_child(&init);
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    let gate = init.stdin.take();
    assert_eq!(init.wait().unwrap().code(), Some(1));
    assert_eq!(fs::read_to_string(runtime.path().join("status")).unwrap(), "15");
    drop(gate);
}

/// A container whose command is a stand-in for km itself.
fn stand_in(role: &str, script: &str, grace: Duration) -> Container {
    let variable = format!("STAND_IN_{}", role.to_uppercase());
    let agent = builder().grace(grace).environment(variable, script).start().unwrap();
    let container = agent.launch(&["./km", role, "--v=1"]).unwrap();
    let stderr = container.sandbox().join("stderr");
    until(container.sandbox(), "the start of the stand-in", || {
        fs::read_to_string(&stderr).unwrap().contains("stand-in started").then_some(())
    });
    container
}

#[test]
fn an_executor_that_obeys_shutdown_ends_by_itself() {
    let mut container = stand_in("executor", "", Duration::from_secs(5));
    let ending = container.shutdown().unwrap();
    assert!(ending.registered && ending.obeyed, "{ending:?}");
    assert_eq!((ending.status.raw, ending.status.written), (0, true));
    assert!(ending.report.is_clean(), "{ending:?}");
    let log = fs::read_to_string(container.sandbox().join("stderr")).unwrap();
    assert!(log.contains("executor got the SHUTDOWN message") && log.ends_with("executor says goodbye\n"), "{log}");
}

#[test]
fn an_executor_that_ignores_shutdown_is_destroyed_after_the_grace_period() {
    let grace = Duration::from_millis(200);
    let mut container = stand_in("executor", "ignore-shutdown", grace);
    let ending = container.shutdown().unwrap();
    assert!(ending.registered && !ending.obeyed && ending.took >= grace, "{ending:?}");
    assert_eq!((ending.status.raw, ending.status.written), (9, false));
    assert_eq!(ending.report.killed.len(), 2, "init and executor: {ending:?}");
    let log = fs::read_to_string(container.sandbox().join("stderr")).unwrap();
    assert!(!log.contains("SIGTERM"), "an agent sends no signal: {log}");
}

#[test]
fn a_shutdown_message_to_nobody_is_lost() {
    let agent = builder().grace(Duration::from_millis(50)).start().unwrap();
    let mut container = agent.launch(&["/bin/sleep", "60"]).unwrap();
    let ending = container.shutdown().unwrap();
    assert!(!ending.registered && !ending.obeyed, "{ending:?}");
}

/// Who they are. The command line of one is its parent's until its exec is through.
fn pids(processes: &[Process]) -> Vec<i32> {
    processes.iter().map(|process| process.pid).collect()
}

#[test]
fn survivors_are_found_without_cgroups_in_sessions_of_their_own() {
    let agent =
        builder().environment("STAND_IN_EXECUTOR", "daemonise,stubborn,forkloop=4,crash-after=0ms:3").start().unwrap();
    let mut container = agent.launch(&["./km", "executor"]).unwrap();
    assert_eq!(container.wait(soon()).unwrap().raw, 3 << 8);
    let alive = container.survivors().unwrap();
    assert_eq!(alive.len(), 5, "{alive:?}");
    let report = container.destroy(soon()).unwrap();
    assert_eq!(pids(&report.killed), pids(&alive), "{report:?} {alive:?}");
    assert_eq!(container.survivors().unwrap(), []);
}

#[test]
fn processes_that_hop_do_not_outrun_a_destroy() {
    let agent = builder().environment("STAND_IN_EXECUTOR", "hop=8,crash-after=50ms:0").start().unwrap();
    let mut container = agent.launch(&["./km", "executor"]).unwrap();
    container.wait(soon()).unwrap();
    container.destroy(soon()).unwrap();
    assert_eq!(container.survivors().unwrap(), []);
}

#[test]
fn a_panic_leaves_no_process_and_no_directory() {
    let mut lines = Lines::new();
    let mut left = (PathBuf::new(), 0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        let agent = builder().start().unwrap();
        let script = "setsid sh -c 'trap \"\" TERM; echo $$ >\"$1\"; exec sleep 60' sh \"$1\" & sleep 60";
        let _container = agent.launch(&["/bin/sh", "-c", script, "sh", lines.path.to_str().unwrap()]).unwrap();
        left = (agent.directory().to_owned(), lines.next().parse().unwrap());
        assert!(left.0.exists());
        panic!("as a failing test does");
    }));
    assert!(result.is_err());
    assert!(!left.0.exists(), "{}", left.0.display());
    assert!(wait_dead(left.1, Instant::now()), "{} is alive", left.1);
}

#[test]
fn an_agent_without_cgroups_says_so() {
    let agent = builder().start().unwrap();
    assert_eq!(agent.missing(), ["cgroups: make cgroups mesos-test-none: the caller wants none"]);
    assert_eq!(agent.recovery_check(&[]), []);
}
