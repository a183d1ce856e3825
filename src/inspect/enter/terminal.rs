//! The terminal, for as long as the command has it. Its size is its own; who is in the foreground, and its modes, are ours.

use rustix::process::{Pid, getpgrp};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

/// The terminal on standard input, where we had it.
pub(super) struct Terminal {
    lent: Option<(Pid, Termios)>,
}

impl Terminal {
    /// Makes the command's process group the foreground one, before it executes: so it never reads from the background.
    ///
    /// Nothing where standard input is no terminal, or where this process is itself in the background.
    pub(super) fn hand_over(child: i32) -> Self {
        let stdin = rustix::stdio::stdin();
        let ours = isatty(stdin) && tcgetpgrp(stdin).is_ok_and(|group| group == getpgrp());
        let (Some(child), true) = (Pid::from_raw(child), ours) else { return Self { lent: None } };
        let lent = tcgetattr(stdin).ok().filter(|_| tcsetpgrp(stdin, child).is_ok());
        Self { lent: lent.map(|modes| (child, modes)) }
    }

    /// Back to us, with the modes it had. SIGTTOU is blocked, as all signals are.
    pub(super) fn take_back(&self) {
        if let Some((_, modes)) = &self.lent {
            // Best effort: a terminal that hung up needs neither.
            let _ = tcsetpgrp(rustix::stdio::stdin(), getpgrp());
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, modes);
        }
    }

    /// To the command again, after it was stopped.
    pub(super) fn lend_again(&self) {
        if let Some((child, _)) = &self.lent {
            let _ = tcsetpgrp(rustix::stdio::stdin(), *child);
        }
    }
}
