//! What a task's processes are born with.

use super::{sh, supervised};
use crate::common;
use crate::need;

/// The first line that the executor prints, with these keys.
fn executor_prints(script: &str, keys: &str) -> String {
    let file = format!("[executor]\ncommand = {}\n{keys}\n", sh(script));
    let (sandbox, minion) = supervised(&file);
    minion.wait().assert_code(0);
    sandbox.read("executor.log").lines().next().unwrap_or_default().to_owned()
}

#[test]
fn the_directory_is_where_it_starts() {
    assert_eq!(executor_prints("pwd", "directory = '/usr'"), "/usr");
}

#[test]
fn the_environment_is_added_to() {
    assert_eq!(executor_prints("echo $A-$PATH", "environment = { A = 'b c' }"), format!("b c-{}", path()));
}

#[test]
fn a_cleared_environment_has_what_the_file_gives_and_the_marker() {
    let keys = "clear-environment = true\nenvironment = { A = 'b' }";
    assert_eq!(
        executor_prints("/usr/bin/env | /usr/bin/sort | /usr/bin/cut -d= -f1 | /usr/bin/tr \"\\n\" \" \"", keys),
        "A MINION_TASK PWD "
    );
}

fn path() -> &'static str {
    "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
}

#[test]
fn limits_are_set_before_it_runs() {
    assert_eq!(executor_prints("ulimit -Sn; ulimit -Hn", "limits = { nofile = '100:200' }"), "100");
    assert_eq!(executor_prints("ulimit -Hn", "limits = { nofile = '100:200' }"), "200");
}

#[test]
fn the_nice_value_is_its_own() {
    assert_eq!(executor_prints("nice", "nice = 7"), "7");
}

#[test]
fn how_ready_the_kernel_is_to_kill_it() {
    assert_eq!(executor_prints("cat /proc/self/oom_score_adj", "oom-score-adj = 500"), "500");
}

#[test]
fn another_user_has_its_groups_and_still_dies_with_minion() {
    need!("root");
    let script = "echo $(id -u) $(id -g) $(id -G)";
    assert_eq!(executor_prints(script, "user = 'nobody'"), "65534 65534 65534");
    // The death signal is set behind the change of user, which clears it. [KF-09]
    let file =
        format!("[executor]\ncommand = {}\nuser = 'nobody'\n", sh("exec 9>lifeline; echo up >events; exec sleep 1000"));
    let sandbox = common::minion::Sandbox::with_km("");
    std::os::unix::fs::chown(sandbox.path("."), Some(65534), Some(65534)).unwrap();
    let mut events = sandbox.events("events");
    let lifeline = sandbox.lifeline();
    for fifo in ["events", "lifeline"] {
        std::os::unix::fs::chown(sandbox.path(fifo), Some(65534), Some(65534)).unwrap();
    }
    let mut minion = super::start(&sandbox, &file);
    minion.started("executor");
    events.next_with("up");
    minion.signal(rustix::process::Signal::KILL);
    lifeline.assert_cut();
}

#[test]
fn the_stop_signal_is_the_one_it_wants() {
    let script = "trap \"echo got usr2; exit 0\" USR2; trap \"\" TERM; echo up >events; while :; do sleep 0.1; done";
    let sandbox = common::minion::Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let minion = super::start(&sandbox, &format!("[executor]\ncommand = {}\nstop-signal = 'USR2'\n", sh(script)));
    events.next_with("up");
    minion.stop().assert_code(0);
    assert!(sandbox.read("executor.log").contains("got usr2"), "{}", sandbox.read("executor.log"));
}
