//! Whether, when and how often a sidecar starts again.

use super::{IDLE, sh, start};
use crate::common::minion::Sandbox;

/// An executor that does nothing, and a sidecar with these keys.
fn with_sidecar(script: &str, keys: &str) -> String {
    format!("{IDLE}[[sidecar]]\nname = 'side'\ncommand = {}\n{keys}\n", sh(script))
}

#[test]
fn restart_says_after_which_ends_it_starts_again() {
    for (restart, after_success, after_failure) in
        [("always", true, true), ("on-failure", false, true), ("never", false, false)]
    {
        for (code, again) in [(0, after_success), (1, after_failure)] {
            let sandbox = Sandbox::with_km("");
            let keys = format!("restart = '{restart}'\nrestart-delay = '10ms'");
            let mut minion = start(&sandbox, &with_sidecar(&format!("exit {code}"), &keys));
            let first = minion.started("side");
            let line = minion.says(&format!("exited with {code}"));
            assert_eq!(line.contains("starts again"), again, "{restart} {line}");
            if again {
                assert_ne!(minion.started("side"), first);
            }
            let said = minion.stop().assert_code(0);
            assert_eq!(said.matches("started task=side").count() > 1, again, "{restart} {code} {said}");
        }
    }
}

#[test]
fn on_failure_restarts_after_a_failure_and_not_after_success() {
    let sandbox = Sandbox::with_km("");
    let script = "if test -e once; then exit 0; fi; touch once; exit 1";
    let file = with_sidecar(script, "restart = 'on-failure'\nrestart-delay = '10ms'");
    let mut minion = start(&sandbox, &file);
    minion.says("exited with 1");
    let line = minion.says("exited with 0");
    assert!(!line.contains("starts again"), "{line}");
    minion.stop().assert_code(0);
}

#[test]
fn the_delay_doubles_up_to_its_most() {
    let sandbox = Sandbox::with_km("");
    let mut events = sandbox.events("events");
    let keys = "restart-delay = '200ms'\nrestart-delay-max = '500ms'";
    let mut minion = start(&sandbox, &with_sidecar("date +%s%N >events; exit 1", keys));
    let mut moments = Vec::new();
    for delay in [200, 400, 500, 500] {
        moments.push((events.next().parse::<u64>().unwrap(), delay));
        let line = minion.says("exited with 1");
        assert!(line.contains(&format!("starts again in {delay}ms")), "{line}");
    }
    for pair in moments.windows(2) {
        let [(first, delay), (second, _)] = pair else { panic!("{pair:?}") };
        assert!((second - first) / 1_000_000 >= *delay, "{moments:?}");
    }
    minion.stop().assert_code(0);
}

#[test]
fn a_start_limit_gives_up_or_ends_everything() {
    for (then, code) in [("give-up", 0), ("end", 112)] {
        let sandbox = Sandbox::with_km("");
        let limit = format!("start-limit = {{ starts = 3, within = '1m', then = '{then}' }}");
        let mut minion = start(&sandbox, &with_sidecar("exit 1", &format!("restart-delay = '1ms'\n{limit}")));
        minion.says("it started too often");
        let ended = if then == "end" { minion.wait() } else { minion.stop() };
        let said = ended.assert_code(code);
        assert_eq!(said.matches("started task=side").count(), 3, "{said}");
    }
}

#[test]
fn starts_before_the_time_of_the_limit_do_not_count() {
    let sandbox = Sandbox::with_km("");
    let keys = "restart-delay = '200ms'\nrestart-delay-max = '200ms'\nstart-limit = { starts = 2, within = '300ms' }";
    let mut minion = start(&sandbox, &with_sidecar("exit 1", keys));
    for _ in 0..4 {
        minion.started("side");
    }
    let said = minion.stop().assert_code(0);
    assert!(!said.contains("it started too often"), "{said}");
}
