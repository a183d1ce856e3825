//! The sandbox: where an agent puts a container's directory, and what stands in it before the executor starts.

use super::wait;
use crate::error::{During, Error, Result};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The FIFO in the sandbox through which the rehearsal agent sends SHUTDOWN. A real agent uses a connection.
pub(super) const MESSAGES: &str = "agent.fifo";

/// How long a child of ours may take from its fork to its exec.
const UNTIL_EXEC: Duration = Duration::from_secs(5);

/// Who runs what: the ids that stand in the path and in the environment.
#[derive(Clone, Debug)]
pub(super) struct Ids {
    pub(super) agent: String,
    pub(super) framework: String,
    pub(super) executor: String,
}

impl Ids {
    pub(super) fn new(executor: &str) -> Result<Self> {
        Ok(Self {
            agent: format!("{}-S0", uuid()?),
            framework: format!("{}-0000", uuid()?),
            executor: executor.to_owned(),
        })
    }
}

/// A random UUID in lower case, made by the kernel.
pub(super) fn uuid() -> Result<String> {
    let file = "/proc/sys/kernel/random/uuid";
    Ok(fs::read_to_string(file).during("read", file)?.trim().to_owned())
}

/// Makes `<work>/slaves/<agent>/frameworks/<framework>/executors/<executor>/runs/<container>`, mode 0750, and the two
/// `latest` links.
pub(super) fn make(work: &Path, ids: &Ids, container: &str) -> Result<PathBuf> {
    let slaves = work.join("slaves");
    let slave = slaves.join(&ids.agent);
    let runs = slave.join("frameworks").join(&ids.framework).join("executors").join(&ids.executor).join("runs");
    let sandbox = runs.join(container);
    fs::create_dir_all(&runs).during("make directory", runs.display())?;
    create(&sandbox)?;
    point(&slaves.join("latest"), &slave)?;
    point(&runs.join("latest"), &sandbox)?;
    Ok(sandbox)
}

/// Makes `<parent's sandbox>/containers/<container>`.
pub(super) fn make_nested(parent: &Path, container: &str) -> Result<PathBuf> {
    let containers = parent.join("containers");
    fs::create_dir_all(&containers).during("make directory", containers.display())?;
    let sandbox = containers.join(container);
    create(&sandbox)?;
    Ok(sandbox)
}

fn create(sandbox: &Path) -> Result<()> {
    DirBuilder::new().mode(0o750).create(sandbox).during("make sandbox", sandbox.display())?;
    let messages = sandbox.join(MESSAGES);
    mknodat(CWD, &messages, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).during("make FIFO", messages.display())
}

/// A `latest` link: absolute, removed and made anew, as the agent does it.
fn point(link: &Path, target: &Path) -> Result<()> {
    match fs::remove_file(link) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", link.display(), error)),
        _ => symlink(target, link).during("link", link.display()),
    }
}

/// `<sandbox>/stdout` or `stderr`: a plain file, `O_APPEND`, mode 0644.
pub(super) fn output(sandbox: &Path, name: &str) -> Result<File> {
    let path = sandbox.join(name);
    OpenOptions::new().append(true).create(true).mode(0o644).open(&path).during("open", path.display())
}

/// Writes `<sandbox>/km`: a script whose interpreter is the stand-in. `minion` is a short path to it.
pub(super) fn write_km(sandbox: &Path, minion: &Path) -> Result<()> {
    let path = sandbox.join("km");
    let line = format!("#!{} stand-in\n", minion.display());
    // The kernel ends the interpreter at the first blank and cuts the line at 256 bytes. [KF-62]
    if line.len() > 250 || minion.to_string_lossy().contains(char::is_whitespace) {
        return Err(Error::new("write", path.display(), format!("{minion:?} cannot stand in a #! line"))
            .hint("choose a directory with a short name and no white space"));
    }
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o755).open(&path).during("open", path.display())?;
    // A child that another thread of ours forks in this moment has the file open too, and until its exec nobody can execute
    // what it could still write. [KF-80] Without inotify it is rarely so.
    let last_close = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
        .ok()
        .filter(|watch| inotify::add_watch(watch, &path, WatchFlags::CLOSE_WRITE).is_ok());
    file.write_all(line.as_bytes()).during("write", path.display())?;
    drop(file);
    if let Some(watch) = last_close {
        wait::readable(&watch, Instant::now() + UNTIL_EXEC)?;
    }
    Ok(())
}
