//! `vendor-notes/`: every key that is cited has an entry, every entry is cited and has the form of its README.

use super::source::files;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The files of notes, each with the letters of its keys.
const FILES: [(&str, &str); 4] = [("kernel.md", "KF"), ("crates.md", "CR"), ("go-minion.md", "GO"), ("mesos.md", "ME")];
const FIELDS: [&str; 5] = ["Fact:", "Checked:", "Source:", "We do:", "Revisit:"];
/// Where the text of a field begins.
const INDENT: usize = 10;

/// `KF-03`
pub fn is_key(text: &str) -> bool {
    let letters = FILES.iter().find_map(|(_, letters)| text.strip_prefix(letters)?.strip_prefix('-'));
    letters.is_some_and(|digits| digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path.as_ref()).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// `[KF-03]` and `[KF-03, ME-01]`
fn cited(text: &str) -> impl Iterator<Item = &str> {
    text.split('[')
        .skip(1)
        .filter_map(|rest| rest.split(']').next())
        .flat_map(|keys| keys.split(", "))
        .filter(|k| is_key(k))
}

/// Every key in the code and in what builds and tests it, with a file that cites it.
fn citations() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for path in ["src", "tests", ".ci", "Cargo.toml", ".cargo/config.toml"].iter().flat_map(|top| files(Path::new(top)))
    {
        let name = path.display().to_string();
        // What is not text cites nothing; what stands here are examples.
        if let Ok(text) = fs::read_to_string(&path)
            && !name.starts_with("tests/architecture")
        {
            found.extend(cited(&text).map(|key| (key.to_owned(), name.clone())));
        }
    }
    found
}

struct Entry {
    key: String,
    body: Vec<String>,
}

/// The entries of a file; sections whose heading is no key are prose.
fn entries(file: &str) -> Vec<Entry> {
    let text = read(Path::new("vendor-notes").join(file));
    let sections = text.split("\n## ").skip(1);
    let entry = |section: &str| {
        let mut lines = section.lines().map(str::to_owned);
        let key = lines.next()?.split(' ').next()?.to_owned();
        is_key(&key).then(|| Entry { key, body: lines.collect() })
    };
    sections.filter_map(entry).collect()
}

#[test]
fn each_cited_key_has_an_entry_and_each_entry_is_cited() {
    let cited = citations();
    let mut there = BTreeSet::new();
    for (file, letters) in FILES {
        for Entry { key, .. } in entries(file) {
            assert!(key.starts_with(letters), "{key} in {file}");
            assert!(there.insert(key.clone()), "{key} is there twice");
        }
    }
    let missing: Vec<_> = cited.iter().filter(|(key, _)| !there.contains(*key)).collect();
    let idle: Vec<_> = there.iter().filter(|key| !cited.contains_key(*key)).collect();
    assert!(missing.is_empty() && idle.is_empty(), "without an entry: {missing:#?}\ncited by nothing: {idle:#?}");
}

#[test]
fn each_entry_has_the_five_fields_in_their_order() {
    for (file, _) in FILES {
        for Entry { key, body } in entries(file) {
            let lines: Vec<&str> = body.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
            let fields: Vec<&str> = lines.iter().filter(|line| !line.starts_with(' ')).copied().collect();
            assert_eq!(fields.len(), FIELDS.len(), "{key}: {fields:#?}");
            for (line, field) in fields.iter().zip(FIELDS) {
                let text = line.strip_prefix(field).unwrap_or_else(|| panic!("{key}: not {field} {line}"));
                assert!(text.trim().len() > 1 && line[..INDENT].trim() == field, "{key}: {line}");
            }
            let hanging = lines.iter().filter(|line| line.starts_with(' '));
            hanging.for_each(|line| assert_eq!(line.len() - line.trim_start().len(), INDENT, "{key}: {line}"));
        }
    }
}

#[test]
fn files_that_the_notes_name_exist() {
    for (file, _) in FILES {
        for Entry { key, body } in entries(file) {
            let text = body.iter().filter(|line| !line.starts_with("Source:")).map(String::as_str);
            let text = text.collect::<Vec<_>>().join(" ");
            for word in text.split([' ', ',', ';', ':', '(', ')', '`']) {
                let ours = word.starts_with("src/") || word.starts_with("tests/");
                assert!(!ours || Path::new(word).extension().is_none() || Path::new(word).exists(), "{key}: {word}");
            }
        }
    }
}

#[test]
fn the_index_names_each_file_with_its_keys() {
    let index = read("vendor-notes/README.md");
    for (file, letters) in FILES {
        assert!(index.contains(&format!("| {file} | {letters}- |")), "{file}");
    }
}

#[test]
fn each_dependency_says_why_it_is_here() {
    let manifest = read("Cargo.toml");
    let mut depended = BTreeSet::new();
    for section in ["[dependencies]", "[dev-dependencies]"] {
        let (_, rest) = manifest.split_once(&format!("\n{section}\n")).unwrap();
        let lines = rest.lines().take_while(|line| !line.starts_with('['));
        depended.extend(lines.filter_map(|line| Some(line.split_once(" = ")?.0.to_owned())));
    }
    let notes = read("vendor-notes/crates.md");
    let (_, table) = notes.split_once("| crate | its job here | keys |\n").unwrap();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let told: BTreeSet<String> = rows.map(|row| row.split('|').nth(1).unwrap().trim().to_owned()).collect();
    assert_eq!(told, depended);
}

#[test]
fn keys_are_told_from_other_words() {
    assert!(is_key("KF-03") && is_key("ME-99"));
    assert!(!is_key("KF-3") && !is_key("AB-03") && !is_key("KF-03x") && !is_key(""));
    assert_eq!(cited("a [KF-03] b [0] [ME-01, CR-02]").collect::<Vec<_>>(), ["KF-03", "ME-01", "CR-02"]);
}
