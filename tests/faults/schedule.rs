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
    ("brk", &["ENOMEM"]),
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
    ("faccessat2", &["ENOSYS", "EACCES", "EIO", "ENOENT"]),
    ("fchmod", &["EPERM", "EIO", "EROFS"]),
    ("fcntl", &["EMFILE", "EPERM", "EINVAL"]),
    ("fstat", &["EIO", "ENOMEM"]),
    ("fstatfs", &["EIO", "EINTR", "ENOSYS"]),
    ("getcwd", &["ENOENT", "EACCES"]),
    ("getdents64", &["EIO", "ENOENT"]),
    // The keys of std's hash maps: EAGAIN is for those who ask not to wait for an empty pool, which these do not.
    ("getrandom", &["EINTR", "ENOSYS"]),
    ("ioctl", &["EINVAL", "ENOTTY"]),
    ("listen", &["EADDRINUSE", "EOPNOTSUPP"]),
    ("lseek", &["EINVAL"]),
    ("madvise", &["EAGAIN", "ENOMEM"]),
    ("mkdir", &["EACCES", "ENOSPC", "EEXIST"]),
    ("mmap", &["ENOMEM", "EAGAIN"]),
    ("mount", &["EPERM", "EINVAL", "ENOMEM"]),
    ("mprotect", &["ENOMEM"]),
    ("mremap", &["ENOMEM"]),
    ("munmap", &["ENOMEM"]),
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
    ("sched_getaffinity", &["ESRCH", "EINVAL"]),
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

const NO_ERRNO: &str = "has no errno";
const ARGUMENTS: &str = "fails for wrong arguments alone";
const LIBC: &str = "is libc's own, which ends the program or carries on by itself";

/// Calls that are left alone, and why.
const LEFT_ALONE: &[(&str, &str)] = &[
    ("arch_prctl", LIBC),
    ("clock_nanosleep", ARGUMENTS),
    ("exit", NO_ERRNO),
    ("exit_group", NO_ERRNO),
    ("futex", LIBC),
    ("getegid", NO_ERRNO),
    ("geteuid", NO_ERRNO),
    ("getpid", NO_ERRNO),
    ("getppid", NO_ERRNO),
    ("gettid", NO_ERRNO),
    ("getuid", NO_ERRNO),
    ("restart_syscall", NO_ERRNO),
    ("rseq", LIBC),
    ("rt_sigaction", ARGUMENTS),
    ("rt_sigprocmask", ARGUMENTS),
    ("rt_sigreturn", NO_ERRNO),
    ("set_robust_list", LIBC),
    ("set_tid_address", NO_ERRNO),
    ("sigaltstack", ARGUMENTS),
];

/// The calls for memory. What libc and std ask for before `main` they do not survive, and no child is there yet.
const MEMORY: &[&str] = &["brk", "mmap", "mprotect", "mremap", "munmap"];

/// The calls of a life, from a trace of `strace -f`.
#[derive(Default)]
pub struct Counts {
    /// How many of each name one thread or process makes at most.
    most: BTreeMap<String, usize>,
    /// How many of each name there are before `main`.
    before_main: BTreeMap<String, usize>,
}

impl Counts {
    /// The calls that are left alone, by the reason.
    pub fn left_alone(&self) -> BTreeMap<&'static str, Vec<String>> {
        let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (call, why) in LEFT_ALONE.iter().filter(|(call, _)| self.most.contains_key(*call)) {
            reasons.entry(why).or_default().push((*call).to_owned());
        }
        for (call, count) in
            self.before_main.iter().filter(|(call, count)| **count > 0 && MEMORY.contains(&call.as_str()))
        {
            reasons.entry("before main").or_default().push(format!("{call} {count}"));
        }
        reasons
    }
}

/// Counts the calls of a trace.
pub fn counts(trace: &str) -> Counts {
    let mut per_process: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut counts = Counts::default();
    let mut is_before_main = true;
    for line in trace.lines() {
        let Some((pid, rest)) = line.split_once(' ') else { continue };
        let Some((call, _)) = rest.trim_start().split_once('(') else { continue };
        // The first thing that main does.
        is_before_main &= call != "rt_sigprocmask";
        if call.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            *per_process.entry((call, pid)).or_default() += 1;
            *counts.before_main.entry(call.to_owned()).or_default() += usize::from(is_before_main);
        }
    }
    for ((call, _), count) in per_process {
        let entry = counts.most.entry(call.to_owned()).or_insert(0);
        *entry = count.max(*entry);
    }
    counts
}

/// Every fault of the calls in `counts`, or, short, enough of them for every run of the tests.
pub fn faults(counts: &Counts, all: bool) -> Vec<Fault> {
    let unknown: BTreeSet<&String> =
        counts.most.keys().filter(|call| errnos(call).is_none() && !is_left_alone(call)).collect();
    assert!(unknown.is_empty(), "calls without errnos in the table: {unknown:?}");
    let mut faults = Vec::new();
    for (call, count) in &counts.most {
        let Some((call, errnos)) = errnos(call) else { continue };
        let before = if MEMORY.contains(&call) { counts.before_main[call] } else { 0 };
        for nth in before + 1..=*count {
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
    LEFT_ALONE.iter().any(|(name, _)| *name == call)
}

fn is_fibonacci(number: usize) -> bool {
    let (mut a, mut b) = (1, 2);
    while b < number {
        (a, b) = (b, a + b);
    }
    b == number
}
