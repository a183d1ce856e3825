//! What only root can take away to show it: users, capabilities, namespaces, cgroups and their limits.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::minion::{Minion, Sandbox};
use common::{CgroupGuard, proc};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
const FREEZER: &str = "/sys/fs/cgroup/freezer";
const PIDS: &str = "/sys/fs/cgroup/pids";
const CPUSET: &str = "/sys/fs/cgroup/cpuset";

/// A proxy that stays and an executor that ends with 3 as soon as the proxy is up.
const KM: &str = "echo \"$1 up\" >&2
if [ $1 = proxy ]; then echo >gate; exec sleep 300; fi
read -r _ <gate
exit 3\n";

fn sandbox() -> (Sandbox, common::fifo::Lines) {
    let sandbox = Sandbox::with_km(KM);
    let gate = sandbox.events("gate");
    // For nobody.
    for (name, mode) in [(".", 0o777), ("gate", 0o666)] {
        fs::set_permissions(sandbox.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    (sandbox, gate)
}

/// The line that says why nothing runs: the only error, and the last line.
fn assert_refused(said: &str, line: &str) {
    let errors: Vec<&str> = said.lines().filter(|line| line.contains(" error ")).collect();
    assert_eq!(errors.len(), 1, "{said}");
    assert!(said.trim_end().ends_with(line), "{said}");
}

#[test]
fn nobody_may_run_it() {
    need!("root", "nobody");
    let (sandbox, _gate) = sandbox();
    sandbox.run_under(&NOBODY, &[]).assert_code(3);
    assert_eq!(sandbox.read("executor.log"), "executor up\n");
    sandbox.assert_deserted();
}

#[test]
fn nobody_gets_no_mount_namespace_and_is_told_to_be_root() {
    need!("root", "nobody");
    let (sandbox, _gate) = sandbox();
    let said = sandbox.run_under(&NOBODY, &["--private-mountns"]).assert_code(111);
    assert_refused(
        &said,
        "enter a private mount namespace: Operation not permitted (hint: uid 65534 has no CAP_SYS_ADMIN: the executor has \
         to run as root) errno=1 code=111",
    );
}

#[test]
fn without_the_capability_the_isolator_is_named() {
    need!("root", "setpriv");
    let (sandbox, _gate) = sandbox();
    let less = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"];
    let said = sandbox.run_under(&less, &["--private-mountns"]).assert_code(111);
    assert_refused(
        &said,
        "enter a private mount namespace: Operation not permitted (hint: uid 0 without CAP_SYS_ADMIN: the agent's \
         linux/capabilities isolator has to grant it) errno=1 code=111",
    );
    sandbox.run_under(&less, &[]).assert_code(3);
}

#[test]
fn no_new_privileges_takes_nothing_from_root() {
    need!("root", "setpriv");
    let (sandbox, _gate) = sandbox();
    sandbox.run_under(&["setpriv", "--no-new-privs"], &["--private-mountns"]).assert_code(3);
}

#[test]
fn a_filter_that_forbids_unshare_is_named() {
    need!("root", "python3");
    let (sandbox, _gate) = sandbox();
    let python = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    let python = String::from_utf8(python.stdout).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/seccomp.py").display().to_string();
    let said = sandbox.run_under(&[python.trim(), &script, "unshare"], &["--private-mountns"]).assert_code(111);
    assert_refused(
        &said,
        "enter a private mount namespace: Operation not permitted (hint: CAP_SYS_ADMIN is there, but a seccomp filter is \
         active (Seccomp: 2): the agent's linux/seccomp profile has to allow unshare and mount) errno=1 code=111",
    );
}

#[test]
fn nobody_who_has_too_many_processes_is_told_which_limits_there_are() {
    need!("root", "nobody");
    let (sandbox, _gate) = sandbox();
    let limited = [&NOBODY[..], &["prlimit", "--nproc=1"]].concat();
    let said = sandbox.run_under(&limited, &[]).assert_code(111);
    let line =
        ": Resource temporarily unavailable (hint: pids.max of the container, RLIMIT_NPROC or memory is used up)";
    for task in ["proxy", "executor"] {
        assert!(said.contains(&format!("error start {task}: fork for ")), "{said}");
    }
    assert!(said.contains(line), "{said}");
    assert!(said.trim_end().ends_with("ended: a task could not be started; executor never started code=111"), "{said}");
}

#[test]
fn as_pid_1_of_a_namespace_it_ends_and_reaps_as_anywhere() {
    need!("root", "unshare");
    in_a_pid_namespace(&["unshare", "--pid", "--fork", "--mount-proc"], "1");
}

#[test]
fn as_pid_2_of_a_namespace_it_ends_and_reaps_as_anywhere() {
    need!("root", "unshare");
    in_a_pid_namespace(&["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", "\"$@\"; exit $?", "sh"], "2");
}

fn in_a_pid_namespace(wrapper: &[&str], pid: &str) {
    let sandbox = Sandbox::with_km(
        "if [ $1 = proxy ]; then setsid sh -c 'trap \"\" TERM; exec sleep 300' & exec sleep 300; fi
         sh -c 'sh -c \"exit 5\" & exec true'
         echo $PPID >events; exec sleep 300\n",
    );
    let mut events = sandbox.events("events");
    let mut minion = Minion::spawn(&mut sandbox.command_under(wrapper, &["--grace=3s"]));
    assert_eq!(events.next(), pid);
    minion.is_up();
    // The signal is for minion, not for what started it: the kernel shows its pid in every namespace.
    let inside = sandbox.alive().into_iter().find(|(_, command)| command.starts_with(common::minion())).unwrap().0;
    let pids = proc::status(inside, "NSpid");
    assert!(pids.ends_with(&format!("\t{pid}")), "{pids}");
    rustix::process::kill_process(rustix::process::Pid::from_raw(inside).unwrap(), rustix::process::Signal::TERM)
        .unwrap();
    let said = minion.wait().assert_code(0);
    assert!(said.contains("ended: SIGTERM asked for it; executor killed by signal 15 (SIGTERM) code=0"), "{said}");
    sandbox.assert_deserted();
}

/// Container `c1` in these hierarchies, and the flags and the variable that lead to it.
struct Container(CgroupGuard);

impl Container {
    fn new(hierarchies: &[&str]) -> Self {
        Self(CgroupGuard::new(hierarchies, "/c1"))
    }

    fn path(&self, hierarchy: &str) -> PathBuf {
        Path::new(hierarchy).join(self.0.name()).join("c1")
    }

    fn command(&self, sandbox: &Sandbox, wrapper: &[&str], flags: &[&str]) -> Command {
        let prefix = format!("--mesos-cgroup-prefix={}", self.0.name());
        let flags = [&["--cgroup-attach=require", &prefix], flags].concat();
        let mut command = sandbox.command_under(wrapper, &flags);
        command.env("MESOS_DIRECTORY", "/w/runs/c1");
        command
    }

    fn run(&self, sandbox: &Sandbox, wrapper: &[&str]) -> common::minion::Ended {
        Minion::spawn(&mut self.command(sandbox, wrapper, &[])).wait()
    }
}

/// A wrapper that does something in a mount namespace of its own.
fn in_a_mount_namespace(script: &str) -> Vec<String> {
    ["unshare", "-m", "sh", "-c", &format!("{script} && exec \"$@\""), "sh"].map(str::to_owned).to_vec()
}

fn as_words(wrapper: &[String]) -> Vec<&str> {
    wrapper.iter().map(String::as_str).collect()
}

#[test]
fn a_read_only_cgroup_tree_is_named_and_nothing_runs() {
    need!("root", "v1", "unshare");
    let (sandbox, _gate) = sandbox();
    let container = Container::new(&[FREEZER]);
    let wrapper = in_a_mount_namespace(&format!("mount -o remount,ro,bind {FREEZER}"));
    let said = container.run(&sandbox, &as_words(&wrapper)).assert_code(111);
    let procs = container.path(FREEZER).join("cgroup.procs");
    let line =
        format!("write to {procs:?}: Read-only file system (hint: the cgroup file system is mounted read-only here)");
    assert_eq!(said.matches(&line).count(), 2, "{said}");
    assert!(!sandbox.read("executor.log").contains("up"), "it ran");
}

#[test]
fn a_hierarchy_that_something_covers_is_done_without_unless_all_are_required() {
    need!("root", "v1", "mountns", "unshare");
    let container = Container::new(&[FREEZER, PIDS]);
    // On the container's own directory: what is above it stays what it is.
    let covers = format!("mount -t tmpfs none {}", container.path(PIDS).display());
    let wrapper = in_a_mount_namespace(&covers);
    let (sandbox, _gate) = sandbox();
    let run = |attach| Minion::spawn(&mut container.command(&sandbox, &as_words(&wrapper), &[attach])).wait();
    let said = run("--cgroup-attach=auto").assert_code(3);
    assert!(said.contains("it is not on a cgroup file system") && said.contains("where minion is in pids"), "{said}");
    assert_eq!(sandbox.read("executor.log"), "executor up\n");
    let said = run("--cgroup-attach=require").assert_code(111);
    assert!(said.trim_end().ends_with("code=111") && said.contains("it is not on a cgroup file system"), "{said}");
}

#[test]
fn a_read_only_sys_stops_nobody_who_is_in_place_already() {
    need!("root", "v1", "unshare");
    let (sandbox, _gate) = sandbox();
    let container = Container::new(&[FREEZER]);
    let procs = container.path(FREEZER).join("cgroup.procs");
    let wrapper = in_a_mount_namespace(&format!(
        "echo $$ >{} && mount -o remount,ro,bind /sys && mount -o remount,ro,bind {FREEZER}",
        procs.display()
    ));
    let said = container.run(&sandbox, &as_words(&wrapper)).assert_code(3);
    assert!(said.contains("agree"), "{said}");
    assert_eq!(sandbox.read("executor.log"), "executor up\n");
}

#[test]
fn a_cpuset_without_cpus_is_named_and_nothing_runs() {
    need!("root", "v1");
    let (sandbox, _gate) = sandbox();
    let container = Container::new(&[FREEZER, CPUSET]);
    fs::write(container.path(CPUSET).join("cpuset.cpus"), "\n").unwrap();
    let said = container.run(&sandbox, &["env"]).assert_code(111);
    let procs = container.path(CPUSET).join("cgroup.procs");
    let line = format!(
        "(already moved in freezer): write to {procs:?}: No space left on device (hint: cpuset.cpus or cpuset.mems is empty \
         in that cgroup: the agent has to fill both)"
    );
    assert_eq!(said.matches(&line).count(), 2, "{said}");
    assert!(!sandbox.read("executor.log").contains("up"), "it ran");
    sandbox.assert_deserted();
}

#[test]
fn a_helper_is_tried_again_while_the_container_has_too_many_processes() {
    need!("root", "v1");
    let sandbox = Sandbox::with_km(
        "if [ $1 = proxy ]; then [ -e again ] && exec sleep 300; >again; read -r _ <crash; exit 1; fi
         echo up >&2; read -r _ <gate; exit 3\n",
    );
    let (_crash, _gate) = (sandbox.events("crash"), sandbox.events("gate"));
    let container = Container::new(&[FREEZER, PIDS]);
    let procs = container.path(PIDS).join("cgroup.procs").display().to_string();
    let limit = container.path(PIDS).join("pids.max");
    let wrapper = ["sh", "-c", "echo $$ >\"$0\" && exec \"$@\"", &procs];
    let flags = ["--restart-delay=0s", "--restart-delay-max=0s"];
    let mut minion = Minion::spawn(&mut container.command(&sandbox, &wrapper, &flags));
    sandbox.until_logged("executor.log", "up");
    fs::write(&limit, "1").unwrap();
    fs::write(sandbox.path("crash"), "\n").unwrap();
    let line = minion.says("error start proxy: fork for ");
    assert!(
        line.contains("Resource temporarily unavailable (hint: pids.max of the container, RLIMIT_NPROC or memory"),
        "{line}"
    );
    // A start that failed is tried again after a second, whatever the delay is.
    assert!(minion.says("never started after").contains("starts again in 1s"));
    fs::write(&limit, "max").unwrap();
    minion.started("proxy");
    fs::write(sandbox.path("gate"), "\n").unwrap();
    minion.wait().assert_code(3);
}

#[test]
fn a_container_without_room_for_a_process_is_told_which_limits_there_are() {
    need!("root", "v1");
    let (sandbox, _gate) = sandbox();
    let container = Container::new(&[FREEZER, PIDS]);
    let (procs, limit) = (container.path(PIDS).join("cgroup.procs"), container.path(PIDS).join("pids.max"));
    let script = format!("echo $$ >{} && echo 1 >{} && exec \"$@\"", procs.display(), limit.display());
    let said = container.run(&sandbox, &["sh", "-c", &script, "sh"]).assert_code(111);
    let line =
        ": Resource temporarily unavailable (hint: pids.max of the container, RLIMIT_NPROC or memory is used up)";
    assert!(said.contains(line), "{said}");
}

#[test]
fn a_cgroup_that_is_removed_stops_the_proxy_and_not_the_executor() {
    need!("root", "v1");
    let sandbox = Sandbox::with_km(
        "if [ $1 = proxy ]; then read -r _ <crash; exit 1; fi
         echo up >events; read -r _ <gate; exit 3\n",
    );
    let (mut events, _crash, _gate) = (sandbox.events("events"), sandbox.events("crash"), sandbox.events("gate"));
    let container = Container::new(&[FREEZER]);
    let mut minion = Minion::spawn(&mut container.command(&sandbox, &["env"], &["--restart-delay=0s"]));
    events.next();
    minion.is_up();
    // Everybody out, and the cgroup is gone: as after a destroy that went wrong half way.
    let directory = container.path(FREEZER);
    for pid in fs::read_to_string(directory.join("cgroup.procs")).unwrap().lines() {
        fs::write(Path::new(FREEZER).join("cgroup.procs"), pid).unwrap();
    }
    fs::remove_dir(&directory).unwrap();
    fs::write(sandbox.path("crash"), "\n").unwrap();
    let line = minion.says("error start proxy: ");
    assert!(line.contains(&format!("write to {:?}: ", directory.join("cgroup.procs"))), "{line}");
    assert!(line.contains("that cgroup was removed"), "{line}");
    assert!(minion.says("never started after").contains("starts again in 1s"));
    fs::write(sandbox.path("gate"), "\n").unwrap();
    let said = minion.wait().assert_code(3);
    assert!(said.contains("ended: executor exited with 3 code=3"), "{said}");
    assert!(!directory.exists(), "it was made again");
}

#[test]
fn a_task_of_another_user_is_looked_at_while_it_still_is_ours() {
    need!("root", "mountns", "setpriv");
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    fs::set_permissions(sandbox.path("."), fs::Permissions::from_mode(0o755)).unwrap();
    // Without this capability nobody may look at the namespaces of a process that has changed its user.
    let mut command = Command::new("setpriv");
    sandbox.mark(&mut command);
    command.args(["--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", common::minion()]);
    command.args(["supervise", "--cgroup-attach=off", "--private-mountns", "--config=tasks.toml"]);
    let file = "[executor]\ncommand = ['sleep', '1000']\n\
        [[sidecar]]\nname = 'other'\ncommand = ['true']\nuser = 'nobody'\nlimits = { nofile = '100' }\n\
        restart-delay = '1ms'\nrestart-delay-max = '1ms'\n\
        after-stop = { command = ['/bin/sh', '-c', 'echo \"$MINION_EXIT\" >events'] }\n";
    fs::write(sandbox.path("tasks.toml"), file).unwrap();
    fs::set_permissions(sandbox.path("events"), fs::Permissions::from_mode(0o666)).unwrap();
    let minion = Minion::spawn(&mut command);
    for _ in 0..30 {
        assert_eq!(events.next(), "exited with 0");
    }
    let said = minion.stop().assert_code(0);
    assert!(!said.contains("start other"), "{said}");
}
