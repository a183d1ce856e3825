//! Counting the numbered lines of a stand-in in its logs: what is missing, what is cut in two.

use crate::error::{During, Error, Result};
use std::fs;
use std::path::PathBuf;

/// The numbered lines in some log files, oldest first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lines {
    /// Number of the last line; lines 1 to this one are all there, once and in order.
    pub(super) last: u64,
    /// The last line of all, of whatever kind.
    pub(super) ending: String,
}

/// Checks that the files hold `<role> line 00000001 …` to the last one, in order, and each file whole lines only.
pub(super) fn check(role: &str, files: &[PathBuf]) -> Result<Lines> {
    let mut lines = Lines { last: 0, ending: String::new() };
    for file in files {
        let name = file.display();
        let text = String::from_utf8_lossy(&fs::read(file).during("read", &name)?).into_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            return Err(Error::new("check", name, "it ends inside a line"));
        }
        for line in text.lines() {
            line.clone_into(&mut lines.ending);
            let Some(number) = number(role, line) else { continue };
            if number != lines.last + 1 {
                return Err(Error::new("check", name, format!("line {number} follows line {}", lines.last)));
            }
            lines.last = number;
        }
    }
    Ok(lines)
}

fn number(role: &str, line: &str) -> Option<u64> {
    line.strip_prefix(role)?.strip_prefix(" line ")?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Result<Lines> {
        let directory = tempfile::tempdir().unwrap();
        let files: Vec<PathBuf> = (0..texts.len()).map(|n| directory.path().join(n.to_string())).collect();
        files.iter().zip(texts).for_each(|(file, text)| fs::write(file, text).unwrap());
        check("x", &files)
    }

    #[test]
    fn a_missing_a_doubled_and_a_cut_line_are_found() {
        let good = of(&["hello\nx line 00000001 ..\nx line 00000002 ..\n", "x line 00000003 ..\nbye\n"]).unwrap();
        assert_eq!(good, Lines { last: 3, ending: "bye".to_owned() });
        assert!(of(&["x line 00000001 .\n", "x line 00000003 .\n"]).is_err());
        assert!(of(&["x line 00000001 .\n", "x line 00000001 .\n"]).is_err());
        assert!(of(&["x line 00000001 .", "\nx line 00000002 .\n"]).is_err());
    }
}
