//! Flags, environment and host to the tasks.

use super::environment::{self, Environment};
use super::flags::Flags;
use super::kubeconfig::Read;
use super::{api, value};
use crate::error;
use crate::task::{Restart, Role, TaskSpec};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What the profile has to know of the machine. The caller found it out.
pub struct Host<'a> {
    /// The program that both children are commands of.
    pub km: PathBuf,
    /// The working directory; None when it was deleted.
    pub cwd: Option<PathBuf>,
    /// What the executor may be told of its cgroup.
    pub cgroup_root: CgroupRoot,
    /// The container's own id; None when nothing says it.
    pub container: Option<String>,
    /// Reads a kubeconfig or an auth file.
    pub read: Read<'a>,
}

/// The cgroup below which the executor may put its pods, as `--cgroup-root` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CgroupRoot {
    /// The container's cgroup in the v1 hierarchies: `/mesos/<id>`.
    Path(String),
    /// The same by the container's id, and no hierarchy has it.
    Absent(String),
    /// The container's cgroup on a unified host, where cgroups below it stop the agent's recovery. [GO-12]
    Unified(String),
    /// The container is not known.
    Unknown,
}

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The proxy, unless it is switched off, then the executor.
    pub tasks: Vec<TaskSpec>,
    /// What an operator should read in the log.
    pub notices: Vec<Notice>,
}

/// A line for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Whether somebody should act on it.
    pub warn: bool,
    /// The line.
    pub text: String,
}

impl Notice {
    pub(super) fn warn(text: String) -> Self {
        Self { warn: true, text }
    }

    pub(super) fn info(text: String) -> Self {
        Self { warn: false, text }
    }
}

/// The two tasks of the original: kube-proxy and the executor, with their whole argument lists and environments.
pub fn profile(flags: &Flags, env: &[(OsString, OsString)], host: &Host<'_>) -> error::Result<Profile> {
    let mut notices = Vec::new();
    let master = api::host(flags, host.read, &mut notices)?;
    let km = match &host.cwd {
        Some(cwd) => cwd.join(host.km.strip_prefix("./").unwrap_or(&host.km)),
        None => host.km.clone(),
    };
    let inherited = environment::inherited(env, &flags.path_override, host.cwd.as_deref(), &mut notices);
    let mut tasks = Vec::with_capacity(2);
    if flags.proxy.run {
        let bind = bind_address(flags, env, &mut notices);
        tasks.push(proxy(&km, proxy_args(flags, bind, &master), inherited.clone(), flags));
    }
    let env = environment::of_executor(&inherited, host.container.as_deref());
    tasks.push(executor(&km, executor_args(flags, &host.cgroup_root, &mut notices), env));
    Ok(Profile { tasks, notices })
}

fn proxy(km: &Path, args: Vec<OsString>, env: Environment, flags: &Flags) -> TaskSpec {
    let max = flags.restart_delay_max.max(flags.restart_delay);
    let restart = Restart::Always { delay: flags.restart_delay, max };
    TaskSpec { args: command(km, "proxy", args), env, ..TaskSpec::new("proxy", Role::Helper, km, restart) }
}

fn executor(km: &Path, args: Vec<OsString>, env: Environment) -> TaskSpec {
    TaskSpec {
        args: command(km, "executor", args),
        env,
        ..TaskSpec::new("executor", Role::Executor, km, Restart::Never)
    }
}

fn command(km: &Path, name: &str, args: Vec<OsString>) -> Vec<OsString> {
    let mut all = Vec::with_capacity(args.len() + 2);
    all.push(km.as_os_str().to_owned());
    all.push(name.into());
    all.extend(args);
    all
}

/// Where the proxy binds: all addresses, else `--address`, else `LIBPROCESS_IP`, else all addresses.
fn bind_address<'a>(flags: &'a Flags, env: &'a [(OsString, OsString)], notices: &mut Vec<Notice>) -> &'a OsStr {
    const ALL: &str = "0.0.0.0";
    if flags.proxy.bindall {
        return OsStr::new(ALL);
    }
    if let Some(address) = &flags.address {
        return address;
    }
    match environment::value(env, "LIBPROCESS_IP").filter(|ip| !ip.is_empty()) {
        Some(ip) => {
            if value::ip(ip).is_err() {
                notices.push(Notice::warn(format!("LIBPROCESS_IP={ip:?} is no IP address: kube-proxy will refuse it")));
            }
            ip
        }
        None => OsStr::new(ALL),
    }
}

