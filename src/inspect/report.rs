//! `minion inspect` and `minion why`: from a word to an answer.

use super::finding::{self, Finding, Level};
use super::proc::once::Once;
use super::proc::seen::Seen;
use super::target::{Ask, Container, Target};
use super::view::{Question, View};
use super::{json, page};
use crate::error::Result;
use crate::render::unit::{bytes, counted};
use crate::render::{Cell, Column, Fit, Screen, Table, Tone};
use serde_json::Value;
use std::fmt::Write as _;

/// How many processes of a container are looked at closely.
const MOST: usize = 256;

/// What a reading command found: text for standard output, and the exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whole lines.
    pub text: String,
    /// 0: nothing found. 1: something was. 2: not everything could be seen, and nothing was found in the rest.
    pub code: u8,
}

/// How much of a view is wanted, and in which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The view, or the findings alone.
    pub whole: bool,
    /// JSON instead of text.
    pub json: bool,
}

/// A process and what was found.
struct Looked {
    view: View,
    findings: Vec<Finding>,
}

/// Looks at what `word` names: a pid, a container's id or a task.
///
/// `ask` asks the minion of the working directory, else the only one of this host, for a task.
pub fn look(word: &str, question: &Question, form: Form, screen: &Screen, ask: Ask<'_>) -> Result<Answer> {
    let once = Once::default();
    match Target::find(word, question.prefix.as_deref(), ask, &once)? {
        Target::Absent(task) => Ok(super::absent(&task, form, screen)),
        Target::Process(pid) => {
            let view = View::with(pid, question, &once)?;
            let findings = finding::of(&view);
            let seen = [Looked { view, findings }];
            let text = if form.json { object(word, None, &seen, form) } else { process(&seen[0], form, screen) };
            Ok(Answer { text, code: code(&seen) })
        }
        Target::Container(container) => {
            let question = Question { container: Some(container.id.clone()), ..question.clone() };
            // One that ends meanwhile is no longer a member.
            let view = |pid: &i32| View::with(*pid, &question, &once).ok();
            let seen: Vec<Looked> = container.members.iter().take(MOST).filter_map(view).map(Looked::of).collect();
            let text = if form.json {
                object(word, Some(&container), &seen, form)
            } else {
                whole(&container, &seen, form, screen)
            };
            Ok(Answer { text, code: code(&seen) })
        }
    }
}

impl Looked {
    fn of(view: View) -> Self {
        let findings = finding::of(&view);
        Self { view, findings }
    }
}

fn code(seen: &[Looked]) -> u8 {
    let bad = |finding: &Finding| finding.level > Level::Note;
    match () {
        () if seen.iter().any(|one| one.findings.iter().any(bad)) => 1,
        () if seen.iter().any(|one| !one.view.unseen().is_empty()) => 2,
        () => 0,
    }
}

fn process(seen: &Looked, form: Form, screen: &Screen) -> String {
    let found = page::findings(&seen.view.who(), &seen.findings, screen);
    if form.whole {
        page::view(&seen.view, screen) + &page::section("FINDINGS", &found, screen)
    } else {
        found + &unseen(seen, screen)
    }
}

/// What `why` could not see, in a line: a finding may be missing for it.
fn unseen(seen: &Looked, screen: &Screen) -> String {
    match seen.view.unseen().as_slice() {
        [] => String::new(),
        unseen => screen.paragraph("not seen: ", &unseen.join(", ")),
    }
}

fn whole(container: &Container, seen: &[Looked], form: Form, screen: &Screen) -> String {
    let mut text = String::new();
    if form.whole {
        text += &container_page(container, seen, screen);
    }
    let found: Vec<String> = seen
        .iter()
        .filter(|one| !one.findings.is_empty())
        .map(|one| page::findings(&one.view.who(), &noteworthy(&one.findings, seen), screen))
        .collect();
    let found = found.join("\n");
    let none = || screen.paragraph("", &format!("container {}: nothing found", container.id));
    let found = if found.is_empty() { none() } else { found };
    text + &if form.whole { page::section("FINDINGS", &found, screen) } else { found }
}

