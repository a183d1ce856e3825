//! The flags of the original: their defaults, their types and their syntax.

use super::{options, refusal};
use minion::cli::{CgroupAttach, CgroupDrift, LogFormat};
use minion::config::{Keeping, STALL};
use minion::hyperkube::executor;
use minion::hyperkube::value::Kind;
use minion::task::spec::StdoutMode;
use std::time::Duration;

#[test]
fn the_defaults_are_the_originals() {
    let options = options(&["run"]);
    assert_eq!(options.common.mesos_cgroup_prefix, "mesos");
    assert!(!options.common.private_mountns);
    assert_eq!(options.profile.path_override, "");
    assert_eq!(options.profile.contain_pod_resources, None);
    assert_eq!(Keeping::of(options.common.log).max_size, 10 * 1024 * 1024);
    assert_eq!(Keeping::of(options.common.log).max_age, Some(Duration::from_secs(7 * 86_400)));
    assert_eq!(Keeping::of(options.common.log).max_backups, 5);
    let proxy = options.profile.proxy;
    assert!(proxy.run && !proxy.bindall);
    assert_eq!((proxy.kubeconfig.len(), proxy.logv, proxy.conntrack_max), (0, 0, 0));
    assert_eq!(proxy.mode, "userspace");
    assert_eq!(proxy.conntrack_tcp_timeout_established.as_nanos(), 0);
    assert_eq!(options.profile.housekeeping_interval.to_string(), "10s");
    assert_eq!(options.profile.global_housekeeping_interval.to_string(), "1m0s");
    assert_eq!(options.common.verbosity, 0);
}

#[test]
fn the_defaults_of_what_is_new_change_nothing() {
    let options = options(&["run"]);
    assert_eq!((options.common.cgroup_attach, options.common.cgroup_drift), (CgroupAttach::Auto, CgroupDrift::Warn));
    assert_eq!((options.common.grace, options.common.log_format), (None, LogFormat::Text));
    assert_eq!(options.profile.restart_delay, Duration::from_secs(5));
    assert_eq!(options.profile.restart_delay_max, Duration::from_secs(60));
    let keeping = Keeping::of(options.common.log);
    assert_eq!((keeping.stdout, keeping.gzip), (StdoutMode::Merge, false));
    assert_eq!((options.common.log_stall, STALL), (None, Duration::from_secs(5)));
}

/// A value that a flag of this kind takes, and one that it does not.
fn samples(kind: Kind) -> (&'static str, Option<&'static str>) {
    match kind {
        Kind::Bool => ("false", Some("yes")),
        Kind::Int32 => ("-1", Some("4294967296")),
        Kind::Int64 => ("4294967296", Some("1.5")),
        Kind::Float64 => ("0.5", Some("half")),
        Kind::Duration => ("1m30s", Some("90")),
        Kind::Ip => ("10.0.0.7", Some("host")),
        Kind::List => ("a,b", None),
        Kind::Map => ("cpu=100m,memory=1Gi", None),
        Kind::Text => ("any thing", None),
    }
}

#[test]
fn each_executor_flag_is_forwarded_in_both_forms_and_checked_by_its_type() {
    for (name, kind) in executor::names().chain([("v", Kind::Int32)]) {
        let (good, bad) = samples(kind);
        let together = format!("--{name}={good}");
        assert_eq!(options(&[&together]).profile.executor_args, [together.as_str()], "{name}");
        let flag = format!("--{name}");
        let apart = if kind == Kind::Bool { vec![flag.as_str()] } else { vec![flag.as_str(), good] };
        assert_eq!(options(&apart).profile.executor_args, apart, "{name}");
        if let Some(bad) = bad {
            let refused = refusal(&[&format!("--{name}={bad}")]);
            assert!(refused.starts_with(&format!("minion: --{name}: ")), "{refused}");
            assert!(refused.ends_with(&format!(": {bad:?}")), "{refused}");
        }
    }
}

#[test]
fn each_flag_that_km_took_everywhere_is_accepted_and_checked() {
    for (name, kind) in executor::globals() {
        let (good, bad) = samples(kind);
        let accepted = options(&[&format!("--{name}={good}")]);
        assert!(accepted.profile.executor_args.is_empty() && accepted.common.notices.is_empty(), "{name}");
        if let Some(bad) = bad {
            assert!(refusal(&[&format!("--{name}={bad}")]).contains(name));
        }
    }
}

#[test]
fn flags_of_an_older_executor_go_on_with_a_warning() {
    let options = options(&["--shutdown-fd=3", "--shutdown-fifo=/x"]);
    assert_eq!(options.profile.executor_args, ["--shutdown-fd=3", "--shutdown-fifo=/x"]);
    assert_eq!(options.common.notices.len(), 1);
}

#[test]
fn one_dash_is_for_letters() {
    assert_eq!(refusal(&["-run-proxy=false"]), "minion: \"-run-proxy=false\": a long flag with one dash");
    // The original had no -v; minion's sets what --v sets.
    assert_eq!(options(&["-v=2"]).profile.executor_args, ["--v=2"]);
}

#[test]
fn dashes_and_underscores_are_not_the_same() {
    assert_eq!(refusal(&["--run_proxy=false"]), "minion: --run_proxy: no such flag");
    assert_eq!(refusal(&["--housekeeping-interval=1s"]), "minion: --housekeeping-interval: no such flag");
}

#[test]
fn booleans_are_the_words_of_go() {
    for (word, expected) in [("1", true), ("t", true), ("TRUE", true), ("0", false), ("F", false), ("False", false)] {
        assert_eq!(options(&[&format!("--run-proxy={word}")]).profile.proxy.run, expected, "{word}");
    }
    assert_eq!(refusal(&["--run-proxy=yes"]), "minion: --run-proxy: not a boolean: \"yes\"");
    assert_eq!(refusal(&["--run-proxy="]), "minion: --run-proxy: not a boolean: \"\"");
}

#[test]
fn integers_have_the_base_of_their_prefix() {
    for (word, expected) in [("0x3", 3), ("010", 8), ("1_0", 10), ("-5", -5)] {
        assert_eq!(options(&[&format!("--conntrack-max={word}")]).profile.proxy.conntrack_max, expected, "{word}");
    }
    assert_eq!(refusal(&["--max-pods=abc"]), "minion: --max-pods: not an integer: \"abc\"");
}

#[test]
fn durations_need_a_unit_except_zero() {
    assert_eq!(options(&["--sync-frequency=0"]).profile.executor_args, ["--sync-frequency=0"]);
    assert_eq!(refusal(&["--sync-frequency=10"]), "minion: --sync-frequency: not a duration: \"10\"");
    assert_eq!(
        refusal(&["--housekeeping_interval=10secs"]),
        "minion: --housekeeping_interval: not a duration: \"10secs\""
    );
}

#[test]
fn a_list_is_replaced_by_its_first_use_and_added_to_by_later_ones() {
    let options = options(&["--api-servers=a,b", "--api-servers=c"]);
    assert_eq!(options.profile.api_servers.unwrap(), ["a", "b", "c"]);
}