/// The order is the original's. [GO-01]
fn proxy_args(flags: &Flags, bind: &OsStr, master: &str) -> Vec<OsString> {
    let proxy = &flags.proxy;
    let timeout = match proxy.conntrack_tcp_timeout_established {
        zero if zero.as_nanos() == 0 => "0".to_owned(),
        // kube-proxy takes a duration, and a number alone is none. [GO-11]
        timeout => timeout.to_string(),
    };
    let mut args = vec![
        option("--bind-address=", bind),
        format!("--v={}", proxy.logv).into(),
        "--logtostderr=true".into(),
        "--resource-container=".into(),
        option("--proxy-mode=", &proxy.mode),
        format!("--conntrack-max={}", proxy.conntrack_max).into(),
        format!("--conntrack-tcp-timeout-established={timeout}").into(),
    ];
    let named = [
        ("--kubeconfig=", proxy.kubeconfig.as_os_str()),
        ("--master=", OsStr::new(master)),
        ("--hostname-override=", &flags.hostname_override),
    ];
    args.extend(named.into_iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| option(name, value)));
    args
}

/// The user's words in their order, minion's own, and what stood behind `--`. [GO-01] [GO-02]
fn executor_args(flags: &Flags, cgroup_root: &CgroupRoot, notices: &mut Vec<Notice>) -> Vec<OsString> {
    let mut args = flags.executor_args.clone();
    args.push("--kubelet-cgroups=".into());
    if let Some(root) = contained_in(flags, cgroup_root, notices) {
        args.push(option("--cgroup-root=", OsStr::new(root)));
    }
    args.push(format!("--housekeeping_interval={}", flags.housekeeping_interval).into());
    args.push(format!("--global_housekeeping_interval={}", flags.global_housekeeping_interval).into());
    args.extend(flags.trailing_args.iter().cloned());
    args
}

/// The cgroup root that minion gives the executor, if any, and lines that say which one holds: of several the last.
fn contained_in<'a>(flags: &Flags, root: &'a CgroupRoot, notices: &mut Vec<Notice>) -> Option<&'a str> {
    let (given, behind) = (names_cgroup_root(&flags.executor_args), names_cgroup_root(&flags.trailing_args));
    let own = own_cgroup_root(flags, root);
    if behind || (given && own.is_err()) {
        let text = "--cgroup-root for the executor is the one that the command line gives it";
        notices.push(match root {
            CgroupRoot::Unified(_) => Notice::warn(format!("{text}, on a unified host: {HAZARD}")),
            CgroupRoot::Path(_) | CgroupRoot::Absent(_) | CgroupRoot::Unknown => Notice::info(text.to_owned()),
        });
        return own.ok().map(|(path, _)| path);
    }
    match own {
        Ok((path, notice)) => {
            notices.push(notice);
            if given {
                let text = "minion's --cgroup-root overrides the one given: --contain-pod-resources=false keeps it";
                notices.push(Notice::warn(text.to_owned()));
            }
            Some(path)
        }
        Err(notice) => {
            notices.push(notice);
            None
        }
    }
}

const HAZARD: &str = "cgroups that the executor leaves there stop the agent's next recovery";

/// What minion would give where nobody else does, with the line that says so; or why nothing.
fn own_cgroup_root<'a>(flags: &Flags, root: &'a CgroupRoot) -> Result<(&'a str, Notice), Notice> {
    const NONE: &str = "no --cgroup-root for the executor";
    if flags.contain_pod_resources == Some(false) {
        return Err(Notice::info(format!("{NONE}: --contain-pod-resources=false")));
    }
    match root {
        CgroupRoot::Path(path) => Ok((path, Notice::info(format!("--cgroup-root for the executor is {path}")))),
        CgroupRoot::Absent(path) => {
            let text = format!(
                "--cgroup-root for the executor is {path}, as in the original, and no hierarchy has that cgroup: \
                 --contain-pod-resources=false leaves it out"
            );
            Ok((path, Notice::warn(text)))
        }
        CgroupRoot::Unified(path) if flags.contain_pod_resources.is_some() => {
            let text = format!(
                "--cgroup-root for the executor is {path} on a unified host, as --contain-pod-resources asks: {HAZARD}"
            );
            Ok((path, Notice::warn(text)))
        }
        CgroupRoot::Unified(_) => {
            Err(Notice::info(format!("{NONE}: on a unified host pod cgroups stop the agent's recovery")))
        }
        CgroupRoot::Unknown => Err(Notice::warn(format!("{NONE}: the container is not known"))),
    }
}

fn names_cgroup_root(words: &[OsString]) -> bool {
    words.iter().any(|word| word == "--cgroup-root" || word.as_bytes().starts_with(b"--cgroup-root="))
}

fn option(name: &str, value: &OsStr) -> OsString {
    let mut option = OsString::with_capacity(name.len() + value.len());
    option.push(name);
    option.push(value);
    option
}
