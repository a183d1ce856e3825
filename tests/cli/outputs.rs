//! Help, completions and manual pages: complete, in shape, and free of faults where the tool that reads them is at hand.

use super::parse;
use minion::cli::{self, About, Command, RunOptions, Value, visible};
use minion::config::{Keeping, STALL};
use minion::hyperkube::executor;
use std::io::Write;
use std::process::{Command as Process, Stdio};

fn text(args: &[&str]) -> String {
    match parse(args) {
        Ok(Command::Help(text) | Command::Man(text) | Command::Completions(text)) => text,
        other => panic!("{args:?}: {other:?}"),
    }
}

fn flags() -> impl Iterator<Item = (&'static str, &'static About)> {
    visible().flat_map(|row| (row.flags)().into_iter().map(|about| (row.name, about)))
}

/// Feeds `script` to a program, which must end with 0 and say nothing. None where there is no such program.
fn accepted(program: &str, args: &[&str], script: &str) -> Option<()> {
    let child =
        Process::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        skip(program, "it is not on this machine");
        return None;
    };
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{program} {args:?}: {} {said}", output.status);
    Some(())
}

/// Says that a test goes without a program; fails where `MINION_TEST_REQUIRE` names it.
fn skip(program: &str, reason: &str) {
    let test = std::thread::current().name().unwrap_or("test").to_owned();
    let required = std::env::var("MINION_TEST_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name == program), "{test} needs {program}: {reason}");
    eprintln!("SKIP {test}: {program} ({reason})");
}

/// What a program prints for a script; None where there is no such program.
fn answer(program: &str, script: &str) -> Option<String> {
    match Process::new(program).args(["-c", script]).output() {
        Ok(output) => {
            assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{program}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) => {
            skip(program, &error.to_string());
            None
        }
    }
}

#[test]
fn help_fits_80_columns_and_has_no_trailing_space() {
    let overview = cli::help_text(None).unwrap();
    let all = visible().map(|row| cli::help_text(Some(row.name)).unwrap()).chain([overview]);
    for line in all.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()) {
        assert!(line.chars().count() <= 80, "{line}");
        assert_eq!(line, line.trim_end());
    }
}

#[test]
fn help_names_every_flag_with_its_default_and_its_meaning() {
    for (command, about) in flags() {
        let help = cli::help_text(Some(command)).unwrap();
        let words: Vec<&str> = help.split_ascii_whitespace().collect();
        let words = words.join(" ");
        assert!(about.help.len() > 10 && about.help.ends_with('.'), "{}", about.name);
        assert!(words.contains(about.help), "{}", about.name);
        assert!(words.contains(&about.spelled()), "{}", about.name);
        if !about.default.is_empty() {
            assert!(words.contains(&format!("{} (default {})", about.help, about.default)), "{}", about.name);
        }
    }
}

#[test]
fn help_of_run_says_what_happens_to_executor_flags_and_ends_with_two_examples() {
    let help = text(&["run", "--help"]);
    assert!(help.contains("\nExecutor flags:\n"));
    let (_, examples) = help.split_once("\nExamples:\n").unwrap();
    assert_eq!(examples.lines().filter(|line| line.trim_start().starts_with('#')).count(), 2);
    for row in visible() {
        assert_eq!(row.examples.len(), 2, "{}", row.name);
    }
    assert!(text(&["--help"]).contains("\nCommands:\n"));
}

#[test]
fn the_examples_of_the_help_are_command_lines_that_are_understood() {
    for example in visible().flat_map(|row| row.examples) {
        let line = example.0.split(['|', '>']).next().unwrap();
        let args: Vec<&str> = line.split_ascii_whitespace().skip(1).collect();
        assert!(parse(&args).is_ok(), "{line}");
    }
}

#[test]
fn only_commands_that_exist_are_listed() {
    let names: Vec<&str> = visible().map(|row| row.name).collect();
    assert_eq!(
        names,
        [
            "run",
            "supervise",
            "demo",
            "status",
            "events",
            "restart",
            "stop",
            "start",
            "signal",
            "metrics",
            "doctor",
            "inspect",
            "why",
            "attach",
            "containers",
            "logs",
            "enter",
            "completions",
            "man",
            "help"
        ]
    );
    for text in [text(&["--help"]), text(&["man"]), text(&["completions", "bash"])] {
        assert!(!text.contains("stand-in") && !text.contains("rehearsal"));
    }
}

#[test]
fn every_default_in_the_help_is_the_default() {
    // A flag of the logs that is not given leaves it to a file, which `run` has not.
    let whole = |mut options: RunOptions| {
        let keeping = Keeping::of(std::mem::take(&mut options.common.log));
        let stall = options.common.log_stall.take().unwrap_or(STALL);
        (options, keeping, stall)
    };
    let plain = whole(super::run(&["run"]));
    for (_, about) in flags().filter(|(command, about)| *command == "run" && !about.default.is_empty()) {
        let mut given = super::run(&["run", &format!("--{}={}", about.name, about.default)]);
        // What is forwarded is there or not, and the container's flag remembers that it was written out.
        given.profile.executor_args.clear();
        given.profile.contain_pod_resources = given.profile.contain_pod_resources.filter(|given| !given);
        assert_eq!(whole(given), plain, "{}", about.name);
    }
}

