//! What no file may hold, and how long it may be.

use super::notes::is_key;
use super::source::{Source, all, has_word};
use std::fs;

const LONGEST: usize = 400;

fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The lines of all files that `select` takes; `code` says which part of a file is looked at.
fn found(select: fn(&Source) -> bool, code: fn(&Source) -> &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let sources = all();
    let selected = sources.iter().filter(|source| select(source));
    selected.flat_map(|source| Source::lines(code(source), &source.path, &wanted)).collect()
}

fn whole(source: &Source) -> &str {
    &source.code
}

#[test]
fn unsafe_stands_in_process_alone() {
    none(&found(|source| !source.is_below("src/process"), whole, |line| has_word(line, "unsafe")));
    none(&found(
        |source| !source.is_below("src/process"),
        whole,
        |line| line.contains("allow(") && has_word(line, "unsafe_code"),
    ));
}

#[test]
fn each_unsafe_says_why_it_is_sound() {
    let mut wrong = Vec::new();
    for source in all().iter().filter(|source| source.is_below("src/process")) {
        let comments: Vec<&str> = source.comments.lines().collect();
        for (nth, line) in source.code.lines().enumerate().filter(|(_, line)| has_word(line, "unsafe")) {
            // The note stands above the statement, which may have begun a line or two before.
            let above = &comments[nth.saturating_sub(5)..=nth];
            if !above.iter().any(|comment| comment.contains("SAFETY: ")) {
                wrong.push(format!("{}:{}: {}", source.path.display(), nth + 1, line.trim()));
            }
        }
    }
    none(&wrong);
}

#[test]
fn no_file_is_longer_than_400_lines() {
    let long = |source: &Source| {
        let lines = source.text.lines().count();
        (lines > LONGEST).then(|| format!("{}: {lines} lines", source.path.display()))
    };
    none(&all().iter().filter_map(long).collect::<Vec<_>>());
}

#[test]
fn the_top_level_is_what_a_reader_needs() {
    let expected = ["Cargo.lock", "Cargo.toml", "LICENSE", "README.md", "src", "target", "tests", "vendor-notes"];
    let entries = fs::read_dir(".").unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    none(&entries.filter(|name| !name.starts_with('.') && !expected.contains(&name.as_str())).collect::<Vec<_>>());
}

#[test]
fn nothing_sleeps() {
    none(&found(|_| true, whole, |line| line.contains("sleep(") || line.contains("sleep_ms(")));
}

#[test]
fn nothing_is_left_to_be_done_without_a_key() {
    none(&found(|_| true, whole, |line| line.contains("todo!") || line.contains("unimplemented!")));
    // Split, so that this line is none of them.
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let keyed = |line: &str| line.split(['[', ']']).any(is_key);
    none(&found(
        |_| true,
        |source| &source.comments,
        |line| marks.iter().any(|mark| has_word(line, mark)) && !keyed(line),
    ));
}

#[test]
fn nothing_is_unwrapped_outside_tests() {
    none(&found(
        |source| source.is_below("src"),
        Source::without_tests,
        |line| [".unwrap()", ".unwrap_err()", ".expect_err("].iter().any(|call| line.contains(call)),
    ));
}

#[test]
fn the_program_alone_prints_and_exits() {
    let inside =
        |source: &Source| source.is_below("src") && !source.is_below("src/main") && !source.path.ends_with("main.rs");
    let words = ["println", "print", "eprintln", "eprint", "dbg"];
    none(&found(inside, Source::without_tests, |line| {
        words.iter().any(|word| has_word(line, word) && line.contains(&format!("{word}!")))
            || ["process::exit(", " io::stdout()", " io::stderr()", "std::io::stdout()", "std::io::stderr()"]
                .iter()
                .any(|call| line.contains(call))
    }));
}
