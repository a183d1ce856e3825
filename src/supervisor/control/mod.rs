//! The control socket's requests: status and commands. The server itself is [`crate::control::server`].
//!
//! | file | job |
//! |---|---|
//! | `mod` | requests in, replies out |
//! | `journal` | the last events, and what became of each task |
//! | `status` | everything at one moment |
//! | `usage` | memory and processor time of a process |

mod journal;
mod status;
mod usage;

use super::Supervisor;
use super::reactor::Source;
use crate::control::protocol::{Container, Done, Failure, Kind, VERSION};
use crate::control::server::{ClientId, Request, Server};
use crate::error::Result;
use crate::process::{signals, tree};
use crate::task::state::State;
use crate::task::{Command, Input, Refusal, TaskId};
use journal::Journal;
use rustix::event::epoll::EventFlags;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// What an operator is told beside what the supervisor knows anyway.
#[derive(Clone, Debug)]
pub struct About {
    /// Which container this is.
    pub container: Container,
    /// The agent's grace period.
    pub grace: Duration,
}

/// The socket, where there is one, and what it tells.
pub(super) struct Desk {
    server: Option<Server>,
    journal: Journal,
    about: About,
    budget: Duration,
    since: Instant,
    /// The core's answer to the command that was given just now.
    pub(super) answer: Option<Result<State, Refusal>>,
}

impl Desk {
    pub(super) fn new(about: About, budget: Duration, tasks: usize) -> Self {
        Self { server: None, journal: Journal::new(tasks), about, budget, since: Instant::now(), answer: None }
    }

    /// The agent's grace period.
    pub(super) fn grace(&self) -> Duration {
        self.about.grace
    }
}

impl Supervisor {
    /// Opens the socket in the working directory. Best effort: without it the children are supervised all the same.
    pub(super) fn open_desk(&mut self) {
        let opened = Server::open(Path::new(".")).and_then(|server| {
            self.reactor.add(&server, Source::Control, EventFlags::IN)?;
            Ok(server)
        });
        match opened {
            Ok(mut server) => {
                server.count_from(self.desk.journal.last);
                self.desk.server = Some(server);
            }
            Err(error) => warn!("{error}; nobody can ask or command this minion"),
        }
    }

    /// Goes away without removing the file of the socket: its disk hangs, and a dead socket is replaced by the next minion.
    pub(super) fn leave_desk(&mut self) {
        if let Some(server) = self.desk.server.take() {
            server.leave();
        }
    }

    /// Serves those who have something to say; bounded.
    pub(super) fn serve_control(&mut self) -> Result<()> {
        let Some(server) = &mut self.desk.server else { return Ok(()) };
        let requests = server.serve();
        // Somebody came, left or listens, and nobody asks: what answers need of the program may rest. [KF-08]
        self.rests |= requests.is_empty();
        for (client, request) in requests {
            self.answer(client, request)?;
        }
        Ok(())
    }

    fn answer(&mut self, client: ClientId, request: Request) -> Result<()> {
        let done = match request {
            Request::Status => {
                let status = self.status();
                if let Some(server) = &mut self.desk.server {
                    server.reply(client, &status);
                }
                return Ok(());
            }
            // The server keeps subscribers itself.
            Request::Events => return Ok(()),
            Request::Restart(task) => self.obey(client, Command::Restart, &task)?,
            Request::Stop(task) => self.obey(client, Command::Stop, &task)?,
            Request::Start(task) => self.obey(client, Command::Start, &task)?,
            Request::Signal { task, signal } => self.signal_task(client, &task, &signal),
        };
        let Some(server) = &mut self.desk.server else { return Ok(()) };
        match done {
            Ok(done) => server.reply(client, &done),
            Err(failure) => server.reply(client, &failure),
        }
        Ok(())
    }

    /// Lets the core decide on a command; what it does is done when this returns, the answer says what that is.
    fn obey(&mut self, client: ClientId, command: Command, name: &str) -> Result<std::result::Result<Done, Failure>> {
        let task = match self.find(name) {
            Ok(task) => task,
            Err(failure) => return Ok(Err(failure)),
        };
        let before = self.core.state(task);
        self.desk.answer = None;
        self.inputs.push_back(Input::Command(task, command));
        self.decide()?;
        Ok(match self.desk.answer.take() {
            Some(Ok(state)) => {
                self.say_command(client, task, verb(command));
                Ok(self.done(task, words(command, before, state, name)))
            }
            // Nothing is refused to whoever wants what is so already.
            Some(Err(Refusal::Executor)) if command == Command::Start && runs(before) => {
                self.say_command(client, task, verb(command));
                Ok(self.done(task, format!("{name} runs already")))
            }
            Some(Err(refusal)) => {
                self.say_command(client, task, &format!("{} (refused)", verb(command)));
                Err(refused(command, refusal, &self.own_name(client)))
            }
            // An answer to each command is the core's promise.
            None => Err(Failure::new(Kind::Refused, "nobody decided on it")),
        })
    }

