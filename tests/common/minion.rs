//! minion as a process of a test: in a sandbox with a `km`, heard, signalled and waited for.

use super::fifo::{Lifeline, Lines};
use super::{DEADLINE, minion, proc, wait_readable};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What every run needs, and no look at the cgroups of the machine.
pub const FLAGS: [&str; 3] = ["run", "--api-servers=http://10.0.0.1:8888", "--cgroup-attach=off"];
/// The variable that marks every process of a sandbox, however far it went.
const MARK: &str = "MINION_TEST_SANDBOX";

/// A directory to run minion in. Dropping it kills whatever carries its mark.
pub struct Sandbox {
    directory: TempDir,
}

impl Sandbox {
    /// With a `km` that is this shell script: `$1` is `proxy` or `executor`, the rest its flags. The executed file is a link to
    /// one that is never written. [KF-80]
    pub fn with_km(script: &str) -> Self {
        let sandbox = Self { directory: TempDir::with_prefix("minion-test-").unwrap() };
        fs::write(sandbox.path("km.sh"), script).unwrap();
        symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/km"), sandbox.path("km")).unwrap();
        sandbox
    }

    /// With a `km` that is the stand-in; what it does comes from `STAND_IN_EXECUTOR` and `STAND_IN_PROXY`.
    pub fn with_stand_in() -> Self {
        Self::with_km(&format!("exec {} stand-in km \"$@\"\n", minion()))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.path(name);
        String::from_utf8(fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))).unwrap()
    }

    /// A FIFO for lines from the children: `echo … >events`.
    pub fn events(&self, name: &str) -> Lines {
        Lines::fifo(&self.path(name))
    }

    /// A FIFO that children hold open: `exec 9>lifeline`. All of them are dead when it is at its end.
    pub fn lifeline(&self) -> Lifeline {
        Lifeline::new(&self.path("lifeline"))
    }

    /// The marked environment, with nothing of the caller's in it but `PATH`.
    pub fn mark(&self, command: &mut Command) {
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        command.env(MARK, self.directory.path()).current_dir(self.directory.path()).stdin(Stdio::null());
    }

    /// `minion run` with the flags that every run needs, and these.
    pub fn command(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(minion());
        command.args(FLAGS).args(flags);
        self.mark(&mut command);
        command
    }

    /// As [`Self::command`], with a command before it that prepares the surroundings and becomes minion, or starts it.
    pub fn command_under(&self, wrapper: &[&str], flags: &[&str]) -> Command {
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(minion()).args(FLAGS).args(flags);
        self.mark(&mut command);
        command
    }

    /// Runs minion once under a wrapper: its end.
    pub fn run_under(&self, wrapper: &[&str], flags: &[&str]) -> Ended {
        Minion::spawn(&mut self.command_under(wrapper, flags)).wait()
    }

    /// Waits until a log holds the text: the log thread, which starts last, is there.
    pub fn until_logged(&self, log: &str, text: &str) {
        super::sandbox::until(self.directory.path(), text, || {
            fs::read_to_string(self.path(log)).ok().filter(|log| log.contains(text))
        });
    }

    pub fn start(&self, flags: &[&str]) -> Minion {
        Minion::spawn(&mut self.command(flags))
    }

    /// As [`Self::start`], once for all: its end.
    pub fn run(&self, flags: &[&str]) -> Ended {
        self.start(flags).wait()
    }

    /// The marked processes that are alive.
    pub fn alive(&self) -> Vec<(i32, String)> {
        proc::alive_with(&format!("{MARK}={}", self.directory.path().display()))
    }

    /// Waits until no marked process is alive. For the moments after a death; whoever stays is named.
    pub fn assert_deserted(&self) {
        let deadline = Instant::now() + DEADLINE;
        while let Some((pid, command)) = self.alive().pop() {
            assert!(super::wait_dead(pid, deadline), "{pid} ({command}) is alive");
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let alive = self.alive();
            if alive.is_empty() || Instant::now() > deadline {
                return;
            }
            for (pid, _) in alive {
                if let Some(pidfd) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) {
                    let _ = pidfd_send_signal(&pidfd, Signal::KILL);
                    wait_readable(pidfd, deadline);
                }
            }
        }
    }
}

/// A running minion. Dropping it kills it.
pub struct Minion {
    child: Child,
    pub pidfd: OwnedFd,
    pub stderr: Lines,
}

/// A minion that has ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stderr: String,
}

impl Ended {
    /// The exit code; a death by a signal is none.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("{self:#?}"))
    }

    pub fn assert_code(self, code: i32) -> String {
        assert_eq!(self.status.code(), Some(code), "{}\n{}", self.status, self.stderr);
        self.stderr
    }
}

impl Minion {
    /// With its stderr on a pipe.
    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        let stderr = Lines::of(child.stderr.take().unwrap().into());
        Self { child, pidfd, stderr }
    }

    pub fn pid(&self) -> i32 {
        Pid::from_child(&self.child).as_raw_nonzero().get()
    }

    pub fn signal(&self, signal: Signal) {
        pidfd_send_signal(&self.pidfd, signal).unwrap();
    }

    /// The next line on stderr that holds `text`.
    pub fn says(&mut self, text: &str) -> String {
        self.stderr.next_with(text)
    }

    /// The pid of a child, from the line that says that it started.
    pub fn started(&mut self, task: &str) -> i32 {
        let line = self.says(&format!("started task={task} pid="));
        let pid = line.split_once(" pid=").unwrap().1.split(' ').next().unwrap();
        pid.parse().unwrap()
    }

    /// Waits until both children execute.
    pub fn is_up(&mut self) {
        let first = self.says("info started task=");
        self.started(if first.contains("task=proxy") { "executor" } else { "proxy" });
    }

    /// Reaps it, which waits for its end, and gives its exit code; a death by a signal is none.
    pub fn reap(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// SIGTERM, and its end.
    pub fn stop(self) -> Ended {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Its end: nobody holds its stderr, and it is reaped.
    pub fn wait(self) -> Ended {
        self.wait_until(Instant::now() + DEADLINE)
    }

    /// As [`Self::wait`], by a deadline that the behaviour under test promises.
    pub fn wait_within(self, time: Duration) -> Ended {
        self.wait_until(Instant::now() + time)
    }

    fn wait_until(mut self, deadline: Instant) -> Ended {
        let dead = wait_readable(&self.pidfd, deadline);
        self.stderr.read_all(Instant::now() + DEADLINE);
        let stderr = self.stderr.everything();
        assert!(dead, "minion still runs; it said:\n{stderr}");
        Ended { status: self.child.wait().unwrap(), stderr }
    }
}

impl Drop for Minion {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
