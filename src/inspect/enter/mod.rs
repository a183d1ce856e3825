//! `minion enter`: a command where a task is. Its namespaces are joined for the moment of the fork, and the command alone goes
//! into its cgroups; minion itself stays where it was, and ends what the command leaves behind.
//!
//! Two processes see to that, and neither is in the container. `front` is whom the caller knows: it hands signals on and stops
//! when the command stops. `keeper` is its child, in a process group of its own, and the parent of the command. Whichever of
//! them is killed, with SIGKILL too, the other ends everything that the command started.
//!
//! ```text
//! front ─▶ keeper: Target ─▶ Visit ─▶ fork ─▶ Visit ends ─▶ cgroups ─▶ terminal ─▶ gate opens ─▶ wait ─▶ sweep
//! ```

mod cgroups;
mod environment;
mod front;
mod keeper;
mod mark;
mod pty;
mod sweep;
mod target;
mod terminal;
mod user;
mod visit;
mod wait;

use super::Told;
use crate::error::{Error, Result};
use std::ffi::OsString;

/// What to run where.
#[derive(Clone, Debug)]
pub struct Request {
    /// A pid, or the name of a task of a living minion.
    pub target: String,
    /// Asks the minion of the working directory, else the only one of this host, for a task.
    pub ask: fn(&str) -> Told,
    /// Be the user of the task instead of root.
    pub as_user: bool,
    /// The command with its arguments; empty for a shell.
    pub command: Vec<OsString>,
    /// For the keeper: the mark of what it starts, which begins with the pid of its front. None is what a person asks for.
    pub mark: Option<String>,
    /// Says one line to whoever asked, before the command runs.
    pub notice: fn(&str),
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
    match &request.mark {
        None => front::stand(request),
        Some(mark) => keeper::keep(request, mark),
    }
}
