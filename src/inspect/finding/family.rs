//! What becomes of a process, and of what it started, when one of them ends.

use super::Words;
use crate::inspect::proc::stat::Stat;
use crate::inspect::view::View;
use crate::render::unit::counted;

/// How many processes are named.
const NAMED: usize = 5;

/// Its marker names a minion that is no more.
pub(super) fn minion_gone(view: &View) -> Option<Words> {
    let task = view.kin.task.as_ref()?;
    view.kin.marked_minion.is_none().then_some(())?;
    Words::new(
        format!("the minion that started it, pid {}, alive", task.minion),
        format!("it belongs to run {} of task {}, and there is no such minion", task.run, task.task),
        "the minion was killed with SIGKILL. Its children get the same at once, but their children do not: without a living \
         subreaper they belong to pid 1",
        format!("nothing will end it but the agent's destroy or you: kill {}", view.stat.pid),
    )
}

/// In a session of its own, away from its task's main process.
pub(super) fn escaped(view: &View) -> Option<Words> {
    let main = view.kin.main.as_ref()?;
    (main.pid != view.stat.pid && main.session != view.stat.session).then_some(())?;
    let task = view.kin.task.as_ref()?;
    Words::new(
        format!("in the session of task {}'s main process, {} of pid {}", task.task, main.session, main.pid),
        format!("session {}, group {}", view.stat.session, view.stat.group),
        "it called setsid, as daemons do: a signal to the task's group does not reach it",
        "minion ends it with its task all the same; to everything else it is out of sight",
    )
}

/// What would be left if it ended now.
pub(super) fn outlive(view: &View) -> Option<Words> {
    // A living minion is a subreaper: what is orphaned comes back to it and is ended.
    view.kin.minion.is_none().then_some(())?;
    let away: Vec<&Stat> = view
        .kin
        .descendants
        .iter()
        .filter(|child| !child.is_zombie() && child.session != view.stat.session && child.group != view.stat.group)
        .collect();
    (!away.is_empty()).then_some(())?;
    let named: Vec<String> = away.iter().take(NAMED).map(|child| format!("{} ({})", child.pid, child.name)).collect();
    let more = if away.len() > NAMED { ", …" } else { "" };
    Words::new(
        "nothing of it is left when it ends",
        format!("{} in other sessions: {}{more}", counted(away.len(), "descendant", "descendants"), named.join(", ")),
        "they have left its session, no signal to its group or terminal reaches them, and no minion is above it to end them",
        "end them by pid, or run it under minion, which takes everything with it",
    )
}

/// Keeps the log of another task from ending.
pub(super) fn holds_pipe(view: &View) -> Option<Words> {
    let pipes = view.kin.pipes.known()?;
    let first = pipes.first()?;
    let all: Vec<String> = pipes.iter().map(|held| format!("fd {} is {}", held.fd, held.pipe)).collect();
    Words::new(
        format!("only processes of task {} hold its log", first.task),
        all.join(", "),
        "the descriptor was passed on or inherited: what it writes there stands in the other task's log, and that log has no end \
         while it lives",
        format!("let it close fd {} or end it", first.fd),
    )
}
