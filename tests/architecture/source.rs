//! The source files of the package, each with its code apart from its comments and the texts in quotes.

use std::fs;
use std::path::{Path, PathBuf};

/// A Rust file. `code` and `comments` are as long as `text`: what belongs to the other is blank.
pub struct Source {
    /// Below the package, `src/log/mod.rs`.
    pub path: PathBuf,
    pub text: String,
    /// Without comments and without what stands between quotes.
    pub code: String,
    /// Comments alone, those of documentation included.
    pub comments: String,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let (code, comments) = split(text);
        Self { path: path.into(), text: text.to_owned(), code, comments }
    }

    /// The code without the tests in the file, which stand at its end.
    pub fn without_tests(&self) -> &str {
        let end = self.code.find("#[cfg(test)]").unwrap_or(self.code.len());
        &self.code[..end]
    }

    pub fn is_below(&self, directory: &str) -> bool {
        self.path.starts_with(directory)
    }

    /// Where each line of the code that `wanted` finds stands: `src/log/mod.rs:12: …`.
    pub fn lines(code: &str, path: &Path, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let lines = code.lines().enumerate().filter(|(_, line)| wanted(line));
        lines.map(|(nth, line)| format!("{}:{}: {}", path.display(), nth + 1, line.trim())).collect()
    }
}

/// Every Rust file below `src` and `tests`.
pub fn all() -> Vec<Source> {
    let paths = ["src", "tests"].iter().flat_map(|top| files(Path::new(top)));
    let rust = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let found: Vec<Source> =
        rust.map(|path| Source::new(path.to_str().unwrap(), &fs::read_to_string(&path).unwrap())).collect();
    assert!(found.len() > 50, "cargo runs tests in the package's directory");
    found
}

/// A file, or every file below a directory.
pub fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| files(&path)).collect()
}

/// Whether `word` stands in the line by itself, not as a part of a longer name.
pub fn has_word(line: &str, word: &str) -> bool {
    let part_of_a_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(part_of_a_name) && !line[at + word.len()..].starts_with(part_of_a_name))
}

/// Which of the two a piece of the text belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Quoted,
}

fn split(text: &str) -> (String, String) {
    let (mut code, mut comments) = (String::new(), String::new());
    let mut rest = text;
    while !rest.is_empty() {
        let (length, kind) = piece(rest, code.chars().next_back());
        for c in rest[..length].chars() {
            let blank = if c == '\n' { "\n".to_owned() } else { " ".repeat(c.len_utf8()) };
            let itself = c.to_string();
            code.push_str(if kind == Kind::Code { &itself } else { &blank });
            comments.push_str(if kind == Kind::Comment { &itself } else { &blank });
        }
        rest = &rest[length..];
    }
    (code, comments)
}

/// The length of what `text` begins with: a comment, a text in quotes, or one character of code.
fn piece(text: &str, before: Option<char>) -> (usize, Kind) {
    let first = text.chars().next().map_or(0, char::len_utf8);
    let in_a_name = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    if text.starts_with("//") {
        (text.find('\n').unwrap_or(text.len()), Kind::Comment)
    } else if text.starts_with("/*") {
        (text.find("*/").map_or(text.len(), |end| end + 2), Kind::Comment)
    } else if text.starts_with('"') {
        (closing_quote(text, '"'), Kind::Quoted)
    } else if !in_a_name && raw_hashes(text).is_some() {
        let end = format!("\"{}", "#".repeat(raw_hashes(text).unwrap_or(0)));
        let start = text.find('"').map_or(0, |at| at + 1);
        (text[start..].find(&end).map_or(text.len(), |at| start + at + end.len()), Kind::Quoted)
    } else if is_character(text) {
        (closing_quote(text, '\''), Kind::Quoted)
    } else {
        (first, Kind::Code)
    }
}

/// The number of `#` of a raw text that begins here: `r"`, `br#"`.
fn raw_hashes(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('b').unwrap_or(text).strip_prefix('r')?;
    let bare = rest.trim_start_matches('#');
    bare.starts_with('"').then_some(rest.len() - bare.len())
}

/// `'a'` and `'\n'` are characters, `'a` is a lifetime.
fn is_character(text: &str) -> bool {
    let mut characters = text.chars();
    let (quote, first, second) = (characters.next(), characters.next(), characters.next());
    quote == Some('\'') && (first == Some('\\') || second == Some('\''))
}

fn closing_quote(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == quote && !escaped {
            return at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

#[test]
fn comments_and_texts_are_told_from_code() {
    let text = "let a = \"x // \\\" y\"; // unsafe\nlet b: &'a str = r#\"un\"safe\"#; let c = '\"'; /* z */ d()";
    let source = Source::new("a.rs", text);
    let code: String = source.code.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, "let a = ; let b: &'a str = ; let c = ; d()");
    let comments: Vec<&str> = source.comments.split_whitespace().collect();
    assert_eq!(comments, ["//", "unsafe", "/*", "z", "*/"]);
    assert_eq!(source.code.len(), text.len());
}
