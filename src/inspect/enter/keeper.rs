//! The parent of the command: brings it to where the task is, waits for its end, and ends what it leaves.

use super::environment::Environment;
use super::mark::Mark;
use super::pty::Pty;
use super::target::Target;
use super::terminal::Terminal;
use super::user::Identity;
use super::visit::{self, Visit};
use super::wait::{self, Ended};
use super::{Ending, Request, cgroups, sweep};
use crate::error::{During, Error, Result};
use crate::inspect::doctor::is_executable;
use crate::mesos::DEFAULT_PATH;
use crate::process::signals::Signals;
use crate::process::spawn::{Child, Gated, Launcher, Program, Progress, Stdio, Step};
use crate::process::{Pidfd, startup};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::termios::isatty;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The command could not be brought to where the task is.
const NOT_ENTERED: u8 = 125;
/// What a shell exits with for a command that it found and could not execute.
const NOT_EXECUTABLE: u8 = 126;
/// What a shell exits with for a command that it did not find.
const NOT_FOUND: u8 = 127;

/// Who the command is to be, and in which user namespace.
struct User {
    identity: Option<Identity>,
    namespace: Option<OwnedFd>,
    /// Another than the caller: a session of its own keeps it from the caller's terminal.
    is_another: bool,
}

/// A command that was forked where the task is, or why there is none.
struct Brought {
    forked: Result<Gated>,
    /// The terminal of a command that must not have the caller's.
    pty: Option<Pty>,
    /// Its orphans have another reaper than us.
    has_other_pids: bool,
}

/// Runs the command for the front that `mark` begins with.
pub(super) fn keep(request: &Request, mark: &str) -> Result<Ending> {
    let front = front(mark)?;
    // We stop when the command stops, and could not see the death of our front.
    let wakes = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::CONT));
    wakes.during("ask for a signal at the death of", "whoever asked for the command")?;
    // The command is our copy until its exec, with all that we have open: root of a user namespace may not look into it. The exec
    // makes it like any other. [KF-194]
    let hides = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    hides.during("keep others from looking into", "the command")?;
    let target = Target::find(&request.target, request.ask)?;
    let signals = Signals::take_over()?;
    startup::become_subreaper()?;
    let places = cgroups::places(&target)?;
    let Brought { forked, pty, has_other_pids } = bring(request, &target, mark)?;
    let gated = match forked {
        Ok(gated) => gated,
        Err(missing) => return Ok(Ending { code: NOT_FOUND, complaints: vec![missing] }),
    };
    if let Err(failure) = place(&places, &target, &gated) {
        gated.abandon()?;
        return Err(failure);
    }
    let mark = Mark::new(mark);
    mark.give_to(gated.pid());
    attend(gated, &front, signals, pty, has_other_pids.then_some(&mark))
}

/// Forks the command where the task is, as who it is to be, and comes home.
fn bring(request: &Request, target: &Target, mark: &str) -> Result<Brought> {
    let namespace = visit::users(target)?;
    let environment = environment(target, request, namespace.is_some(), mark);
    let identity = Identity::of(target, request.as_user, namespace.is_some())?;
    let is_another = namespace.is_some() || identity.as_ref().is_some_and(|identity| identity.uid != 0);
    let pty = if is_another { Pty::open()? } else { None };
    let visit = Visit::begin(target)?;
    let forked = fork(request, &environment, User { identity, namespace, is_another }, pty.as_ref());
    let has_other_pids = visit.has_other_pids();
    // Whatever came of it: everything from here on is done at home.
    visit.end()?;
    Ok(Brought { forked, pty, has_other_pids })
}

