//! Nothing of the command stays behind in the container.

use super::mark::Mark;
use crate::error::Error;
use crate::process::tree::{Children, signal_descendant, with_descendants};
use crate::process::{Looks, Pidfd, procfs, reap};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// So long a killed process may take to die: longer only in the kernel's own hands.
const LONGEST: Duration = Duration::from_secs(5);

/// So many looks in a row that find no mark do where others come and go all the time.
const MOST_LOOKS: u32 = 50;

/// Kills what the command left: everything below us, and everything that carries `mark`, which is how orphans in another pid
/// namespace are known: they went to the init there. [KF-183] Who could not be ended is told.
pub(super) fn end_all(mark: Option<&Mark>) -> Vec<Error> {
    let deadline = Instant::now() + LONGEST;
    let children = Children::open();
    let mut looks = Looks::up_to(MOST_LOOKS);
    loop {
        let below = children.pids().and_then(with_descendants).unwrap_or_default();
        let marked = mark.map(|mark| Carriers::kill(mark, deadline)).unwrap_or_default();
        let mut pidfds: Vec<Pidfd> = below.iter().filter_map(|pid| Pidfd::open(*pid).ok()).collect();
        pidfds.extend(marked.alive);
        for pid in &below {
            signal_descendant(*pid, &[libc::SIGKILL]);
        }
        let dead = pidfds.iter().all(|pidfd| pidfd.dies(deadline.saturating_duration_since(Instant::now())));
        while let Ok(Some(pid)) = reap::peek() {
            if !matches!(reap::reap(pid), Ok(Some(_))) {
                break;
            }
        }
        // Who is below us cannot be missed: for that one look does.
        if looks.prove_it(!pidfds.is_empty(), true, marked.gone) || (mark.is_none() && pidfds.is_empty()) {
            return Vec::new();
        }
        if !dead {
            let stuck = pidfds.iter().filter(|pidfd| !pidfd.dies(Duration::ZERO));
            let told = |pidfd: &Pidfd| Error::new("end", format!("process {}", pidfd.pid()), "SIGKILL does not end it");
            return stuck.map(|pidfd| told(pidfd).hint("minion inspect says what it waits for")).collect();
        }
        if !pidfds.is_empty() && Instant::now() >= deadline {
            let last = pidfds.iter().map(|pidfd| pidfd.pid().to_string()).collect::<Vec<_>>().join(", ");
            let escapes =
                Error::new("end", "what the command left", "it goes on to new processes faster than they are ended");
            return vec![escapes.hint(format!("the last were {last}; stop the container to be rid of it"))];
        }
    }
}

/// Who carries a mark.
#[derive(Default)]
struct Carriers {
    alive: Vec<Pidfd>,
    /// Listed, and gone when it was looked at; or dead with the mark on it, as it stays until it is reaped, which not every init
    /// does. [KF-192]
    gone: BTreeSet<i32>,
}

impl Carriers {
    /// Sends SIGKILL. The newest first, and each at once: what goes on to another process all the time is soon gone from this
    /// list, and who is found has to die before it has a successor.
    fn kill(mark: &Mark, until: Instant) -> Self {
        let mut carriers = Self::default();
        for pid in procfs::numbers("/proc").unwrap_or_default().into_iter().rev() {
            match mark.is_on(pid, until) {
                Some(false) => continue,
                Some(true) => {
                    // The pidfd comes before the proof that counts: a number may be given away in between.
                    if let Ok(pidfd) = Pidfd::open(pid)
                        && !pidfd.dies(Duration::ZERO)
                        && mark.is_on(pid, until) == Some(true)
                        && pidfd.signal(libc::SIGKILL).is_ok()
                    {
                        carriers.alive.push(pidfd);
                        continue;
                    }
                }
                None => {}
            }
            carriers.gone.insert(pid);
        }
        carriers
    }
}
