//! A mount namespace of our own, in which what the host mounts appears and out of which nothing leaks.

use crate::error::{During, Error, Result};
use crate::process::startup;
use nix::sched::{CloneFlags, unshare};
use rustix::fs::readlink;
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_change};
use std::ffi::CString;
use std::fs;

/// Proof that this process is in a mount namespace of its own, and a way to see that others are in the same.
#[derive(Debug)]
pub struct PrivateMounts {
    /// What `/proc/<pid>/ns/mnt` points to, `mnt:[4026531841]`.
    namespace: CString,
}

/// Moves this process to a new mount namespace and makes every mount in it a slave of the host's.
///
/// Slave, not private: the agent mounts and unmounts persistent volumes in the host's namespace, and a private copy of a
/// volume would keep it busy for ever. [ME-11] Slave, not shared: a child's mounts must not appear on the host.
///
/// Only the calling thread moves, so this fails where there is another one. [KF-32]
///
/// `unshare(CLONE_NEWNS)`, then `mount("/", MS_REC | MS_SLAVE)`.
pub fn enter_private_mounts() -> Result<PrivateMounts> {
    let operation = "enter a private mount namespace";
    let threads = startup::thread_count()?;
    if threads != 1 {
        let cause = format!("there are {threads} threads, and only the calling one would move");
        return Err(Error::new(operation, "", cause).hint("this has to come first in main: please report it as a bug"));
    }
    unshare(CloneFlags::CLONE_NEWNS).map_err(|error| {
        let failed = Error::io(operation, "", error);
        if error == nix::Error::EPERM { failed.hint(not_permitted()) } else { failed }
    })?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC).map_err(|error| {
        let failed = Error::io("make slave mounts below", "/", error);
        match error {
            Errno::INVAL => failed.hint("/ is not a mount point: this process was started in a plain chroot"),
            Errno::PERM => failed.hint(not_permitted()),
            _ => failed,
        }
    })?;
    let namespace = namespace_of("self").during("read", "/proc/self/ns/mnt")?;
    Ok(PrivateMounts { namespace })
}

impl PrivateMounts {
    /// Whether the process is in this mount namespace. One system call.
    pub fn contains(&self, pid: i32) -> Result<bool> {
        let namespace = namespace_of(&pid.to_string()).map_err(|error| {
            let failed = Error::io("read", format!("/proc/{pid}/ns/mnt"), error);
            match error {
                Errno::NOENT | Errno::SRCH => failed.hint("the process has ended"),
                Errno::ACCESS | Errno::PERM => {
                    failed.hint("the process belongs to another user or has other privileges")
                }
                _ => failed,
            }
        })?;
        Ok(namespace == self.namespace)
    }
}

fn namespace_of(pid: &str) -> Result<CString, Errno> {
    readlink(format!("/proc/{pid}/ns/mnt"), Vec::new())
}

fn not_permitted() -> String {
    match fs::read_to_string("/proc/self/status") {
        Ok(status) => cause(&status),
        Err(error) => format!("it needs CAP_SYS_ADMIN; /proc/self/status: {error}"),
    }
}

/// Which of the three reasons for EPERM it is, from the text of `/proc/self/status`. [KF-33]
fn cause(status: &str) -> String {
    const SYS_ADMIN: u64 = 1 << 21;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_default().split_ascii_whitespace().next_back().unwrap_or_default()
    };
    let capable = u64::from_str_radix(field("CapEff"), 16).unwrap_or(0) & SYS_ADMIN != 0;
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    let effective = uids.split_ascii_whitespace().nth(1).unwrap_or("unknown");
    match (capable, effective, field("Seccomp")) {
        (true, _, "2") => {
            "CAP_SYS_ADMIN is there, but a seccomp filter is active (Seccomp: 2): the agent's linux/seccomp profile has to \
             allow unshare and mount"
                .to_owned()
        }
        (true, ..) => "CAP_SYS_ADMIN is there and no seccomp filter: a security module denies it".to_owned(),
        (false, "0", _) => {
            "uid 0 without CAP_SYS_ADMIN: the agent's linux/capabilities isolator has to grant it".to_owned()
        }
        (false, uid, _) => format!("uid {uid} has no CAP_SYS_ADMIN: the executor has to run as root"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(uid: u32, effective: &str, seccomp: u32) -> String {
        format!("Name:\tminion\nUid:\t7\t{uid}\t7\t7\nCapEff:\t{effective}\nSeccomp:\t{seccomp}\nSeccomp_filters:\t1\n")
    }

    #[test]
    fn eperm_is_told_apart_by_cause() {
        assert!(cause(&status(99, "0000000000000000", 2)).starts_with("uid 99 has no CAP_SYS_ADMIN"));
        assert!(cause(&status(0, "00000000a80425fb", 2)).starts_with("uid 0 without CAP_SYS_ADMIN"));
        assert!(cause(&status(0, "000001ffffffffff", 2)).contains("seccomp filter is active"));
        assert!(cause(&status(0, "000001ffffffffff", 0)).contains("security module"));
        assert!(cause("").starts_with("uid unknown"));
    }

    #[test]
    fn a_process_with_threads_is_refused() {
        // Tests run in threads of their own.
        let error = enter_private_mounts().unwrap_err().to_string();
        assert!(error.contains("threads"), "{error}");
    }
}
