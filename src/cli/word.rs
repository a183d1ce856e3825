//! An argument list as words: long flags, short flags, what is no flag, and what stands behind `--`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// One word of a command line.
pub(super) enum Word {
    /// `--name` or `--name=value`.
    Long(Dashed),
    /// `-n`, `-nvalue` or `-n=value`.
    Short(Dashed),
    /// No flag: `foo`, `-`, nothing, `--=x`.
    Plain(OsString),
    /// Everything behind `--`.
    Rest(Vec<OsString>),
}

/// A flag in pieces and whole.
pub(super) struct Dashed {
    /// Without dashes; in a long flag that is not UTF-8, replacement characters stand for what is not.
    pub(super) name: String,
    /// What is written in the same word.
    pub(super) value: Option<OsString>,
    /// The word, byte for byte.
    pub(super) raw: OsString,
}

/// The words of an argument list. Splitting is `lexopt`'s; keeping the bytes for the executor is ours. [CR-30]
pub(super) struct Words {
    parser: lexopt::Parser,
}

impl Words {
    /// `args` is without the program's name.
    pub(super) fn new(args: Vec<OsString>) -> Self {
        Self { parser: lexopt::Parser::from_args(args) }
    }

    /// The next word; None at the end.
    pub(super) fn next(&mut self) -> Option<Word> {
        let mut rest = self.parser.try_raw_args()?;
        let bytes = rest.peek()?.as_bytes();
        if bytes == b"--" {
            return Some(Word::Rest(rest.skip(1).collect()));
        }
        if bytes.starts_with(b"--=") {
            return rest.next().map(Word::Plain);
        }
        let raw = rest.peek()?.to_owned();
        let (name, long) = match self.parser.next().ok()?? {
            lexopt::Arg::Long(name) => (name.to_owned(), true),
            lexopt::Arg::Short(letter) => (letter.to_string(), false),
            lexopt::Arg::Value(word) => return Some(Word::Plain(word)),
        };
        let dashed = Dashed { name, value: self.parser.optional_value(), raw };
        Some(if long { Word::Long(dashed) } else { Word::Short(dashed) })
    }

    /// The next word as a value of the flag before it. None when there is none or when it is a long flag.
    pub(super) fn value(&mut self) -> Option<OsString> {
        self.parser.try_raw_args()?.next_if(|word| !word.as_bytes().starts_with(b"--"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(args: &[&str]) -> Vec<String> {
        let mut words = Words::new(args.iter().map(Into::into).collect());
        let mut seen = Vec::new();
        while let Some(word) = words.next() {
            seen.push(match word {
                Word::Long(Dashed { name, value, raw }) => format!("long {name} {value:?} {raw:?}"),
                Word::Short(Dashed { name, value, raw }) => format!("short {name} {value:?} {raw:?}"),
                Word::Plain(word) => format!("plain {word:?}"),
                Word::Rest(rest) => format!("rest {rest:?}"),
            });
        }
        seen
    }

    #[test]
    fn every_shape_is_told_apart() {
        assert_eq!(
            words(&["--a=b=c", "--d", "-v2", "-v=2", "-v", "x", "-", "", "--=x", "--", "--e", "--"]),
            [
                "long a Some(\"b=c\") \"--a=b=c\"",
                "long d None \"--d\"",
                "short v Some(\"2\") \"-v2\"",
                "short v Some(\"2\") \"-v=2\"",
                "short v None \"-v\"",
                "plain \"x\"",
                "plain \"-\"",
                "plain \"\"",
                "plain \"--=x\"",
                "rest [\"--e\", \"--\"]",
            ]
        );
    }

    #[test]
    fn an_empty_value_is_a_value() {
        assert_eq!(words(&["--a="]), ["long a Some(\"\") \"--a=\""]);
    }
}
