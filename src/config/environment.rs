//! The environment of a task: minion's own, a file of lines, and the table.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

type Variable = (OsString, OsString);

/// `inherited` with `more` on top: a name that is there keeps its place, a new one goes to the end. Of two inherited
/// variables of one name the first counts, as for the profile of the original. [GO-14]
pub(super) fn layered(inherited: &[Variable], more: impl Iterator<Item = Variable>) -> Vec<Variable> {
    let mut result: Vec<Variable> = Vec::with_capacity(inherited.len());
    for variable in inherited {
        if result.iter().all(|(name, _)| *name != variable.0) {
            result.push(variable.clone());
        }
    }
    for (name, value) in more {
        match result.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => result.push((name, value)),
        }
    }
    result
}

/// The variables of a file of `NAME=VALUE` lines; the error is the number of a line that is none. Empty lines and lines
/// that begin with `#` are passed over, everything else is literal.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Variable>, usize> {
    let mut variables = Vec::new();
    for (nth, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let first = line.iter().find(|byte| !byte.is_ascii_whitespace());
        if first.is_none_or(|byte| *byte == b'#') {
            continue;
        }
        let equals = line.iter().position(|byte| *byte == b'=').filter(|at| *at > 0).ok_or(nth + 1)?;
        if line.contains(&0) || line[..equals].iter().any(u8::is_ascii_whitespace) {
            return Err(nth + 1);
        }
        variables
            .push((OsStr::from_bytes(&line[..equals]).to_owned(), OsString::from_vec(line[equals + 1..].to_vec())));
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(list: &[(&str, &str)]) -> Vec<Variable> {
        list.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn a_file_is_taken_literally() {
        let text = b"# a\n\n  # b\nA=1\r\nB=\"x\" # y\nC==\nD=\n";
        assert_eq!(parse(text), Ok(variables(&[("A", "1"), ("B", "\"x\" # y"), ("C", "="), ("D", "")])));
        for (text, line) in [(&b"A=1\nexport B=2"[..], 2), (b"=x", 1), (b"A=1\n\nB", 3), (b"A=\0", 1)] {
            assert_eq!(parse(text), Err(line));
        }
    }

    #[test]
    fn what_is_on_top_counts_and_keeps_the_place() {
        let inherited = variables(&[("A", "1"), ("B", "2"), ("A", "3")]);
        let more = variables(&[("C", "4"), ("A", "5"), ("C", "6")]);
        assert_eq!(layered(&inherited, more.into_iter()), variables(&[("A", "5"), ("B", "2"), ("C", "6")]));
    }
}