/// Lets the command execute, waits for its end, and ends what it leaves: also what has this mark, where orphans are not ours.
fn attend(gated: Gated, front: &Pidfd, signals: Signals, mut pty: Option<Pty>, mark: Option<&Mark>) -> Result<Ending> {
    let terminal = match &mut pty {
        Some(pty) => pty.terminal(front.pid()),
        None => Terminal::hand_over(front.pid(), gated.pid()),
    };
    let child = gated.open()?;
    let failed = not_executed(&child)?;
    let ended = wait::until_end(&child.pidfd, front, signals, &terminal, pty.as_mut())?;
    let (code, mut complaints) = match (failed, ended) {
        (Some((code, complaint)), _) => (code, vec![complaint]),
        (None, Ended::Command(code)) => (code, Vec::new()),
        (None, Ended::Front) => (128 + 9, Vec::new()),
    };
    complaints.extend(sweep::end_all(mark));
    pty.into_iter().for_each(Pty::finish);
    terminal.take_back();
    Ok(Ending { code, complaints })
}

/// The process that started us. Once it is dead nobody waits for the command any more.
fn front(mark: &str) -> Result<Pidfd> {
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    let named = mark.split('.').next().and_then(|pid| pid.parse().ok());
    if named != Some(parent) {
        return Err(Error::new("keep", "a command", "whoever asked for it is gone"));
    }
    let front = Pidfd::open(parent).during("open a pidfd for", "whoever asked for the command")?;
    // It may have died before it was opened, and its number be another's.
    let still = rustix::process::getppid().is_some_and(|pid| pid.as_raw_nonzero().get() == parent);
    if still { Ok(front) } else { Err(Error::new("keep", "a command", "whoever asked for it is gone")) }
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

/// The task's own, where no other user than the command's can have written it: what executes is not for others to decide.
fn environment(target: &Target, request: &Request, is_elsewhere: bool, mark: &str) -> Environment {
    // In another user namespace root is whom the task's user made it.
    let is_own = if request.as_user { target.is_only(target.user().0) } else { !is_elsewhere && target.is_only(0) };
    if is_own {
        return Environment::whole(target, mark);
    }
    let why = if request.as_user {
        "more than one user may have written it"
    } else {
        "its user may have written it, and the command is root; --user gives all of it"
    };
    (request.notice)(&format!("the environment of process {} is left out: {why}", target.pid()));
    Environment::safe(target, mark)
}

/// Forks the command, inside.
fn fork(request: &Request, environment: &Environment, user: User, pty: Option<&Pty>) -> Result<Gated> {
    let command = match request.command.as_slice() {
        [] => {
            let shell = environment.get("SHELL").filter(|shell| is_executable(Path::new(shell)));
            vec![shell.cloned().unwrap_or_else(|| "/bin/sh".into())]
        }
        command => command.to_vec(),
    };
    let path = locate(&command[0], environment.get("PATH"))?;
    let mut program = Program::new(&path, &command, environment.variables())?;
    if let Some(Identity { uid, gid, groups }) = user.identity {
        program = program.as_user(uid, gid, &groups);
    }
    if let Some(namespace) = user.namespace {
        program = program.in_user_namespace(namespace);
    }
    if user.is_another {
        program = program.in_new_session();
    }
    let own = |fd| pty.filter(|_| isatty(fd)).map_or(fd, Pty::slave);
    let [stdin, stdout, stderr] = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()].map(own);
    let stdio = Stdio { stdin, stdout, stderr, extra: None };
    Launcher::default().fork(&program, stdio)
}

/// As `execvp` would find it, with the PATH that the command will have.
fn locate(name: &OsString, path: Option<&OsString>) -> Result<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Ok(name.into());
    }
    let path = path.map_or(OsStr::new(DEFAULT_PATH), OsString::as_os_str);
    let found = std::env::split_paths(path).map(|directory| directory.join(name)).find(|file| is_executable(file));
    found.ok_or_else(|| {
        Error::new("find", format!("{name:?}"), "it is in no directory of the task's PATH")
            .hint("a path with a slash is taken as it is, inside the task's file system")
    })
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
                let there = error.to_string().starts_with(Step::Exec.words());
                return Ok(Some(match error.errno() {
                    _ if !there => (NOT_ENTERED, error),
                    Some(libc::ENOENT) => (NOT_FOUND, error),
                    Some(_) | None => (NOT_EXECUTABLE, error),
                }));
            }
        }
    }
}
