//! Each key of the file and the test that shows its effect on a real process. A new key fails here until it has one.

use crate::common::keys::every_key;
use std::collections::BTreeSet;
use std::process::Command;

/// `task.` is what `[executor]` and `[[sidecar]]` read by one row.
const EFFECTS: [(&str, &str); 53] = [
    ("log.gzip", "logs::rotated_logs_are_packed_where_they_are_to_be"),
    ("log.max-age", "logs::a_backup_is_kept_until_its_age"),
    ("log.max-backups", "logs::so_many_backups_are_kept"),
    ("log.max-size", "logs::a_log_is_rotated_at_its_size"),
    ("log.stall", "logs::a_task_waits_so_long_for_a_full_disk"),
    ("log.stdout", "logs::standard_output_goes_where_it_is_to_go"),
    ("stop.grace", "order::the_slowest_cannot_eat_the_others_time"),
    ("task.after", "order::a_chain_starts_forwards_and_ends_backwards"),
    ("task.after-stop.command", "life::hooks_run_around_each_run_and_know_how_it_ended"),
    ("task.after-stop.timeout", "life::a_hook_after_the_end_that_hangs_is_killed_in_its_time"),
    ("task.before-start.command", "life::hooks_run_around_each_run_and_know_how_it_ended"),
    ("task.before-start.timeout", "life::a_hook_that_hangs_is_killed_in_its_time"),
    ("task.clear-environment", "attributes::a_cleared_environment_has_what_the_file_gives_and_the_marker"),
    ("task.command", "attributes::the_command_is_executed_word_for_word_by_no_shell"),
    ("task.directory", "attributes::the_directory_is_where_it_starts"),
    ("task.environment", "attributes::the_environment_is_added_to"),
    ("task.environment-file", "attributes::an_environment_file_stands_between_minions_own_and_the_tasks"),
    ("task.group", "attributes::another_group_takes_the_place_of_the_users"),
    ("task.health.command", "health::a_command_that_fails_restarts_a_sidecar"),
    ("task.health.every", "health::a_command_that_fails_restarts_a_sidecar"),
    ("task.health.failures", "health::so_many_failures_in_a_row_are_a_verdict"),
    ("task.health.file", "health::a_file_that_is_gone_and_a_socket_that_is_closed"),
    ("task.health.http", "health::http_statuses_are_told_apart_and_the_evidence_is_named"),
    ("task.health.tcp", "health::a_tcp_port_that_nobody_listens_on"),
    ("task.health.timeout", "health::an_answer_may_take_its_time_and_no_longer"),
    ("task.health.unix", "health::a_file_that_is_gone_and_a_socket_that_is_closed"),
    ("task.health.watchdog", "health::a_watchdog_that_falls_silent"),
    ("task.limits", "attributes::limits_are_set_before_it_runs"),
    ("task.log.gzip", "logs::rotated_logs_are_packed_where_they_are_to_be"),
    ("task.log.max-age", "logs::a_backup_is_kept_until_its_age"),
    ("task.log.max-backups", "logs::so_many_backups_are_kept"),
    ("task.log.max-size", "logs::a_log_is_rotated_at_its_size"),
    ("task.log.stdout", "logs::standard_output_goes_where_it_is_to_go"),
    ("task.name", "logs::a_log_has_the_name_of_its_task"),
    ("task.nice", "attributes::the_nice_value_is_its_own"),
    ("task.oom-score-adj", "attributes::how_ready_the_kernel_is_to_kill_it"),
    ("task.readiness.command", "readiness::a_command_that_succeeds"),
    ("task.readiness.every", "readiness::a_probe_pauses_between_two_tries"),
    ("task.readiness.fd", "readiness::a_newline_on_an_fd"),
    ("task.readiness.file", "readiness::a_file_that_appears"),
    ("task.readiness.http", "readiness::an_http_answer_that_is_good"),
    ("task.readiness.notify", "readiness::sd_notify_with_a_status"),
    ("task.readiness.tcp", "readiness::a_tcp_port_that_accepts"),
    ("task.readiness.unix", "readiness::a_unix_socket_that_accepts"),
    ("task.readiness.within", "readiness::a_readiness_that_does_not_come_is_a_failure_with_the_last_lines"),
    ("task.restart", "restarts::restart_says_after_which_ends_it_starts_again"),
    ("task.restart-delay", "restarts::the_delay_doubles_up_to_its_most"),
    ("task.restart-delay-max", "restarts::the_delay_doubles_up_to_its_most"),
    ("task.start-limit.starts", "restarts::a_start_limit_gives_up_or_ends_everything"),
    ("task.start-limit.then", "restarts::a_start_limit_gives_up_or_ends_everything"),
    ("task.start-limit.within", "restarts::starts_before_the_time_of_the_limit_do_not_count"),
    ("task.stop-signal", "attributes::the_stop_signal_is_the_one_it_wants"),
    ("task.user", "attributes::another_user_has_its_groups_and_still_dies_with_minion"),
];

#[test]
fn each_key_has_a_test_that_shows_its_effect() {
    let of_both = |path: &str| {
        let inner = ["executor.", "sidecar."].iter().find_map(|table| path.strip_prefix(table));
        inner.map_or_else(|| path.to_owned(), |inner| format!("task.{inner}"))
    };
    let keys: BTreeSet<String> = every_key().iter().filter(|key| key.is_leaf()).map(|key| of_both(&key.path)).collect();
    let covered: BTreeSet<String> = EFFECTS.iter().map(|(key, _)| (*key).to_owned()).collect();
    assert_eq!(keys, covered);
    let listed = Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for (key, test) in EFFECTS {
        assert!(listed.lines().any(|line| line == format!("{test}: test")), "{key}: no test {test}");
    }
}

/// A name that is in the table says nothing about a test that does not write the key into a file.
#[test]
fn each_of_these_tests_is_about_its_key() {
    let sources = [
        ("attributes", include_str!("attributes.rs")),
        ("health", include_str!("health.rs")),
        ("life", include_str!("life.rs")),
        ("logs", include_str!("logs.rs")),
        ("order", include_str!("order.rs")),
        ("readiness", include_str!("readiness.rs")),
        ("restarts", include_str!("restarts.rs")),
    ];
    for (key, test) in EFFECTS {
        let (module, name) = test.split_once("::").unwrap();
        let (_, source) = sources.iter().find(|(there, _)| *there == module).unwrap();
        let (_, body) = source.split_once(&format!("fn {name}()")).unwrap();
        let body = body.split("\n}\n").next().unwrap();
        let last = key.rsplit('.').next().unwrap();
        assert!(body.contains(&format!("{last} =")) || body.contains(&format!("{last}'")), "{test} does not set {key}");
    }
}
