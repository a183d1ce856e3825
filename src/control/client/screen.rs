//! Status as one screen of text. Pure.

use super::units::{size, span};
use crate::control::protocol::{Event, Status, Task};
use std::fmt::Write as _;

/// Events on the screen; the JSON has all that are kept.
const EVENTS: usize = 8;
/// The table needs the one, and nobody reads lines longer than the other.
const WIDTHS: std::ops::RangeInclusive<usize> = 80..=160;

/// How the text is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns.
    pub width: usize,
    /// Whether colour may be used. It never says what the words do not say.
    pub colour: bool,
    /// Whether the screen may be cleared.
    pub terminal: bool,
}

const HEADER: [&str; 8] = ["TASK", "STATE", "PID", "UP", "RESTARTS", "RSS", "CPU", "LOG"];

// Writing to a String cannot fail, so the results of `writeln!` say nothing here.

pub(super) fn text(status: &Status, findings: &[String], look: Look) -> String {
    let width = look.width.clamp(*WIDTHS.start(), *WIDTHS.end());
    let mut text = String::new();
    facts(&mut text, status, width);
    text.push('\n');
    table(&mut text, &status.tasks, look, width);
    if !findings.is_empty() {
        let _ = writeln!(text, "\n{}", painted("LOOK AT", YELLOW, look));
        for finding in findings {
            wrapped(&mut text, "  ", finding, width);
        }
    }
    if !status.events.is_empty() {
        text.push_str("\nLAST EVENTS (UTC)\n");
        let first = status.events.len().saturating_sub(EVENTS);
        let events = &status.events[first..];
        let column = events.iter().map(|event| task_of(event).chars().count()).max().unwrap_or(0);
        for event in events {
            event_line(&mut text, event, column, width);
        }
    }
    text
}

fn facts(text: &mut String, status: &Status, width: usize) {
    let container = &status.container;
    let known = match container.verdict.as_str() {
        "agreement" => ", the kernel and MESOS_DIRECTORY agree",
        "disagreement" => ", the kernel and MESOS_DIRECTORY disagree",
        _ if container.id.is_some() => ", one source alone",
        _ => "",
    };
    let id = container.id.as_deref().unwrap_or("unknown");
    fact(text, "container", &format!("{id}{known}"), width);
    let up = span(status.uptime_seconds);
    fact(text, "minion", &format!("pid {}, up {up}, version {}", status.pid, status.version), width);
    fact(text, "sandbox", &status.sandbox, width);
    fact(text, "cgroups", &format!("{}; {} layout", cgroups(status), container.layout), width);
    let mounts = if status.private_mounts { "a namespace of the children's own" } else { "as minion has them" };
    fact(text, "mounts", mounts, width);
    let (grace, budget) = (span(status.grace_seconds), span(status.budget_seconds));
    fact(text, "grace", &format!("{grace}; everything ends within {budget}"), width);
}

/// Hierarchies with the same path together: `freezer, memory at /mesos/c1`.
fn cgroups(status: &Status) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for cgroup in &status.cgroups {
        match groups.iter_mut().find(|(path, _)| *path == cgroup.path) {
            Some((_, hierarchies)) => hierarchies.push(&cgroup.hierarchy),
            None => groups.push((&cgroup.path, vec![&cgroup.hierarchy])),
        }
    }
    if groups.is_empty() {
        return "children stay where minion is".to_owned();
    }
    groups.iter().map(|(path, names)| format!("{} at {path}", names.join(", "))).collect::<Vec<_>>().join("; ")
}

fn fact(text: &mut String, name: &str, value: &str, width: usize) {
    wrapped(text, &format!("{name:<10} "), value, width);
}

