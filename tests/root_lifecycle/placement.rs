//! Where children are: in the container's cgroups, in the private mount namespace, and what is said when they leave or when
//! the container's memory is used up.

use super::common::DEADLINE;
use super::common::agent::{Contained, builder};
use super::common::minion::Sandbox;
use super::common::oom::{AFTER_SPARE, FIRST, SPARE};
use crate::need;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::time::Instant;

fn cgroup(pid: i32, controller: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let find = |line: &str| line.split_once(&format!(":{controller}:")).map(|(_, path)| path.to_owned());
    text.lines().find_map(find).unwrap()
}

/// A proxy that moves itself out of the memory cgroup, as kube-proxy did, and says so.
fn drifting(flags: &[&str]) -> (Sandbox, Contained) {
    let km = Sandbox::with_km(
        "[ $1 = proxy ] && { echo $$ >/sys/fs/cgroup/memory/cgroup.procs; echo $$ >>proxy.pid; }\nexec sleep 300\n",
    );
    let km_binary = format!("--km-binary={}", km.path("km").display());
    let run = Contained::launch(builder(), &[&[km_binary.as_str()], flags].concat());
    (km, run)
}

#[test]
fn a_proxy_that_leaves_the_memory_cgroup_is_reported() {
    need!("root", "v1");
    let (_km, mut run) = drifting(&[]);
    let line = run.says("event=cgroup-drift");
    assert!(line.contains("task=proxy") && line.contains("memory"), "{line}");
    let proxy: i32 = run.read("proxy.pid").trim().parse().unwrap();
    assert_eq!(cgroup(proxy, "memory"), "/", "it is left where it went");
    assert!(cgroup(proxy, "freezer").ends_with(run.container.id()));
    run.signal(Signal::TERM);
    assert_eq!(run.status().exit().code(), Some(0));
    assert_eq!(run.container.survivors().unwrap(), []);
    assert!(run.container.destroy(Instant::now() + DEADLINE).unwrap().is_clean());
}

#[test]
fn a_proxy_that_leaves_the_memory_cgroup_is_put_back_when_that_is_asked_for() {
    need!("root", "v1");
    let (_km, mut run) = drifting(&["--cgroup-drift=reattach"]);
    run.says("event=cgroup-drift");
    run.says("event=cgroup-reattach");
    let proxy: i32 = run.read("proxy.pid").trim().parse().unwrap();
    assert!(cgroup(proxy, "memory").ends_with(run.container.id()), "{}", cgroup(proxy, "memory"));
    run.signal(Signal::TERM);
    assert_eq!(run.status().exit().code(), Some(0));
}

#[test]
fn a_death_for_lack_of_memory_is_named_in_the_exit_line() {
    need!("root", "v1");
    let km = Sandbox::with_km(&format!(
        "[ $1 = proxy ] && {{ {SPARE}; exec sleep 300; }}\n{AFTER_SPARE}\n{FIRST}\nexec tail /dev/zero\n"
    ));
    let (agent, root) = builder();
    let km_binary = format!("--km-binary={}", km.path("km").display());
    let mut run = Contained::launch((agent.memory(48 << 20), root), &[&km_binary]);
    assert_eq!(run.status().exit().code(), Some(137), "{}", run.read("stderr"));
    let line = run.says("killed by signal 9 (SIGKILL) after");
    assert!(line.contains("by the kernel for lack of memory (limit 50331648, usage now "), "{line}");
    assert!(line.contains("task=executor"), "{line}");
    assert!(run.read("stderr").contains("event=oom"));
    assert_eq!(run.container.survivors().unwrap(), []);
    assert!(run.container.destroy(Instant::now() + DEADLINE).unwrap().is_clean());
}

#[test]
fn a_sigkill_from_somebody_is_not_called_a_lack_of_memory() {
    need!("root", "v1");
    let km = Sandbox::with_km("[ $1 = proxy ] && exec sleep 300\nkill -9 $$\n");
    let (agent, root) = builder();
    let km_binary = format!("--km-binary={}", km.path("km").display());
    let mut run = Contained::launch((agent.memory(48 << 20), root), &[&km_binary]);
    assert_eq!(run.status().exit().code(), Some(137));
    assert!(!run.read("stderr").contains("lack of memory"), "{}", run.read("stderr"));
}

/// Each child mounts a file system on its sandbox, but only in a namespace that is not ours and tells ours nothing.
const MOUNTS: &str = "
ns=$(readlink /proc/self/ns/mnt)
echo $ns >>namespaces
if [ $ns != $HOST ] && ! grep -q ' / / .* shared:' /proc/self/mountinfo; then
    mkdir -p inside
    mount -t tmpfs tmpfs inside && echo secret >inside/file && echo mounted >>mounted
fi
[ $1 = proxy ] && exit 1
exec sleep 300
";

#[test]
fn with_private_mountns_children_are_in_the_namespace_20_of_20_and_restarted_ones_too() {
    need!("root", "v1", "mountns");
    let host = fs::read_link("/proc/self/ns/mnt").unwrap();
    let mut children = 0;
    while children < 20 {
        let km = Sandbox::with_km(MOUNTS);
        let (agent, root) = builder();
        let km_binary = format!("--km-binary={}", km.path("km").display());
        let agent = agent.environment("HOST", &host);
        let flags = [km_binary.as_str(), "--private-mountns", "--restart-delay=0s", "--restart-delay-max=0s"];
        let mut run = Contained::launch((agent, root), &flags);
        super::common::sandbox::until(run.sandbox(), "four starts", || {
            (run.read("mounted").lines().count() >= 4).then_some(())
        });
        let minion = fs::read_link(format!("/proc/{}/ns/mnt", run.minion_by_init())).unwrap();
        let said = run.read("namespaces");
        let seen: BTreeSet<&str> = said.lines().collect();
        assert_eq!(seen, BTreeSet::from([minion.to_str().unwrap()]), "children are where minion is");
        assert_ne!(minion, host);
        assert!(!run.sandbox().join("inside/file").exists(), "the host does not see what a child mounted");
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(run.container.id()), "{mounts}");
        children += said.lines().count();
        run.signal(Signal::TERM);
        assert_eq!(run.status().exit().code(), Some(0), "{}", run.read("stderr"));
        assert!(run.container.destroy(Instant::now() + DEADLINE).unwrap().is_clean());
    }
}
