//! The terminal, for as long as the command has it. Its size is its own; who is in the foreground, and its modes, are ours.

use rustix::process::Pid;
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

/// The terminal on standard input, where we had it.
pub(super) struct Terminal {
    lent: Option<Lent>,
}

struct Lent {
    /// The process group of whoever called us.
    owner: Pid,
    command: Pid,
    modes: Termios,
    /// What it is set to for us, who pass on each byte.
    raw: Option<Termios>,
}

impl Terminal {
    /// Makes the command's process group the foreground one, before it executes: so it never reads from the background.
    ///
    /// Nothing where standard input is no terminal, or where the group of `front`, which the shell knows, is itself in the
    /// background. Our own group never has the terminal; SIGTTOU is blocked, as all signals are, so we may give it away.
    pub(super) fn hand_over(front: i32, command: i32) -> Self {
        let stdin = rustix::stdio::stdin();
        // A group of another pid namespace is 0, which a Pid of rustix cannot be. [CR-152]
        let group = || nix::unistd::getpgid(Some(nix::unistd::Pid::from_raw(front))).ok();
        let owner = || Pid::from_raw(group()?.as_raw()).filter(|group| tcgetpgrp(stdin) == Ok(*group));
        let lend = |owner: Pid| {
            let command = Pid::from_raw(command)?;
            let modes = tcgetattr(stdin).ok()?;
            tcsetpgrp(stdin, command).ok()?;
            Some(Lent { owner, command, modes, raw: None })
        };
        Self { lent: if isatty(stdin) { owner().and_then(lend) } else { None } }
    }

    /// To ourselves, who pass on what is typed, byte by byte: the command has a terminal of its own.
    pub(super) fn relayed(front: i32) -> Self {
        let mut terminal = Self::hand_over(front, nix::unistd::getpgrp().as_raw());
        if let Some(lent) = &mut terminal.lent {
            let mut raw = lent.modes.clone();
            raw.make_raw();
            lent.raw = Some(raw);
        }
        terminal.lend_again();
        terminal
    }

    pub(super) fn is_lent(&self) -> bool {
        self.lent.is_some()
    }

    /// Back to its owner, with the modes it had.
    pub(super) fn take_back(&self) {
        if let Some(lent) = &self.lent {
            // Best effort: a terminal that hung up needs neither.
            let _ = tcsetpgrp(rustix::stdio::stdin(), lent.owner);
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &lent.modes);
        }
    }

    /// To the command again, after it was stopped.
    pub(super) fn lend_again(&self) {
        if let Some(lent) = &self.lent {
            let _ = tcsetpgrp(rustix::stdio::stdin(), lent.command);
            if let Some(raw) = &lent.raw {
                let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, raw);
            }
        }
    }
}
