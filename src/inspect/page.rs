//! A view as text.

use super::finding::{Finding, Level, mount_words};
use super::proc::seen::Seen;
use super::proc::status::{Limit, capabilities, signals};
use super::view::cgroups::{Row, Standing};
use super::view::{Namespace, View};
use crate::cgroup::Nowhere;
use crate::render::unit::{bytes, counted, percent, span};
use crate::render::{Cell, Column, Fit, Screen, Table, Tone, clean};

/// The limits that a page shows; JSON has all.
const LIMITS: [&str; 5] =
    ["Max open files", "Max processes", "Max locked memory", "Max core file size", "Max address space"];

/// The whole view, without findings.
pub(super) fn view(view: &View, screen: &Screen) -> String {
    [
        head(view, screen),
        section("CGROUPS", &cgroups(view).render(screen), screen),
        section("NAMESPACES", &namespaces(view).render(screen), screen),
        section("MOUNTS", &mounts(view, screen), screen),
        section("PRIVILEGES AND SIGNALS", &status(view, screen), screen),
        section("LIMITS", &limits(view).render(screen), screen),
        section("MEMORY AND PIDS", &resources(view, screen), screen),
        section(
            "NOT SEEN",
            &view.unseen().into_iter().map(|why| screen.paragraph("  ", why)).collect::<String>(),
            screen,
        ),
    ]
    .concat()
}

/// The findings in sentences, the worst first.
pub(super) fn findings(who: &str, findings: &[Finding], screen: &Screen) -> String {
    if findings.is_empty() {
        return screen.paragraph("", &format!("{}: nothing found", clean(who)));
    }
    findings.iter().map(|finding| one(who, finding, screen)).collect::<Vec<_>>().join("\n")
}

fn one(who: &str, finding: &Finding, screen: &Screen) -> String {
    let tone = match finding.level {
        Level::Note => Tone::Dim,
        Level::Warning => Tone::Warn,
        Level::Problem => Tone::Bad,
    };
    let word = screen.paint(tone, &finding.level.word().to_uppercase());
    let mut text = format!("{word} {}  {}\n", screen.paint(Tone::Strong, finding.kind), clean(who));
    let lines = [
        ("  expected: ", &finding.expected),
        ("  actual:   ", &finding.actual),
        ("  cause:    ", &finding.cause),
        ("  remedy:   ", &finding.remedy),
    ];
    for (label, sentence) in lines {
        text += &screen.paragraph(label, &clean(sentence));
    }
    text + &commands("  run:      ", &finding.commands)
}

/// Commands, each whole on its line however long it is: a broken one cannot be pasted.
pub(super) fn commands(label: &str, commands: &[String]) -> String {
    commands.iter().flat_map(|command| [label.to_owned(), clean(command), "\n".to_owned()]).collect()
}

pub(super) fn section(title: &str, body: &str, screen: &Screen) -> String {
    if body.is_empty() { String::new() } else { format!("\n{}\n{body}", screen.paint(Tone::Strong, title)) }
}

fn head(view: &View, screen: &Screen) -> String {
    let stat = &view.stat;
    let age = shown(&view.age, |age| span(*age));
    let user = shown(&view.status, |status| format!("uid {}", status.uid));
    let threads = view
        .status
        .known()
        .map_or_else(|| "unknown threads".to_owned(), |status| counted(status.threads as usize, "thread", "threads"));
    let parent =
        view.kin.parent.as_ref().map_or_else(String::new, |parent| format!("{} ({})", parent.pid, parent.name));
    let mut lines = vec![
        ("command", shown(&view.arguments, |arguments| arguments.join(" "))),
        ("state", format!("{}, up {age}, {user}, {threads}, {}", state(stat.state), view.policy())),
        ("family", format!("parent {parent}, group {}, session {}", stat.group, stat.session)),
    ];
    if let Some(task) = &view.kin.task {
        lines.push(("task", format!("{}, run {} of minion {}", task.task, task.run, task.minion)));
    }
    if let Some(agent) = &view.kin.agent {
        lines.push(("agent", format!("pid {} ({})", agent.pid, agent.name)));
    }
    lines.push(("container", view.cgroups.evidence.clone()));
    let mut text = format!("{}\n", screen.paint(Tone::Strong, &clean(&view.who())));
    for (label, value) in lines {
        text += &screen.paragraph(&format!("  {label:<10}"), &clean(&value));
    }
    text
}

