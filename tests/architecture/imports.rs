//! Who imports whom, and which crate has its home where.

use super::source::{Source, all};
use std::collections::BTreeSet;
use std::path::Path;

/// The modules of `src`, each with those that it may use. `cli` and the program itself may use every one.
const MAY_USE: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("near", &[]),
    ("render", &[]),
    ("mesos", &["error"]),
    ("task", &["error"]),
    ("hyperkube", &["error", "mesos", "task"]),
    ("config", &["error", "hyperkube", "mesos", "near", "render", "task"]),
    ("process", &["error"]),
    ("cgroup", &["error", "mesos", "process"]),
    ("namespace", &["error", "mesos", "process"]),
    ("log", &["error", "mesos", "process"]),
    ("inspect", &["cgroup", "error", "log", "mesos", "namespace", "process", "render"]),
    ("trace", &["log"]),
    ("control", &["error", "process", "render"]),
    ("supervisor", &["cgroup", "control", "error", "log", "namespace", "process", "task"]),
    ("rehearsal", &["cgroup", "error", "mesos", "process"]),
];

/// May use everything: they are the top.
const TOP: [&str; 3] = ["cli", "main", "lib"];

/// Modules that decide and do nothing: what they are not to name.
const PURE: [&str; 5] = ["config", "hyperkube", "mesos", "near", "task"];
const EFFECTS: [&str; 10] = [
    "std::fs",
    "std::process",
    "std::env",
    "TcpStream",
    "std::thread",
    "rustix",
    "nix",
    "tracing",
    "Instant::now",
    "SystemTime::now",
];

/// Crates that one job was given, and the modules that do it.
const HOMES: &[(&str, &[&str])] = &[
    ("cgroups_rs", &["cgroup"]),
    ("chrono", &["control", "log", "rehearsal", "trace"]),
    ("file_rotate", &["log"]),
    ("flate2", &["log"]),
    ("lexopt", &["cli"]),
    ("memmap2", &["log"]),
    ("pidfd", &["process"]),
    ("serde_saphyr", &["hyperkube"]),
    ("toml", &["config"]),
    ("tracing", &["main", "supervisor", "trace"]),
];

/// `src/log/mod.rs` is `[log]`, `src/process/spawn/child.rs` is `[process, spawn, child]`.
fn module(path: &Path) -> Vec<String> {
    let parts = path.strip_prefix("src").unwrap().with_extension("");
    parts.iter().map(|part| part.to_str().unwrap().to_owned()).filter(|part| part != "mod").collect()
}

/// Every path from the root of the crate that the code names: `crate::a`, and as many `super` as lead there.
fn used(source: &Source) -> BTreeSet<String> {
    let code: String = source.without_tests().split_whitespace().collect::<Vec<_>>().join(" ");
    let from_root = "super::".repeat(module(&source.path).len());
    let mut found = BTreeSet::new();
    for root in ["crate::", &from_root] {
        for (at, _) in code.match_indices(root) {
            if !code[..at].ends_with([':', '_']) && !code[..at].ends_with(char::is_alphanumeric) {
                found.extend(heads(&code[at + root.len()..]));
            }
        }
    }
    found
}

/// The first names of `a::b` and of `{a::{b, c}, d}`.
fn heads(path: &str) -> Vec<String> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut depth, mut names, mut start) = (0, Vec::new(), 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(name(group[start..at].trim_start()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Whether the code names the crate, as the beginning of a path.
fn names_crate(code: &str, name: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let starts = |at: usize, end: &str| !code[..at].ends_with(inside) && code[at + name.len()..].starts_with(end);
    code.match_indices(name).any(|(at, _)| starts(at, "::"))
}

fn sources() -> impl Iterator<Item = (String, Source)> {
    let below = all().into_iter().filter(|source| source.is_below("src"));
    below.map(|source| (module(&source.path).swap_remove(0), source))
}

#[test]
fn each_module_uses_only_what_the_table_allows() {
    let mut wrong = Vec::new();
    for (own, source) in sources().filter(|(own, _)| !TOP.contains(&own.as_str())) {
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == own) else {
            wrong.push(format!("{own}: not in the table of tests/architecture/imports.rs"));
            continue;
        };
        let foreign = used(&source).into_iter().filter(|name| *name != own && !allowed.contains(&name.as_str()));
        wrong.extend(foreign.map(|name| format!("{} uses {name}", source.path.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_table_leads_downwards_and_names_modules_that_exist() {
    let there: BTreeSet<String> = sources().map(|(own, _)| own).collect();
    for (nth, (name, allowed)) in MAY_USE.iter().enumerate() {
        assert!(there.contains(*name), "{name}");
        let above: Vec<_> = MAY_USE[..nth].iter().map(|(name, _)| name).collect();
        assert!(allowed.iter().all(|name| above.contains(&name)), "{name} uses what stands below it in the table");
    }
}

#[test]
fn the_pure_modules_name_nothing_that_has_an_effect() {
    let mut wrong = Vec::new();
    for (_, source) in sources().filter(|(own, _)| PURE.contains(&own.as_str())) {
        let named = EFFECTS.iter().filter(|effect| {
            let (crates, code) = (!effect.contains("::"), source.without_tests());
            if crates { names_crate(code, effect) } else { code.contains(*effect) }
        });
        wrong.extend(named.map(|effect| format!("{} names {effect}", source.path.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn crates_with_one_job_are_used_where_that_is_done() {
    let mut wrong = Vec::new();
    for (own, source) in sources() {
        let strangers = HOMES
            .iter()
            .filter(|(name, homes)| !homes.contains(&own.as_str()) && names_crate(source.without_tests(), name));
        wrong.extend(strangers.map(|(name, _)| format!("{} uses the crate {name}", source.path.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn paths_are_found_however_they_are_written() {
    let uses = |path: &str, text: &str| used(&Source::new(path, text)).into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(uses("src/log/a.rs", "use crate::error::Error; fn f(a: crate::task::Exit) {}"), "error task");
    assert_eq!(uses("src/log/a.rs", "use crate::{\n    cgroup::{A, B},\n    task,\n};"), "cgroup task");
    assert_eq!(uses("src/log/a.rs", "use super::super::task::Exit; use super::b;"), "task");
    assert_eq!(uses("src/log/mod.rs", "use super::task::Exit; // crate::cli"), "task");
    assert_eq!(uses("src/log/a.rs", "x(\"crate::cli\")\n#[cfg(test)]\nuse crate::cli;"), "");
    assert!(names_crate("use pidfd::PidFd;", "pidfd") && !names_crate("use crate::process::pidfd::Pidfd;", "pidfd"));
}
