//! The flags of `minion run`: the only place that knows them.

use super::flag::{About, Flag, Group, Value, help_flag, put, version_flag};
use super::options::RunOptions;
use super::{common_flags as common, setting};
use crate::hyperkube::value;

const BOOL: Value = Value::Switch;
const TEXT: Value = Value::Text("TEXT");
const NUMBER: Value = Value::Text("N");
const DURATION: Value = Value::Text("DURATION");

/// Every flag that minion itself reads, in the order of the help. What the original had keeps its name and default; the
/// shared ones go to the executor too. [GO-03] [GO-04]
pub(super) static RUN: [Flag<RunOptions>; 36] = [
    About::new(Group::Children, "km-binary", Value::File)
        .help(
            "The km that both children are commands of. Without it: a km beside minion, then in the sandbox, then in \
             PATH.",
        )
        .sets(|o, v| put(&mut o.profile.km_binary, Ok(Some(v.into())))),
    About::new(Group::Children, "path-override", Value::Text("PATH"))
        .help("PATH of the children instead of the inherited one. The working directory's bin follows in any case.")
        .sets(|o, v| put(&mut o.profile.path_override, Ok(v.into()))),
    common::grace(),
    About::new(Group::Children, "restart-delay", DURATION)
        .default("5s")
        .help("The wait before kube-proxy starts again. It doubles from restart to restart; a minute up resets it.")
        .sets(|o, v| put(&mut o.profile.restart_delay, value::span(v))),
    About::new(Group::Children, "restart-delay-max", DURATION)
        .default("1m")
        .help("The longest wait before a restart.")
        .sets(|o, v| put(&mut o.profile.restart_delay_max, value::span(v))),
    common::mesos_cgroup_prefix(),
    About::new(Group::Container, "contain-pod-resources", BOOL)
        .default("true")
        .help(
            "Give the executor the container's cgroup as --cgroup-root. On a unified (v2) host only when written out, \
             because pod cgroups there stop the agent's recovery.",
        )
        .sets(|o, v| put(&mut o.profile.contain_pod_resources, value::boolean(v).map(Some))),
    common::cgroup_attach(),
    common::cgroup_drift(),
    common::private_mountns(),
    common::max_log_size(),
    common::max_log_age(),
    common::max_log_backups(),
    common::stdout(),
    common::log_gzip(),
    common::log_stall(),
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
        .sets_and_forwards(|o, v| put(&mut o.common.verbosity, value::int32(v))),
    About::new(Group::File, "print-config", BOOL)
        .default("false")
        .help("Print the two children as a file for minion supervise --config, and start nothing.")
        .sets(|o, v| put(&mut o.print_config, value::boolean(v))),
    common::checks(),
    common::log_format(),
    help_flag(),
    version_flag(),
];
