//! `/proc/<pid>/status`: user, signals, capabilities, seccomp, memory. And `/proc/<pid>/limits`.

use super::seen::{self, Seen};
use serde::Serialize;

/// The fields that the tools use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::inspect) struct Status {
    pub(in crate::inspect) uid: u32,
    pub(in crate::inspect) threads: u32,
    pub(in crate::inspect) tracer: i32,
    /// Bytes; None for a zombie and a kernel thread.
    pub(in crate::inspect) resident: Option<u64>,
    pub(in crate::inspect) blocked: u64,
    pub(in crate::inspect) ignored: u64,
    pub(in crate::inspect) caught: u64,
    pub(in crate::inspect) pending: u64,
    pub(in crate::inspect) permitted: u64,
    pub(in crate::inspect) effective: u64,
    pub(in crate::inspect) bounding: u64,
    pub(in crate::inspect) no_new_privs: bool,
    /// 0 off, 1 strict, 2 filter.
    pub(in crate::inspect) seccomp: u32,
}

impl Status {
    pub(in crate::inspect) fn read(pid: i32) -> Seen<Self> {
        seen::text(&super::path(pid, "status")).map(|text| Self::parse(&text))
    }

    /// A field that a kernel does not have yet counts as zero.
    pub(in crate::inspect) fn parse(text: &str) -> Self {
        let mut status = Self::default();
        for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
            let mut words = value.split_ascii_whitespace();
            let first = words.next().unwrap_or_default();
            let (number, mask) = (first.parse().unwrap_or(0), u64::from_str_radix(first, 16).unwrap_or(0));
            match name {
                // The effective one is the second.
                "Uid" => status.uid = words.next().and_then(|uid| uid.parse().ok()).unwrap_or(0),
                "Threads" => status.threads = number,
                "TracerPid" => status.tracer = first.parse().unwrap_or(0),
                "VmRSS" => status.resident = first.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024),
                "SigBlk" => status.blocked = mask,
                "SigIgn" => status.ignored = mask,
                "SigCgt" => status.caught = mask,
                "SigPnd" | "ShdPnd" => status.pending |= mask,
                "CapPrm" => status.permitted = mask,
                "CapEff" => status.effective = mask,
                "CapBnd" => status.bounding = mask,
                "NoNewPrivs" => status.no_new_privs = number == 1,
                "Seccomp" => status.seccomp = number,
                _ => {}
            }
        }
        status
    }
}

/// A resource limit. None is unlimited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// As the kernel calls it: `Max open files`.
    pub name: String,
    /// What counts.
    pub soft: Option<u64>,
    /// What it may be raised to.
    pub hard: Option<u64>,
}

/// Every limit of a process.
pub(in crate::inspect) fn limits(pid: i32) -> Seen<Vec<Limit>> {
    /// The width of the first column: names hold blanks.
    const NAME: usize = 26;
    let line = |line: &str| {
        let mut words = line.get(NAME..)?.split_ascii_whitespace();
        let name = line.get(..NAME)?.trim().to_owned();
        Some(Limit { name, soft: words.next()?.parse().ok(), hard: words.next()?.parse().ok() })
    };
    seen::text(&super::path(pid, "limits")).map(|text| text.lines().skip(1).filter_map(line).collect())
}

/// The names of the signals of a mask, without those that only libraries use.
pub(in crate::inspect) fn signals(mask: u64) -> Vec<String> {
    (1..=64).filter(|signal| holds(mask, *signal)).map(crate::process::signals::name).collect()
}

/// Whether a mask holds a signal.
pub(in crate::inspect) fn holds(mask: u64, signal: i32) -> bool {
    mask >> (signal - 1) & 1 == 1
}

