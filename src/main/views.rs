//! From options to the commands that show containers and logs, and to the one that enters a task.

use super::CANNOT_TELL;
use super::tools::ask;
use minion::cli::{ContainersOptions, EnterOptions, LogsOptions, Since, SortKey};
use minion::error::Error;
use minion::inspect::containers::{self, Order};
use minion::inspect::enter;
use minion::inspect::logs::{self, Request};
use minion::log::Stamp;
use minion::process::memory;
use minion::render::Screen;
use std::fs::File;

/// The task could not be entered: what `chroot`, `env` and container runtimes exit with.
const NOT_ENTERED: u8 = 125;

pub(crate) fn containers(options: &ContainersOptions) -> u8 {
    let order = match options.sort {
        SortKey::Id => Order::Id,
        SortKey::Pids => Order::Pids,
        SortKey::Memory => Order::Memory,
        SortKey::Cpu => Order::Cpu,
        SortKey::Oom => Order::Oom,
    };
    let root = options.root.as_deref();
    if options.watch {
        return match containers::watch(root, order) {
            Ok(()) => 0,
            Err(error) => failed(&error, CANNOT_TELL),
        };
    }
    match containers::survey(root) {
        Ok(mut survey) => {
            survey.sort(order);
            let text = if options.json { survey.json() } else { survey.page(&Screen::of_stdout()) };
            super::tell(&text, survey.code())
        }
        Err(error) => failed(&error, CANNOT_TELL),
    }
}

pub(crate) fn logs(options: &LogsOptions) -> u8 {
    let since = options.since.map(|since| match since {
        Since::Moment(millis) => Stamp::from_millis(millis),
        Since::Ago(span) => {
            let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
            Stamp::from_millis(Stamp::now().millis().saturating_sub(millis))
        }
    });
    let stdout = rustix::stdio::stdout();
    let request = Request {
        follow: options.follow,
        lines: options.lines,
        since,
        clean: !options.raw && rustix::termios::isatty(stdout),
    };
    let mut code = 0;
    let copied = logs::sandbox(&options.task, options.sandbox.as_deref()).and_then(|sandbox| {
        let duplicate =
            stdout.try_clone_to_owned().map_err(|cause| Error::io("duplicate", "standard output", cause))?;
        let mut broken = |error: &Error| code = failed(error, CANNOT_TELL);
        logs::copy(&sandbox, &options.task, &request, &mut File::from(duplicate), &mut broken)
    });
    copied.map_or_else(|error| failed(&error, CANNOT_TELL), |()| code)
}

/// All signals are blocked: the entered command has them, not this process.
pub(crate) fn enter(options: EnterOptions) -> u8 {
    memory::use_one_arena();
    let EnterOptions { target, as_user, command, mark } = options;
    let request = enter::Request { target, ask, as_user, command, mark, notice };
    match enter::enter(&request) {
        Ok(ending) => {
            ending.complaints.iter().for_each(|complaint| {
                failed(complaint, 0);
            });
            ending.code
        }
        Err(error) => failed(&error, NOT_ENTERED),
    }
}

fn notice(line: &str) {
    super::complain(line);
}

fn failed(error: &Error, code: u8) -> u8 {
    super::complain(error);
    code
}