fn table(text: &mut String, tasks: &[Task], look: Look, width: usize) {
    let rows: Vec<[String; 8]> = tasks.iter().map(row).collect();
    let column =
        |at: usize| rows.iter().map(|row| row[at].chars().count()).chain([HEADER[at].len()]).max().unwrap_or(0);
    let widths: [usize; 8] = std::array::from_fn(column);
    line(text, &HEADER.map(str::to_owned), &widths, None, look);
    for (task, row) in tasks.iter().zip(&rows) {
        line(text, row, &widths, Some(state_colour(&task.state)), look);
        if let Some(says) = &task.says {
            wrapped(text, "  ", &format!("says: {says}"), width);
        }
        if let Some(exit) = &task.last_exit {
            let by = if exit.commanded { ", by a command" } else { "" };
            let what = format!("last exit {}: {} after {}{by}", clock(&exit.time), exit.text, span(exit.up_seconds));
            wrapped(text, "  ", &what, width);
        }
    }
}

/// Name and state on the left, numbers on the right.
fn line(text: &mut String, cells: &[String; 8], widths: &[usize; 8], colour: Option<&str>, look: Look) {
    let mut line = String::new();
    for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let pad = " ".repeat(width - cell.chars().count());
        match (at, colour) {
            (0, _) => line.extend([cell.as_str(), &pad]),
            (1, Some(colour)) => line.extend(["  ", &painted(cell, colour, look), &pad]),
            (1, None) => line.extend(["  ", cell, &pad]),
            _ => line.extend(["  ", &pad, cell]),
        }
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

fn row(task: &Task) -> [String; 8] {
    let none = || "-".to_owned();
    let up = match (task.uptime_seconds, task.starts_in_seconds) {
        (Some(up), _) => span(up),
        (None, Some(wait)) => format!("in {}", span(wait)),
        (None, None) => none(),
    };
    [
        task.name.clone(),
        if task.hook.is_some() { format!("{} hook", task.state) } else { task.state.clone() },
        task.pid.map_or_else(none, |pid| pid.to_string()),
        up,
        task.restarts.to_string(),
        task.rss_bytes.map_or_else(none, size),
        task.cpu_seconds.map_or_else(none, span),
        size(task.logs.iter().map(|log| log.bytes).sum()),
    ]
}

fn task_of(event: &Event) -> &str {
    event.task.as_deref().unwrap_or("-")
}

fn event_line(text: &mut String, event: &Event, column: usize, width: usize) {
    let head = format!("  {}  {:<column$}  {:<14} ", clock(&event.time), task_of(event), event.event);
    wrapped(text, &head, &event.text, width);
}

/// The time of day of a time stamp.
fn clock(time: &str) -> &str {
    time.split_once('T').and_then(|(_, clock)| clock.get(..8)).unwrap_or(time)
}

const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

fn state_colour(state: &str) -> &'static str {
    match state {
        "running" => GREEN,
        "backoff" | "ended" => RED,
        _ => YELLOW,
    }
}

fn painted(word: &str, colour: &str, look: Look) -> String {
    if look.colour { format!("\x1b[{colour}m{word}\x1b[0m") } else { word.to_owned() }
}

/// Words behind a head, further lines below them. A word that is longer than a line is broken: a path, an id. What others
/// put into it starts no line and no escape sequence of its own.
fn wrapped(text: &mut String, head: &str, words: &str, width: usize) {
    let indent = head.chars().count().min(width / 2);
    let room = width - head.chars().count().min(width - 1);
    let words: String = words.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let mut lines: Vec<String> = vec![String::new()];
    let mut left = room;
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        let mut letters: Vec<char> = word.chars().collect();
        let begun = lines.last().is_some_and(|line| !line.is_empty());
        if begun && letters.len() < left {
            push(&mut lines, " ");
            left -= 1;
        } else if begun {
            lines.push(String::new());
            left = width - indent;
        }
        while letters.len() > left {
            let rest = letters.split_off(left);
            push(&mut lines, &letters.iter().collect::<String>());
            letters = rest;
            lines.push(String::new());
            left = width - indent;
        }
        left -= letters.len();
        push(&mut lines, &letters.iter().collect::<String>());
    }
    for (at, line) in lines.iter().enumerate() {
        let _ = match at {
            0 => writeln!(text, "{}", format!("{head}{line}").trim_end()),
            _ => writeln!(text, "{:indent$}{line}", ""),
        };
    }
}

