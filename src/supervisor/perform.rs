//! Actions of the core to system calls. The only place that signals main processes.

use super::Supervisor;
use crate::error::Result;
use crate::task::TaskId;
use crate::task::state::Action;
use tracing::{debug, error};

impl Supervisor {
    pub(super) fn perform(&mut self, task: TaskId, action: Action) -> Result<()> {
        match action {
            Action::Spawn(part) => self.start(task, part),
            Action::Terminate => {
                self.signal(task, self.slots[task].spec.stop_signal);
                // A stopped process gets the signal when it goes on.
                self.signal(task, libc::SIGCONT);
            }
            Action::Kill => self.signal(task, libc::SIGKILL),
            Action::SweepTerm => self.sweep_term(task)?,
            Action::SweepKill => self.sweep_kill(task)?,
            Action::CheckPlacement => {
                self.check_placement(task);
                self.check_hazards();
                // The last of these is the last thing that is due while nothing happens.
                self.rests = true;
            }
            Action::Ask(purpose) => self.ask(task, purpose),
            Action::Ready => self.is_ready(task),
            Action::Judge(verdict) => self.judge(task, verdict),
            Action::Limit => self.limited(task),
            Action::HookFailed { part, exit } => self.hook_failed(task, part, exit),
            Action::Report { exit, up, restart, commanded } => {
                self.report(task, exit, up, restart, commanded);
                self.tidies = true;
            }
        }
        Ok(())
    }

    /// Signals the main process and its group.
    fn signal(&mut self, task: TaskId, signal: i32) {
        let slot = &self.slots[task];
        let Some(main) = slot.run.as_ref().and_then(|run| run.main.as_ref()) else { return };
        // The child makes its group right after the fork; until then there is none and the process is all there is.
        match main.signal_with_group(signal) {
            Ok(()) => debug!(task = %slot.spec.name, pid = main.pid(), signal, "signalled"),
            // Its exit is on the way.
            Err(cause) if cause.raw_os_error() == Some(libc::ESRCH) => {}
            Err(cause) => error!(
                task = %slot.spec.name,
                pid = main.pid(),
                errno = cause.raw_os_error(),
                "signal {}: {cause}",
                crate::process::signals::name(signal)
            ),
        }
    }
}
