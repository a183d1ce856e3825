//! `minion`: parse, trace, dispatch, exit code. The only place that prints or exits.

#[path = "main/setup.rs"]
mod setup;
#[path = "main/tools.rs"]
mod tools;

use minion::cli::{self, Command};
use minion::error::Result;
use minion::inspect::Answer;
use minion::process::signals::Signals;
use minion::process::startup;
use minion::rehearsal;
use minion::task::ExitCode as Code;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(match cli::parse(std::env::args_os().skip(1)) {
        Ok(command) => dispatch(command),
        Err(usage) => {
            say(std::io::stderr(), &usage.to_string());
            Code::Usage as u8
        }
    })
}

fn dispatch(command: Command) -> u8 {
    match command {
        Command::Run(options) => run(&options),
        Command::Demo(options) => demo(&options),
        Command::Doctor(options) => answer(tools::doctor(&options)),
        Command::Inspect(options) => answer(tools::look(options, true)),
        Command::Why(options) => answer(tools::look(options, false)),
        Command::Attach(options) => answer(tools::attach(options)),
        Command::Help(text) | Command::Version(text) | Command::Completions(text) | Command::Man(text) => {
            say(std::io::stdout(), &text);
            0
        }
        Command::StandIn(args) => rehearsal::stand_in::main(args),
        Command::RehearsalInit(args) => rehearsal::init::main(args),
    }
}

/// The main job. Signals are taken first: one that comes during set-up waits for the loop.
fn run(options: &cli::RunOptions) -> u8 {
    startup::use_one_arena();
    let prepared = Signals::take_over().and_then(|signals| setup::prepare(options, signals));
    match prepared {
        Ok(code) => code,
        Err(error) => {
            say(std::io::stderr(), &format!("minion: {error}\n"));
            Code::Setup as u8
        }
    }
}

fn demo(options: &cli::DemoOptions) -> u8 {
    let minion = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
    match rehearsal::demo::run(
        &rehearsal::demo::Options { keep: options.keep, ..Default::default() },
        &minion,
        &mut std::io::stdout(),
    ) {
        Ok(code) => code,
        Err(error) => {
            say(std::io::stderr(), &format!("minion: demo: {error}\n"));
            1
        }
    }
}

/// What a reading command found; 2 where it could not find anything out.
fn answer(answer: Result<Answer>) -> u8 {
    match answer {
        Ok(answer) => {
            say(std::io::stdout(), &answer.text);
            answer.code
        }
        Err(error) => {
            say(std::io::stderr(), &format!("minion: {error}\n"));
            2
        }
    }
}

/// Best effort: a reader that went away (`minion --help | head -1`) is no failure.
fn say(mut to: impl Write, text: &str) {
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
