//! `minion`: parse, trace, dispatch, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let command = args.next().unwrap_or_default();
    let code = match command.to_str() {
        Some("rehearsal-init") => minion::rehearsal::init::main(args.collect()),
        Some("stand-in") => minion::rehearsal::stand_in::main(args.collect()),
        _ => 100,
    };
    ExitCode::from(code)
}
