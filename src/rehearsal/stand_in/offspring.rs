//! The processes that a stand-in leaves behind: each is this program again, told what to be.

use super::script::Script;
use crate::error::{During, Error, Result};
use nix::sys::signal::SigSet;
use std::ffi::OsString;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::super::wait;

/// First argument of `stand-in` when it is one of these and not a child of minion.
pub(super) const MARK: &str = "--offspring";
/// No offspring lives longer than this, so that a test that failed to end one leaves it for five minutes, not for ever.
const LIFE: Duration = Duration::from_secs(300);
/// How long a hopping process lives before its successor takes over.
const HOP: Duration = Duration::from_millis(5);

/// Starts what the script asks for.
pub(super) fn start(script: &Script) -> Result<()> {
    if script.daemonise {
        // The one in the middle leaves at once; waiting for it is what makes the grandchild an orphan.
        spawn("daemon", script, Stdio::null())?.wait().during("wait for", "daemon's parent")?;
    }
    if script.hold_stderr {
        spawn("session", script, Stdio::inherit())?;
    }
    for n in 0..script.forkloop {
        spawn(if n % 2 == 0 { "session" } else { "idle" }, script, Stdio::null())?;
    }
    for _ in 0..script.hop {
        spawn("hop", script, Stdio::null())?;
    }
    Ok(())
}

fn spawn(what: &str, script: &Script, stderr: Stdio) -> Result<Child> {
    let dies = SystemTime::now() + LIFE;
    let dies = dies.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    again([what, if script.stubborn { "stubborn" } else { "mild" }, &dies.to_string()], stderr)
}

fn again(words: [&str; 3], stderr: Stdio) -> Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.args(["stand-in", MARK]).args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    command.spawn().during("start offspring", words[0])
}

/// The life of one: `args` are what it is, `stubborn` or `mild`, and the second since 1970 at which it ends by itself.
pub(super) fn live(args: &[OsString]) -> Result<u8> {
    let words: Vec<&str> = args.iter().filter_map(|word| word.to_str()).collect();
    let &[what, temper, dies] = words.as_slice() else {
        return Err(Error::new("start offspring", format!("{args:?}"), "three words are needed"));
    };
    // The mask came from a parent that reads its signals from an fd. A blocked signal is one that is ignored. [KF-66]
    let mask = if temper == "stubborn" { SigSet::all() } else { SigSet::empty() };
    mask.thread_set_mask().during("set signal mask", "")?;
    if matches!(what, "session" | "daemon") {
        rustix::process::setsid().during("setsid", what)?;
    }
    let end = UNIX_EPOCH + Duration::from_secs(dies.parse().unwrap_or(0));
    let left = end.duration_since(SystemTime::now()).unwrap_or_default();
    match what {
        "daemon" => again(["idle", temper, dies], Stdio::null()).map(drop)?,
        "hop" => {
            wait::pause(HOP.min(left))?;
            if !left.is_zero() {
                again(["hop", temper, dies], Stdio::null())?;
            }
        }
        _ => drop(wait::ready(&[], Some(Instant::now() + left))?),
    }
    Ok(0)
}
