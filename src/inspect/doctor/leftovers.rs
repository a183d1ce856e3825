//! What an earlier run has left: its socket, its processes.

use super::Check;
use crate::inspect::SOCKET;
use crate::inspect::proc::everyone;
use crate::inspect::proc::once::Once;
use crate::inspect::proc::seen::{Seen, errno_name};
use crate::inspect::proc::stat::Stat;
use crate::inspect::view::kin;
use crate::render::unit::counted;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
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
    match UnixStream::connect(SOCKET) {
        Ok(_) => {
            Check::fail(name, format!("a minion listens on {SOCKET}"), "one is running in this sandbox: minion status")
        }
        Err(error) if error.raw_os_error() == Some(libc::ECONNREFUSED) => Check::warn(
            name,
            format!("{SOCKET} is there and nobody listens: an earlier minion did not end in order"),
            format!("remove {SOCKET}"),
        ),
        Err(error) => Check::unknown(name, format!("{} on {SOCKET}", errno_name(&error))),
    }
}

/// Processes with the marker of a minion that is no more.
pub(super) fn processes() -> Check {
    let name = "leftover processes";
    let once = Once::default();
    let mut unseen = 0;
    let mut left = Vec::new();
    for pid in everyone() {
        match kin::variables(pid, &once) {
            Seen::Known(variables) => {
                let orphan = variables.marker.filter(|marker| kin::live_minion(marker.minion, &once).is_none());
                left.extend(orphan.map(|marker| (pid, marker)));
            }
            Seen::Unknown(why) => unseen += usize::from(why.starts_with("EACCES") || why.starts_with("EPERM")),
        }
    }
    if left.is_empty() {
        let evidence = "no process of a minion that is gone";
        return match unseen {
            0 => Check::ok(name, evidence),
            unseen => {
                let unseen = counted(unseen, "process", "processes");
                Check::unknown(name, format!("{evidence}; {unseen} could not be looked into"))
            }
        };
    }
    let named: Vec<String> = left
        .iter()
        .take(NAMED)
        .map(|(pid, marker)| match Stat::read(*pid) {
            Seen::Known(stat) => format!("pid {pid} ({}) of task {}", stat.name, marker.task),
            Seen::Unknown(_) => format!("pid {pid} of task {}", marker.task),
        })
        .collect();
    let more = if left.len() > NAMED { format!(", and {} more", left.len() - NAMED) } else { String::new() };
    let pids: Vec<String> = left.iter().map(|(pid, _)| pid.to_string()).collect();
    Check::warn(
        name,
        format!("{}{more}", named.join(", ")),
        format!("they hold ports and memory: kill {}", pids.join(" ")),
    )
}
