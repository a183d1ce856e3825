//! The README says what the program does: its tables are compared with the program, its examples are understood by it, or
//! are files that other tests run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers fail as tests do")]

mod common;

use common::keys::every_key;
use minion::cli::{self, Command};
use minion::task::ExitCode;
use std::fs;
use std::path::Path;
use std::process::Command as Process;

fn readme() -> String {
    fs::read_to_string("README.md").unwrap()
}

/// The text between a heading and the next one of the same or a higher rank.
fn section(heading: &str) -> String {
    let text = readme();
    let (_, rest) = text.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    rest.split("\n## ").next().unwrap().to_owned()
}

/// The blocks of code in a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("\n```{language}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap().to_owned()).collect()
}

/// The first cells of a table's rows.
fn first_cells(text: &str) -> Vec<String> {
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| row.split('|').nth(1).unwrap().trim().to_owned()).collect()
}

#[test]
fn the_table_of_flags_is_the_programs_own_and_says_what_the_help_says() {
    let table = cli::flags_markdown("run").unwrap();
    assert!(section("Flags").contains(&table), "put this into the README:\n{table}");
    let help = cli::help_text(Some("run")).unwrap();
    for row in table.lines().filter(|row| row.starts_with("| `")) {
        let flag = row.split('`').nth(1).unwrap().replace("\\|", "|");
        assert!(help.contains(&flag), "{flag}");
    }
}

#[test]
fn the_flags_that_supervise_has_of_its_own_are_in_a_table_too() {
    let of_run = cli::flags_markdown("run").unwrap();
    let of_supervise = cli::flags_markdown("supervise").unwrap();
    let own: String = of_supervise.lines().filter(|row| !of_run.lines().any(|other| other == *row)).fold(
        String::from("| flag of `minion supervise` | default | meaning |\n|---|---|---|\n"),
        |table, row| {
            if row.starts_with("| `") { table + row + "\n" } else { table }
        },
    );
    assert!(section("Flags").contains(&own), "put this into the README:\n{own}");
}

/// The keys in a text's code: `nice`, `[log]`, and those of `{ starts = 5, within = "1m" }`. Values are none.
fn keys_in(text: &str) -> Vec<String> {
    let bare = |text: &str| text.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
    let keys = |code: &str| -> Vec<String> {
        if !code.contains('=') {
            return vec![bare(code)];
        }
        code.split(',').filter_map(|pair| Some(bare(pair.split_once('=')?.0))).collect()
    };
    text.split('`').skip(1).step_by(2).flat_map(keys).collect()
}

#[test]
fn every_key_of_the_file_is_told() {
    let section = section("Keys of the file");
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).collect();
    let of = |name: &str| -> Vec<&str> {
        let is_of = |row: &&str| keys_in(row.split('|').nth(1).unwrap()).iter().any(|key| key == name);
        rows.iter().copied().filter(is_of).collect()
    };
    for key in every_key() {
        let name = key.about.name;
        let parent = key.path.rsplit('.').nth(1).unwrap_or_default();
        let by_parent = of(parent).into_iter().any(|row| keys_in(row).iter().any(|key| key == name));
        assert!(by_parent || !of(name).is_empty(), "{}", key.path);
    }
}

#[test]
fn the_examples_of_files_are_the_files_that_other_tests_run() {
    let text = readme();
    let of_files = |language: &str| -> Vec<String> {
        let files = fs::read_dir("tests/examples").unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.to_str().unwrap().ends_with(language));
        files.map(|path| fs::read_to_string(path).unwrap().trim_end().to_owned()).collect()
    };
    let (files, apps) = (of_files(".toml"), of_files(".marathon.json"));
    let told = [blocks(&text, "toml"), blocks(&section("Examples"), "json")];
    assert!(told[0].iter().all(|block| files.contains(block)), "{:#?}", told[0]);
    assert!(told[1].iter().all(|block| apps.contains(block)), "{:#?}", told[1]);
    assert_eq!([told[0].len(), told[1].len()], [files.len(), apps.len()], "an example that is not told");
}

/// What the README says of a code. A new one does not compile without a row.
fn words(code: ExitCode) -> &'static str {
    match code {
        ExitCode::Stopped => "told to stop, and everything has stopped",
        ExitCode::Usage => "the command line is wrong",
        ExitCode::Setup => "set-up failed",
        ExitCode::Failed => "health, readiness or start limit",
        ExitCode::Survivors => "could not be ended",
    }
}