#[test]
fn every_flag_is_in_the_completions_of_each_shell() {
    let [bash, zsh, fish] = ["bash", "zsh", "fish"].map(|shell| text(&["completions", shell]));
    for (_, about) in flags() {
        let value = if about.value == Value::Switch { "" } else { "=" };
        assert!(bash.contains(&format!("--{}{value}", about.name)), "{}", about.name);
        assert!(zsh.contains(&format!("'--{}{value}[", about.name)), "{}", about.name);
        assert!(fish.contains(&format!(" -l {} ", about.name)), "{}", about.name);
    }
    for (name, _) in executor::names() {
        assert!(bash.contains(&format!("--{name}")) && zsh.contains(name) && fish.contains(name), "{name}");
    }
}

#[test]
fn bash_loads_the_completions_and_offers_what_fits() {
    let script = text(&["completions", "bash"]);
    if accepted("bash", &["-n"], &script).is_none() {
        return;
    }
    let complete = |words: &str, at: usize| {
        let ask =
            format!("{script}\nCOMP_WORDS=({words}) COMP_CWORD={at}; _minion; printf '%s\\n' \"${{COMPREPLY[@]}}\"");
        answer("bash", &ask).unwrap()
    };
    assert_eq!(complete("minion d", 1), "demo\ndoctor\n");
    assert_eq!(complete("minion --max-log-s", 1), "--max-log-size=\n");
    assert_eq!(complete("minion run --stdout = s", 4), "separate\n");
    assert_eq!(complete("minion run --stdout =", 3), "merge\nseparate\ndiscard\n");
    assert_eq!(complete("minion run --stdout d", 3), "discard\n");
    assert_eq!(complete("minion run --run-proxy = f", 4), "false\n");
    assert_eq!(complete("minion run --run-proxy f", 3), "\n");
    assert_eq!(complete("minion completions f", 2), "fish\n");
    assert_eq!(complete("minion demo --k", 2), "--keep\n");
    assert_eq!(complete("minion run --max-pod", 2), "--max-pods=\n");
}

#[test]
fn zsh_loads_the_completions() {
    let script = text(&["completions", "zsh"]);
    if accepted("zsh", &["-n"], &script).is_none() {
        return;
    }
    let defined =
        answer("zsh", &format!("autoload -U compinit; compinit -D; {script}\nprint $_comps[minion]")).unwrap();
    assert_eq!(defined, "_minion\n");
}

#[test]
fn fish_loads_the_completions_and_offers_what_fits() {
    let script = text(&["completions", "fish"]);
    if accepted("fish", &["--no-execute"], &script).is_none() {
        return;
    }
    let complete = |line: &str| {
        let offered = answer("fish", &format!("{script}\ncomplete -C '{line}'")).unwrap();
        offered.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(complete("minion dem"), ["demo"]);
    assert_eq!(complete("minion --max-log-s"), ["--max-log-size"]);
    assert_eq!(complete("minion run --stdout="), ["--stdout=discard", "--stdout=merge", "--stdout=separate"]);
    assert_eq!(complete("minion completions z"), ["zsh"]);
    assert_eq!(complete("minion demo --ke"), ["--keep"]);
}

#[test]
fn every_flag_is_in_a_manual_page() {
    for (command, about) in flags() {
        let page = text(&["man", command]);
        assert!(page.contains(&format!("\\-\\-{}", about.name.replace('-', "\\-"))), "{}", about.name);
    }
    let page = text(&["man", "run"]);
    for (name, _) in executor::names().chain(executor::globals()) {
        assert!(page.contains(&format!("\\-\\-{}=", name.replace('-', "\\-"))), "{name}");
    }
}

#[test]
fn manual_pages_render_without_warnings() {
    for page in [text(&["man"])].into_iter().chain(visible().map(|row| text(&["man", row.name]))) {
        assert!(page.starts_with(".TH MINION"));
        assert!(page.contains(".SH NAME\nminion") && page.contains(".SH SYNOPSIS\n"));
        if accepted("groff", &["-man", "-ww", "-z", "-Tutf8"], &page).is_none() {
            return;
        }
    }
}

#[test]
fn the_readme_table_has_every_flag() {
    let table = cli::flags_markdown("run").unwrap();
    for (_, about) in flags().filter(|(command, _)| *command == "run") {
        assert!(table.contains(&about.spelled().replace('|', "\\|")), "{}", about.name);
    }
    assert_eq!(cli::flags_markdown("stand-in"), None);
}
