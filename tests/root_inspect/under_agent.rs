//! Tasks of a real minion under the rehearsal agent.

use crate::common::look::{Looked, Stray, why};
use crate::common::{DEADLINE, minion};
use crate::need;
use ::minion::rehearsal::{Agent, Container};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The children of a pid.
fn children(pid: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// The supervisor of a container, once both of its tasks run.
fn supervisor(container: &Container) -> i32 {
    let log = container.sandbox();
    crate::common::sandbox::until(log, "both tasks", || {
        let stderr = fs::read_to_string(log.join("stderr")).unwrap_or_default();
        (stderr.matches("started").count() >= 2).then_some(())
    });
    children(container.pid())[0]
}

#[test]
fn a_task_under_an_agent_is_in_its_place_and_moved_out_of_it_has_drifted() {
    need!("root", "v1");
    let root = format!("mesos-test-{}-u", std::process::id());
    let agent = Agent::builder(Path::new(minion()), &root).reap_at_once().start().unwrap();
    let mut container = agent
        .launch(&[
            minion(),
            "run",
            "--km-binary=./km",
            "--api-servers=127.0.0.1:1",
            &format!("--mesos-cgroup-prefix={root}"),
        ])
        .unwrap();
    let pid = supervisor(&container);
    for task in children(pid) {
        // The prefix and the container are its minion's.
        let said = why::<&str>(task, &[]);
        said.finding("cgroup-no-isolator");
        assert!(
            said.json["processes"][0]["findings"].as_array().unwrap().iter().all(|f| f["level"] == "note"),
            "{}",
            said.text
        );
        fs::write("/sys/fs/cgroup/memory/cgroup.procs", task.to_string()).unwrap();
        let said = why::<&str>(task, &[]);
        assert!(said.actual("cgroup-drifted").contains("outside in memory:/"), "{}", said.text);
        let flags = format!("--to={} --only=memory --mesos-cgroup-prefix={root}", container.id());
        assert_eq!(said.commands(), [format!("minion attach {task} {flags}")]);
    }
    container.destroy(Instant::now() + DEADLINE).unwrap();
}

#[test]
fn a_task_in_another_mount_namespace_than_its_minion_is_found() {
    need!("root", "mountns");
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("minion");
    symlink("/bin/bash", &program).unwrap();
    let script = "MINION_TASK=proxy.$$.1 setsid unshare --mount bash -c 'echo $$; exec sleep 1000' & read -r x";
    let (looked, line) = Looked::start(Command::new(program).args(["-c", script]));
    let task = Stray(line.parse().unwrap());
    let said = why::<&str>(task.0, &[]);
    let own = fs::read_link(format!("/proc/{}/ns/mnt", task.0)).unwrap();
    assert!(said.actual("mount-namespace-not-minions").contains(own.to_str().unwrap()), "{}", said.text);
    assert!(!why::<&str>(looked.pid(), &[]).has("mount-namespace-not-minions"));
}