fn state(state: char) -> String {
    let words = match state {
        'R' => "running",
        'S' => "sleeping",
        'D' => "uninterruptible",
        'T' => "stopped",
        't' => "stopped by a tracer",
        'Z' => "zombie",
        'I' => "idle kernel thread",
        'X' => "dead",
        _ => "unknown state",
    };
    format!("{words} ({state})")
}

fn cgroups(view: &View) -> Table {
    let mut table = Table::new(&[
        Column::new("HIERARCHY", Fit::Whole),
        Column::new("EXPECTED", Fit::Middle),
        Column::new("ACTUAL", Fit::Middle),
        Column::new("VERDICT", Fit::Wrapped),
    ]);
    for row in &view.cgroups.rows {
        let (expected, verdict) = verdict(row);
        table.row([
            Cell::from(&row.hierarchy),
            expected.into(),
            row.actual.to_string_lossy().into_owned().into(),
            verdict,
        ]);
    }
    table
}

fn verdict(row: &Row) -> (String, Cell) {
    let shown = |path: &std::path::Path| path.to_string_lossy().into_owned();
    match &row.standing {
        Standing::Inside { .. } => (shown(&row.actual), Cell::toned(Tone::Good, "ok")),
        Standing::Below { expected } => (shown(expected), Cell::toned(Tone::Warn, "below")),
        Standing::Inner { expected } => (shown(expected), Cell::toned(Tone::Bad, "INNER")),
        Standing::Outside { expected, .. } => (shown(expected), Cell::toned(Tone::Bad, "OUTSIDE")),
        Standing::None(_) if row.other.is_some() => ("-".to_owned(), Cell::toned(Tone::Bad, "OTHER CONTAINER")),
        Standing::None(why) => ("-".to_owned(), Cell::toned(Tone::Dim, why.map_or("unknown", nowhere))),
    }
}

/// Why there is no cgroup of the container, in a word or two.
fn nowhere(why: Nowhere) -> &'static str {
    match why {
        Nowhere::NoContainer => "no container",
        Nowhere::BesideV1 => "not used",
        Nowhere::NotMounted => "not mounted",
        Nowhere::OutOfReach => "out of reach",
        Nowhere::NoIsolator => "no isolator",
    }
}

fn namespaces(view: &View) -> Table {
    let columns = ["KIND", "OWN", "HOST", "MINION", "AGENT"].map(|name| Column::new(name, Fit::Whole));
    let mut table = Table::new(&columns);
    for namespace in &view.namespaces {
        let missing = || Some(Cell::toned(Tone::Dim, "-"));
        let against =
            |other: &Option<Seen<u64>>| other.as_ref().map(|other| compared(namespace, other)).or_else(missing);
        let own = shown(&namespace.own, ToString::to_string);
        let others = [against(&namespace.minion), against(&namespace.agent)];
        let cells = [Some(namespace.kind.into()), Some(own.into()), Some(compared(namespace, &namespace.host))];
        table.row(cells.into_iter().chain(others).flatten());
    }
    table
}

fn compared(namespace: &Namespace, other: &Seen<u64>) -> Cell {
    match (&namespace.own, other) {
        (Seen::Known(own), Seen::Known(other)) if own == other => "same".into(),
        (_, Seen::Known(other)) => Cell::toned(Tone::Warn, other.to_string()),
        (_, Seen::Unknown(_)) => "unknown".into(),
    }
}

