//! `minion enter`: a command where a task is. Its namespaces are joined for the moment of the fork, and the command alone goes
//! into its cgroups; minion itself stays where it was, and ends what the command leaves behind.
//!
//! ```text
//! Target ─▶ Visit ─▶ fork ─▶ Visit ends ─▶ cgroups ─▶ terminal ─▶ gate opens ─▶ wait ─▶ sweep
//! ```

mod cgroups;
mod sweep;
mod target;
mod terminal;
mod visit;
mod wait;

use crate::error::{During, Error, Result};
use crate::process::signals::Signals;
use crate::process::spawn::{Child, Gated, Program, Progress, Stdio};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use target::Target;
use terminal::Terminal;
use visit::Visit;

/// The variable by which what was started by one `minion enter` is known, wherever it went.
const MARK: &str = "MINION_ENTER";
/// What a shell exits with for a command that it found and could not execute.
const NOT_EXECUTABLE: u8 = 126;
/// What a shell exits with for a command that it did not find.
const NOT_FOUND: u8 = 127;

/// What to run where.
#[derive(Clone, Debug)]
pub struct Request {
    /// A pid, or the name of a task of a living minion.
    pub target: String,
    /// Be the user of the task instead of root.
    pub as_user: bool,
    /// The command with its arguments; empty for a shell.
    pub command: Vec<OsString>,
}

/// How it ended.
#[derive(Debug)]
pub struct Ending {
    /// The command's exit code, 128+n when signal n killed it; 126 or 127 when it was not executed.
    pub code: u8,
    /// Why it was not executed, or what it left behind that could not be ended.
    pub complaints: Vec<Error>,
}

/// Runs the command. Call it from the main thread, while there is no other, with every signal blocked.
pub fn enter(request: &Request) -> Result<Ending> {
    if !rustix::process::geteuid().is_root() {
        return Err(Error::new(
            "enter",
            format!("{:?}", request.target),
            "only root may join the namespaces of others",
        )
        .hint("sudo minion enter …"));
    }
    let target = Target::find(&request.target)?;
    let signals = Signals::take_over()?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).during("become", "a subreaper")?;
    let places = cgroups::places(&target)?;
    let (mark, environment) = environment(&target);
    let visit = Visit::begin(&target)?;
    let forked = program(&target, request, &environment);
    let foreign_pids = visit.has_other_pids();
    // Whatever came of it: everything from here on is done at home.
    visit.end()?;
    let gated = match forked {
        Ok(gated) => gated,
        Err(missing) => return Ok(Ending { code: NOT_FOUND, complaints: vec![missing] }),
    };
    if let Err(failure) = place(&places, &target, &gated) {
        gated.abandon()?;
        return Err(failure);
    }
    let terminal = Terminal::hand_over(gated.pid());
    let child = gated.open()?;
    let mut ending = match not_executed(&child)? {
        Some((code, complaint)) => Ending { code, complaints: vec![complaint] },
        None => Ending { code: 0, complaints: Vec::new() },
    };
    let code = wait::until_end(&child.pidfd, signals, &terminal)?;
    terminal.take_back();
    if ending.complaints.is_empty() {
        ending.code = code;
    }
    ending.complaints.extend(sweep::end_all(foreign_pids.then_some(mark.as_bytes())));
    Ok(ending)
}

/// The child belongs into the task's cgroups before it executes anything; and the task has to live, or its number may be
/// another's by now.
fn place(places: &[cgroups::Place], target: &Target, gated: &Gated) -> Result<()> {
    cgroups::attach(places, gated.pid())?;
    if target.is_alive() {
        return Ok(());
    }
    Err(Error::new("enter", format!("process {}", target.pid()), "it ended in this moment"))
}

/// The task's own, with a mark, and with the name of our terminal where it knows none.
fn environment(target: &Target) -> (String, Vec<(OsString, OsString)>) {
    let mark = format!("{}.{}", std::process::id(), target.pid());
    let mut environment: Vec<(OsString, OsString)> =
        target.environment().iter().filter(|(name, _)| name != MARK).cloned().collect();
    environment.push((MARK.into(), OsString::from(&mark)));
    if let (false, Some(term)) = (environment.iter().any(|(name, _)| name == "TERM"), std::env::var_os("TERM")) {
        environment.push(("TERM".into(), term));
    }
    (format!("{MARK}={mark}"), environment)
}

/// Forks the command, inside.
fn program(target: &Target, request: &Request, environment: &[(OsString, OsString)]) -> Result<Gated> {
    let variable = |name: &str| environment.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let command = match request.command.as_slice() {
        [] => {
            let shell = variable("SHELL").filter(|shell| is_executable(Path::new(shell)));
            vec![shell.unwrap_or_else(|| "/bin/sh".into())]
        }
        command => command.to_vec(),
    };
    let path = locate(&command[0], variable("PATH"))?;
    let mut program = Program::new(&path, &command, environment)?;
    if request.as_user {
        let (uid, gid, groups) = target.user();
        program = program.as_user(uid, gid, groups);
    }
    program.fork(Stdio {
        stdin: rustix::stdio::stdin(),
        stdout: rustix::stdio::stdout(),
        stderr: rustix::stdio::stderr(),
        extra: None,
    })
}

/// As `execvp` would find it, with the task's PATH.
fn locate(name: &OsString, path: Option<OsString>) -> Result<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Ok(name.into());
    }
    let path = path.unwrap_or_else(|| "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into());
    let found = std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| is_executable(file));
    found.ok_or_else(|| {
        Error::new("find", format!("{name:?}"), "it is in no directory of the task's PATH")
            .hint("a path with a slash is taken as it is, inside the task's file system")
    })
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Waits until exec is decided. The code and the reason where it failed.
fn not_executed(child: &Child) -> Result<Option<(u8, Error)>> {
    loop {
        match poll(&mut [PollFd::new(&child.report, PollFlags::IN)], None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).during("wait for", "exec"),
        }
        match child.report.read() {
            Progress::Pending => {}
            Progress::Executed => return Ok(None),
            Progress::Failed(error) => {
                let missing = error.errno() == Some(libc::ENOENT);
                return Ok(Some((if missing { NOT_FOUND } else { NOT_EXECUTABLE }, error)));
            }
        }
    }
}
