//! Actions of the core to system calls. The only place that spawns and signals main processes.

use super::reactor::Source;
use super::run::{Run, Slot};
use super::{Planned, Stdout, Supervisor};
use crate::error::{During, Result};
use crate::log::{LogId, StreamId};
use crate::process::spawn::{Child, Stdio};
use crate::task::state::{Action, Event};
use crate::task::{Exit, Input, TaskId};
use rustix::event::epoll::EventFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::{AsFd, OwnedFd};
use tracing::{debug, error};

impl Slot {
    pub(super) fn new(planned: Planned) -> Self {
        Self { spec: planned.spec, log: planned.log, stdout: planned.stdout, run: None }
    }
}

impl Supervisor {
    pub(super) fn perform(&mut self, task: TaskId, action: Action) -> Result<()> {
        match action {
            Action::Spawn => self.start(task),
            Action::Terminate => {
                self.signal(task, libc::SIGTERM);
                // A stopped process gets the signal when it goes on.
                self.signal(task, libc::SIGCONT);
            }
            Action::Kill => self.signal(task, libc::SIGKILL),
            Action::SweepTerm => self.sweep_term(task)?,
            Action::SweepKill => self.sweep_kill(task)?,
            Action::CheckPlacement => {
                self.check_placement(task);
                // The last of these is the last thing that is due while nothing happens.
                self.rests = true;
            }
            Action::Report { exit, up, restart, .. } => self.report(task, exit, up, restart),
        }
        Ok(())
    }

    /// Signals the main process and its group.
    fn signal(&mut self, task: TaskId, signal: i32) {
        let slot = &self.slots[task];
        let Some(main) = slot.run.as_ref().and_then(|run| run.main.as_ref()) else { return };
        // The child makes its group right after the fork; until then there is none and the process is all there is.
        let result = main.signal_group(signal).or_else(|_| main.signal(signal));
        match result {
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

    /// Starts a child. A failure is an event like any other: the core decides what it means.
    fn start(&mut self, task: TaskId) {
        self.last_run += 1;
        let marker = format!("{}.{}.{}", self.slots[task].spec.name, self.children.parent(), self.last_run);
        let run = match self.spawn(task, &marker) {
            Ok(run) => run,
            Err(failure) => {
                let name = &self.slots[task].spec.name;
                let failure = failure.while_doing(format_args!("start {name}"));
                error!(task = %name, errno = failure.errno(), "{failure}");
                self.inputs.push_back(Input::Task(task, Event::Exited(Exit::NotStarted)));
                Run::not_started(marker)
            }
        };
        self.slots[task].run = Some(run);
    }

    fn spawn(&mut self, task: TaskId, marker: &str) -> Result<Run> {
        let slot = &self.slots[task];
        let (name, log, stdout) = (slot.spec.name.clone(), slot.log, slot.stdout);
        let program = slot.program(marker)?;
        let oom_kills = self.surroundings.oom_kills();
        let outputs = Outputs::open(log, stdout)?;
        let gated = program.fork(outputs.stdio(&self.null))?;
        if let Err(failure) = self.surroundings.receive(&name, gated.pid()) {
            // It may be attached in part; it has executed nothing, and ends here.
            gated.abandon()?;
            return Err(failure);
        }
        let Child { pidfd, report } = gated.open()?;
        self.reactor.add(&pidfd, Source::Child(task), EventFlags::IN)?;
        self.reactor.add(&report, Source::Report(task), EventFlags::IN)?;
        let mut streams = Vec::with_capacity(2);
        for (log, pipe) in outputs.pipes {
            self.last_stream += 1;
            let stream = StreamId(self.last_stream);
            self.logs.relay(log, stream, pipe);
            streams.push(stream);
        }
        debug!(task = %name, pid = pidfd.pid(), run = %marker, state = "starting", "forked");
        Ok(Run {
            marker: marker.to_owned(),
            pid: pidfd.pid(),
            main: Some(pidfd),
            report: Some(report),
            failed: false,
            streams,
            finished: false,
            tail: Vec::new(),
            dropped: 0,
            exit: None,
            oom_kills,
        })
    }
}

/// A child's output pipes.
struct Outputs {
    stdout: End,
    stderr: OwnedFd,
    /// The read ends, each with the log it goes to.
    pipes: Vec<(LogId, OwnedFd)>,
}

/// What a child's stdout is.
enum End {
    /// The same pipe as its stderr.
    Stderr,
    /// `/dev/null`.
    Null,
    /// A pipe of its own.
    Own(OwnedFd),
}

impl Outputs {
    fn open(log: LogId, stdout: Stdout) -> Result<Self> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC).during("make a pipe for", "the log");
        let (inside, stderr) = pipe()?;
        let mut pipes = vec![(log, inside)];
        let stdout = match stdout {
            Stdout::Merged => End::Stderr,
            Stdout::Discarded => End::Null,
            Stdout::Separate(log) => {
                let (inside, stdout) = pipe()?;
                pipes.push((log, inside));
                End::Own(stdout)
            }
        };
        Ok(Self { stdout, stderr, pipes })
    }

    fn stdio<'a>(&'a self, null: &'a OwnedFd) -> Stdio<'a> {
        let stdout = match &self.stdout {
            End::Stderr => &self.stderr,
            End::Null => null,
            End::Own(stdout) => stdout,
        };
        Stdio { stdin: null.as_fd(), stdout: stdout.as_fd(), stderr: self.stderr.as_fd() }
    }
}
