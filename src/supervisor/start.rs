//! Starting one program of a task: its pipes, its attributes, its place, its exec. The only place that spawns tasks.

use super::reactor::Source;
use super::run::Run;
use super::{Stdout, Supervisor};
use crate::error::{During, Error, Result};
use crate::log::{LogId, StreamId};
use crate::process::attributes;
use crate::process::spawn::{Child, Gated, Stdio};
use crate::task::spec::{Attributes, ReadyWay};
use crate::task::state::{Event, Part};
use crate::task::{Exit, Input, TaskId};
use rustix::event::epoll::EventFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tracing::{debug, error};

impl Supervisor {
    /// Starts a child. A failure is an event like any other: the core decides what it means.
    pub(super) fn start(&mut self, task: TaskId, part: Part) {
        let marker = self.new_marker(task);
        let run = match self.spawn(task, part, &marker) {
            Ok(run) => run,
            Err(failure) => {
                let name = &self.slots[task].spec.name;
                let failure = failure.while_doing(format_args!("start {name}"));
                error!(task = %name, errno = failure.errno(), "{failure}");
                self.note("start-failed", Some(task), failure.to_string());
                self.inputs.push_back(Input::Task(task, Event::Exited(Exit::NotStarted)));
                Run::not_started(part, marker)
            }
        };
        self.slots[task].run = Some(run);
    }

    /// A name for a run that no other run below this minion has.
    fn new_marker(&mut self, task: TaskId) -> String {
        self.last_run += 1;
        format!("{}.{}.{}", self.slots[task].spec.name, self.children.parent(), self.last_run)
    }

    fn spawn(&mut self, task: TaskId, part: Part, marker: &str) -> Result<Run> {
        let slot = &self.slots[task];
        let (log, stdout) = (slot.log, slot.stdout);
        let program = slot.program(part, marker)?;
        let oom_kills = self.surroundings.oom_kills();
        let ready = match (part, &slot.spec.readiness.way) {
            (Part::Main, ReadyWay::Fd(number)) => {
                Some((pipe_with(PipeFlags::CLOEXEC).during("make a pipe for", "readiness")?, *number))
            }
            (Part::Before | Part::Main | Part::After, _) => None,
        };
        let outputs = Outputs::open(log, stdout)?;
        let extra = ready.as_ref().map(|((_, inside), number)| (inside.as_fd(), *number));
        let gated = self.launcher.fork(&program, outputs.stdio(&self.null, extra))?;
        let Child { pidfd, report } = self.let_in(task, gated, |gated| {
            self.reactor.add(gated.pidfd(), Source::Child(task), EventFlags::IN)?;
            self.reactor.add(gated.report(), Source::Report(task), EventFlags::IN)
        })?;
        let ready = ready.map(|((outside, _inside), _)| outside);
        if let Some(ready) = &ready {
            self.reactor.add(ready, Source::Ready(task), EventFlags::IN)?;
        }
        let streams = self.relay(outputs.pipes);
        debug!(task = %self.slots[task].spec.name, pid = pidfd.pid(), run = %marker, state = "starting", "forked");
        let pid = pidfd.pid();
        Ok(Run {
            pid,
            main: Some(pidfd),
            report: Some(report),
            ready,
            streams,
            oom_kills,
            ..Run::new(part, marker.to_owned())
        })
    }

    /// Gives a child at the gate what it is to be born with, puts it where it belongs, has it watched, and lets it through.
    pub(super) fn let_in(&self, task: TaskId, gated: Gated, watch: impl FnOnce(&Gated) -> Result<()>) -> Result<Child> {
        let spec = &self.slots[task].spec;
        let pid = gated.pid();
        let received = give(&spec.attributes, pid).and_then(|()| self.surroundings.receive(&spec.name, pid));
        if let Err(failure) = received.and_then(|()| watch(&gated)) {
            // It may be attached in part; it has executed nothing, and ends here. It holds copies of what is watched.
            self.reactor.remove(gated.pidfd());
            self.reactor.remove(gated.report());
            gated.kill();
            return Err(failure);
        }
        gated.open()
    }

    fn relay(&mut self, pipes: Vec<(LogId, OwnedFd)>) -> Vec<StreamId> {
        let relay = |(log, pipe)| {
            self.last_stream += 1;
            let stream = StreamId(self.last_stream);
            self.logs.relay_later(log, stream, pipe);
            stream
        };
        pipes.into_iter().map(relay).collect()
    }
}

/// The attributes that a parent can give from outside.
fn give(attributes: &Attributes, pid: i32) -> Result<()> {
    for limit in &attributes.limits {
        attributes::set_limit(pid, limit.resource, limit.soft, limit.hard)
            .map_err(|cause| Error::io("set the resource limit", limit.resource, cause))?;
    }
    if let Some(nice) = attributes.nice {
        attributes::set_nice(pid, nice).map_err(|cause| Error::io("set the nice value", nice, cause))?;
    }
    if let Some(value) = attributes.oom_score_adj {
        attributes::set_oom_score_adj(pid, value).map_err(|cause| {
            Error::io("set oom_score_adj to", value, cause).hint("a lower value than before needs CAP_SYS_RESOURCE")
        })?;
    }
    Ok(())
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

    fn stdio<'a>(&'a self, null: &'a OwnedFd, extra: Option<(BorrowedFd<'a>, i32)>) -> Stdio<'a> {
        let stdout = match &self.stdout {
            End::Stderr => &self.stderr,
            End::Null => null,
            End::Own(stdout) => stdout,
        };
        Stdio { stdin: null.as_fd(), stdout: stdout.as_fd(), stderr: self.stderr.as_fd(), extra }
    }
}
