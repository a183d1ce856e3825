//! The end of the executor, and hooks.

use super::{IDLE, sh, start};
use crate::common::minion::Sandbox;

#[test]
fn the_executors_exit_code_is_minions() {
    let sandbox = Sandbox::with_km("");
    start(&sandbox, &format!("[executor]\ncommand = {}\n", sh("exit 42"))).wait().assert_code(42);
    start(&sandbox, &format!("[executor]\ncommand = {}\n", sh("kill -9 $$"))).wait().assert_code(137);
}

#[test]
fn hooks_run_around_each_run_and_know_how_it_ended() {
    let sandbox = Sandbox::with_km("");
    let hook = |script: &str| format!("{{ command = {}, timeout = '10s' }}", sh(script));
    let file = format!(
        "[executor]\ncommand = {}\nbefore-start = {}\nafter-stop = {}\n",
        sh("echo main; exit 3"),
        hook("echo before"),
        hook("echo after $MINION_EXIT_CODE $MINION_EXIT")
    );
    start(&sandbox, &file).wait().assert_code(3);
    assert_eq!(sandbox.read("executor.log"), "before\nmain\nafter 3 exited with 3\n");
}

#[test]
fn a_hook_before_the_start_that_fails_is_a_failed_start() {
    let sandbox = Sandbox::with_km("");
    let hook = format!("{{ command = {}, timeout = '10s' }}", sh("echo no luck; exit 1"));
    let file = format!("[executor]\ncommand = {}\nbefore-start = {hook}\n", sh("echo main"));
    let said = start(&sandbox, &file).wait().assert_code(111);
    assert!(said.contains("the hook before the start failed: exited with 1"), "{said}");
    assert!(said.contains("| no luck"), "{said}");
    assert_eq!(sandbox.read("executor.log"), "no luck\n");
}

#[test]
fn a_hook_that_hangs_is_killed_in_its_time() {
    let sandbox = Sandbox::with_km("");
    let lifeline = sandbox.lifeline();
    let hook = format!("{{ command = {}, timeout = '2s' }}", sh("exec 9>lifeline; trap \"\" TERM; sleep 1000"));
    let file = format!("[executor]\ncommand = {}\nbefore-start = {hook}\n", sh("echo main"));
    let said = start(&sandbox, &file).wait().assert_code(111);
    assert!(said.contains("the hook before the start failed: killed by signal 9"), "{said}");
    lifeline.assert_cut();
}

#[test]
fn a_hook_after_the_end_that_hangs_is_killed_in_its_time() {
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let lifeline = sandbox.lifeline();
    let script = sh("exec 9>lifeline; trap \"\" TERM; echo hook >events; sleep 1000");
    let file = format!(
        "{IDLE}[[sidecar]]\nname = 'side'\ncommand = {}\nrestart-delay = '10ms'\n\
         after-stop = {{ command = {script}, timeout = '200ms' }}\n",
        sh("exit 1")
    );
    let mut minion = start(&sandbox, &file);
    minion.started("side");
    events.next_with("hook");
    // The next run comes when the hook is over.
    minion.started("side");
    minion.stop().assert_code(0);
    lifeline.assert_cut();
}

#[test]
fn hooks_have_what_the_task_has() {
    let sandbox = Sandbox::with_km("");
    let hook = sh("echo $A; nice; pwd; ulimit -Sn");
    let file = format!(
        "[executor]\ncommand = ['true']\nenvironment = {{ A = 'a' }}\nnice = 3\ndirectory = '/usr'\n\
         limits = {{ nofile = 99 }}\nbefore-start = {{ command = {hook} }}\nafter-stop = {{ command = {hook} }}\n"
    );
    start(&sandbox, &file).wait().assert_code(0);
    assert_eq!(sandbox.read("executor.log"), "a\n3\n/usr\n99\n".repeat(2));
}
