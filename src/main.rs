//! `minion`: parse, trace, dispatch, exit code. The only place that prints or exits.

#[path = "main/setup.rs"]
mod setup;
#[path = "main/views.rs"]
mod views;

use minion::cli::{self, Command};
use minion::process::memory;
use minion::process::signals::{self, Signals, StartMask};
use minion::rehearsal;
use minion::task::ExitCode as Code;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    // First of all, whatever the command will be: a signal waits from here on. [KF-81]
    let mask = signals::block_all();
    let result = match cli::parse(std::env::args_os().skip(1)) {
        Ok(Command::Run(options)) => Ok(run(&options)),
        Ok(Command::Enter(options)) => Ok(views::enter(options)),
        Ok(command) => mask.and_then(StartMask::restore).map(|()| dispatch(command)),
        Err(usage) => {
            say(
                std::io::stderr(),
                &format!(
                    "{usage}
"
                ),
            );
            Ok(Code::Usage as u8)
        }
    };
    ExitCode::from(result.unwrap_or_else(|error| {
        say(std::io::stderr(), &format!("minion: {error}\n"));
        Code::Setup as u8
    }))
}

fn dispatch(command: Command) -> u8 {
    match command {
        Command::Run(options) => run(&options),
        Command::Demo(options) => demo(&options),
        Command::Containers(options) => views::containers(&options),
        Command::Logs(options) => views::logs(options),
        Command::Enter(options) => views::enter(options),
        Command::Help(text) | Command::Version(text) | Command::Completions(text) | Command::Man(text) => {
            say(std::io::stdout(), &text);
            0
        }
        Command::StandIn(args) => rehearsal::stand_in::main(args),
        Command::RehearsalInit(args) => rehearsal::init::main(args),
        Command::ProbeFile(args) => u8::from(!args.iter().all(|path| std::path::Path::new(path).exists())),
    }
}

/// The main job. A signal that comes during set-up waits for the loop.
fn run(options: &cli::RunOptions) -> u8 {
    memory::use_one_arena();
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

/// Best effort: a reader that went away (`minion --help | head -1`) is no failure.
fn say(mut to: impl Write, text: &str) {
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
