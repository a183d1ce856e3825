//! The client's side: finding a minion, asking it, showing what it says.
//!
//! | file | job |
//! |---|---|
//! | `mod` | what each command line does |
//! | `connection` | one connection, with a deadline on everything |
//! | `find` | which minion is meant |
//! | `page` | status as text |
//! | `findings` | what in a status wants attention |
//! | `metrics` | status as text for Prometheus |
//!
//! Nothing here prints by itself: the caller hands over where to write.

mod connection;
mod find;
mod findings;
mod metrics;
mod page;
mod tick;

pub use find::Wanted;
pub use metrics::Exposition;

use super::protocol::{Done, Event, Line, Status, VERSION, Welcome};
use crate::error::{During, Error, Result};
use crate::render::{Screen, clean, spelled};
use connection::{Connection, Reply};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io::{self, Write};
use std::os::fd::AsFd;

/// What is wanted of a minion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// One screen; with `watch` again and again.
    Status {
        /// JSON instead of text.
        json: bool,
        /// Draws it anew each second.
        watch: bool,
    },
    /// Its events as they happen.
    Events,
    /// Text for Prometheus.
    Metrics {
        /// In which form.
        form: Exposition,
    },
    /// A command to a task.
    Command {
        /// `restart`, `stop`, `start` or `signal`.
        request: &'static str,
        /// The task.
        task: String,
        /// The signal, for `signal`.
        signal: Option<String>,
        /// The answer as it came instead of its words.
        json: bool,
    },
}

/// How a command ended. The number is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Finding {
    /// Done, and nothing to find fault with.
    Nothing = 0,
    /// There is something to look at, or minion refused.
    Something = 1,
    /// Nobody can tell: no minion, several, or one that does not answer.
    Unknown = 2,
}

/// Does what is wanted. An error means [`Finding::Unknown`]. `screen` is what `out` leads to, asked again before each frame.
pub fn run(wanted: &Wanted, verb: &Verb, screen: fn() -> Screen, out: &mut (impl Write + AsFd)) -> Result<Finding> {
    let mut connection = find::find(wanted)?;
    let result = match verb {
        Verb::Status { json, watch: false } => show(&mut connection, *json, screen, out),
        Verb::Status { json, watch: true } => watch(&mut connection, *json, screen, out),
        Verb::Events => events(&mut connection, out),
        Verb::Metrics { form } => {
            let status = ask_status(&mut connection)?;
            say(out, &metrics::text(&status, *form)).map(|()| Finding::Nothing)
        }
        Verb::Command { request, task, signal, json } => {
            let line = Line {
                minion: VERSION,
                request: (*request).to_owned(),
                task: Some(task.clone()),
                signal: signal.clone(),
            };
            let (words, finding) = match connection.ask::<Done>(&line)? {
                Reply::Answer(done) => (format!("{}\n", clean(&done.done)), Finding::Nothing),
                Reply::Refused(failure) => (format!("minion refuses: {}\n", clean(&failure.text)), Finding::Something),
            };
            say(out, &if *json { as_it_came(&connection.last_line()) } else { words }).map(|()| finding)
        }
    };
    match result {
        // Whoever read it has read enough: `minion events | head -1`.
        Err(error) if error.errno() == Some(libc::EPIPE) => Ok(Finding::Nothing),
        result => result,
    }
}

/// What a minion knows.
pub fn status(wanted: &Wanted) -> Result<Status> {
    ask_status(&mut find::find(wanted)?)
}

fn request(what: &str) -> Line {
    Line { minion: VERSION, request: what.to_owned(), task: None, signal: None }
}

fn ask_status(connection: &mut Connection) -> Result<Status> {
    match connection.ask::<Status>(&request("status"))? {
        Reply::Answer(mut status) => {
            // What it calls itself is another number where it is in a pid namespace of its own. [KF-191]
            if connection.pid() > 0 {
                status.pid = connection.pid();
            }
            Ok(status)
        }
        Reply::Refused(failure) => Err(Error::new("ask for", "status", clean(&failure.text))),
    }
}

/// Once.
fn show(connection: &mut Connection, json: bool, screen: fn() -> Screen, out: &mut impl Write) -> Result<Finding> {
    let (text, finding) = shown(connection, json, &screen())?;
    say(out, &text).map(|()| finding)
}

/// Until it is interrupted, or minion is gone.
fn watch(connection: &mut Connection, json: bool, screen: fn() -> Screen, out: &mut impl Write) -> Result<Finding> {
    let mut tick = tick::Tick::each_second()?;
    loop {
        let screen = screen();
        let (text, _) = shown(connection, json, &screen)?;
        say(out, &if json { text } else { screen.afresh(&text) })?;
        tick.wait()?;
    }
}

fn shown(connection: &mut Connection, json: bool, screen: &Screen) -> Result<(String, Finding)> {
    let status = ask_status(connection)?;
    let findings = findings::of(&status);
    let text = if json { as_it_came(&connection.last_line()) } else { page::text(&status, &findings, screen) };
    Ok((text, if findings.is_empty() { Finding::Nothing } else { Finding::Something }))
}

/// Lines as they come, until minion ends or nobody reads them.
fn events(connection: &mut Connection, out: &mut (impl Write + AsFd)) -> Result<Finding> {
    if let Reply::Refused(failure) = connection.ask::<Welcome>(&request("events"))? {
        return Err(Error::new("subscribe to", "events", clean(&failure.text)));
    }
    while goes_on(connection, out)? {
        let Some(line) = connection.next_line()? else { break };
        // Only what is an event is passed on, and as it came: members that we do not know stay in it.
        serde_json::from_str::<Event>(&line).during("read", "an event")?;
        say(out, &as_it_came(&line))?;
    }
    Ok(Finding::Nothing)
}

/// Waits for a line of minion, or for its end. False when whoever read `out` is gone: minion may be silent for days.
fn goes_on(connection: &Connection, out: &impl AsFd) -> Result<bool> {
    if connection.has_line() {
        return Ok(true);
    }
    let mut fds = [PollFd::new(connection, PollFlags::IN), PollFd::new(out, PollFlags::empty())];
    loop {
        match poll(&mut fds, None) {
            Ok(_) => return Ok(!fds[1].revents().intersects(PollFlags::ERR | PollFlags::HUP)),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).during("wait for", "an event"),
        }
    }
}

/// A line of JSON that was read, for a terminal: the same JSON, but nothing in it is a command. Controls that are no part of a
/// text stand between its words, and are blanks there.
fn as_it_came(line: &str) -> String {
    spelled(line).replace(['\r', '\t'], " ")
}

fn say(out: &mut impl Write, text: &str) -> Result<()> {
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error: io::Error| Error::io("write to", "standard output", error))
}
