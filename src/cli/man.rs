//! Manual pages in roff, for `man` and `mandoc`.

use super::command::{Row, visible};
use super::flag::{About, Group};
use super::json::Json;
use super::status::OTHER_EXIT_CODES;
use crate::hyperkube::executor;
use std::fmt::Write as _;

/// minion(1): the commands.
pub(super) fn overview() -> String {
    let mut page = header("MINION", "minion", "supervise the executor of a Mesos container");
    page.push_str(".SH SYNOPSIS\n");
    for row in visible() {
        synopsis(&mut page, row);
    }
    page.push_str(".SH COMMANDS\n");
    for row in visible() {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(page, ".TP\n.B {}\n{}.", escape(row.name), line(row.summary));
    }
    let (title, codes) = OTHER_EXIT_CODES;
    let _ = writeln!(page, ".SH {}", line(&title.to_uppercase()));
    paragraphs(&mut page, codes);
    page.push_str(".SH SEE ALSO\n");
    let pages: Vec<String> = visible().map(|row| format!("minion\\-{}(1)", escape(row.name))).collect();
    let _ = writeln!(page, "{}", pages.join(",\n"));
    page
}

/// minion-COMMAND(1): one command.
pub(super) fn of(row: &Row) -> String {
    let title = format!("MINION-{}", row.name.to_uppercase());
    let mut page = header(&title, &format!("minion-{}", row.name), row.summary);
    page.push_str(".SH SYNOPSIS\n");
    synopsis(&mut page, row);
    page.push_str(".SH DESCRIPTION\n");
    paragraphs(&mut page, row.text);
    page.push_str(".SH OPTIONS\n");
    let flags = (row.flags)();
    for group in Group::ALL {
        let mut heading = Some(group.title());
        for about in flags.iter().filter(|about| about.group == group) {
            if let Some(title) = heading.take() {
                let _ = writeln!(page, ".SS {}", line(title));
            }
            option(&mut page, about);
        }
    }
    for (title, text) in row.sections {
        let _ = writeln!(page, ".SH {}", line(&title.to_uppercase()));
        paragraphs(&mut page, text);
    }
    if row.name == "run" {
        executor_flags(&mut page);
    }
    json(&mut page, row);
    page.push_str(".SH EXAMPLES\n");
    for (command, what) in row.examples {
        let _ = writeln!(page, ".TP\n{}:\n.nf\n{}\n.fi", line(what), line(command));
    }
    page.push_str(".SH SEE ALSO\nminion(1)\n");
    page
}

fn header(title: &str, name: &str, summary: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let (title, name, summary) = (escape(title), escape(name), line(summary));
    format!(".TH {title} 1 \"\" \"minion {version}\" \"minion manual\"\n.SH NAME\n{name} \\- {summary}\n")
}

fn synopsis(page: &mut String, row: &Row) {
    let _ = writeln!(page, ".B minion {}\n{}\n.br", escape(row.name), line(row.synopsis));
}

fn paragraphs(page: &mut String, text: &[&str]) {
    for (at, paragraph) in text.iter().enumerate() {
        if at > 0 {
            page.push_str(".PP\n");
        }
        let _ = writeln!(page, "{}", line(paragraph));
    }
}

fn option(page: &mut String, about: &About) {
    let _ = writeln!(page, ".TP\n.B {}\n{}", escape(&about.spelled()), line(about.help));
    if !about.default.is_empty() {
        let _ = writeln!(page, "Default: {}.", escape(about.default));
    }
}

/// The schema, object by object.
fn json(page: &mut String, row: &Row) {
    let _ = writeln!(page, ".SH JSON");
    let (what, schema) = match &row.json {
        Json::Asked(schema) => ("--json prints one object on one line", schema),
        Json::Always(schema) => ("Each line is an object", schema),
        Json::Never(_) => return paragraphs(page, &[&row.json.told(row.name)]),
    };
    let version = format!(
        "{what}, with \"{}\":{}. Members may be added to a version, never changed or removed. Sizes are bytes, times UTC. What \
         went wrong is text on standard error.",
        schema.member, schema.version
    );
    paragraphs(page, &[&version]);
    for (path, members) in schema.objects {
        let path = if path.is_empty() { "the object" } else { path };
        let _ = writeln!(page, ".TP\n.B {}\n{}.", escape(path), line(members));
    }
}

/// The names that minion knows the executor to have, and those that go nowhere.
fn executor_flags(page: &mut String) {
    let list = |flags: &mut dyn Iterator<Item = (&'static str, crate::hyperkube::value::Kind)>| {
        let spelled = flags.map(|(name, kind)| format!("--{name}={}", kind.metavar()));
        escape(&spelled.collect::<Vec<_>>().join(" "))
    };
    let _ = writeln!(page, ".SS Flags of the executor\n{}", list(&mut executor::names()));
    let _ = writeln!(page, ".SS Flags that are accepted and go nowhere\n{}", list(&mut executor::globals()));
}

/// Text that may start a line: a leading dot or quote would be a request.
fn line(text: &str) -> String {
    let escaped = escape(text);
    if escaped.starts_with(['.', '\'']) { format!("\\&{escaped}") } else { escaped }
}

/// Backslashes and hyphens as themselves.
fn escape(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}
