//! A harness for tests that must run in a process with one thread: the usual one starts a thread for each test.
//!
//! A test file that uses it has `harness = false` in Cargo.toml, tables of its tests and roles, and one line of `main`.

use std::env;
use std::process::Command;

const ROLE: &str = "MINION_TEST_ROLE";

/// A test, or what a process does that a test starts: its name and what to call.
pub type Named = (&'static str, fn());

/// Runs the tests one after another in this thread, or the role that the environment names.
///
/// Understands what `cargo test` and nextest pass: filters, `--exact`, `--list`.
#[allow(clippy::print_stdout, reason = "a harness prints")]
pub fn main(tests: &[Named], roles: &[Named]) {
    if let Ok(role) = env::var(ROLE) {
        return roles.iter().find(|(name, _)| *name == role).expect("a known role").1();
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |name: &str| {
        filters.is_empty()
            || filters.iter().any(|filter| if has("--exact") { name == *filter } else { name.contains(*filter) })
    };
    // None is ignored, and `terse` after --format is no filter.
    let (list, none) = (has("--list"), has("--ignored"));
    let mut passed = 0;
    for (name, test) in tests {
        if list && !none {
            println!("{name}: test");
        } else if !list && !none && wanted(name) {
            test();
            println!("test {name} ... ok");
            passed += 1;
        }
    }
    if !list {
        println!("test result: ok. {passed} passed; 0 failed");
    }
}

/// This program once more, to play a role.
pub fn again(role: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("a program has a path"));
    command.env(ROLE, role);
    command
}

/// A role in a process of its own, which has to succeed.
pub fn run(role: &str) {
    let status = again(role).status().unwrap();
    assert!(status.success(), "{role}: {status}");
}
