//! What holds for every command line, and the two number parsers against plain arithmetic.

use minion::cli::{self, Command};
use minion::hyperkube::duration::GoDuration;
use minion::hyperkube::{executor, quantity};
use proptest::prelude::*;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Words that look like the real ones, and words that do not.
fn word() -> impl Strategy<Value = Vec<u8>> {
    let known = cli::visible()
        .flat_map(|row| (row.flags)())
        .map(|about| about.name)
        .chain(executor::names().chain(executor::globals()).map(|(name, _)| name))
        .collect::<Vec<_>>();
    let value = prop_oneof![Just("1".to_owned()), Just("true".to_owned()), Just("10s".to_owned()), "[ -~]{0,8}"];
    let named = (prop::sample::select(known), value.clone());
    prop_oneof![
        named.prop_map(|(name, value)| format!("--{name}={value}").into_bytes()),
        "--[a-z-]{1,12}".prop_map(String::into_bytes),
        value.prop_map(String::into_bytes),
        prop::sample::select(vec!["--", "-", "-v", "-v2", "-h", "--help", ""])
            .prop_map(|word| word.as_bytes().to_vec()),
        prop::collection::vec(1_u8..=255, 0..10),
    ]
}

fn parse(words: &[Vec<u8>]) -> Result<Command, cli::Usage> {
    cli::parse(words.iter().map(|word| OsString::from_vec(word.clone())))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_command_line_panics(words in prop::collection::vec(word(), 0..8)) {
        match parse(&words) {
            Ok(_) => {}
            Err(usage) => prop_assert_eq!(usage.to_string().lines().count(), 2),
        }
    }

    #[test]
    fn unknown_flags_and_what_follows_two_dashes_keep_their_bytes(
        // No flag of minion is near: none holds a byte beyond ASCII or starts with zz.
        flags in prop::collection::vec(prop::collection::vec((1_u8..=255).prop_filter("=", |b| *b != b'='), 0..12), 0..6),
        values in prop::collection::vec(prop::option::of(prop::collection::vec(1_u8..=255, 0..12)), 6),
        rest in prop::collection::vec(prop::collection::vec(1_u8..=255, 0..12), 0..4),
    ) {
        let flags: Vec<Vec<u8>> = flags.into_iter().zip(values).map(|(name, value)| {
            let mut word = b"--zzzzzzzz".to_vec();
            word.extend(name);
            if let Some(value) = value {
                word.push(b'=');
                word.extend(value);
            }
            word
        }).collect();
        let words = [&[b"run".to_vec()][..], &flags, &[b"--".to_vec()], &rest].concat();
        let Ok(Command::Run(options)) = parse(&words) else {
            return Err(TestCaseError::fail(format!("{words:?} refused")));
        };
        let bytes = |args: &[OsString]| args.iter().map(|arg| arg.as_bytes().to_vec()).collect::<Vec<_>>();
        prop_assert_eq!(bytes(&options.profile.executor_args), flags);
        prop_assert_eq!(bytes(&options.profile.trailing_args), rest);
    }

    #[test]
    fn executor_flags_keep_order_and_bytes_in_both_forms(
        chosen in prop::collection::vec((prop::sample::select(text_flags()), "[a-z0-9=:/.]{0,8}", any::<bool>()), 0..8),
    ) {
        let words: Vec<String> = chosen.iter().flat_map(|(name, value, together)| {
            if *together { vec![format!("--{name}={value}")] } else { vec![format!("--{name}"), value.clone()] }
        }).collect();
        let args = words.iter().map(OsString::from);
        let Ok(Command::Run(options)) = cli::parse(std::iter::once("run".into()).chain(args)) else {
            return Err(TestCaseError::fail(format!("{words:?} refused")));
        };
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        prop_assert_eq!(&options.profile.executor_args, &words);
    }

    #[test]
    fn quantities_are_exact(whole in 0_u64..1 << 40, thousandths in 0_u128..1000, suffix in 0_usize..10) {
        let (name, factor) = [
            ("", 1), ("k", 1000), ("M", 1_000_000), ("G", 1_000_000_000), ("e3", 1000), ("E+2", 100),
            ("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("Ti", 1_u128 << 40),
        ][suffix];
        let exact = (u128::from(whole) * 1000 + thousandths) * factor;
        let expected = i64::try_from(exact.div_ceil(1000)).unwrap_or(i64::MAX);
        prop_assert_eq!(quantity::parse(&format!("{whole}.{thousandths:03}{name}")), Some(expected));
    }

    #[test]
    fn no_text_panics_the_number_parsers(text in "[-+0-9.eEimkKMGTPhsu_x\u{b5}]{0,24}") {
        let _ = (quantity::parse(&text), GoDuration::parse(&text));
    }

    #[test]
    fn durations_print_as_what_they_were(nanos in any::<i64>()) {
        let printed = GoDuration::from_nanos(nanos).to_string();
        prop_assert_eq!(GoDuration::parse(&printed), Some(GoDuration::from_nanos(nanos)), "{}", printed);
    }

    #[test]
    fn durations_are_the_sum_of_their_parts(h in 0_i64..1000, m in 0_i64..1000, s in 0_i64..1000, ms in 0_i64..1000) {
        let expected = ((h * 60 + m) * 60 + s) * 1_000_000_000 + ms * 1_000_000;
        let apart = GoDuration::parse(&format!("{h}h{m}m{s}s{ms}ms"));
        let joined = GoDuration::parse(&format!("{h}h{m}m{s}.{ms:03}s"));
        prop_assert_eq!(apart, Some(GoDuration::from_nanos(expected)));
        prop_assert_eq!(joined, apart);
    }
}

fn text_flags() -> Vec<&'static str> {
    use minion::hyperkube::value::Kind;
    executor::names().filter(|(_, kind)| *kind == Kind::Text).map(|(name, _)| name).collect()
}