fn mounts(view: &View, screen: &Screen) -> String {
    let mut table = Table::new(&[
        Column::new("POINT", Fit::Middle),
        Column::new("FS", Fit::Whole),
        Column::new("PROPAGATION", Fit::Whole),
    ]);
    for mount in view.mounts.own.known().into_iter().flatten() {
        table.row([Cell::from(&mount.point), (&mount.kind).into(), mount.propagation().into()]);
    }
    let differences =
        view.mounts.differences.iter().map(|difference| screen.paragraph("  ", &clean(&mount_words(difference))));
    let differences: String = differences.collect();
    let heading = if differences.is_empty() { "" } else { "against the host it:\n" };
    format!("{}{heading}{differences}", table.render(screen))
}

fn status(view: &View, screen: &Screen) -> String {
    let Seen::Known(status) = &view.status else {
        return screen.paragraph("  ", &format!("unknown: {}", view.status.why().unwrap_or_default()));
    };
    let names = |mask: u64| match signals(mask).as_slice() {
        [] => "none".to_owned(),
        names => names.join(" "),
    };
    let seccomp = match status.seccomp {
        0 => "off",
        1 => "strict",
        _ => "a filter is active",
    };
    let lines = [
        ("effective", capabilities(status.effective)),
        ("bounding", capabilities(status.bounding)),
        ("seccomp", format!("{seccomp}; no_new_privs {}", if status.no_new_privs { "set" } else { "not set" })),
        ("blocked", names(status.blocked)),
        ("ignored", names(status.ignored)),
        ("caught", names(status.caught)),
        ("pending", names(status.pending)),
    ];
    lines.iter().map(|(label, value)| screen.paragraph(&format!("  {label:<10}"), value)).collect()
}

fn limits(view: &View) -> Table {
    let mut table = Table::new(&[
        Column::new("LIMIT", Fit::Whole),
        Column::new("SOFT", Fit::Number),
        Column::new("HARD", Fit::Number),
    ]);
    let shown = |limit: &&Limit| LIMITS.contains(&limit.name.as_str());
    for limit in view.limits.known().into_iter().flatten().filter(shown) {
        let number = |value: Option<u64>| match value {
            Some(value) if limit.name.contains("memory") || limit.name.contains("size") => bytes(value),
            Some(value) => value.to_string(),
            None => "unlimited".to_owned(),
        };
        table.row([Cell::from(&limit.name), number(limit.soft).into(), number(limit.hard).into()]);
    }
    table
}

fn resources(view: &View, screen: &Screen) -> String {
    let mut lines = Vec::new();
    if let Some(memory) = &view.resources.memory {
        let limit = memory.limit.map_or_else(|| "no limit".to_owned(), |limit| format!("limit {}", bytes(limit)));
        let used = memory.usage.unwrap_or(0);
        let part = memory.limit.map(|limit| format!(" ({})", percent(used, limit))).unwrap_or_default();
        let peak = memory.peak.map(|peak| format!(", peak {}", bytes(peak))).unwrap_or_default();
        let kills = memory.kills.map(|kills| format!(", OOM kills {kills}")).unwrap_or_default();
        lines.push((
            "memory",
            format!("{}{part} used, {limit}{peak}{kills}, in {}", bytes(used), memory.directory.display()),
        ));
    }
    for victim in view.resources.kmsg.known().into_iter().flat_map(|victims| &victims.reported) {
        let kill = &victim.kill;
        lines.push(("victim", format!("pid {} ({}) by the limit of {}", kill.pid, kill.name, victim.limiter)));
    }
    if let Some(pids) = &view.resources.pids {
        lines.push(("pids", format!("{} of {}, in {}", pids.current, pids.max, pids.directory.display())));
    }
    let resident = view.status.known().and_then(|status| status.resident);
    let score = shown(&view.oom_score, ToString::to_string);
    let resident = resident.map_or_else(|| "none".to_owned(), bytes);
    lines.push(("process", format!("resident {resident}, oom_score_adj {score}")));
    lines.iter().map(|(label, value)| screen.paragraph(&format!("  {label:<10}"), &clean(value))).collect()
}

/// A value in words, or `unknown`: the reasons stand together at the end of the page.
fn shown<T>(seen: &Seen<T>, words: impl FnOnce(&T) -> String) -> String {
    seen.known().map_or_else(|| "unknown".to_owned(), words)
}
