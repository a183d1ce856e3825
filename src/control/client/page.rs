//! Status as one screen of text. Pure.

use crate::control::protocol::{Event, Status, Task};
use crate::render::unit::{bytes, seconds};
use crate::render::{Cell, Column, Fit, Screen, Table, Tone};

/// Events on the screen; the JSON has all that are kept.
const EVENTS: usize = 8;

const TASKS: [Column; 8] = [
    Column::new("TASK", Fit::Middle),
    Column::new("STATE", Fit::Whole),
    Column::new("PID", Fit::Number),
    Column::new("UP", Fit::Number),
    Column::new("RESTARTS", Fit::Number),
    Column::new("RSS", Fit::Number),
    Column::new("CPU", Fit::Number).spare(),
    Column::new("LOG", Fit::Number).spare(),
];

const LAST_EVENTS: [Column; 4] = [
    Column::new("TIME", Fit::Whole),
    Column::new("TASK", Fit::Middle),
    Column::new("EVENT", Fit::Whole),
    Column::new("TEXT", Fit::Wrapped),
];

pub(super) fn text(status: &Status, findings: &[String], screen: &Screen) -> String {
    let mut text = facts(status, screen);
    text.push('\n');
    text.push_str(&tasks(&status.tasks).render(screen));
    if !findings.is_empty() {
        text.extend(["\n", &screen.paint(Tone::Warn, "LOOK AT"), "\n"]);
        text.extend(findings.iter().map(|finding| screen.paragraph("  ", finding)));
    }
    if !status.events.is_empty() {
        text.extend(["\n", &screen.paint(Tone::Strong, "LAST EVENTS (UTC)"), "\n"]);
        text.push_str(&events(&status.events).render(screen));
    }
    text
}