/// The bits of `CAP_SETGID`, `CAP_SETUID`, `CAP_SYS_ADMIN`, `CAP_SYS_NICE` and `CAP_SYS_RESOURCE`.
pub(in crate::inspect) const SETGID: u32 = 6;
pub(in crate::inspect) const SETUID: u32 = 7;
pub(in crate::inspect) const SYS_ADMIN: u32 = 21;
pub(in crate::inspect) const SYS_NICE: u32 = 23;
pub(in crate::inspect) const SYS_RESOURCE: u32 = 24;

/// Whether a set of capabilities holds one.
pub(in crate::inspect) fn can(set: u64, capability: u32) -> bool {
    set >> capability & 1 == 1
}

/// The capabilities by number.
const CAPABILITIES: [&str; 41] = [
    "chown",
    "dac_override",
    "dac_read_search",
    "fowner",
    "fsetid",
    "kill",
    "setgid",
    "setuid",
    "setpcap",
    "linux_immutable",
    "net_bind_service",
    "net_broadcast",
    "net_admin",
    "net_raw",
    "ipc_lock",
    "ipc_owner",
    "sys_module",
    "sys_rawio",
    "sys_chroot",
    "sys_ptrace",
    "sys_pacct",
    "sys_admin",
    "sys_boot",
    "sys_nice",
    "sys_resource",
    "sys_time",
    "sys_tty_config",
    "mknod",
    "lease",
    "audit_write",
    "audit_control",
    "setfcap",
    "mac_override",
    "mac_admin",
    "syslog",
    "wake_alarm",
    "block_suspend",
    "audit_read",
    "perfmon",
    "bpf",
    "checkpoint_restore",
];

/// A capability set in words: `all`, `none`, `all but sys_admin`, `kill, setuid`.
pub(in crate::inspect) fn capabilities(mask: u64) -> String {
    let (there, lacking): (Vec<_>, Vec<_>) = (0..CAPABILITIES.len()).partition(|bit| mask >> bit & 1 == 1);
    let names = |bits: &[usize]| bits.iter().map(|bit| CAPABILITIES[*bit]).collect::<Vec<_>>().join(", ");
    match (there.len(), lacking.len()) {
        (_, 0) => "all".to_owned(),
        (0, _) => "none".to_owned(),
        (_, 1..=8) => format!("all but {}", names(&lacking)),
        _ => names(&there),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_status_file() {
        let status = Status::parse(
            "Name:\tx\nTracerPid:\t9\nUid:\t0\t7\t0\t0\nVmRSS:\t    12 kB\nThreads:\t3\nSigBlk:\t0000000000004000\nSigPnd:\t0\n\
             ShdPnd:\t0000000000000001\nCapEff:\t0000000000200000\nNoNewPrivs:\t1\nSeccomp:\t2\n",
        );
        assert_eq!((status.uid, status.threads, status.tracer, status.resident), (7, 3, 9, Some(12_288)));
        assert_eq!(signals(status.blocked), ["SIGTERM"]);
        assert_eq!(signals(status.pending), ["SIGHUP"]);
        assert_eq!(capabilities(status.effective), "sys_admin");
        assert!(status.no_new_privs && status.seccomp == 2);
    }

    #[test]
    fn capabilities_are_told_the_short_way_round() {
        assert_eq!(capabilities(0x1ff_ffff_ffff), "all");
        assert_eq!(capabilities(u64::MAX), "all", "a newer kernel has more");
        assert_eq!(capabilities(0), "none");
        assert_eq!(capabilities(0x1ff_ffdf_ffff), "all but sys_admin");
        assert_eq!(capabilities(0b100_0001), "chown, setgid");
    }

    #[test]
    fn limits_have_names_of_several_words() {
        let own = i32::try_from(std::process::id()).unwrap();
        let Seen::Known(limits) = limits(own) else { panic!("not seen") };
        let files = limits.iter().find(|limit| limit.name == "Max open files").unwrap();
        assert!(files.soft.is_some_and(|soft| soft > 0));
        assert!(limits.iter().any(|limit| limit.name == "Max cpu time"));
    }
}
