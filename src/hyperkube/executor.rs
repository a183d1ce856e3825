//! The flags of the executor by their types: what decides where a flag ends and a value begins.
//!
//! The tables are text, so that they live in read-only memory and cost a start nothing but a scan.

use super::value::Kind;

/// The flags of the kubelet-executor, as of Kubernetes 1.4.
const EXECUTOR: [(Kind, &str); 9] = [
    (
        Kind::Bool,
        "allow-privileged babysit-daemons cgroups-per-qos configure-cbr0 containerized cpu-cfs-quota \
         enable-controller-attach-detach enable-custom-metrics enable-debugging-handlers enable-server \
         exit-on-lock-contention experimental-flannel-overlay protect-kernel-defaults really-crash-for-testing \
         reconcile-cidr register-node register-schedulable runonce serialize-image-pulls",
    ),
    (
        Kind::Int32,
        "cadvisor-port event-burst event-qps eviction-max-pod-grace-period experimental-nvidia-gpus healthz-port \
         image-gc-high-threshold image-gc-low-threshold kube-api-burst kube-api-qps low-diskspace-threshold-mb \
         max-pods maximum-dead-containers maximum-dead-containers-per-container oom-score-adj pods-per-core port \
         read-only-port registry-burst registry-qps",
    ),
    (Kind::Int64, "max-open-files"),
    (Kind::Float64, "chaos-chance"),
    (
        Kind::Duration,
        "eviction-pressure-transition-period file-check-frequency http-check-frequency mesos-launch-grace-period \
         minimum-container-ttl-duration minimum-image-ttl-duration node-status-update-frequency \
         outofdisk-transition-frequency runtime-request-timeout streaming-connection-idle-timeout suicide-timeout \
         sync-frequency volume-stats-agg-period",
    ),
    (Kind::Ip, "address healthz-bind-address"),
    (Kind::List, "api-servers host-ipc-sources host-network-sources host-pid-sources"),
    (Kind::Map, "kube-reserved node-labels system-reserved"),
    (
        Kind::Text,
        "auth-path cert-dir cgroup-root cloud-config cloud-provider cluster-dns cluster-domain config \
         container-runtime docker-endpoint docker-exec-handler eviction-hard eviction-minimum-reclaim eviction-soft \
         eviction-soft-grace-period hairpin-mode hostname-override kube-api-content-type kubeconfig kubelet-cgroups \
         lock-file manifest-url manifest-url-header master-service-namespace network-plugin network-plugin-dir node-ip \
         non-masquerade-cidr pod-cidr pod-infra-container-image pod-manifest-path resolv-conf resource-container \
         rkt-api-endpoint rkt-path rkt-stage1-image root-dir runtime-cgroups seccomp-profile-root system-cgroups \
         system-container tls-cert-file tls-private-key-file volume-plugin-dir",
    ),
];

/// The flags that every `km` command took beside its own: glog, cadvisor, initial resources. [GO-03]
///
/// The two housekeeping intervals and `v` are minion's own flags and not here.
const GLOBALS: [(Kind, &str); 4] = [
    (Kind::Bool, "alsologtostderr docker_only enable_load_reader ir-namespace-only log_cadvisor_usage logtostderr"),
    (Kind::Int64, "ir-percentile"),
    (Kind::Duration, "log-flush-frequency"),
    (
        Kind::Text,
        "boot_id_file container_hints docker docker_root docker_run event_storage_age_limit \
         event_storage_event_limit google-json-key ir-data-source ir-dbname ir-hawkular ir-influxdb-host ir-password \
         ir-user log_backtrace_at log_dir machine_id_file stderrthreshold vmodule",
    ),
];

/// What an executor flag takes; None when the executor has no flag of that name.
pub fn kind(name: &str) -> Option<Kind> {
    find(&EXECUTOR, name)
}

/// What a global flag of `km` takes; None when there is none of that name.
pub fn global(name: &str) -> Option<Kind> {
    find(&GLOBALS, name)
}

/// Every executor flag.
pub fn names() -> impl Iterator<Item = (&'static str, Kind)> {
    EXECUTOR.iter().flat_map(|(kind, names)| names.split_ascii_whitespace().map(|name| (name, *kind)))
}

/// Every global flag that is accepted and goes nowhere.
pub fn globals() -> impl Iterator<Item = (&'static str, Kind)> {
    GLOBALS.iter().flat_map(|(kind, names)| names.split_ascii_whitespace().map(|name| (name, *kind)))
}

fn find(table: &[(Kind, &str)], name: &str) -> Option<Kind> {
    table.iter().find(|(_, names)| names.split_ascii_whitespace().any(|known| known == name)).map(|(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_107_executor_flags_are_known_once() {
        let unique: BTreeSet<_> = names().map(|(name, _)| name).collect();
        assert_eq!(unique.len(), 107);
        assert_eq!(names().count(), 107);
    }

    #[test]
    fn no_flag_is_both_the_executors_and_global() {
        assert_eq!(globals().find(|(name, _)| kind(name).is_some()), None);
    }

    #[test]
    fn types_are_those_of_the_executor() {
        assert_eq!(kind("allow-privileged"), Some(Kind::Bool));
        assert_eq!(kind("max-pods"), Some(Kind::Int32));
        assert_eq!(kind("volume-plugin-dir"), Some(Kind::Text));
        assert_eq!(kind("frob"), None);
        assert_eq!(kind(""), None);
        assert_eq!(global("log_dir"), Some(Kind::Text));
    }
    #[test]
    fn the_flags_that_hold_a_secret_are_known_by_name() {
        let secret: Vec<_> = names()
            .chain(globals())
            .map(|(name, _)| name)
            .filter(|name| crate::mesos::secret::is_secret(name))
            .collect();
        assert_eq!(secret, ["manifest-url-header", "google-json-key", "ir-password"]);
    }
}
