//! Memory that runs out for real, at any step of a life: `RLIMIT_AS` leaves the room for so much and no more.

use super::common::minion::{Ended, Sandbox};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;

/// The limit is moved by so many bytes: an alternative signal stack of a thread has four of them.
const STEP: u64 = 4096;
/// A log thread with its buffers takes less than this.
const SWEPT: u64 = 1 << 20;

const KM: &str = "[ $1 = proxy ] && exec sleep 300\nseq -f 'e %g' 1 3000 >&2\nexit 7\n";

/// A life with so much room for addresses, after which nobody is alive.
fn live(room: u64) -> Ended {
    let sandbox = Sandbox::with_km(KM);
    let limit = format!("--as={room}");
    let ended = sandbox.run_under(&["prlimit", &limit], &["--grace=2s", "--max-log-size=10000"]);
    sandbox.assert_deserted();
    ended
}

/// The least room, to a step, in which a life goes its way.
fn least() -> u64 {
    let (mut little, mut enough) = (1 << 20, 1 << 28);
    while enough - little > STEP {
        let middle = u64::midpoint(little, enough) / STEP * STEP;
        *(if lacked_nothing(&live(middle)) { &mut enough } else { &mut little }) = middle;
    }
    enough
}

/// The executor may be through before the log thread is missed: then the code alone says nothing.
fn lacked_nothing(ended: &Ended) -> bool {
    ended.status.code() == Some(7) && !ended.stderr.contains("the log thread")
}

/// What is wrong with an end: it has a documented code and a line that says why, or is that of libc and std, who end a program
/// that has no memory before its `main` or for a new thread.
fn problem(ended: &Ended) -> Option<&'static str> {
    let signals = [Some(libc::SIGABRT), Some(libc::SIGSEGV)];
    match ended.status.code() {
        Some(7) => None,
        Some(111) => (!ended.stderr.contains(" error ")).then_some("exit 111 without a line that says why"),
        Some(127) if ended.stderr.starts_with("Fatal glibc error") => None,
        None if signals.contains(&ended.status.signal()) => None,
        Some(_) | None => Some("an end that is not documented"),
    }
}

/// Tries every limit of the stretch in which memory becomes enough, and gives how often it ended how.
pub fn sweep() -> BTreeMap<String, usize> {
    let least = least();
    let mut ends = BTreeMap::new();
    let coarse = (least - SWEPT..least - 16 * STEP).step_by(8 * 4096);
    for room in coarse.chain((least - 16 * STEP..=least + 4 * STEP).step_by(4096)) {
        let ended = live(room);
        assert_eq!(problem(&ended), None, "{room} bytes: {}\n{}", ended.status, ended.stderr);
        *ends.entry(ended.status.to_string()).or_default() += 1;
    }
    ends
}
