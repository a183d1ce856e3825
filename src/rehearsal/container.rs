//! A launched container: its processes, its end, and what is left of it.

use super::agent::Host;
use super::cgroups::Group;
use super::destroy::{DestroyReport, destroy};
use super::proc::{self, Process};
use super::recovery::Orphan;
use super::{sandbox, wait};
use crate::error::{During, Error, Result};
use crate::process::{Looks, Pidfd, tree};
use rustix::fs::{Mode, OFlags, open};
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The agent looks for the death of an init this often. [ME-46]
const REAP_POLL: Duration = Duration::from_millis(100);
/// How long a destroy may take before the agent calls it failed.
const DESTROY_TIMEOUT: Duration = Duration::from_secs(60);
/// The same when a container is dropped: a test should not hang for a minute.
const DROP_TIMEOUT: Duration = Duration::from_secs(10);
/// So many looks in a row that find nothing do where processes of others come and go all the time.
const MOST_LOOKS: u32 = 100;
/// Where a process has its container's sandbox in its environment. A nested container has the second alone.
const SANDBOX: [&str; 2] = ["MESOS_DIRECTORY", "MESOS_SANDBOX"];
const DROP_FREEZE_RETRY: Duration = Duration::from_secs(1);

/// A container of a rehearsal agent. Dropping it destroys it.
#[derive(Debug)]
pub struct Container {
    host: Arc<Host>,
    id: String,
    sandbox: PathBuf,
    runtime: PathBuf,
    group: Option<Group>,
    init: Child,
    pidfd: Pidfd,
    launched: Instant,
    reaped: bool,
    destroyed: bool,
}

/// How the command ended, by the status file that the init wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The raw wait status; 9 (killed by SIGKILL) when no status was written, as the agent takes it.
    pub raw: i32,
    /// Whether the init wrote one.
    pub written: bool,
}

/// What one look at all processes saw.
struct Look {
    found: Vec<(Process, Pidfd)>,
    /// Listed, and gone or a zombie when it was looked at.
    gone: BTreeSet<i32>,
    /// Of all others it is known whose they are.
    is_sure: bool,
}

enum Whose {
    Ours,
    Anothers,
    Gone,
    /// It is amid an exec.
    Unknown,
}

/// A shutdown from the message to the removed cgroups.
#[derive(Clone, Debug)]
pub struct Ending {
    /// How the command ended.
    pub status: Status,
    /// Whether anybody was there to take the SHUTDOWN message. If not, it is lost.
    pub registered: bool,
    /// Whether the init ended inside the grace period.
    pub obeyed: bool,
    /// From the message to the init's end, or to the end of the grace period.
    pub took: Duration,
    /// What the destroy found.
    pub report: DestroyReport,
}

impl Status {
    /// The same as std has it: exit code or signal.
    pub fn exit(self) -> ExitStatus {
        ExitStatus::from_raw(self.raw)
    }
}

impl Container {
    pub(super) fn new(
        host: Arc<Host>,
        id: String,
        [sandbox, runtime]: [PathBuf; 2],
        group: Option<Group>,
        init: Child,
    ) -> Result<Self> {
        let pid = i32::try_from(init.id()).map_err(|_| Error::new("start", "init", "its pid is out of range"))?;
        let pidfd = Pidfd::open(pid).during("pidfd_open init", pid)?;
        let launched = Instant::now();
        Ok(Self { host, id, sandbox, runtime, group, init, pidfd, launched, reaped: false, destroyed: false })
    }

    /// The init goes into freezer, then systemd; its pid is written down; then the isolators take it; then the output
    /// files are truncated, which a real agent's fetcher does even with nothing to fetch. [ME-44]
    pub(super) fn attach(&self) -> Result<()> {
        let pid = self.pid();
        self.group.as_ref().map_or(Ok(()), |group| group.attach_by_launcher(pid))?;
        let file = self.runtime.join("pid");
        fs::write(&file, pid.to_string()).during("write", file.display())?;
        self.group.as_ref().map_or(Ok(()), |group| group.attach_by_isolators(pid))?;
        for name in ["stdout", "stderr"] {
            sandbox::output(&self.sandbox, name)?.set_len(0).during("truncate", name)?;
        }
        Ok(())
    }

    /// The init's pid: what the agent calls the container's pid.
    pub fn pid(&self) -> i32 {
        self.pidfd.pid()
    }

