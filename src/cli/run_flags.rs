//! The flags of `minion run`: the only place that knows them.

use super::flag::{About, Flag, Group, Value, help_flag, put, version_flag};
use super::options::RunOptions;
use super::setting;
use crate::hyperkube::value;

const BOOL: Value = Value::Switch;
const TEXT: Value = Value::Text("TEXT");
const NUMBER: Value = Value::Text("N");
const DURATION: Value = Value::Text("DURATION");

/// Every flag that minion itself reads, in the order of the help. What the original had keeps its name and default; the
/// shared ones go to the executor too. [GO-03] [GO-04]
pub(super) static RUN: [Flag<RunOptions>; 34] = [
    About::new(Group::Children, "km-binary", Value::File)
        .help(
            "The km that both children are commands of. Without it: a km beside minion, then in the sandbox, then in \
             PATH.",
        )
        .sets(|o, v| put(&mut o.profile.km_binary, Ok(Some(v.into())))),
    About::new(Group::Children, "path-override", Value::Text("PATH"))
        .help("PATH of the children instead of the inherited one. The working directory's bin follows in any case.")
        .sets(|o, v| put(&mut o.profile.path_override, Ok(v.into()))),
    About::new(Group::Children, "grace", DURATION)
        .help(
            "The time from a stop to the end of everything, as Go (5s) or as Mesos (5secs) writes it. Without it: \
             what the agent says, or 5s.",
        )
        .sets(|o, v| put(&mut o.grace, value::span(v).map(Some))),
    About::new(Group::Children, "restart-delay", DURATION)
        .default("5s")
        .help("The wait before kube-proxy starts again. It doubles from restart to restart; a minute up resets it.")
        .sets(|o, v| put(&mut o.profile.restart_delay, value::span(v))),
    About::new(Group::Children, "restart-delay-max", DURATION)
        .default("1m")
        .help("The longest wait before a restart.")
        .sets(|o, v| put(&mut o.profile.restart_delay_max, value::span(v))),
    About::new(Group::Container, "mesos-cgroup-prefix", Value::Text("CGROUP"))
        .default("mesos")
        .help("The agent's --cgroups_root: containers are below it in every hierarchy.")
        .sets(|o, v| put(&mut o.mesos_cgroup_prefix, value::cgroup_prefix(v))),
    About::new(Group::Container, "contain-pod-resources", BOOL)
        .default("true")
        .help(
            "Give the executor the container's cgroup as --cgroup-root. On a unified (v2) host only when written out, \
             because pod cgroups there stop the agent's recovery.",
        )
        .sets(|o, v| put(&mut o.profile.contain_pod_resources, value::boolean(v).map(Some))),
    About::new(Group::Container, "cgroup-attach", Value::Choice(setting::CGROUP_ATTACH))
        .default("auto")
        .help(
            "Put children into the container's cgroups: where they are found (auto), or start nothing without them \
             (require), or never (off).",
        )
        .sets(|o, v| put(&mut o.cgroup_attach, setting::cgroup_attach(v))),
    About::new(Group::Container, "cgroup-drift", Value::Choice(setting::CGROUP_DRIFT))
        .default("warn")
        .help("What to do when a child has left the container's cgroups.")
        .sets(|o, v| put(&mut o.cgroup_drift, setting::cgroup_drift(v))),
    About::new(Group::Container, "private-mountns", BOOL)
        .default("false")
        .help("Start the children in a mount namespace of their own: the host's mounts come in, theirs stay inside.")
        .sets(|o, v| put(&mut o.private_mountns, value::boolean(v))),
    About::new(Group::Logs, "max-log-size", Value::Text("QUANTITY"))
        .default("10Mi")
        .help("The size at which a log is rotated, as Kubernetes writes quantities. 0 never rotates.")
        .sets(|o, v| put(&mut o.log.max_size, value::bytes(v))),
    About::new(Group::Logs, "max-log-age", Value::Text("DAYS"))
        .default("7")
        .help("Rotated logs older than this are removed. 0 keeps them whatever their age.")
        .sets(|o, v| put(&mut o.log.max_age, setting::days(v))),
    About::new(Group::Logs, "max-log-backups", NUMBER)
        .default("5")
        .help("How many rotated logs of a child are kept. 0 keeps all.")
        .sets(|o, v| put(&mut o.log.max_backups, setting::count(v))),
    About::new(Group::Logs, "stdout", Value::Choice(setting::STDOUT))
        .default("merge")
        .help("A child's standard output: into the same log as its standard error, into one of its own, or nowhere.")
        .sets(|o, v| put(&mut o.log.stdout, setting::stdout(v))),
    About::new(Group::Logs, "log-gzip", BOOL)
        .default("false")
        .help("Compress rotated logs.")
        .sets(|o, v| put(&mut o.log.gzip, value::boolean(v))),
    About::new(Group::Logs, "log-stall", DURATION)
        .default("5s")
        .help(
            "How long a child waits when its log cannot be written. After that its output is dropped and counted until \
             there is space again.",
        )
        .sets(|o, v| put(&mut o.log.stall, value::span(v))),
    About::new(Group::Proxy, "run-proxy", BOOL)
        .default("true")
        .help("Keep a kube-proxy running beside the executor.")
        .sets(|o, v| put(&mut o.profile.proxy.run, value::boolean(v))),
    About::new(Group::Proxy, "proxy-kubeconfig", Value::File)
        .help("The kubeconfig of kube-proxy.")
        .sets(|o, v| put(&mut o.profile.proxy.kubeconfig, Ok(v.into()))),
    About::new(Group::Proxy, "proxy-logv", NUMBER)
        .default("0")
        .help("The log verbosity of kube-proxy.")
        .sets(|o, v| put(&mut o.profile.proxy.logv, value::int64(v))),
    About::new(Group::Proxy, "proxy-bindall", BOOL)
        .default("false")
        .help("Bind kube-proxy to all addresses. Without it: to --address, or LIBPROCESS_IP.")
        .sets(|o, v| put(&mut o.profile.proxy.bindall, value::boolean(v))),
    About::new(Group::Proxy, "proxy-mode", Value::Text("MODE"))
        .default("userspace")
        .help("The mode of kube-proxy: userspace or iptables.")
        .sets(|o, v| put(&mut o.profile.proxy.mode, Ok(v.into()))),
    About::new(Group::Proxy, "conntrack-max", NUMBER)
        .default("0")
        .help("The most connections that the kernel's NAT tracks. 0 leaves the kernel's limit.")
        .sets(|o, v| put(&mut o.profile.proxy.conntrack_max, value::int64(v))),
    About::new(Group::Proxy, "conntrack-tcp-timeout-established", DURATION)
        .default("0")
        .help(
            "How long an idle TCP connection is tracked: whole seconds or a duration such as 24h. 0 leaves the \
             kernel's time.",
        )
        .sets(|o, v| put(&mut o.profile.proxy.conntrack_tcp_timeout_established, setting::seconds(v))),
    About::new(Group::Shared, "api-servers", Value::Text("LIST"))
        .help(
            "The API servers, as URLs or host:port with commas between them; required. kube-proxy gets the first. May \
             be repeated.",
        )
        .sets_and_forwards(|o, v| {
            let entries = value::utf8(v)?.split(',').map(str::to_owned);
            o.profile.api_servers.get_or_insert_default().extend(entries);
            Ok(())
        }),
    About::new(Group::Shared, "kubeconfig", Value::File)
        .help("The executor's kubeconfig. Its server is kube-proxy's too where --api-servers is empty.")
        .sets_and_forwards(|o, v| put(&mut o.profile.kubeconfig, Ok(Some(v.into())))),
    About::new(Group::Shared, "auth-path", Value::File)
        .help("The executor's auth file; not together with --kubeconfig.")
        .sets_and_forwards(|o, v| put(&mut o.profile.auth_path, Ok(Some(v.into())))),
    About::new(Group::Shared, "address", Value::Text("IP"))
        .help("The address that the executor and kube-proxy bind to. Without it: LIBPROCESS_IP, or 0.0.0.0.")
        .sets_and_forwards(|o, v| {
            value::ip(v)?;
            put(&mut o.profile.address, Ok(Some(v.into())))
        }),
    About::new(Group::Shared, "hostname-override", TEXT)
        .help("The node's name for the executor and kube-proxy.")
        .sets_and_forwards(|o, v| put(&mut o.profile.hostname_override, Ok(v.into()))),
    About::new(Group::Shared, "housekeeping_interval", DURATION)
        .default("10s")
        .help("cadvisor's interval. The executor gets it in any case, behind its other flags.")
        .sets(|o, v| put(&mut o.profile.housekeeping_interval, value::duration(v))),
    About::new(Group::Shared, "global_housekeeping_interval", DURATION)
        .default("1m0s")
        .help("cadvisor's global interval. The executor gets it in any case, as its last flag.")
        .sets(|o, v| put(&mut o.profile.global_housekeeping_interval, value::duration(v))),
    About::new(Group::Shared, "v", NUMBER)
        .short('v')
        .default("0")
        .help("The log verbosity of minion and the executor.")
        .sets_and_forwards(|o, v| put(&mut o.verbosity, value::int32(v))),
    About::new(Group::Minion, "log-format", Value::Choice(setting::LOG_FORMAT))
        .default("text")
        .help("The form of minion's own log on standard error.")
        .sets(|o, v| put(&mut o.log_format, setting::log_format(v))),
    help_flag(),
    version_flag(),
];
