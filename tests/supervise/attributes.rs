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
fn the_command_is_executed_word_for_word_by_no_shell() {
    let file = "[executor]\ncommand = ['printf', '%s|', 'a  b', '$HOME', '*', '']\n";
    let (sandbox, minion) = supervised(file);
    minion.wait().assert_code(0);
    assert_eq!(sandbox.read("executor.log"), "a  b|$HOME|*||");
}

#[test]
fn an_environment_file_stands_between_minions_own_and_the_tasks() {
    let sandbox = common::minion::Sandbox::with_km("");
    std::fs::write(sandbox.path("env"), "# a comment\nA=of the file\nB= $C 'as it is' \nPATH=/bin:/usr/bin\n").unwrap();
    let file = format!(
        "[executor]\ncommand = {}\nenvironment-file = 'env'\nenvironment = {{ A = 'of the task' }}\n",
        sh("echo \"$A|$B|$PATH\"")
    );
    super::start(&sandbox, &file).wait().assert_code(0);
    assert_eq!(sandbox.read("executor.log"), "of the task| $C 'as it is' |/bin:/usr/bin\n");
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
fn each_resource_has_its_limit() {
    // Both the name of the file and what the kernel calls it.
    let limits = [
        ("core", "Max core file size"),
        ("cpu", "Max cpu time"),
        ("data", "Max data size"),
        ("fsize", "Max file size"),
        ("locks", "Max file locks"),
        ("memlock", "Max locked memory"),
        ("msgqueue", "Max msgqueue size"),
        ("nice", "Max nice priority"),
        ("nofile", "Max open files"),
        ("nproc", "Max processes"),
        ("rss", "Max resident set"),
        ("rtprio", "Max realtime priority"),
        ("rttime", "Max realtime timeout"),
        ("sigpending", "Max pending signals"),
        ("stack", "Max stack size"),
        ("as", "Max address space"),
    ];
    // Large ones, so that the program can run; the hard ones are not above anybody's own.
    let value = |name: &str| if ["nice", "rtprio"].contains(&name) { 0 } else { 268_435_456 };
    let value = |name: &str| {
        if ["nofile", "nproc", "sigpending", "memlock", "msgqueue"].contains(&name) { 512 } else { value(name) }
    };
    let given: Vec<String> = limits.iter().map(|(name, _)| format!("{name} = {}", value(name))).collect();
    let file = format!("[executor]\ncommand = ['cat', '/proc/self/limits']\nlimits = {{ {} }}\n", given.join(", "));
    let (sandbox, minion) = supervised(&file);
    minion.wait().assert_code(0);
    let log = sandbox.read("executor.log");
    for (name, called) in limits {
        let row = log.lines().find(|row| row.starts_with(called)).unwrap_or_else(|| panic!("{name}: {log}"));
        let told: Vec<&str> = row[called.len()..].split_whitespace().take(2).collect();
        assert_eq!(told, [value(name).to_string(), value(name).to_string()], "{name}: {row}");
    }
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
fn another_group_takes_the_place_of_the_users() {
    need!("root");
    let script = "echo $(id -u) $(id -g)";
    assert_eq!(executor_prints(script, "user = 'nobody'\ngroup = 'daemon'"), "65534 1");
    // Of a number that no file knows, the group has to be told.
    assert_eq!(executor_prints(script, "user = 54321\ngroup = 54322"), "54321 54322");
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
