//! Everything on the command line that decides what the two children are started with.

use super::duration::GoDuration;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The flags of the profile, read and checked. [`Default`] is the command line without a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    /// `--km-binary`: the program that both children are commands of.
    pub km_binary: Option<PathBuf>,
    /// `--path-override`: PATH of the children instead of the inherited one. Empty is not given: schedulers send it so.
    pub path_override: OsString,
    /// `--contain-pod-resources`, when given. Not given means true, but then a v2 host is spared. [GO-12]
    pub contain_pod_resources: Option<bool>,
    /// `--restart-delay`: before the first restart of the proxy.
    pub restart_delay: Duration,
    /// `--restart-delay-max`: the longest delay.
    pub restart_delay_max: Duration,
    /// The proxy's own flags.
    pub proxy: ProxyFlags,
    /// `--address`, as written. The proxy binds to it.
    pub address: Option<OsString>,
    /// `--api-servers`, all uses of it in order. None is not given; one empty entry is a legal value. [GO-13]
    pub api_servers: Option<Vec<String>>,
    /// `--kubeconfig`, when given, even if empty.
    pub kubeconfig: Option<PathBuf>,
    /// `--auth-path`, when given, even if empty.
    pub auth_path: Option<PathBuf>,
    /// `--hostname-override`. Empty is not given.
    pub hostname_override: OsString,
    /// `--housekeeping_interval`, sent to the executor in any case.
    pub housekeeping_interval: GoDuration,
    /// `--global_housekeeping_interval`, sent to the executor in any case.
    pub global_housekeeping_interval: GoDuration,
    /// The executor's arguments before minion's own, byte for byte and in the order of the command line.
    pub executor_args: Vec<OsString>,
    /// What stood behind `--`: the executor's last arguments.
    pub trailing_args: Vec<OsString>,
}

/// What kube-proxy is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyFlags {
    /// `--run-proxy`.
    pub run: bool,
    /// `--proxy-kubeconfig`. Empty is none.
    pub kubeconfig: OsString,
    /// `--proxy-logv`.
    pub logv: i64,
    /// `--proxy-bindall`: bind to all addresses, whatever `--address` says.
    pub bindall: bool,
    /// `--proxy-mode`, unchecked: kube-proxy knows its modes.
    pub mode: OsString,
    /// `--conntrack-max`.
    pub conntrack_max: i64,
    /// `--conntrack-tcp-timeout-established`. Zero leaves the kernel's value.
    pub conntrack_tcp_timeout_established: GoDuration,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            km_binary: None,
            path_override: OsString::new(),
            contain_pod_resources: None,
            restart_delay: Duration::from_secs(5),
            restart_delay_max: Duration::from_secs(60),
            proxy: ProxyFlags::default(),
            address: None,
            api_servers: None,
            kubeconfig: None,
            auth_path: None,
            hostname_override: OsString::new(),
            housekeeping_interval: GoDuration::from_nanos(10_000_000_000),
            global_housekeeping_interval: GoDuration::from_nanos(60_000_000_000),
            executor_args: Vec::new(),
            trailing_args: Vec::new(),
        }
    }
}

impl Default for ProxyFlags {
    fn default() -> Self {
        Self {
            run: true,
            kubeconfig: OsString::new(),
            logv: 0,
            bindall: false,
            mode: OsString::from("userspace"),
            conntrack_max: 0,
            conntrack_tcp_timeout_established: GoDuration::from_nanos(0),
        }
    }
}
