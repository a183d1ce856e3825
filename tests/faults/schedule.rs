//! Which call fails, the how many-th of its kind, and with what.

use std::collections::{BTreeMap, BTreeSet};

/// One fault: the `nth` call of this name in a thread or process fails with this errno instead of being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub call: &'static str,
    pub errno: &'static str,
    pub nth: usize,
}

/// What each call's manual page says it may fail with, and what a seccomp profile makes of it. Not what only a program with
/// a mistake gets: EBADF, EFAULT.
const ERRNOS: &[(&str, &[&str])] = &[
    ("accept4", &["EMFILE", "ECONNABORTED", "ENOMEM", "EINTR"]),
    ("access", &["EACCES", "EIO", "ENOENT", "ENOMEM"]),
    ("bind", &["EADDRINUSE", "EACCES", "ENOSPC", "EROFS"]),
    ("chdir", &["EACCES", "ENOENT"]),
    ("clone", &["EAGAIN", "ENOMEM", "EPERM"]),
    ("clone3", &["EAGAIN", "ENOMEM", "ENOSYS", "EPERM"]),
    ("close", &["EIO", "EINTR"]),
    ("close_range", &["ENOSYS", "EPERM", "EINVAL"]),
    ("dup2", &["EINTR", "EBUSY", "EMFILE"]),
    ("epoll_create1", &["EMFILE", "ENOMEM"]),
    ("epoll_ctl", &["ENOMEM", "ENOSPC"]),
    ("epoll_pwait", &["EINTR"]),
    ("eventfd2", &["EMFILE", "ENOMEM", "ENODEV"]),
    ("execve", &["ENOENT", "EACCES", "ENOEXEC", "ETXTBSY", "E2BIG", "ENOMEM", "EAGAIN"]),
    ("fchmod", &["EPERM", "EIO", "EROFS"]),
    ("fcntl", &["EMFILE", "EPERM", "EINVAL"]),
    ("fstat", &["EIO", "ENOMEM"]),
    ("fstatfs", &["EIO", "EINTR", "ENOSYS"]),
    ("getcwd", &["ENOENT", "EACCES"]),
    ("getdents64", &["EIO", "ENOENT"]),
    ("ioctl", &["EINVAL", "ENOTTY"]),
    ("listen", &["EADDRINUSE", "EOPNOTSUPP"]),
    ("lseek", &["EINVAL"]),
    ("madvise", &["EAGAIN", "ENOMEM"]),
    ("mkdir", &["EACCES", "ENOSPC", "EEXIST"]),
    ("mount", &["EPERM", "EINVAL", "ENOMEM"]),
    ("newfstatat", &["EACCES", "EIO", "ENOENT"]),
    ("open", &["EMFILE", "EACCES", "EIO"]),
    ("openat", &["EMFILE", "ENOMEM", "EACCES", "ENOENT", "EIO"]),
    ("openat2", &["ENOSYS", "EPERM", "EMFILE", "EAGAIN"]),
    ("pidfd_open", &["EMFILE", "ENOMEM", "EPERM", "ENOSYS"]),
    ("pidfd_send_signal", &["EPERM", "ENOSYS", "EINVAL", "ESRCH"]),
    ("pipe2", &["EMFILE", "ENFILE"]),
    ("poll", &["EINTR", "ENOMEM"]),
    ("ppoll", &["EINTR", "ENOMEM"]),
    ("prctl", &["EINVAL", "EPERM"]),
    ("pread64", &["EIO", "EINTR"]),
    ("prlimit64", &["EPERM"]),
    ("read", &["EINTR", "EIO"]),
    ("readlink", &["EACCES", "ENOENT"]),
    ("readlinkat", &["EACCES", "ENOENT"]),
    ("rename", &["EACCES", "EBUSY", "EIO", "ENOSPC"]),
    ("setpgid", &["EACCES", "EPERM"]),
    ("signalfd4", &["EMFILE", "ENOMEM", "ENODEV"]),
    ("socket", &["EMFILE", "ENOMEM", "EACCES", "EAFNOSUPPORT"]),
    ("statfs", &["EIO", "EINTR", "ENOSYS", "ENOMEM"]),
    ("statx", &["EACCES", "ENOENT", "ENOSYS"]),
    ("tgkill", &["ESRCH"]),
    ("timerfd_create", &["EMFILE", "ENOMEM"]),
    ("timerfd_settime", &["EINVAL"]),
    ("unlink", &["EACCES", "EIO"]),
    ("unlinkat", &["EACCES", "EIO"]),
    ("unshare", &["EPERM", "ENOMEM", "ENOSPC"]),
    ("waitid", &["EINTR", "ECHILD"]),
    ("write", &["EIO", "ENOSPC", "EINTR", "EDQUOT", "EPIPE"]),
];

/// Calls that are left alone: they cannot fail, or belong to libc and std, who made up their mind what their failure is.
const LEFT_ALONE: &[&str] = &[
    "arch_prctl",
    "brk",
    "exit",
    "exit_group",
    "futex",
    "getpid",
    "getppid",
    "getrandom",
    "gettid",
    "getuid",
    "mmap",
    "mprotect",
    "mremap",
    "munmap",
    "rseq",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_getaffinity",
    "set_robust_list",
    "set_tid_address",
    "sigaltstack",
    "restart_syscall",
    "clock_nanosleep",
    "geteuid",
];

/// How many calls of each name one thread or process makes at most, from a trace of `strace -f`.
pub fn counts(trace: &str) -> BTreeMap<String, usize> {
    let mut per_process: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in trace.lines() {
        let Some((pid, rest)) = line.split_once(' ') else { continue };
        let Some((call, _)) = rest.trim_start().split_once('(') else { continue };
        if call.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            *per_process.entry((call, pid)).or_default() += 1;
        }
    }
    let mut most = BTreeMap::new();
    for ((call, _), count) in per_process {
        let entry = most.entry(call.to_owned()).or_insert(0);
        *entry = count.max(*entry);
    }
    most
}

/// Every fault of the calls in `counts`, or, short, enough of them for every run of the tests.
pub fn faults(counts: &BTreeMap<String, usize>, all: bool) -> Vec<Fault> {
    let unknown: BTreeSet<&String> =
        counts.keys().filter(|call| errnos(call).is_none() && !is_left_alone(call)).collect();
    assert!(unknown.is_empty(), "calls without errnos in the table: {unknown:?}");
    let mut faults = Vec::new();
    for (call, count) in counts {
        let Some((call, errnos)) = errnos(call) else { continue };
        for nth in 1..=*count {
            if all {
                faults.extend(errnos.iter().map(|errno| Fault { call, errno, nth }));
            } else if nth <= 3 || is_fibonacci(nth) {
                // Another errno each time; the first call meets the one that is most likely.
                faults.push(Fault { call, errno: errnos[(nth - 1) % errnos.len()], nth });
            }
        }
    }
    faults
}

fn errnos(call: &str) -> Option<(&'static str, &'static [&'static str])> {
    ERRNOS.iter().find(|(name, _)| *name == call).copied()
}

fn is_left_alone(call: &str) -> bool {
    LEFT_ALONE.contains(&call)
}

fn is_fibonacci(number: usize) -> bool {
    let (mut a, mut b) = (1, 2);
    while b < number {
        (a, b) = (b, a + b);
    }
    b == number
}
