//! Whatever the text: no panic, and each place is one of the text.

use super::{Machine, outputs};
use minion::mesos::secret;
use proptest::prelude::*;
use std::ffi::OsStr;

/// Texts that are nearly a file.
fn nearly() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("[executor]\n"),
        Just("[[sidecar]]\n"),
        Just("[log]\n"),
        Just("command = [\"sh\"]\n"),
        Just("name = \"a\"\n"),
        Just("name = \"b\"\n"),
        Just("after = [\"a\", \"b\"]\n"),
        Just("after = [\"executor\"]\n"),
        Just("readiness = { fd = 3 }\n"),
        Just("health = {}\n"),
        Just("limits = { nofile = \"1:\" }\n"),
        Just("environment.é = 1\n"),
        Just("start-limit.starts = 0x7fffffffffffffff\n"),
        Just("user = -1\n"),
        Just("nice = \n"),
        Just("\u{feff}"),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Loads, and looks at the places of what is refused.
fn load(text: &str) -> Result<(), TestCaseError> {
    let lines = text.split('\n').count();
    for problem in Machine::new().load(text).err().unwrap_or_default() {
        prop_assert!(problem.line.is_none_or(|line| (1..=lines).contains(&line)), "{problem}");
        prop_assert!(problem.column >= 1 && !problem.message.is_empty(), "{problem}");
        prop_assert!(!problem.to_string().contains('\n'), "{problem}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        load(&text)?;
    }

    #[test]
    fn no_near_file_panics(text in nearly()) {
        load(&text)?;
    }

    #[test]
    fn no_value_panics(key in "[a-z-]{1,18}", value in "[-0-9a-zA-Z.:/\"\\[\\]{}= ]{0,24}") {
        load(&super::beside_executor(&format!("{key} = {value}")))?;
        load(&super::beside_executor(&format!("readiness = {{ {key} = {value} }}")))?;
    }

    #[test]
    fn every_argument_survives_being_printed(word in "[^\0]{0,24}") {
        prop_assume!(secret::shown_word(OsStr::new(&word)) == OsStr::new(&word));
        let args = ["--api-servers=a:1", "--", "word", &word];
        let (again, loaded) = outputs::round_trip(&args);
        prop_assert_eq!(again, loaded);
    }
}
