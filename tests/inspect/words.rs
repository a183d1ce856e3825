//! A number agrees with its noun: by reading the sentences in the sources.

use std::fs;
use std::path::Path;

/// What is counted in sentences.
const NOUNS: [&str; 24] = [
    "backups",
    "bytes",
    "children",
    "clients",
    "containers",
    "descendants",
    "descriptors",
    "events",
    "failures",
    "files",
    "findings",
    "hierarchies",
    "kills",
    "lines",
    "minions",
    "more were",
    "pids",
    "processes",
    "restarts",
    "seconds",
    "signals",
    "tasks",
    "threads",
    "times",
];

/// The number in front of a noun, where it is a variable that may be 1: `{count} tasks`. A constant is what it is.
fn variable<'a>(line: &'a str, noun: &str) -> Option<&'a str> {
    let (before, _) = line.split_once(&format!("}} {noun}"))?;
    let (_, name) = before.rsplit_once('{')?;
    let is_constant = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    (!name.is_empty() && !is_constant).then_some(name)
}

fn search(directory: &Path, wrong: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            search(&entry, wrong);
            continue;
        }
        let text = fs::read_to_string(&entry).unwrap();
        let sentences = text.split("#[cfg(test)]").next().unwrap_or_default();
        // A line that looks whether it is one agrees by itself.
        let looks = |line: &&str| !line.contains("== 1");
        let faults =
            sentences.lines().filter(looks).filter(|line| NOUNS.iter().any(|noun| variable(line, noun).is_some()));
        wrong.extend(faults.map(|line| format!("{}: {}", entry.display(), line.trim())));
    }
}

#[test]
fn one_is_not_many() {
    assert!(variable("format!(\"{lost} events were lost\")", "events").is_some());
    assert!(variable("format!(\"{CLIENTS} clients\")", "clients").is_none());
    let mut wrong = Vec::new();
    for module in ["inspect", "control", "supervisor"] {
        search(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(module), &mut wrong);
    }
    assert_eq!(wrong, [] as [String; 0], "unit::counted agrees in number");
}
