//! Cgroups that an earlier run left in the container, as the doctor meets them.

use crate::common::{CgroupGuard, minion};
use crate::{FREEZER, MEMORY, Report, UNIFIED, in_container, need};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The doctor in the leaf of a v2 container, where the cgroup2 mount is at /sys/fs/cgroup as on a host without v1.
fn in_leaf(leaf: &Path, prefix: &str) -> Report {
    let script = "echo $$ > \"$1\" && mount -t cgroup2 none /sys/fs/cgroup && shift && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(leaf.join("cgroup.procs"));
    command.args([minion(), "doctor", "--json", &format!("--mesos-cgroup-prefix={prefix}")]);
    Report::from(&command.output().unwrap())
}

#[test]
fn a_cgroup_that_an_earlier_run_left_in_the_container_is_told_with_what_an_agent_makes_of_it() {
    need!("root", "v2");
    let guard = CgroupGuard::new(&[UNIFIED], "/c1/leaf");
    let leaf = Path::new(UNIFIED).join(guard.name()).join("c1/leaf");
    in_leaf(&leaf, guard.name()).says("leftover cgroups", "ok", "");
    fs::create_dir(leaf.join("kube")).unwrap();
    let report = in_leaf(&leaf, guard.name());
    report.says("leftover cgroups", "warn", "c1/leaf/kube");
    assert!(report.check("leftover cgroups")["remedy"].as_str().unwrap().contains("its next start"), "{}", report.json);
}

#[test]
fn on_v1_too_a_nested_container_that_no_launcher_knows_is_a_leftover() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[FREEZER, MEMORY], "/c1");
    let [freezer, memory] = [FREEZER, MEMORY].map(|hierarchy| Path::new(hierarchy).join(guard.name()).join("c1"));
    let inside = || in_container(&guard, &[FREEZER, MEMORY], "/w/runs/c1");
    fs::create_dir(memory.join("kid")).unwrap();
    inside().says("leftover cgroups", "ok", "");
    fs::create_dir_all(memory.join("mesos/kid")).unwrap();
    let report = inside();
    report.says("leftover cgroups", "warn", "c1/mesos/kid");
    assert!(report.check("leftover cgroups")["remedy"].as_str().unwrap().contains("destroys it"), "{}", report.json);
    // An agent that launched it made one for it in freezer.
    fs::create_dir_all(freezer.join("mesos/kid")).unwrap();
    inside().says("leftover cgroups", "ok", "");
}