fn push(lines: &mut [String], text: &str) {
    if let Some(line) = lines.last_mut() {
        line.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::protocol::{Cgroup, Container, LastExit, Log, VERSION};

    const PLAIN: Look = Look { width: 80, colour: false, terminal: false };

    fn status() -> Status {
        let exit = LastExit {
            text: "killed by signal 9 (SIGKILL), by the kernel for lack of memory (limit 1048576, usage now 4096)"
                .into(),
            code: 137,
            time: "2026-11-30T04:20:00.123Z".into(),
            up_seconds: 7380.0,
            commanded: false,
        };
        let log =
            Log { file: "proxy.log".into(), bytes: 43_200_000, dropped: 4096, degraded: Some("it is full".into()) };
        let proxy = Task {
            name: "proxy".into(),
            state: "backoff".into(),
            starts_in_seconds: Some(4.2),
            restarts: 12,
            last_exit: Some(exit),
            drift: vec!["memory: in /, not in /mesos/c1".into()],
            logs: vec![log],
            ..Task::default()
        };
        let executor = Task {
            name: "executor".into(),
            state: "running".into(),
            ready: true,
            pid: Some(4_194_304),
            uptime_seconds: Some(273_600.0),
            rss_bytes: Some(43_200_000),
            cpu_seconds: Some(62.5),
            ..Task::default()
        };
        let cgroup = |hierarchy: &str| Cgroup { hierarchy: hierarchy.into(), path: "/mesos/c1".into() };
        Status {
            minion: VERSION,
            version: "0.1.0".into(),
            pid: 42,
            time: String::new(),
            uptime_seconds: 273_600.0,
            stopping: None,
            sandbox: format!("/var/lib/mesos/{}/runs/c1", "x".repeat(200)),
            container: Container { id: Some("c1".into()), verdict: "agreement".into(), ..Container::default() },
            cgroups: vec![cgroup("freezer"), cgroup("name=systemd"), cgroup("memory")],
            private_mounts: true,
            oom_kills: Some(1),
            grace_seconds: 5.0,
            budget_seconds: 4.0,
            tasks: vec![proxy, executor],
            events: vec![Event {
                event: "oom".into(),
                time: "2026-11-30T04:20:00.123Z".into(),
                text: "the \x1b[31m container\nis out of memory".into(),
                ..Event::default()
            }],
        }
    }

    #[test]
    fn a_bad_night_still_fits_the_width() {
        let status = status();
        let findings = super::super::findings::of(&status);
        for width in [0, 80, 132, 10_000] {
            let screen = text(&status, &findings, Look { width, ..PLAIN });
            let widest = screen.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width.clamp(80, 160)), "{screen}");
        }
        let screen = text(&status, &findings, PLAIN);
        for wanted in [
            "container  c1, the kernel and MESOS_DIRECTORY agree\n",
            "cgroups    freezer, name=systemd, memory at /mesos/c1; ",
            "TASK      STATE        PID        UP  RESTARTS       RSS      CPU       LOG\n",
            "proxy     backoff        -  in 4.2 s        12         -        -  41.2 MiB\n",
            "executor  running  4194304   3 d 4 h         0  41.2 MiB  1 m 3 s       0 B\n",
            "  last exit 04:20:00: killed by signal 9 (SIGKILL), by the kernel for lack of\n",
            "  proxy left its cgroup: memory: in /, not in /mesos/c1\n",
            "  proxy.log cannot be written: it is full\n",
            "  proxy.log lacks 4.0 KiB that had to be dropped; it says where\n",
            "  04:20:00  -  oom            the ?[31m container?is out of memory\n",
        ] {
            assert!(screen.contains(wanted), "{wanted}\n{screen}");
        }
    }

    #[test]
    fn colour_changes_no_column_and_says_nothing_alone() {
        let status = status();
        let findings = super::super::findings::of(&status);
        let plain = text(&status, &findings, PLAIN);
        let coloured = text(&status, &findings, Look { colour: true, ..PLAIN });
        assert!(coloured.contains("\x1b[31mbackoff\x1b[0m") && coloured.contains("\x1b[32mrunning\x1b[0m"));
        let stripped =
            ["31", "32", "33", "0"].iter().fold(coloured, |text, code| text.replace(&format!("\x1b[{code}m"), ""));
        assert_eq!(stripped, plain);
    }
}