#[test]
fn the_table_of_exit_codes_has_each_code_of_the_program() {
    let codes = [ExitCode::Stopped, ExitCode::Usage, ExitCode::Setup, ExitCode::Failed, ExitCode::Survivors];
    let section = section("Exit codes");
    for code in codes {
        let row = section.lines().find(|line| line.starts_with(&format!("| {} |", code as u8))).unwrap();
        assert!(row.contains(words(code)), "{row}");
    }
    let told = first_cells(&section);
    let rest = &told[codes.len()..];
    assert_eq!(rest, ["the executor's own", "128+n"], "{told:?}");
}

#[test]
fn help_names_the_exit_codes_too() {
    let help = cli::help_text(None).unwrap();
    for text in [help, cli::help_text(Some("run")).unwrap(), cli::help_text(Some("supervise")).unwrap()] {
        for code in ["128+n", "  0: ", "100: ", "111: ", "112: ", "113: "] {
            assert!(text.contains(code), "{code}");
        }
    }
}

#[test]
fn a_refused_command_line_exits_with_100_and_whole_lines() {
    let output = Process::new(env!("CARGO_BIN_EXE_minion")).arg("--max-log-siez=1").output().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(ExitCode::Usage as u8)));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.ends_with('\n') && said.lines().count() == 2, "{said:?}");
}

#[test]
fn the_quick_start_is_two_commands() {
    let start = &blocks(&section("Quick start"), "sh")[0];
    let commands: Vec<&str> = start.lines().map(|line| line.split(" #").next().unwrap().trim()).collect();
    assert_eq!(commands, ["cargo run --release -- demo", "cargo test"]);
}

fn understood(arguments: &str) {
    let words = arguments.split_whitespace().map(std::ffi::OsString::from);
    match cli::parse(words) {
        Ok(Command::Run(options)) => assert_eq!(options.common.notices, [] as [String; 0], "{arguments}"),
        other => panic!("{arguments}: {other:?}"),
    }
}

#[test]
fn the_examples_of_an_agent_are_command_lines_that_are_understood() {
    let section = section("Under an agent");
    let app: serde_json::Value = serde_json::from_str(&blocks(&section, "json")[0]).unwrap();
    assert_eq!(app["executor"], "./minion");
    understood(app["cmd"].as_str().unwrap());
    let execute = blocks(&section, "sh").into_iter().find(|block| block.contains("mesos-execute")).unwrap();
    let command = execute.split("/usr/local/bin/minion ").nth(1).unwrap();
    understood(command.trim_end_matches('\''));
}

#[test]
fn files_that_it_names_exist() {
    let text = readme();
    let words = text.split(['`', ' ', '(', ')', ',', ';', '\n']);
    let ours = words.filter(|word| ["src/", "tests/", "vendor-notes/", ".ci/"].iter().any(|top| word.starts_with(top)));
    for word in ours {
        assert!(Path::new(word.trim_end_matches(['.', ':'])).exists(), "{word}");
    }
    assert!(Path::new("LICENSE").exists());
}

#[test]
fn the_code_maps_have_every_module() {
    let library = fs::read_to_string("src/lib.rs").unwrap();
    for module in library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')) {
        assert!(library.contains(&format!("//! | [`{module}`] |")), "{module}");
    }
    let map = section("Code map");
    for entry in fs::read_dir("src").unwrap() {
        let path = entry.unwrap().path();
        let name = format!("`{}{}`", path.display(), if path.is_dir() { "/" } else { "" });
        assert!(map.contains(&name), "{name}");
    }
}

#[test]
fn the_table_of_commands_is_the_programs_own() {
    let rows: Vec<String> =
        cli::visible().map(|row| format!("| `minion {}` | {} |\n", row.name, row.summary)).collect();
    let table = format!("| command | what it does |\n|---|---|\n{}", rows.concat());
    assert!(section("Contents").contains(&table), "put this into the README:\n{table}");
}

#[test]
fn lines_fit_into_120_columns() {
    let text = readme();
    let long: Vec<&str> = text.lines().filter(|line| !line.starts_with('|') && line.chars().count() > 120).collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn links_lead_to_headings() {
    let text = readme();
    // As GitHub makes them: small letters, hyphens for spaces, no punctuation.
    let kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
    let anchor = |heading: &str| heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-");
    let anchors: Vec<String> = text.lines().filter_map(|line| line.strip_prefix("## ")).map(anchor).collect();
    for link in text.split("](#").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        assert!(anchors.iter().any(|anchor| anchor == link), "{link}");
    }
}
