//! The socket as a file: made for its owner alone, in place of a dead one, gone at the end.

use crate::control::SOCKET;
use crate::error::{During, Error, Result};
use crate::process::procfs;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fchmod, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// How many clients may wait to be accepted.
const BACKLOG: i32 = 128;
const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// A listening `minion.sock`. Dropping it removes the file, if it still is this one.
#[derive(Debug)]
pub(super) struct Socket {
    listener: OwnedFd,
    directory: OwnedFd,
    /// Device and inode of the file, unless it is to stay. They mean this one as long as the listener is open: it holds the
    /// inode, also when the name is gone.
    file: Option<(u64, u64)>,
}

impl Socket {
    /// Makes the socket in a directory. A socket that nobody listens on is replaced; one of a living minion, and anything
    /// that is no socket, is an error.
    pub(super) fn open(directory: &Path) -> Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(rustix::fs::CWD, directory, flags, Mode::empty()).during("open", directory.display())?;
        let listener = unbound(FLAGS)?;
        // Before bind, which makes the file with the mode of the socket: afterwards there would be a moment in which
        // everybody could connect, and umask belongs to all threads. [KF-90]
        fchmod(&listener, Mode::RUSR | Mode::WUSR).during("set the mode of", SOCKET)?;
        let address = address(directory.as_fd())?;
        match bind(&listener, &address) {
            Err(Errno::ADDRINUSE) => {
                remove_dead(directory.as_fd(), &address)?;
                bind(&listener, &address)
            }
            result => result,
        }
        .during("make", SOCKET)?;
        let file = statat(&directory, SOCKET, AtFlags::SYMLINK_NOFOLLOW).during("look at", SOCKET)?;
        listen(&listener, BACKLOG).during("listen on", SOCKET)?;
        Ok(Self { listener, directory, file: Some(identity(&file)) })
    }
}

impl Socket {
    /// The file is not touched any more.
    pub(super) fn leave_file(&mut self) {
        self.file = None;
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let Some(own) = self.file else { return };
        let now = statat(&self.directory, SOCKET, AtFlags::SYMLINK_NOFOLLOW);
        if now.is_ok_and(|file| identity(&file) == own) {
            // Best effort: a socket that stays is dead, and the next minion replaces it.
            let _ = unlinkat(&self.directory, SOCKET, AtFlags::empty());
        }
    }
}

/// A stream socket without a name.
fn unbound(flags: SocketFlags) -> Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).during("make", "a unix socket")
}

/// The socket's name by way of the directory's fd: sandbox paths are longer than the 108 bytes of an address. [KF-91]
fn address(directory: BorrowedFd<'_>) -> Result<SocketAddrUnix> {
    SocketAddrUnix::new(procfs::descriptor(directory.as_raw_fd()).join(SOCKET)).during("name", SOCKET)
}

/// Removes the socket of a minion that is gone. Whoever asks whether it is may only remove a socket: a connect to a file of
/// any other kind is refused with the same errno as one to a dead socket. [KF-92]
fn remove_dead(directory: BorrowedFd<'_>, address: &SocketAddrUnix) -> Result<()> {
    let refused = |why: &'static str| Err(Error::new("make", SOCKET, why));
    let file = match statat(directory, SOCKET, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno).during("look at", SOCKET),
    };
    if FileType::from_raw_mode(file.st_mode) != FileType::Socket {
        return refused("there is a file of that name that is no socket");
    }
    match connect(unbound(FLAGS)?, address) {
        Err(Errno::CONNREFUSED) => match unlinkat(directory, SOCKET, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno).during("remove the dead", SOCKET),
        },
        Err(Errno::NOENT) => Ok(()),
        // EAGAIN: somebody listens, and does not come round to accepting.
        Ok(()) | Err(Errno::AGAIN) => refused("another minion is listening on it"),
        Err(errno) => Err(errno).during("look who listens on", SOCKET),
    }
}

fn identity(file: &Stat) -> (u64, u64) {
    (file.st_dev, file.st_ino)
}
