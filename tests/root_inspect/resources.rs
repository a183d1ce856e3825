//! Frozen, out of memory, out of pids, throttled, refused.

use super::{CPU, CPUSET, Container, FREEZER, MEMORY, PIDS, write};
use crate::common::look::{Looked, Said};
use crate::common::minion::{Minion, Sandbox};
use crate::common::oom::FIRST;
use crate::common::{DEADLINE, minion};
use crate::need;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A process that enters this cgroup and spins until this one, which has the quota, has been throttled.
pub(super) fn throttled(cgroup: &Path, limited: &Path) -> Looked {
    let spin = format!(
        "echo $$ > {}; until [[ $(< {}) =~ nr_throttled\\ [1-9] ]]; do :; done; echo ready",
        cgroup.join("cgroup.procs").display(),
        limited.join("cpu.stat").display()
    );
    Looked::script(&spin).0
}

/// A process of this cgroup, after the kernel killed another for memory there; and who that was. It eats alone, and until its
/// memory is back, which this file counts: else the one that is looked at would be killed too.
pub(super) fn eats_alone(cgroup: &Path, used: &Path) -> (Looked, String) {
    let eat = "head -c 100m /dev/zero | sh -c 'echo $$ > $PROCS; exec tail -c 100m' > /dev/null & eater=$!; wait $eater; \
               until read -r used < $USED && [ $used -lt 8388608 ]; do :; done; echo $$ > $PROCS; echo $eater";
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{{ {eat}; }} 2>/dev/null; read -r x")]).env("PROCS", cgroup.join("cgroup.procs"));
    Looked::start(command.env("USED", used))
}

/// The finding names the one that ate, and the container by whose limit it was.
pub(super) fn assert_named(actual: &str, eater: &str, container: &Container) {
    let limit = format!(", by the limit of /{}/c1", container.guard.name());
    let reported = actual.contains(&format!(" was pid {eater} (tail), ")) && actual.contains(&limit);
    // After ten kills in 5 s, of whatever else runs here.
    assert!(reported || actual.contains("without a report, here or elsewhere, the last of pid "), "{actual}");
}

/// With 62 MiB of its 64 in use, by a process of this cgroup, the container is found to be near its limit.
pub(super) fn assert_almost_full(container: &Container, cgroup: &Path) {
    let file = format!("/dev/shm/{}", container.guard.name());
    let fill = format!(
        "echo $$ > {}/cgroup.procs; dd if=/dev/zero of={file} bs=64k count=992 2>/dev/null; echo ready",
        cgroup.display()
    );
    let (looked, _) = Looked::script(&fill);
    let said = container.why(&looked);
    fs::remove_file(file).unwrap();
    assert!(said.actual("memory-at-limit").contains("of 64 MiB in use"), "{}", said.text);
    assert!(!said.has("oom-killed"));
}

/// Waits until all of this cgroup are frozen.
pub(super) fn await_frozen(file: &Path, state: &str) {
    // Reading is what makes the kernel look whether all have arrived.
    let deadline = Instant::now() + DEADLINE;
    while !fs::read_to_string(file).unwrap().contains(state) {
        assert!(Instant::now() < deadline, "never frozen");
    }
}

#[test]
fn a_frozen_process_is_told_with_its_state() {
    need!("root", "v1");
    let container = Container::new(&[FREEZER]);
    let looked = container.with_process_in(&[FREEZER]);
    let state = container.directory(FREEZER).join("freezer.state");
    write(&state, "FROZEN");
    await_frozen(&state, "FROZEN\n");
    let said = container.why(&looked);
    write(&state, "THAWED");
    assert!(said.actual("frozen").contains(container.guard.name()), "{}", said.text);
    assert!(said.cause("uninterruptible").contains("its cgroup is frozen"), "{}", said.text);
}

#[test]
fn a_full_pids_cgroup_is_found() {
    need!("root", "v1");
    let container = Container::new(&[PIDS]);
    let looked = container.with_process_in(&[PIDS]);
    write(&container.directory(PIDS).join("pids.max"), "1");
    assert!(container.why(&looked).actual("pids-at-max").starts_with("pids.current is 1 and pids.max 1 in "));
}

#[test]
fn an_empty_cpuset_is_found_and_is_why_it_is_outside() {
    need!("root", "v1");
    let container = Container::new(&[FREEZER]);
    let cpuset = std::path::Path::new(CPUSET).join(container.guard.name());
    // Nothing fills these two: a new v1 cpuset is empty.
    fs::create_dir_all(cpuset.join("c1")).unwrap();
    let looked = container.with_process_in(&[FREEZER]);
    let mut said = container.why(&looked);
    let pasted = said.pasted();
    fs::remove_dir(cpuset.join("c1")).unwrap();
    fs::remove_dir(cpuset).unwrap();
    assert!(pasted.iter().any(|output| String::from_utf8_lossy(&output.stdout).contains("is empty")), "{pasted:?}");
    assert!(said.actual("cpuset-empty").contains("/c1 is empty"), "{}", said.text);
    assert!(said.cause("cgroup-half-attached").contains("ENOSPC"), "{}", said.text);
}

#[test]
fn a_real_time_process_outside_of_the_cpu_cgroup_is_explained() {
    need!("root", "v1", "rt");
    let container = Container::new(&[FREEZER, CPU]);
    let mut command = Command::new("chrt");
    let (looked, _) = Looked::start(command.args(["--rr", "1", "bash", "-c", "echo ready; read -r x"]));
    looked.enters_cgroup(&container.directory(FREEZER));
    let said = container.why(&looked);
    assert!(said.actual("cpu-real-time").starts_with("scheduling policy SCHED_RR"), "{}", said.text);
    assert!(said.cause("cgroup-half-attached").contains("EINVAL"), "{}", said.text);
}

