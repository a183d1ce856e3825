//! `minion containers --watch`: the survey once a second, on a screen of its own.
//!
//! Drawn with the tables that every command has. A library for this (ratatui: 71 crates, 0.25 MB more) would do the same.

use super::history::{History, Past, spark};
use super::page::state;
use super::{Container, Order, Survey, survey};
use crate::error::{During, Error, Result};
use crate::inspect::command;
use crate::process::signals::Signals;
use crate::render::{Cell, Column, Fit, Screen, Table, Tone, unit};
use nix::sys::signal::{Signal, raise};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(1);
/// The screen that the shell's lines are not on, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Shows the containers until `q`, end of input or a signal.
pub fn watch(root: Option<&str>, order: Order) -> Result<()> {
    let stdin = rustix::stdio::stdin();
    if !isatty(stdin) || !isatty(rustix::stdio::stdout()) {
        return Err(Error::new("watch", "", "standard input and output have to be a terminal")
            .hint("without --watch the same is printed once; --json is for programs"));
    }
    let mut signals = Signals::take_over()?;
    let mut terminal = Terminal::open()?;
    let told = root.map_or_else(|| "minion containers".to_owned(), command::containers);
    let mut view = View { order, history: History::default(), last: None, first: 0, told };
    let mut next = Instant::now();
    loop {
        if Instant::now() >= next {
            let survey = survey(root)?;
            view.history.note(&survey, Instant::now());
            view.last = Some(survey);
            next = Instant::now() + EVERY;
        }
        let screen = Screen::of_stdout();
        terminal.draw(&screen.afresh(&view.frame(&screen)))?;
        let left = next.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)], Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).during("wait for", "a key"),
        }
        while let Some(received) = signals.read()? {
            match received.signal {
                libc::SIGWINCH | libc::SIGCHLD | libc::SIGCONT => {}
                libc::SIGTSTP => terminal.stop()?,
                _ => return Ok(()),
            }
        }
        if !view.obeys(&keys(stdin)?, &screen) {
            return Ok(());
        }
    }
}

/// The keys that were pressed; `q` for the end of input.
fn keys(stdin: impl std::os::fd::AsFd) -> Result<Vec<u8>> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    if !poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0) {
        return Ok(Vec::new());
    }
    let mut pressed = [0; 64];
    match rustix::io::read(&stdin, &mut pressed) {
        Ok(0) => Ok(b"q".to_vec()),
        Ok(count) => Ok(pressed[..count].to_vec()),
        Err(Errno::INTR | Errno::AGAIN) => Ok(Vec::new()),
        Err(error) => Err(error).during("read", "the keyboard"),
    }
}

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Quit,
    Sort(Order),
    /// So many rows down.
    Rows(isize),
    /// So many screens down.
    Screens(isize),
    Top,
    Bottom,
}

/// The meanings of what a terminal sends; whatever has none is left out. (`console_codes(4)`: `ESC [ 6 ~` and the like.)
fn meanings(mut bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    while let [first, rest @ ..] = bytes {
        let (key, behind) = match (first, rest) {
            (0x1b, [b'[' | b'O', sequence @ ..]) => {
                let end =
                    sequence.iter().position(|byte| (0x40..0x7f).contains(byte)).map_or(sequence.len(), |at| at + 1);
                (special(&sequence[..end]), &sequence[end..])
            }
            (byte, rest) => (plain(*byte), rest),
        };
        keys.extend(key);
        bytes = behind;
    }
    keys
}

fn plain(byte: u8) -> Option<Key> {
    Some(match byte {
        b'q' | b'Q' | 3 | 4 => Key::Quit,
        b'i' => Key::Sort(Order::Id),
        b'p' => Key::Sort(Order::Pids),
        b'm' => Key::Sort(Order::Memory),
        b'c' => Key::Sort(Order::Cpu),
        b'o' => Key::Sort(Order::Oom),
        b'j' => Key::Rows(1),
        b'k' => Key::Rows(-1),
        b' ' => Key::Screens(1),
        b'b' => Key::Screens(-1),
        b'g' => Key::Top,
        b'G' => Key::Bottom,
        _ => return None,
    })
}

fn special(sequence: &[u8]) -> Option<Key> {
    Some(match sequence {
        b"A" => Key::Rows(-1),
        b"B" => Key::Rows(1),
        b"5~" => Key::Screens(-1),
        b"6~" => Key::Screens(1),
        b"H" | b"1~" => Key::Top,
        b"F" | b"4~" => Key::Bottom,
        _ => return None,
    })
}

struct View {
    order: Order,
    history: History,
    last: Option<Survey>,
    /// The first container that is shown, of those in order.
    first: usize,
    /// The command that tells the findings.
    told: String,
}

impl View {
    /// Whether to go on.
    fn obeys(&mut self, keys: &[u8], screen: &Screen) -> bool {
        let page = rows(screen);
        let count = self.last.as_ref().map_or(0, |survey| survey.containers.len());
        for key in meanings(keys) {
            self.first = match key {
                Key::Quit => return false,
                Key::Sort(order) => {
                    self.order = order;
                    0
                }
                Key::Rows(by) => self.first.saturating_add_signed(by),
                Key::Screens(by) => self.first.saturating_add_signed(by.saturating_mul(page.cast_signed())),
                Key::Top => 0,
                Key::Bottom => count,
            }
            .min(count.saturating_sub(page));
        }
        if let Some(survey) = &mut self.last {
            survey.sort(self.order);
        }
        true
    }

