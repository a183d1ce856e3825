//! Nothing of the command stays behind in the container.

use super::mark::Mark;
use crate::error::Error;
use crate::process::tree::{Children, signal_descendant, with_descendants};
use crate::process::{Pidfd, procfs, reap};
use std::time::{Duration, Instant};

/// So long a killed process may take to die: longer only in the kernel's own hands.
const LONGEST: Duration = Duration::from_secs(5);

/// So many looks for a mark in a row find nothing when there is nothing: what ended before it was looked at may have had a
/// successor. Who is below us cannot be missed so.
const LOOKS: u32 = 3;

/// Kills what the command left: everything below us, and everything that carries `mark`, which is how orphans in another pid
/// namespace are known: they went to the init there. [KF-183] Who could not be ended is told.
pub(super) fn end_all(mark: Option<&Mark>) -> Vec<Error> {
    let deadline = Instant::now() + LONGEST;
    let children = Children::open();
    let mut empty = 0;
    loop {
        let below = children.pids().and_then(with_descendants).unwrap_or_default();
        let marked = mark.map(|mark| carriers(mark, deadline)).unwrap_or_default();
        let mut pidfds: Vec<Pidfd> = below.iter().filter_map(|pid| Pidfd::open(*pid).ok()).collect();
        pidfds.extend(marked);
        for pid in &below {
            signal_descendant(*pid, &[libc::SIGKILL]);
        }
        for pidfd in &pidfds {
            // The pidfd came first, then the proof: a number may be given away in between.
            if mark.is_some_and(|mark| mark.is_on(pidfd.pid(), deadline)) {
                let _ = pidfd.signal(libc::SIGKILL);
            }
        }
        let dead = pidfds.iter().all(|pidfd| pidfd.dies(deadline.saturating_duration_since(Instant::now())));
        while let Ok(Some(pid)) = reap::peek() {
            if !matches!(reap::reap(pid), Ok(Some(_))) {
                break;
            }
        }
        empty = if pidfds.is_empty() { empty + 1 } else { 0 };
        if empty == if mark.is_some() { LOOKS } else { 1 } {
            return Vec::new();
        }
        if !dead {
            let stuck = pidfds.iter().filter(|pidfd| !pidfd.dies(Duration::ZERO));
            let told = |pidfd: &Pidfd| Error::new("end", format!("process {}", pidfd.pid()), "SIGKILL does not end it");
            return stuck.map(|pidfd| told(pidfd).hint("minion inspect says what it waits for")).collect();
        }
    }
}

/// Those of them that live, the newest first: what goes on to another process all the time is soon gone from this list. One that
/// is dead keeps its limits until it is reaped, which not every init does. [KF-192]
fn carriers(mark: &Mark, until: Instant) -> Vec<Pidfd> {
    let numbers = procfs::numbers("/proc").unwrap_or_default().into_iter().rev();
    let marked = numbers.filter(|pid| mark.is_on(*pid, until));
    marked.filter_map(|pid| Pidfd::open(pid).ok()).filter(|pidfd| !pidfd.dies(Duration::ZERO)).collect()
}