/// The findings of one process of a container. Notes that every process has are its container's: they stand at the first.
fn noteworthy(findings: &[Finding], seen: &[Looked]) -> Vec<Finding> {
    let first = seen.iter().find(|one| !one.findings.is_empty()).map(|one| one.findings.as_slice()).unwrap_or_default();
    let is_first = std::ptr::eq(first, findings);
    let repeated = |finding: &&Finding| finding.level == Level::Note && !is_first && first.contains(finding);
    findings.iter().filter(|finding| !repeated(finding)).cloned().collect()
}

fn container_page(container: &Container, seen: &[Looked], screen: &Screen) -> String {
    let mut text = String::new();
    let (members, hierarchies) = (container.members.len(), container.places.len());
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{}\n  {} in {}",
        screen.paint(Tone::Strong, &format!("container {}", container.id)),
        counted(members, "process", "processes"),
        counted(hierarchies, "hierarchy", "hierarchies")
    );
    let mut places = Table::new(&[
        Column::new("HIERARCHY", Fit::Whole),
        Column::new("PIDS", Fit::Number),
        Column::new("DIRECTORY", Fit::Middle),
    ]);
    for (hierarchy, directory, count) in &container.places {
        let tone = if *count == members { Tone::Good } else { Tone::Bad };
        places.row([
            Cell::from(hierarchy),
            Cell::toned(tone, count.to_string()),
            directory.to_string_lossy().into_owned().into(),
        ]);
    }
    text += &page::section("CGROUPS", &places.render(screen), screen);
    let mut processes = Table::new(&[
        Column::new("PID", Fit::Number),
        Column::new("PARENT", Fit::Number),
        Column::new("SESSION", Fit::Number),
        Column::new("STATE", Fit::Whole),
        Column::new("RSS", Fit::Number),
        Column::new("TASK", Fit::Whole),
        Column::new("NAME", Fit::Whole),
        Column::new("OUTSIDE", Fit::Wrapped),
    ]);
    for Looked { view, .. } in seen {
        let resident = match &view.status {
            Seen::Known(status) => status.resident.map_or_else(|| "-".to_owned(), bytes),
            Seen::Unknown(_) => "unknown".to_owned(),
        };
        let out: Vec<&str> = view
            .cgroups
            .rows
            .iter()
            .filter(|row| row.is_out() || row.other.is_some())
            .map(|row| row.hierarchy.as_str())
            .collect();
        let out = if out.is_empty() { Cell::from("-") } else { Cell::toned(Tone::Bad, out.join(" ")) };
        let stat = &view.stat;
        let numbers = [stat.pid, stat.parent, stat.session].map(|number| Cell::from(number.to_string()));
        let task = view.kin.task.as_ref().map_or("-", |task| task.task.as_str());
        let rest = [stat.state.to_string().into(), resident.into(), task.into(), (&stat.name).into(), out];
        processes.row(numbers.into_iter().chain(rest));
    }
    text += &page::section("PROCESSES", &processes.render(screen), screen);
    if members > seen.len() {
        text += &screen
            .paragraph("  ", &counted(members - seen.len(), "more was not looked at", "more were not looked at"));
    }
    text
}

fn object(word: &str, container: Option<&Container>, seen: &[Looked], form: Form) -> String {
    let process = |one: &Looked| {
        let mut value = json::findings(&one.view, &one.findings);
        if form.whole
            && let Some(object) = value.as_object_mut()
        {
            object.insert("view".to_owned(), json::view(&one.view));
        }
        value
    };
    let container = container.map_or(Value::Null, |container| {
        let place = |(hierarchy, directory, pids): &(String, std::path::PathBuf, usize)| {
            let directory = directory.to_string_lossy().into_owned();
            let (hierarchy, pids) = (hierarchy.as_str().into(), (*pids).into());
            json::Object::default()
                .put("hierarchy", hierarchy)
                .put("directory", directory.into())
                .put("pids", pids)
                .end()
        };
        json::Object::default()
            .text("id", &container.id)
            .put("members", container.members.iter().copied().collect())
            .put("cgroups", container.places.iter().map(place).collect())
            .end()
    });
    let object = json::Object::default()
        .text("schema", json::SCHEMA)
        .text("asked", word)
        .put("container", container)
        .put("processes", seen.iter().map(process).collect())
        .end();
    format!("{object}\n")
}
