//! `minion`: parse, trace, dispatch, exit code. The only place that prints or exits.

#[path = "main/checks.rs"]
mod checks;
#[path = "main/file.rs"]
mod file;
#[path = "main/front.rs"]
mod front;
#[path = "main/setup.rs"]
mod setup;
#[path = "main/tools.rs"]
mod tools;
#[path = "main/views.rs"]
mod views;

use minion::cli::{self, Command};
use minion::control::client::{self, Finding};
use minion::error::{Error, Result};
use minion::inspect::Answer;
use minion::process::memory;
use minion::process::signals::{self, Signals, StartMask};
use minion::rehearsal;
use minion::render::{self, Screen};
use minion::task::ExitCode as Code;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Nothing could be told, or not all of it.
const CANNOT_TELL: u8 = 2;

fn main() -> ExitCode {
    // First of all, whatever the command will be: a signal waits from here on. [KF-81]
    let mask = signals::block_all();
    let result = match cli::parse(std::env::args_os().skip(1)) {
        Ok(Command::Run(options)) if !options.print_config => Ok(run(&options)),
        Ok(Command::Supervise(options)) if !options.check => Ok(supervise(&options)),
        Ok(Command::Enter(options)) => Ok(views::enter(options)),
        Ok(command) => mask.and_then(StartMask::restore).map(|()| dispatch(command)),
        Err(usage) => {
            to_stderr(&format!("{usage}\n"));
            Ok(Code::Usage as u8)
        }
    };
    ExitCode::from(result.unwrap_or_else(|error| {
        complain(&error);
        Code::Setup as u8
    }))
}

fn dispatch(command: Command) -> u8 {
    match command {
        Command::Run(options) => print_config(&options),
        Command::Supervise(options) => check(&options),
        Command::Demo(options) => demo(&options),
        Command::Control(options) => control(&options),
        Command::Doctor(options) => answer(Ok(tools::doctor(&options))),
        Command::Inspect(options) => answer(tools::look(options, true)),
        Command::Why(options) => answer(tools::look(options, false)),
        Command::Attach(options) => answer(tools::attach(options)),
        Command::Containers(options) => views::containers(&options),
        Command::Logs(options) => views::logs(&options),
        Command::Enter(options) => views::enter(options),
        Command::Help(text)
        | Command::Version(text)
        | Command::Schema(text)
        | Command::Completions(text)
        | Command::Man(text) => tell(&text, 0),
        Command::StandIn(args) => rehearsal::stand_in::main(args),
        Command::RehearsalInit(args) => rehearsal::init::main(args),
        Command::ProbeUnix(args) => probe_unix(&args),
        Command::ProbeFile(args) => u8::from(!args.iter().all(|path| std::path::Path::new(path).exists())),
    }
}

fn probe_unix(args: &[OsString]) -> u8 {
    let tried = args.iter().try_for_each(|path| minion::supervisor::connect_unix(Path::new(path)));
    tried.map_or_else(|error| error.raw_os_error().and_then(|errno| u8::try_from(errno).ok()).unwrap_or(1), |()| 0)
}

/// The main job with the two children of the original.
fn run(options: &cli::RunOptions) -> u8 {
    keep(&options.common, &setup::FrontEnd { load: &|machine| front::profile(options, machine), needs_km: true })
}

/// The main job with any executor.
fn supervise(options: &cli::SuperviseOptions) -> u8 {
    match front::configured(options) {
        Ok(loaded) => keep(&options.common, &setup::FrontEnd { load: &|_| Ok(loaded.clone()), needs_km: false }),
        Err(refused) => refuse(&refused),
    }
}

/// The supervisor, whatever the front end. A signal that comes during set-up waits for the loop.
fn keep(options: &cli::CommonOptions, front: &setup::FrontEnd<'_>) -> u8 {
    memory::use_one_arena();
    let prepared = Signals::take_over().and_then(|signals| setup::prepare(options, front, signals));
    match prepared {
        Ok(code) => code,
        Err(error) => {
            complain(&error);
            Code::Setup as u8
        }
    }
}

fn check(options: &cli::SuperviseOptions) -> u8 {
    match front::check(options) {
        Ok(plan) => tell(&plan, 0),
        Err(refused) => refuse(&refused),
    }
}

fn refuse(refused: &front::Refused) -> u8 {
    refused.lines.iter().for_each(complain);
    refused.code as u8
}

fn print_config(options: &cli::RunOptions) -> u8 {
    match front::print_config(options) {
        Ok((text, told)) => {
            let code = tell(&text, 0);
            for line in &told {
                complain(line);
            }
            code
        }
        Err(error) => {
            complain(&error);
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
            complain(&error.while_doing("demo"));
            1
        }
    }
}

/// Asks a running minion.
fn control(options: &cli::ControlOptions) -> u8 {
    match client::run(&options.which, &options.verb, Screen::of_stdout, &mut std::io::stdout()) {
        Ok(finding) => finding as u8,
        Err(error) => {
            complain(&error);
            Finding::Unknown as u8
        }
    }
}

/// What a reading command found; 2 where it could not find anything out.
fn answer(answer: Result<Answer>) -> u8 {
    match answer {
        Ok(answer) => tell(&answer.text, answer.code),
        Err(error) => {
            complain(&error);
            CANNOT_TELL
        }
    }
}

/// Prints, and gives the code. A reader that went away (`minion --help | head -1`) has read enough; what else keeps the text
/// from arriving is told, and is a code of its own: a file that lacks its end must not look whole.
fn tell(text: &str, code: u8) -> u8 {
    let mut stdout = std::io::stdout();
    let text = render::spelled(text);
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            complain(&Error::io("write to", "standard output", error));
            CANNOT_TELL
        }
        Ok(()) | Err(_) => code,
    }
}

/// Says what went wrong, on standard error. Every such line comes through here: names of files, and what other processes
/// say, are in them.
fn complain(what: &(impl Display + ?Sized)) {
    to_stderr(&format!("minion: {}\n", render::clean_lines(&what.to_string())));
}

/// Best effort: nobody is left who could be told that it failed.
fn to_stderr(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
