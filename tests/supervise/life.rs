//! Hooks, restarts and limits.

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
    let hook = format!("{{ command = {}, timeout = '200ms' }}", sh("exec 9>lifeline; trap \"\" TERM; sleep 1000"));
    let file = format!("[executor]\ncommand = {}\nbefore-start = {hook}\n", sh("echo main"));
    let said = start(&sandbox, &file).wait().assert_code(111);
    assert!(said.contains("the hook before the start failed: killed by signal 9"), "{said}");
    lifeline.assert_cut();
}

#[test]
fn on_failure_restarts_after_a_failure_and_not_after_success() {
    let sandbox = Sandbox::with_km("");
    let script = "if test -e once; then exit 0; fi; touch once; exit 1";
    let file = format!(
        "{IDLE}[[sidecar]]\nname = 'side'\ncommand = {}\nrestart = 'on-failure'\nrestart-delay = '10ms'\n",
        sh(script)
    );
    let mut minion = start(&sandbox, &file);
    minion.says("exited with 1");
    let line = minion.says("exited with 0");
    assert!(!line.contains("starts again"), "{line}");
    minion.stop().assert_code(0);
}

#[test]
fn a_start_limit_gives_up_or_ends_everything() {
    for (then, code) in [("give-up", 0), ("end", 112)] {
        let sandbox = Sandbox::with_km("");
        let file = format!(
            "{IDLE}[[sidecar]]\nname = 'side'\ncommand = {}\nrestart-delay = '1ms'\n\
             start-limit = {{ starts = 3, within = '1m', then = '{then}' }}\n",
            sh("exit 1")
        );
        let mut minion = start(&sandbox, &file);
        minion.says("it started too often");
        let ended = if then == "end" { minion.wait() } else { minion.stop() };
        let said = ended.assert_code(code);
        assert_eq!(said.matches("started task=side").count(), 3, "{said}");
    }
}

#[test]
fn a_sidecar_that_flaps_ignores_term_forks_away_and_floods_harms_nobody() {
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let naughty = sh("trap \"\" TERM; (setsid sleep 1000 &) ; yes naughty | head -c 3000000; exit 1");
    let file = format!(
        "[executor]\ncommand = {}\n[[sidecar]]\nname = 'naughty'\ncommand = {naughty}\nrestart-delay = '10ms'\n\
         log = {{ max-size = '100Ki', max-backups = 2 }}\n",
        sh("echo up >events; n=0; while test $n -lt 20; do n=$((n+1)); echo line $n; sleep 0.05; done")
    );
    let minion = start(&sandbox, &file);
    events.next_with("up");
    minion.wait().assert_code(0);
    let lines: Vec<String> = (1..=20).map(|n| format!("line {n}")).collect();
    assert_eq!(sandbox.read("executor.log").lines().collect::<Vec<_>>(), lines);
    let backups = std::fs::read_dir(sandbox.path(".")).unwrap().flatten();
    let backups = backups.filter(|entry| entry.file_name().to_string_lossy().starts_with("naughty-")).count();
    assert!((1..=2).contains(&backups), "{backups} backups");
    sandbox.assert_deserted();
}
