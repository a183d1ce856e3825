//! Who listens on a unix socket, by the kernel's word.

use super::procfs;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

/// A connection to a stream socket.
#[derive(Debug)]
pub struct Listener {
    /// Our end.
    pub socket: OwnedFd,
    /// Who listens; 0 where it is in a pid namespace that is not below ours, or where the kernel does not say.
    pub pid: i32,
    /// Its effective user when it began to listen.
    pub uid: u32,
}

/// A directory, for [`Listener::of`] to look into.
pub fn directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

impl Listener {
    /// Connects to the socket of this name in a directory. Nobody is spoken to.
    ///
    /// `patience` is how long it may wait for a place in the listener's queue: EAGAIN when there is none by then. Without it
    /// that is said at once. [KF-95]
    pub fn of(directory: &OwnedFd, name: &str, patience: Option<Duration>) -> io::Result<Self> {
        let mut flags = SocketFlags::CLOEXEC;
        flags.set(SocketFlags::NONBLOCK, patience.is_none());
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        if patience.is_some() {
            set_socket_timeout(&socket, Timeout::Send, patience)?;
        }
        // The path itself may be too long for an address. [KF-91]
        let address = SocketAddrUnix::new(procfs::descriptor(directory.as_raw_fd()).join(name))?;
        connect(&socket, &address)?;
        // By nix, whose answer may hold the pid 0. [CR-60]
        let (pid, uid) = getsockopt(&socket, PeerCredentials).map_or((0, u32::MAX), |peer| (peer.pid(), peer.uid()));
        Ok(Self { socket, pid, uid })
    }

    /// Whether we may believe what it says.
    pub fn is_believed(&self) -> bool {
        is_believed(self.uid)
    }
}

/// Root and our own user are believed: who else says something may say it to lead us astray.
pub fn is_believed(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

/// Whether we may ask it at all: root looks after the minions of every user, where they are named to it.
pub fn may_be_asked(uid: u32) -> bool {
    is_believed(uid) || rustix::process::geteuid().is_root()
}

/// The socket of this path, as device and inode, if one whom we believe made its file. It is not connected to.
pub fn believed_socket(path: &Path) -> Option<(u64, u64)> {
    socket(path, is_believed)
}

/// The same of one that we may ask.
pub fn socket_to_ask(path: &Path) -> Option<(u64, u64)> {
    socket(path, may_be_asked)
}

fn socket(path: &Path, is_right: fn(u32) -> bool) -> Option<(u64, u64)> {
    let file = path.symlink_metadata().ok()?;
    (file.file_type().is_socket() && is_right(file.uid())).then(|| (file.dev(), file.ino()))
}
