//! What keeps a process from ending when it is told to.

use super::Words;
use crate::inspect::proc::status::holds;
use crate::inspect::view::View;

/// `SIGTERM`.
const TERM: i32 = libc::SIGTERM;

/// Dead, and nobody has asked for its status.
pub(super) fn zombie(view: &View) -> Option<Words> {
    view.stat.is_zombie().then_some(())?;
    let parent = view.kin.parent.as_ref()?;
    Words::new(
        "a parent that reaps its dead children",
        format!("{} is dead and not reaped by its parent, pid {} ({})", view.who(), parent.pid, parent.name),
        "the parent does not call wait for it: it is busy, stopped, or written without care. An attach to it succeeds and does \
         nothing",
        format!("it goes when pid {} reaps it or ends; signals do nothing to it", parent.pid),
    )
}

/// Stopped by a signal.
pub(super) fn stopped(view: &View) -> Option<Words> {
    (view.stat.state == 'T').then_some(())?;
    Words::new(
        "a process that runs",
        format!("{} is stopped (state T)", view.who()),
        "SIGSTOP or SIGTSTP: a person, a debugger, or a killtree of the command executor that was cut short",
        format!("kill -CONT {}; SIGTERM waits until then, SIGKILL does not", view.stat.pid),
    )
}

/// A debugger is attached.
pub(super) fn traced(view: &View) -> Option<Words> {
    let tracer = view.status.known()?.tracer;
    (tracer > 0).then_some(())?;
    let state = if view.stat.state == 't' { ", and it is stopped by it" } else { "" };
    Words::new(
        "a process that nobody traces",
        format!("pid {tracer} traces it{state}"),
        "strace or a debugger: each system call is slower, and its signals and its exit are seen by the tracer first",
        format!("end the tracer: kill {tracer}"),
    )
}

/// Waits in the kernel where no signal reaches it.
pub(super) fn uninterruptible(view: &View) -> Option<Words> {
    (view.stat.state == 'D').then_some(())?;
    let place = match (view.waits_in.known().map(String::as_str), view.waits_in.why()) {
        (Some("0" | ""), _) => "the kernel does not say where".to_owned(),
        (Some(place), _) => format!("in {place}"),
        (None, why) => format!("where is unknown: {}", why.unwrap_or_default()),
    };
    let frozen = if view.resources.frozen.is_some() { "its cgroup is frozen" } else { "disk or network storage" };
    Words::new(
        "a process that signals reach",
        format!("{} is in uninterruptible sleep (state D), {place}", view.who()),
        format!("{frozen}; it looks dead to everybody, and SIGKILL works only when the wait is over"),
        format!(
            "/proc/{}/stack shows the wait to root; a mount that hangs can be given up with umount -f",
            view.stat.pid
        ),
    )
}

/// SIGTERM is blocked and so does nothing, unless it is read from a signalfd. [KF-104]
pub(super) fn term_blocked(view: &View) -> Option<Words> {
    let status = view.status.known()?;
    // In all of a library's helper threads it may be; this is the main thread's mask.
    let read = view.reads_signals.known() == Some(&true);
    (holds(status.blocked, TERM) && !read && !view.stat.is_zombie()).then_some(())?;
    let pending = if holds(status.pending, TERM) { ", and one is waiting" } else { "" };
    Words::new(
        "SIGTERM can end it",
        format!("its main thread blocks SIGTERM{pending}"),
        "it was started with a blocked mask, which survives exec, or it takes signals in another thread",
        "if it does not end by itself, only SIGKILL does; a supervisor should start children with an empty mask",
    )
}

/// SIGTERM is ignored.
pub(super) fn term_ignored(view: &View) -> Option<Words> {
    let status = view.status.known()?;
    holds(status.ignored, TERM).then_some(())?;
    Words::new(
        "SIGTERM can end it",
        "it ignores SIGTERM",
        "nohup, a shell's trap '', or a parent that ignored it: an ignored signal survives exec",
        "a stop takes the whole grace period and ends in SIGKILL",
    )
}