#[test]
fn a_process_of_a_container_that_is_held_back_by_its_quota_is_told() {
    need!("root", "v1");
    let container = Container::new(&[CPU]);
    let cpu = container.directory(CPU);
    write(&cpu.join("cpu.cfs_quota_us"), "1000");
    let looked = throttled(&cpu, &cpu);
    assert!(container.why(&looked).actual("cpu-throttled").starts_with("throttled in "));
}

#[test]
fn a_process_that_was_killed_for_memory_is_named_with_the_limit() {
    need!("root", "v1");
    let container = Container::new(&[MEMORY]);
    let memory = container.directory(MEMORY);
    write(&memory.join("memory.limit_in_bytes"), "16777216");
    let (looked, eater) = eats_alone(&memory, &memory.join("memory.usage_in_bytes"));
    let said = container.why(&looked);
    let actual = said.actual("oom-killed");
    assert!(actual.starts_with("1 killed in ") && actual.contains("of 16 MiB in use"), "{actual}");
    if fs::File::open("/dev/kmsg").is_ok() {
        assert_named(&actual, &eater, &container);
    }
}

#[test]
fn a_container_that_is_almost_out_of_memory_is_found() {
    need!("root", "v1");
    let container = Container::new(&[MEMORY]);
    let memory = container.directory(MEMORY);
    write(&memory.join("memory.limit_in_bytes"), "67108864");
    assert_almost_full(&container, &memory);
}

#[test]
fn a_memory_cgroup_that_does_not_charge_its_children_is_found() {
    need!("root", "v1");
    let container = Container::new(&[MEMORY]);
    let looked = container.with_process_in(&[MEMORY]);
    // No kernel of today lets it be 0: a file over it plays an old one.
    let script = "echo 0 > /dev/shm/$$ && mount --bind /dev/shm/$$ \"$1\" && rm /dev/shm/$$ && shift && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(container.directory(MEMORY).join("memory.use_hierarchy"));
    command.args([minion(), "why", &looked.pid().to_string(), "--json", &container.prefix()]);
    let said = Said::from(&command.output().unwrap());
    assert!(said.actual("memory-not-hierarchical").starts_with("it is 0 in "), "{}", said.text);
}

#[test]
fn root_without_cap_sys_admin_is_noted() {
    need!("root");
    let mut command = Command::new("setpriv");
    let without = ["--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "bash", "-c", "echo ready; read -r x"];
    let (looked, _) = Looked::start(command.args(without));
    let said = crate::common::look::why_pid(looked.pid());
    assert!(said.actual("no-sys-admin").contains("bounding set"), "{}", said.text);
}

#[test]
fn a_task_that_was_killed_for_memory_and_does_not_run_is_told_with_victim_and_limit() {
    need!("root", "v1");
    let container = Container::new(&[FREEZER, MEMORY]);
    let memory = container.directory(MEMORY);
    write(&memory.join("memory.limit_in_bytes"), "33554432");
    let sandbox = Sandbox::with_stand_in();
    // Killed before minion if one does not suffice.
    let spare = [(); 3].map(|()| Looked::script(&format!("{FIRST}; echo ready")).0);
    for looked in &spare {
        looked.enters_cgroup(&memory);
    }
    // Doubles a string until the kernel ends it.
    let eat = format!("{FIRST}; a=xxxxxxxxxxxxxxxx; while :; do a=$a$a; done\n");
    write(&sandbox.path("eat.sh"), &eat);
    write(&sandbox.path("eat.toml"), "[[sidecar]]\nname = \"eater\"\ncommand = [\"sh\", \"eat.sh\"]\n");
    let enter = "for procs in $PROCS; do echo $$ > $procs || exit 9; done; exec \"$@\"";
    let mut command = Command::new("bash");
    command.args(["-c", enter, "bash", minion(), "supervise", "--config=eat.toml", &container.prefix()]);
    command.args(["--restart-delay=1h", "--restart-delay-max=1h", "--", "sleep", "1000"]);
    sandbox.mark(&mut command);
    let procs = [FREEZER, MEMORY].map(|one| container.directory(one).join("cgroup.procs").display().to_string());
    command.env("PROCS", procs.join(" ")).env("MESOS_DIRECTORY", "/w/runs/c1");
    let mut minion_of_c1 = Minion::spawn(&mut command);
    let eater = minion_of_c1.started("eater");
    minion_of_c1.says("starts again in 3600s task=eater");
    let output =
        Command::new(minion()).args(["why", "eater", "--json"]).current_dir(sandbox.path(".")).output().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cause = said["task"]["findings"][0]["cause"].as_str().unwrap_or_else(|| panic!("{said}"));
    if fs::File::open("/dev/kmsg").is_ok() {
        let victim = format!("the kernel, for lack of memory: its log names pid {eater} (sh)");
        let reported = format!("{victim}, by the limit of /{}/c1", container.guard.name());
        // After ten kills in 5 s, of whatever else runs here.
        let unreported = format!("most likely {victim} among those that it does not report");
        assert!(cause == reported || cause == unreported, "{cause}");
    } else {
        assert!(cause.starts_with("most likely the kernel, for lack of memory"), "{cause}");
    }
    minion_of_c1.stop();
}
