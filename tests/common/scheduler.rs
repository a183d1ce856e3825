//! The command line of the original's scheduler, and what its two children are started with.

/// Everything that the scheduler of the original writes, `minion` itself left out.
pub const LINE: [&str; 27] = [
    "--run-proxy=true",
    "--proxy-bindall=false",
    "--proxy-kubeconfig=proxy.kc",
    "--proxy-logv=0",
    "--proxy-mode=userspace",
    "--path-override=",
    "--max-log-size=10Mi",
    "--max-log-backups=5",
    "--max-log-age=7",
    "--conntrack-max=0",
    "--conntrack-tcp-timeout-established=0",
    "--api-servers=http://10.0.0.1:8888",
    "--v=1",
    "--allow-privileged=true",
    "--suicide-timeout=20m0s",
    "--mesos-launch-grace-period=5m0s",
    "--mesos-cgroup-prefix=mesos",
    "--cadvisor-port=4194",
    "--sync-frequency=10s",
    "--contain-pod-resources=true",
    "--enable-debugging-handlers=true",
    "--cluster-dns=10.10.10.10",
    "--cluster-domain=cluster.local",
    "--host-network-sources=file,api",
    "--housekeeping_interval=10s",
    "--global_housekeeping_interval=1m0s",
    "--hostname-override=agent7.example",
];

/// kube-proxy's argument list, where `LIBPROCESS_IP` is 10.0.0.7.
pub fn proxy(km: &str) -> Vec<String> {
    let words = [
        km,
        "proxy",
        "--bind-address=10.0.0.7",
        "--v=0",
        "--logtostderr=true",
        "--resource-container=",
        "--proxy-mode=userspace",
        "--conntrack-max=0",
        "--conntrack-tcp-timeout-established=0",
        "--kubeconfig=proxy.kc",
        "--master=http://10.0.0.1:8888",
        "--hostname-override=agent7.example",
    ];
    words.map(str::to_owned).into()
}

/// The executor's, in a container with this cgroup.
pub fn executor(km: &str, cgroup: &str) -> Vec<String> {
    let cgroup = format!("--cgroup-root={cgroup}");
    let words = [
        km,
        "executor",
        "--api-servers=http://10.0.0.1:8888",
        "--v=1",
        "--allow-privileged=true",
        "--suicide-timeout=20m0s",
        "--mesos-launch-grace-period=5m0s",
        "--cadvisor-port=4194",
        "--sync-frequency=10s",
        "--enable-debugging-handlers=true",
        "--cluster-dns=10.10.10.10",
        "--cluster-domain=cluster.local",
        "--host-network-sources=file,api",
        "--hostname-override=agent7.example",
        "--kubelet-cgroups=",
        &cgroup,
        "--housekeeping_interval=10s",
        "--global_housekeeping_interval=1m0s",
    ];
    words.map(str::to_owned).into()
}