fn facts(status: &Status, screen: &Screen) -> String {
    let container = &status.container;
    let known = match container.verdict.as_str() {
        "agreement" => ", the kernel and MESOS_DIRECTORY agree",
        "disagreement" => ", the kernel and MESOS_DIRECTORY disagree",
        _ if container.id.is_some() => ", one source alone",
        _ => "",
    };
    let up = seconds(status.uptime_seconds);
    let (grace, budget) = (seconds(status.grace_seconds), seconds(status.budget_seconds));
    let mounts = if status.private_mounts { "a namespace of the children's own" } else { "as minion has them" };
    let lines = [
        ("container", format!("{}{known}", container.id.as_deref().unwrap_or("unknown"))),
        ("minion", format!("pid {}, up {up}, version {}", status.pid, status.version)),
        ("sandbox", status.sandbox.clone()),
        ("cgroups", format!("{}; {} layout", cgroups(status), container.layout)),
        ("mounts", mounts.to_owned()),
        ("grace", format!("{grace}; everything ends within {budget}")),
    ];
    lines.iter().map(|(name, value)| screen.paragraph(&format!("{name:<11}"), value)).collect()
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

/// A row a task, what it says of itself and its last exit below.
fn tasks(tasks: &[Task]) -> Table {
    let mut table = Table::new(&TASKS);
    for task in tasks {
        table.row(row(task));
        if let Some(says) = &task.says {
            table.note(format!("says: {says}"));
        }
        if let Some(exit) = &task.last_exit {
            let by = if exit.commanded { ", by a command" } else { "" };
            let up = seconds(exit.up_seconds);
            table.note(format!("last exit {}: {} after {up}{by}", clock(&exit.time), exit.text));
        }
    }
    table
}

fn row(task: &Task) -> [Cell; 8] {
    let or_dash = |text: Option<String>| Cell::from(text.unwrap_or_else(|| "-".to_owned()));
    let wait = || task.starts_in_seconds.map(|wait| format!("in {}", seconds(wait)));
    let state = if task.hook.is_some() { format!("{} hook", task.state) } else { task.state.clone() };
    [
        Cell::from(&task.name),
        Cell::toned(tone(&task.state), state),
        or_dash(task.pid.map(|pid| pid.to_string())),
        or_dash(task.uptime_seconds.map(seconds).or_else(wait)),
        Cell::from(task.restarts.to_string()),
        or_dash(task.rss_bytes.map(bytes)),
        or_dash(task.cpu_seconds.map(seconds)),
        Cell::from(bytes(task.logs.iter().fold(0, |sum, log| sum.saturating_add(log.bytes)))),
    ]
}

fn events(events: &[Event]) -> Table {
    let mut table = Table::new(&LAST_EVENTS);
    for event in &events[events.len().saturating_sub(EVENTS)..] {
        let task = event.task.as_deref().unwrap_or("-");
        table.row([clock(&event.time), task, &event.event, &event.text].map(Cell::from));
    }
    table
}

/// The time of day of a time stamp.
fn clock(time: &str) -> &str {
    time.split_once('T').and_then(|(_, clock)| clock.get(..8)).unwrap_or(time)
}

fn tone(state: &str) -> Tone {
    match state {
        "running" => Tone::Good,
        "backoff" | "ended" => Tone::Bad,
        _ => Tone::Warn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::protocol::{Cgroup, Container, LastExit, Log, VERSION};

    fn status() -> Status {
        let exit = LastExit {
            text: "killed by signal 9 (SIGKILL), by the kernel for lack of memory (limit 1048576, usage now 4096)"
                .into(),
            pid: Some(4711),
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

    /// What a pipe gets of a status.
    fn shown(status: &Status, width: usize) -> String {
        text(status, &super::super::findings::of(status), &Screen::plain(width))
    }

    #[test]
    fn a_bad_night_still_fits_the_width() {
        let mut status = status();
        for width in [60, 80, 120, 200] {
            let screen = shown(&status, width);
            let wide = screen.lines().filter(|line| line.chars().count() > width).collect::<Vec<_>>();
            assert_eq!(wide.len(), 1, "a path is whole, to be copied: {wide:?}\n{screen}");
            assert!(screen.contains(&status.sandbox), "{screen}");
        }
        let screen = shown(&status, 80);
        for wanted in [
            "container  c1, the kernel and MESOS_DIRECTORY agree\n",
            "cgroups    freezer, name=systemd, memory at /mesos/c1; ",
            "TASK      STATE        PID       UP  RESTARTS     RSS    CPU     LOG\n",
            "proxy     backoff        -  in 4.2s        12       -      -  41 MiB\n",
            "executor  running  4194304    3d04h         0  41 MiB  1m02s     0 B\n",
            "  last exit 04:20:00: killed by signal 9 (SIGKILL), by the kernel for lack of\n",
            "  proxy left its cgroup: memory: in /, not in /mesos/c1\n",
            "  proxy.log cannot be written: it is full\n",
            "  proxy.log lacks 4.0 KiB that had to be dropped; it says where\n",
            "04:20:00  -     oom    the \\u{1b}[31m container\\nis out of memory\n",
        ] {
            assert!(screen.contains(wanted), "{wanted}\n{screen}");
        }
        assert!(!shown(&status, 60).contains("LOG\n"), "the least wanted column gives way");
        let seen = |status: &Status| shown(status, 80).lines().count();
        let before = seen(&status);
        status.tasks.extend((0..198).map(|nth| Task { name: format!("helper-{nth}"), ..Task::default() }));
        assert_eq!(seen(&status), before + 198, "a line each");
        status.tasks.clear();
        assert!(!shown(&status, 80).contains("RESTARTS"), "no tasks, no headings");
    }

    #[test]
    fn a_task_with_a_long_name_keeps_both_its_ends() {
        let mut status = status();
        status.tasks[1].name = format!("first-{}-last", "x".repeat(300));
        let screen = shown(&status, 80);
        let row = screen.lines().find(|line| line.contains("4194304")).unwrap();
        assert!(row.starts_with("fir") && row.contains("last  ") && row.chars().count() <= 80, "{screen}");
    }
}
