//! Watching a container from outside: what happens in its sandbox, and who dies. The demo believes nothing else.

use super::super::container::Container;
use super::super::wait::{readable, ready};
use crate::cgroup::memberships;
use crate::error::{During, Error, Result};
use crate::process::{Pidfd, tree};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use serde_json::Value;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// No step takes longer: the whole demo has 15 s.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a process that was killed may still be seen.
const LAG: Duration = Duration::from_millis(200);

/// SIGTERM, SIGINT and SIGHUP as an fd: a demo that is stopped still takes down what it put up.
pub(super) struct Interrupts {
    fd: SignalFd,
    before: SigSet,
}

impl Interrupts {
    pub(super) fn block() -> Result<Self> {
        let signals = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().collect::<SigSet>();
        let before = SigSet::thread_get_mask().during("get signal mask", "")?;
        signals.thread_block().during("block signals", "")?;
        let fd = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK);
        Ok(Self { fd: fd.during("make signalfd", "")?, before })
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        // Reads what came, so that it does not strike now that everything is taken down.
        while let Ok(Some(_)) = self.fd.read_signal() {}
        let _ = self.before.thread_set_mask();
    }
}

/// A container under observation.
pub(super) struct Scene<'a> {
    pub(super) container: &'a mut Container,
    interrupts: &'a Interrupts,
    watch: OwnedFd,
}

/// A child of minion, by the record that it wrote of itself and by what `/proc` says of it.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) argv: Vec<String>,
    pub(super) pidfd: Pidfd,
}

impl<'a> Scene<'a> {
    pub(super) fn watch(container: &'a mut Container, interrupts: &'a Interrupts) -> Result<Self> {
        let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).during("make inotify", "")?;
        let flags = WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVED_TO | WatchFlags::CLOSE_WRITE;
        inotify::add_watch(&watch, container.sandbox(), flags).during("watch", container.sandbox().display())?;
        Ok(Self { container, interrupts, watch })
    }

    /// Looks with `probe` after each change in the sandbox until it sees something.
    pub(super) fn until<T>(&self, what: &str, mut probe: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(seen) = probe()? {
                return Ok(seen);
            }
            let fds = [self.watch.as_fd(), self.interrupts.fd.as_fd(), self.container.pidfd()];
            let ready = ready(&fds, Some(deadline))?;
            if ready[1] {
                return Err(Error::new("wait for", what, "the demo was interrupted"));
            }
            if ready[2] {
                let status = self.container.status()?.exit();
                let ended = || Error::new("wait for", what, format!("the container has ended, {status}"));
                return probe()?.ok_or_else(ended);
            }
            if !ready[0] {
                return Err(Error::new("wait for", what, "it did not happen in 10 s"));
            }
            // The events are only a reason to look again.
            let mut buffer = [0_u8; 4096];
            while rustix::io::read(&self.watch, &mut buffer).is_ok() {}
        }
    }

    /// Waits until a process is dead. It may not outlive the container's init.
    pub(super) fn until_dead(&self, what: &str, pidfd: &Pidfd) -> Result<Instant> {
        let fds = [pidfd.as_fd(), self.interrupts.fd.as_fd(), self.container.pidfd()];
        let ready = ready(&fds, Some(Instant::now() + PATIENCE))?;
        let refuse = |why: &'static str| Err(Error::new("wait for the end of", what, why));
        match ready[..] {
            [true, ..] => Ok(Instant::now()),
            [_, true, _] => refuse("the demo was interrupted"),
            // What died by SIGKILL just now may take the kernel a moment.
            [.., true] if readable(pidfd, Instant::now() + LAG)? => Ok(Instant::now()),
            [.., true] => refuse("the container has ended and it is alive"),
            _ => refuse("it is alive after 10 s"),
        }
    }

    /// Waits for a running child of that role with another pid than `not`.
    pub(super) fn child(&self, role: &str, not: Option<i32>) -> Result<Seen> {
        let prefix = format!("record-{role}-");
        self.until(&format!("the start of {role}"), || {
            let records = names(self.container.sandbox()).into_iter().filter(|name| name.starts_with(&prefix));
            Ok(records.filter_map(|name| seen(&self.container.sandbox().join(name))).find(|seen| Some(seen.pid) != not))
        })
    }

    /// Checks that `pid` is in the container's cgroup in each hierarchy that has one. Gives what the kernel says.
    pub(super) fn check_cgroups(&self, role: &str, pid: i32) -> Result<Vec<(String, String)>> {
        let file = format!("/proc/{pid}/cgroup");
        let text = fs::read(&file).during("read", &file)?;
        let mut found = Vec::new();
        for (name, directory) in self.container.cgroups() {
            let path = path_in(&text, name).unwrap_or_default();
            let tail = if name == "unified" { directory.join("leaf") } else { directory.clone() };
            let below = path.strip_prefix("/").unwrap_or(&path);
            if below == Path::new("") || !tail.ends_with(below) {
                return Err(Error::new("find", format!("{role} {pid}"), format!("it is in {path:?} of {name}")));
            }
            found.push((name.clone(), path.display().to_string()));
        }
        Ok(found)
    }
}

/// The path of a process in one hierarchy, by a `/proc/<pid>/cgroup`.
fn path_in(text: &[u8], hierarchy: &str) -> Option<PathBuf> {
    let is_here = |controllers: &[u8]| match hierarchy {
        "unified" => controllers.is_empty(),
        "systemd" => controllers == b"name=systemd",
        name => controllers.split(|byte| *byte == b',').any(|one| one == name.as_bytes()),
    };
    memberships(text).find(|(controllers, _)| is_here(controllers)).map(|(_, path)| path.to_owned())
}

/// The child that wrote this record, if it is alive.
fn seen(record: &Path) -> Option<Seen> {
    let record: Value = serde_json::from_slice(&fs::read(record).ok()?).ok()?;
    let pid = i32::try_from(record["pid"].as_i64()?).ok()?;
    let argv = record["argv"].as_array()?.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect();
    let pidfd = Pidfd::open(pid).ok()?;
    let process = tree::Process::read(pid).ok().filter(|process| !process.is_zombie())?;
    Some(Seen { pid, parent: process.parent, argv, pidfd })
}

/// The names in a directory, sorted.
pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The backups of a log and then the log itself, oldest first.
pub(super) fn log_files(sandbox: &Path, role: &str) -> Vec<PathBuf> {
    let prefix = format!("{role}-");
    let is_log = |name: &String| Path::new(name).extension().is_some_and(|extension| extension == "log");
    let backups = names(sandbox).into_iter().filter(|name| name.starts_with(&prefix) && is_log(name));
    backups.chain([format!("{role}.log")]).map(|name| sandbox.join(name)).filter(|path| path.exists()).collect()
}
