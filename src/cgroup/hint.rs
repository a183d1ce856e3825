//! What an errno means when a process is put into a cgroup.

use rustix::io::Errno;

/// What the answer of the kernel to a write to `cgroup.procs` says to an operator.
pub(super) fn attach(errno: Errno) -> Option<&'static str> {
    Some(match errno {
        Errno::NOSPC => "cpuset.cpus or cpuset.mems is empty in that cgroup: the agent has to fill both",
        Errno::BUSY => {
            "controllers are enabled for the children of that cgroup (cgroup.subtree_control), so no process may be in it; \
             Mesos keeps them in the cgroup's leaf"
        }
        Errno::INVAL => "the cpu controller takes a real-time process only where cpu.rt_runtime_us is above 0",
        Errno::OPNOTSUPP => "the cgroup.type of that cgroup is threaded or domain invalid",
        Errno::NODEV | Errno::NOENT => "that cgroup was removed: the agent has destroyed the container",
        Errno::SRCH => "the process has ended",
        Errno::ACCESS | Errno::PERM => {
            "this user may not write to cgroup.procs there (on v2: nor to that of the cgroup above both places)"
        }
        Errno::ROFS => "the cgroup file system is mounted read-only here",
        _ => return None,
    })
}