    /// What fits on the screen.
    fn frame(&self, screen: &Screen) -> String {
        let Some(survey) = &self.last else { return String::new() };
        let flagged = survey.flagged();
        let width = if screen.width() >= 120 { 16 } else { 6 };
        let mut table = Table::new(&COLUMNS);
        let all = survey.containers.len();
        // Some may have gone since a key was pressed.
        let first = self.first.min(all.saturating_sub(rows(screen)));
        for container in survey.containers.iter().skip(first).take(rows(screen)) {
            let past = self.history.of(container);
            let mut cells = row(container, past, width);
            cells.push(state(flagged.get(container.id.as_str()).copied()));
            table.row(cells);
        }
        let mut out = survey.headline() + &table.render(screen);
        let warned = survey.findings.len();
        let keys = "sort: i id  p pids  m memory  c cpu  o oom   up, down, PgUp, PgDn   q quit";
        let last = all.min(first.saturating_add(rows(screen)));
        let part = if last - first < all { format!("{} to {last} of {all}, ", first + 1) } else { String::new() };
        let _ = write!(
            out,
            "{part}{}\n{}",
            unit::counted(warned, "finding", "findings")
                + &if warned > 0 {
                    format!(": {} tells {}", self.told, if warned == 1 { "it" } else { "them" })
                } else {
                    String::new()
                },
            screen.paint(Tone::Dim, keys)
        );
        out
    }
}

/// How many containers fit: the headline, the headings, and two lines at the end are there too.
fn rows(screen: &Screen) -> usize {
    screen.height().map_or(usize::MAX >> 1, |height| height.saturating_sub(4).max(1))
}

const COLUMNS: [Column; 9] = [
    Column::new("CONTAINER", Fit::Middle),
    Column::new("PIDS", Fit::Number),
    Column::new("CPU", Fit::Number),
    Column::new("", Fit::Whole),
    Column::new("MEMORY", Fit::Number),
    Column::new("", Fit::Whole),
    Column::new("OOM", Fit::Number),
    Column::new("PRESSURE", Fit::Whole),
    Column::new("STATE", Fit::Whole),
];

fn row(container: &Container, past: Option<&Past>, width: usize) -> Vec<Cell> {
    let dash = || "-".to_owned();
    let picture = |of: fn(&Past) -> &std::collections::VecDeque<f64>, least| {
        past.map_or_else(String::new, |past| format!("{:>width$}", spark(of(past), width, least)))
    };
    let cpu = past.and_then(|past| past.cpu.back()).map_or_else(dash, |cpu| format!("{cpu:.0}%"));
    vec![
        Cell::from(&container.id),
        Cell::from(container.pids.to_string()),
        Cell::from(cpu),
        Cell::from(picture(|past| &past.cpu, 10.0)),
        Cell::from(container.memory_bytes.map_or_else(dash, unit::bytes)),
        Cell::from(picture(|past| &past.memory, 1.0)),
        container.oom_cell(),
        Cell::from(if container.pressure().is_some() { picture(|past| &past.pressure, 10.0) } else { dash() }),
    ]
}

/// The terminal as this view has it. Dropped, it is as it was.
struct Terminal {
    modes: Termios,
    out: File,
}

impl Terminal {
    fn open() -> Result<Self> {
        let modes = tcgetattr(rustix::stdio::stdin()).during("ask", "the terminal")?;
        let out = rustix::stdio::stdout().try_clone_to_owned().during("duplicate", "standard output")?;
        let mut terminal = Self { modes, out: File::from(out) };
        terminal.begin()?;
        Ok(terminal)
    }

    /// Keys come one by one and are not shown; ^C and ^Z stay signals.
    fn begin(&mut self) -> Result<()> {
        let mut modes = self.modes.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &modes).during("set", "the terminal")?;
        self.out.write_all(ENTER.as_bytes()).during("write to", "the terminal")
    }

    fn draw(&mut self, frame: &str) -> Result<()> {
        self.out.write_all(frame.as_bytes()).during("write to", "the terminal")
    }

    /// ^Z: the shell has its screen back until we go on.
    fn stop(&mut self) -> Result<()> {
        self.end();
        raise(Signal::SIGSTOP).map_err(|error| Error::io("stop", "ourselves", error))?;
        self.begin()
    }

    fn end(&mut self) {
        // Best effort: a terminal that hung up needs neither.
        let _ = self.out.write_all(LEAVE.as_bytes());
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &self.modes);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_understood_also_when_they_come_together() {
        let all = meanings(b"m\x1b[B\x1b[6~\x1bOH\x1b[1;5C\x1b[4~x j\x1b");
        let expected = [
            Key::Sort(Order::Memory),
            Key::Rows(1),
            Key::Screens(1),
            Key::Top,
            Key::Bottom,
            Key::Screens(1),
            Key::Rows(1),
        ];
        assert_eq!(all, expected);
        assert_eq!(meanings(b"\x1b[q\x03"), [Key::Quit], "the letter is part of a sequence");
    }
}