    fn signal_task(&mut self, client: ClientId, name: &str, signal: &str) -> std::result::Result<Done, Failure> {
        let task = self.find(name)?;
        let number = signal_number(signal).ok_or_else(|| {
            Failure::new(Kind::Unknown, format!("no such signal: {signal:?} (hint: HUP, USR1 or 10)"))
        })?;
        let word = signals::name(number);
        let main = self.slots[task].run.as_ref().and_then(|run| run.main.as_ref());
        let refused = |why: String| Failure::new(Kind::Refused, why);
        let main = main.ok_or_else(|| refused(format!("{name} has no process now")))?;
        let pid = main.pid();
        main.signal(number).map_err(|cause| refused(format!("send {word} to pid {pid}: {cause}")))?;
        self.say_command(client, task, &format!("signal {word}"));
        Ok(self.done(task, format!("sent {word} to {name}, pid {pid}")))
    }

    fn done(&self, task: TaskId, done: String) -> Done {
        let state = self.core.state(task).map_or("idle", status::word);
        Done { minion: VERSION, done, task: self.slots[task].spec.name.clone(), state: state.to_owned() }
    }

    fn find(&self, name: &str) -> std::result::Result<TaskId, Failure> {
        self.slots.iter().position(|slot| slot.spec.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.slots.iter().map(|slot| slot.spec.name.as_str()).collect();
            Failure::new(Kind::Unknown, format!("no such task: {name:?} (hint: {})", known.join(", ")))
        })
    }

    /// This minion as the client can name it to `kill`: by a number only where both are in one pid namespace. [KF-191]
    fn own_name(&self, client: ClientId) -> String {
        let peer = self.desk.server.as_ref().and_then(|server| server.peer(client)).map_or(0, |peer| peer.pid);
        let numbers = |pid: i32| tree::numbers(pid).map_or(0, |numbers| numbers.len());
        let own = crate::process::own_pid();
        // One that we do not see has no number here; one further in has several.
        if peer > 0 && numbers(peer) == numbers(own) { format!("kill -TERM {own}") } else { "SIGTERM".to_owned() }
    }

    fn say_command(&mut self, client: ClientId, task: TaskId, what: &str) {
        let peer = self.desk.server.as_ref().and_then(|server| server.peer(client));
        let by = peer.map_or_else(String::new, |peer| format!(", by uid {} (pid {})", peer.uid, peer.pid));
        info!(task = %self.slots[task].spec.name, "command: {what}{by}");
        self.note("command", Some(task), format!("{what}{by}"));
    }
}

fn verb(command: Command) -> &'static str {
    match command {
        Command::Restart => "restart",
        Command::Stop => "stop",
        Command::Start => "start",
    }
}

/// What a command did, from the state that it found and the one that it made.
fn words(command: Command, before: Option<State>, after: State, name: &str) -> String {
    let dead = matches!(before, Some(State::Clearing { .. }));
    match (command, after) {
        (Command::Start, _) if runs(before) && before == Some(after) => {
            format!("{name} runs already")
        }
        (Command::Stop, State::Down) if before == Some(after) => format!("{name} is down already"),
        (Command::Stop, State::Down) => format!("{name} stays down until minion start {name}"),
        (Command::Stop, _) if dead => format!("{name} has ended and stays down until minion start {name}"),
        (Command::Stop, _) => format!("{name} was told to end and stays down until minion start {name}"),
        (Command::Restart | Command::Start, State::Starting { .. }) => format!("{name} was started"),
        (Command::Restart, State::Stopping { .. }) => {
            format!("{name} was told to end and starts again when nothing of it is left")
        }
        (Command::Restart | Command::Start, _) => format!("{name} starts again when nothing of its last run is left"),
    }
}

fn runs(state: Option<State>) -> bool {
    matches!(state, Some(State::Running { .. } | State::Starting { .. }))
}

/// `end` is what ends minion.
fn refused(command: Command, refusal: Refusal, end: &str) -> Failure {
    let verb = verb(command);
    let text = match refusal {
        Refusal::Executor => {
            format!("{verb}: the executor's end is the end of everything (hint: {end} ends minion in order)")
        }
        Refusal::Ending => format!("{verb}: everything is ending, nothing starts any more"),
    };
    Failure::new(Kind::Refused, text)
}

/// `HUP`, `sighup` or `1`; real-time signals by number alone.
fn signal_number(text: &str) -> Option<i32> {
    if let Ok(number) = text.parse::<i32>() {
        return (1..=64).contains(&number).then_some(number);
    }
    let name = text.to_ascii_uppercase();
    let full = if name.starts_with("SIG") { name } else { format!("SIG{name}") };
    nix::sys::signal::Signal::from_str(&full).ok().map(|signal| signal as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_known_by_name_and_number() {
        for (text, number) in [("HUP", 1), ("SIGHUP", 1), ("sigterm", 15), ("9", 9), ("64", 64)] {
            assert_eq!(signal_number(text), Some(number), "{text}");
        }
        for text in ["", "0", "65", "-1", "SIG", "HUPP", "SIGSIGHUP", "1.0"] {
            assert_eq!(signal_number(text), None, "{text}");
        }
    }
}
