//! Nothing of the command stays behind in the container.

use crate::error::Error;
use crate::process::tree::{self, Children, signal_descendant, with_descendants};
use crate::process::{Pidfd, procfs, reap};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::{Duration, Instant};

/// So long a killed process may take to die: longer only in the kernel's own hands.
const LONGEST: Duration = Duration::from_secs(5);

/// Kills what the command left: everything below us, and everything that carries `mark` (`NAME=value`), which is how orphans
/// in another pid namespace are known: they went to the init there. [KF-183] Who could not be ended is told.
pub(super) fn end_all(mark: Option<&[u8]>) -> Vec<Error> {
    let deadline = Instant::now() + LONGEST;
    let children = Children::open();
    loop {
        let below = children.pids().and_then(with_descendants).unwrap_or_default();
        let marked = mark.map(|mark| carriers(mark, deadline)).unwrap_or_default();
        let pidfds: Vec<Pidfd> = below.iter().chain(&marked).filter_map(|pid| Pidfd::open(*pid).ok()).collect();
        for pid in &below {
            signal_descendant(*pid, &[libc::SIGKILL]);
        }
        for pidfd in &pidfds {
            // The pidfd came first, then the proof: a number may be given away in between.
            if mark.is_some_and(|mark| carries(pidfd.pid(), mark, deadline)) {
                let _ = pidfd.signal(libc::SIGKILL);
            }
        }
        let dead = pidfds.iter().all(|pidfd| dies(pidfd, deadline));
        while let Ok(Some(pid)) = reap::peek() {
            if !matches!(reap::reap(pid), Ok(Some(_))) {
                break;
            }
        }
        if pidfds.is_empty() {
            return Vec::new();
        }
        if !dead {
            let stuck = pidfds.iter().filter(|pidfd| !dies(pidfd, Instant::now()));
            let told = |pidfd: &Pidfd| Error::new("end", format!("process {}", pidfd.pid()), "SIGKILL does not end it");
            return stuck.map(|pidfd| told(pidfd).hint("minion inspect says what it waits for")).collect();
        }
    }
}

fn dies(pidfd: &Pidfd, deadline: Instant) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
    poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&left)).is_ok_and(|ready| ready > 0)
}

fn carriers(mark: &[u8], until: Instant) -> Vec<i32> {
    procfs::numbers("/proc").unwrap_or_default().into_iter().filter(|pid| carries(*pid, mark, until)).collect()
}

/// A zombie has no environment any more.
fn carries(pid: i32, mark: &[u8], until: Instant) -> bool {
    let environment = tree::start_environment(pid, until).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == mark)
}
