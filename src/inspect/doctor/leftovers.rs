//! What an earlier run has left: its socket, its processes.

use super::Check;
use crate::inspect::SOCKET;
use crate::inspect::minion::Named;
use crate::inspect::proc::everyone;
use crate::inspect::proc::once::Once;
use crate::inspect::proc::seen::{Seen, errno_name};
use crate::inspect::view::kin;
use crate::process::peer::{self, Listener};
use crate::render::unit::counted;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// How many processes are named.
const NAMED: usize = 5;

/// The socket of a living minion accepts; that of a dead one refuses.
pub(super) fn socket() -> Check {
    let name = "control socket";
    match Path::new(SOCKET).symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Check::ok(name, "none here yet"),
        Err(error) => return Check::unknown(name, format!("{} on {SOCKET}", errno_name(&error))),
        Ok(file) if !file.file_type().is_socket() => {
            let remedy = format!("minion needs that name for its control socket: move {SOCKET} away");
            return Check::warn(name, format!("{SOCKET} is no socket"), remedy);
        }
        Ok(_) => {}
    }
    // Not to wait for one that does not come round to accepting: a stopped one never does.
    match peer::directory(Path::new(".")).and_then(|here| Listener::of(&here, SOCKET, None)) {
        Ok(listener) if listener.is_believed() => {
            Check::fail(name, format!("a minion listens on {SOCKET}"), "one is running in this sandbox: minion status")
        }
        Ok(Listener { pid, uid, .. }) => Check::fail(
            name,
            format!("pid {pid} of uid {uid} listens on {SOCKET}"),
            "it is neither root nor this user, and keeps a minion from its control socket: see what it is",
        ),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Check::fail(
            name,
            format!("a minion listens on {SOCKET} and does not accept"),
            "one is running in this sandbox, and stopped or stuck: kill -CONT lets a stopped one go on",
        ),
        Err(error) if error.raw_os_error() == Some(libc::ECONNREFUSED) => Check::warn(
            name,
            format!("{SOCKET} is there and nobody listens: an earlier minion did not end in order"),
            format!("remove {SOCKET}"),
        ),
        Err(error) => Check::unknown(name, format!("{} on {SOCKET}", errno_name(&error))),
    }
}

/// Processes with the marker of a minion that is no more. Of those whose minion may be alive none is named: nobody is to end
/// them.
pub(super) fn processes() -> Check {
    let name = "leftover processes";
    let once = Once::default();
    let (mut unseen, mut unsure) = (0, Vec::new());
    let mut left = Vec::new();
    for pid in everyone() {
        match kin::variables(pid, &once) {
            Seen::Known(variables) => {
                let Some(marker) = variables.marker else { continue };
                let Seen::Known(stat) = once.stat(pid) else { continue };
                match Named::of(&stat, marker.minion, &once) {
                    Named::Alive(_) => {}
                    Named::Gone => left.push((stat, marker)),
                    Named::Unknown(why) => unsure.push(format!("pid {pid}: not seen is {why}")),
                }
            }
            Seen::Unknown(why) => unseen += usize::from(why.starts_with("EACCES") || why.starts_with("EPERM")),
        }
    }
    if left.is_empty() {
        return none_left(name, unseen, &unsure);
    }
    let named: Vec<String> = left
        .iter()
        .take(NAMED)
        .map(|(stat, marker)| format!("pid {} ({}) of task {}", stat.pid, stat.name, marker.task))
        .collect();
    let more = if left.len() > NAMED { format!(", and {} more", left.len() - NAMED) } else { String::new() };
    let pids: Vec<String> = left.iter().map(|(stat, _)| stat.pid.to_string()).collect();
    Check::warn(
        name,
        format!("{}{more}", named.join(", ")),
        format!("they hold ports and memory: kill {}", pids.join(" ")),
    )
}

fn none_left(name: &'static str, unseen: usize, unsure: &[String]) -> Check {
    let evidence = "no process of a minion that is gone";
    match (unsure.first(), unseen) {
        (None, 0) => Check::ok(name, evidence),
        (None, unseen) => {
            let unseen = counted(unseen, "process", "processes");
            Check::unknown(name, format!("{evidence}; {unseen} could not be looked into: root may"))
        }
        (Some(first), _) => {
            let unsure = counted(unsure.len(), "process has", "processes have");
            Check::unknown(name, format!("{evidence}; {unsure} a minion that may be alive or gone ({first})"))
        }
    }
}