    /// The init's pidfd: readable when it is dead.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// The container's id, a UUID: the last component of the sandbox. With those of its parents when it is nested, `p.c`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The sandbox directory: the value of `MESOS_DIRECTORY` and the working directory.
    pub fn sandbox(&self) -> &Path {
        &self.sandbox
    }

    pub(super) fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }

    /// The container's cgroup in each hierarchy: name of the hierarchy and directory. Empty without cgroups.
    pub fn cgroups(&self) -> &[(String, PathBuf)] {
        self.group.as_ref().map_or(&[], Group::directories)
    }

    /// The pids in any of the container's cgroups or below them.
    pub fn members(&self) -> BTreeSet<i32> {
        self.group.as_ref().map_or_else(BTreeSet::new, Group::members)
    }

    /// Sends a signal, by number, to the init, which passes it on to the command.
    pub fn signal(&self, signal: i32) -> Result<()> {
        self.pidfd.signal(signal).during("signal init", self.pid())
    }

    /// Waits for the init's end and, up to 100 ms longer, for the agent's next poll.
    pub fn wait(&mut self, deadline: Instant) -> Result<Status> {
        if !wait::readable(&self.pidfd, deadline)? {
            return Err(Error::new("wait for container", &self.id, "it still runs at the deadline"));
        }
        if self.host.options.polls && !self.reaped {
            let beats = self.launched.elapsed().as_millis() / REAP_POLL.as_millis() + 1;
            let next = self.launched + REAP_POLL * u32::try_from(beats).unwrap_or(u32::MAX);
            wait::pause(next.saturating_duration_since(Instant::now()))?;
        }
        self.reap()?;
        self.status()
    }

    /// Reads the status file. Absent or empty means that the init was killed.
    pub fn status(&self) -> Result<Status> {
        let file = self.runtime.join("status");
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read.during("read", file.display())?,
        };
        match text.parse() {
            Ok(raw) => Ok(Status { raw, written: true }),
            Err(_) if text.is_empty() => Ok(Status { raw: libc::SIGKILL, written: false }),
            Err(_) => Err(Error::new("read", file.display(), format!("{text:?} is no wait status"))),
        }
    }

    /// Tells the executor to shut down, by message alone: no signal. Waits for the grace period at most, then destroys.
    pub fn shutdown(&mut self) -> Result<Ending> {
        let began = Instant::now();
        let registered = self.send_shutdown()?;
        let obeyed = wait::readable(&self.pidfd, began + self.host.options.grace)?;
        let took = began.elapsed();
        if obeyed {
            self.wait(Instant::now())?;
        }
        let report = self.destroy(Instant::now() + DESTROY_TIMEOUT)?;
        Ok(Ending { status: self.status()?, registered, obeyed, took, report })
    }

    /// The SHUTDOWN message alone. False when no executor listens: then it is lost. [ME-47]
    pub fn send_shutdown(&self) -> Result<bool> {
        let path = self.sandbox.join(sandbox::MESSAGES);
        match open(&path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
            Ok(messages) => {
                rustix::io::write(&messages, b"SHUTDOWN\n").during("write", path.display())?;
                Ok(true)
            }
            Err(rustix::io::Errno::NXIO) => Ok(false),
            Err(errno) => Err(errno).during("open", path.display()),
        }
    }

    /// Ends all that is left of the container, as the agent does, and removes its cgroups. The error of a destroy that
    /// failed says which cgroup could not be removed and who is in it. Without cgroups: kills what [`Self::survivors`]
    /// finds until there is nothing.
    pub fn destroy(&mut self, deadline: Instant) -> Result<DestroyReport> {
        let report = match &self.group {
            Some(group) => destroy(group, self.host.options.freeze_retry, deadline)?,
            None => self.sweep(deadline)?,
        };
        if !wait::readable(&self.pidfd, deadline)? {
            return Err(Error::new("destroy", &self.id, "the init is alive, outside of its cgroup"));
        }
        self.reap()?;
        self.destroyed = true;
        Ok(report)
    }

    /// What a restart of the agent would take for containers that nobody knows. After [`Self::destroy`] that includes
    /// whatever is left of this one.
    pub fn recovery_check(&self) -> Vec<Orphan> {
        self.host.recovery_check((!self.destroyed).then_some(self.id.as_str()).into_iter())
    }

    /// Every process of the container that is alive: in its cgroups, in the init's session, or with its `MESOS_DIRECTORY`
    /// in the environment, wherever it went. The init included.
    pub fn survivors(&self) -> Result<Vec<Process>> {
        Ok(self.look(false)?.found.into_iter().map(|(process, _)| process).collect())
    }

    /// The newest first, each looked at once, and killed at once where that is wanted: what hops from process to process is gone
    /// from where it was listed a few milliseconds later, and who is found has to die before it has a successor.
    fn look(&self, kills: bool) -> Result<Look> {
        let members = self.members();
        let whose = |pid: i32| if members.contains(&pid) { Whose::Ours } else { self.whose(pid) };
        let mut look = Look { found: Vec::new(), gone: BTreeSet::new(), is_sure: true };
        for pid in proc::pids()?.into_iter().rev() {
            match whose(pid) {
                Whose::Anothers => continue,
                Whose::Ours => {
                    // The pidfd comes first: a pid that is given away after that leaves a handle to the dead one. [KF-65]
                    if let Ok(handle) = Pidfd::open(pid)
                        && matches!(whose(pid), Whose::Ours)
                        && let Some(process) = Process::alive(pid)
                    {
                        if kills {
                            proc::kill(&handle)?;
                        }
                        look.found.push((process, handle));
                        continue;
                    }
                }
                Whose::Gone => {}
                Whose::Unknown => {
                    look.is_sure = false;
                    continue;
                }
            }
            look.gone.insert(pid);
        }
        look.found.reverse();
        Ok(look)
    }

    /// Nobody is waited for: amid an exec a process has no environment, and whose it is may be told by its session or by where it
    /// works, or not yet.
    fn whose(&self, pid: i32) -> Whose {
        let sandbox = self.sandbox.as_os_str().as_bytes();
        let environment = tree::start_environment(pid, Instant::now()).unwrap_or_default();
        if SANDBOX.iter().any(|name| tree::value(&environment, name) == Some(sandbox)) {
            return Whose::Ours;
        }
        // The pid of an unreaped init cannot be another session's.
        let session = (!self.reaped).then(|| self.pid());
        if session.is_none() && !environment.is_empty() {
            return Whose::Anothers;
        }
        match tree::Process::read(pid) {
            Err(_) => Whose::Gone,
            Ok(process) if process.is_zombie() => Whose::Gone,
            Ok(process) if session == Some(process.session) => Whose::Ours,
            Ok(process) if !environment.is_empty() || process.is_kernels => Whose::Anothers,
            Ok(process) => match (fs::read_link(format!("/proc/{pid}/cwd")), process.is_loading) {
                (Ok(cwd), _) if cwd == self.sandbox => Whose::Ours,
                (_, true) => Whose::Unknown,
                (Ok(_), false) => Whose::Anothers,
                (Err(_), false) => Whose::Gone,
            },
        }
    }

    /// SIGKILL to everything that is ours, until nothing is.
    fn sweep(&self, deadline: Instant) -> Result<DestroyReport> {
        let began = Instant::now();
        let mut report = DestroyReport::default();
        let mut looks = Looks::up_to(MOST_LOOKS);
        loop {
            let Look { found, gone, is_sure } = self.look(true)?;
            if looks.prove_it(!found.is_empty(), is_sure, gone) {
                report.took = began.elapsed();
                return Ok(report);
            }
            if Instant::now() >= deadline {
                return Err(Error::new(
                    "destroy",
                    &self.id,
                    "its processes go on to new ones faster than they are killed",
                ));
            }
            for (process, _) in &found {
                if !report.killed.contains(process) {
                    report.killed.push(process.clone());
                }
            }
            for (process, handle) in found {
                if !wait::readable(&handle, deadline)? {
                    return Err(Error::new("kill", process, "it is alive at the deadline"));
                }
            }
        }
    }

    fn reap(&mut self) -> Result<()> {
        if !self.reaped {
            self.init.wait().during("reap init", self.init.id())?;
            self.reaped = true;
        }
        Ok(())
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        if self.destroyed {
            return;
        }
        let deadline = Instant::now() + DROP_TIMEOUT;
        // What left the freezer would keep another cgroup busy, so it goes first. One that is frozen dies in the destroy:
        // no waiting here.
        let _ = self.look(true);
        if let Some(group) = &self.group {
            let _ = destroy(group, DROP_FREEZE_RETRY, deadline);
        }
        if self.sweep(deadline).is_ok() && wait::readable(&self.pidfd, deadline).unwrap_or(false) {
            let _ = self.reap();
        }
    }
}
