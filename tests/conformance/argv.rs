//! Command lines and the argument lists of both children.

use super::scheduler::{self, LINE as SCHEDULER};
use super::{DIRECTORY, Machine, has, options, refusal};
use minion::config::Keeping;
use minion::task::{Restart, Role};
use std::ffi::OsString;
use std::time::Duration;

#[test]
fn the_schedulers_line_gives_the_two_lists_of_the_original() {
    let profile = Machine::agent().profile(&SCHEDULER).unwrap();
    let [proxy, executor] = &profile.tasks[..] else { panic!("{:?}", profile.tasks) };
    let words = |list: Vec<String>| list.into_iter().map(OsString::from).collect::<Vec<_>>();
    assert_eq!(proxy.args, words(scheduler::proxy("/sandbox/km")));
    let root = "/mesos/3f0d5c1e-8a44-4b0e-9d0c-5b6f7a120a11";
    assert_eq!(executor.args, words(scheduler::executor("/sandbox/km", root)));
}

#[test]
fn the_schedulers_line_is_understood_whole_without_a_warning() {
    let options = options(&SCHEDULER);
    assert_eq!(options.common.notices, Vec::<String>::new());
    assert_eq!((options.common.verbosity, Keeping::of(options.common.log).max_backups), (1, 5));
    assert_eq!(options.common.mesos_cgroup_prefix, "mesos");
}

#[test]
fn the_optional_flags_of_the_scheduler_are_understood_too() {
    let more = [
        "--address=0.0.0.0",
        "--kubeconfig=node.kc",
        "--root-dir=/var/kubelet",
        "--docker-endpoint=unix:///run/docker.sock",
        "--pod-infra-container-image=pause:3",
        "--network-plugin=cni",
    ];
    let options = options(&[&SCHEDULER[..], &more].concat());
    assert_eq!(options.common.notices, Vec::<String>::new());
    assert_eq!(options.profile.executor_args[12..], more);
}

#[test]
fn the_word_minion_of_the_schedulers_line_is_to_be_left_out() {
    assert_eq!(refusal(&[&["minion"], &SCHEDULER[..]].concat()), "minion: no such command: \"minion\"");
}

#[test]
fn the_proxy_comes_first_and_alone_starts_again() {
    let tasks = Machine::agent().tasks(&["--restart-delay=1s"]);
    let [proxy, executor] = &tasks[..] else { panic!("{tasks:?}") };
    assert_eq!((proxy.name.as_str(), proxy.role), ("proxy", Role::Helper));
    assert_eq!(proxy.restart, Restart::Always { delay: Duration::from_secs(1), max: Duration::from_secs(60) });
    assert_eq!((executor.name.as_str(), executor.role, executor.restart), ("executor", Role::Executor, Restart::Never));
    assert_eq!(proxy.program, executor.program);
}

#[test]
fn the_longest_delay_is_never_below_the_first() {
    let tasks = Machine::agent().tasks(&["--restart-delay=2m"]);
    assert_eq!(tasks[0].restart, Restart::Always { delay: Duration::from_secs(120), max: Duration::from_secs(120) });
}

#[test]
fn without_a_proxy_there_is_the_executor_alone() {
    let tasks = Machine::agent().tasks(&["--run-proxy=false"]);
    assert_eq!(tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(), ["executor"]);
}

#[test]
fn a_value_in_a_word_of_its_own_reaches_both_children() {
    let profile =
        Machine::agent().profile(&["--api-servers", "http://a", "--hostname-override", "n1", "--v", "3"]).unwrap();
    let [proxy, executor] = [&profile.tasks[0], &profile.tasks[1]].map(super::text);
    assert_eq!(proxy[8..], ["--master=http://a", "--hostname-override=n1"]);
    assert_eq!(executor[1..7], ["--api-servers", "http://a", "--hostname-override", "n1", "--v", "3"]);
}

#[test]
fn a_word_behind_a_boolean_is_refused_instead_of_forwarded() {
    assert_eq!(refusal(&["--allow-privileged", "true"]), "minion: stray word: \"true\"");
    assert_eq!(refusal(&["--run-proxy", "false"]), "minion: stray word: \"false\"");
}

#[test]
fn stray_words_are_refused_instead_of_forwarded() {
    assert_eq!(refusal(&["run", "foo", "bar"]), "minion: stray word: \"foo\"");
    assert_eq!(refusal(&["run", "-"]), "minion: stray word: \"-\"");
}

#[test]
fn words_behind_two_dashes_come_after_minions_own() {
    let executor = Machine::agent().executor(&["--", "--max-pods=3", "x", "--kubelet-cgroups=mine", "--"]);
    assert_eq!(
        executor[2..],
        [
            "--kubelet-cgroups=",
            "--cgroup-root=/mesos/3f0d5c1e-8a44-4b0e-9d0c-5b6f7a120a11",
            "--housekeeping_interval=10s",
            "--global_housekeeping_interval=1m0s",
            "--max-pods=3",
            "x",
            "--kubelet-cgroups=mine",
            "--",
        ]
    );
}

#[test]
fn a_flag_given_twice_is_forwarded_twice() {
    let executor = Machine::agent().executor(&["--max-pods=1", "--max-pods=2"]);
    assert_eq!(executor[2..4], ["--max-pods=1", "--max-pods=2"]);
}

#[test]
fn minions_cgroup_root_follows_the_one_given_and_wins() {
    let profile = Machine::agent().profile(&["--api-servers=a", "--cgroup-root=/mine"]).unwrap();
    let executor = super::text(&profile.tasks[1]);
    assert_eq!(executor[2], "--cgroup-root=/mine");
    assert_eq!(executor[4], "--cgroup-root=/mesos/3f0d5c1e-8a44-4b0e-9d0c-5b6f7a120a11");
    assert!(profile.notices.iter().any(|notice| notice.warn && notice.text.contains("overrides")));
}

#[test]
fn the_cgroup_root_given_is_kept_when_pods_are_not_contained() {
    let executor = Machine::agent().executor(&["--cgroup-root=/mine", "--contain-pod-resources=false"]);
    assert_eq!(
        executor.iter().filter(|arg| arg.starts_with("--cgroup-root")).collect::<Vec<_>>(),
        ["--cgroup-root=/mine"]
    );
}

#[test]
fn the_log_says_which_cgroup_root_holds() {
    const API: &str = "--api-servers=a";
    const GIVEN: &str = "--cgroup-root for the executor is the one that the command line gives it";
    let unified = || Machine { unified: true, ..Machine::agent() };
    let unknown = || Machine::with_env(&[("PATH", "/bin")]);
    for (machine, args, text, warn) in [
        (Machine::agent(), vec![API], "--cgroup-root for the executor is /mesos/", false),
        (Machine::agent(), vec![API, "--cgroup-root=/a"], "minion's --cgroup-root overrides the one given", true),
        (Machine::agent(), vec![API, "--", "--cgroup-root=/a"], GIVEN, false),
        (unified(), vec![API], "no --cgroup-root for the executor", false),
        (unified(), vec![API, "--cgroup-root", "/a"], GIVEN, true),
        (unified(), vec![API, "--", "--cgroup-root=/a"], GIVEN, true),
        (unknown(), vec![API], "no --cgroup-root for the executor", true),
        (unknown(), vec![API, "--cgroup-root=/a"], GIVEN, false),
    ] {
        let notices = machine.profile(&args).unwrap().notices;
        let about: Vec<_> = notices.iter().filter(|notice| notice.text.contains("--cgroup-root")).collect();
        assert!(about.iter().any(|n| n.text.starts_with(text) && n.warn == warn), "{args:?}: {about:?}");
        let claims = |text: &str| about.iter().any(|notice| notice.text.starts_with(text));
        assert!(!(claims(GIVEN) && (claims("no --cgroup-root") || about.len() > 1)), "{args:?}: {about:?}");
    }
}

#[test]
fn a_unified_host_gets_a_cgroup_root_only_when_asked_and_warns() {
    let machine = Machine { unified: true, ..Machine::agent() };
    let args = ["--api-servers=a"];
    let silent = machine.profile(&args).unwrap();
    assert!(!super::text(&silent.tasks[1]).iter().any(|arg| arg.starts_with("--cgroup-root")));
    assert!(silent.notices.iter().all(|notice| !notice.text.starts_with("--cgroup-root")));

    let asked = machine.profile(&[args[0], "--contain-pod-resources=true"]).unwrap();
    assert!(has(&super::text(&asked.tasks[1]), "--cgroup-root=/mesos/3f0d5c1e-8a44-4b0e-9d0c-5b6f7a120a11"));
    assert!(asked.notices.iter().any(|notice| notice.warn && notice.text.contains("recovery")));

    let refused = machine.profile(&[args[0], "--contain-pod-resources=false"]).unwrap();
    assert!(!super::text(&refused.tasks[1]).iter().any(|arg| arg.starts_with("--cgroup-root")));
}

#[test]
fn without_a_container_there_is_no_cgroup_root_and_a_warning() {
    let profile = Machine::with_env(&[("PATH", "/bin")]).profile(&["--api-servers=a"]).unwrap();
    assert_eq!(super::text(&profile.tasks[1])[2], "--kubelet-cgroups=");
    assert_eq!(super::text(&profile.tasks[1])[3], "--housekeeping_interval=10s");
    assert!(profile.notices.iter().any(|notice| notice.warn && notice.text.contains("the container is not known")));
}

#[test]
fn flags_of_glog_and_cadvisor_are_accepted_and_go_nowhere() {
    let args = [
        "--logtostderr",
        "--alsologtostderr=false",
        "--stderrthreshold=2",
        "--vmodule",
        "a=1",
        "--log_dir=/tmp",
        "--log-flush-frequency=5s",
        "--docker_only",
        "--log_backtrace_at=x:1",
        "--event_storage_age_limit=default=0",
        "--google-json-key=",
        "--ir-percentile=90",
    ];
    assert_eq!(Machine::agent().executor(&args)[2], "--kubelet-cgroups=");
    assert_eq!(options(&args).common.notices, Vec::<String>::new());
}

#[test]
fn the_housekeeping_intervals_end_minions_own_flags_as_go_prints_them() {
    let executor =
        Machine::agent().executor(&["--housekeeping_interval=10000h", "--global_housekeeping_interval", "90s"]);
    assert_eq!(
        executor[executor.len() - 2..],
        ["--housekeeping_interval=10000h0m0s", "--global_housekeeping_interval=1m30s"]
    );
    assert!(!has(&executor, "--housekeeping_interval=10000h"));
}

#[test]
fn the_first_flag_is_never_dropped() {
    let executor = Machine::agent().profile(&["--max-pods=7", "--api-servers=a"]).unwrap();
    assert_eq!(super::text(&executor.tasks[1])[1..3], ["--max-pods=7", "--api-servers=a"]);
}

#[test]
fn the_proxy_binds_to_all_or_to_address_or_to_libprocess_ip() {
    let bind = |machine: &Machine<'_>, args: &[&str]| machine.proxy(args)[1].clone();
    let agent = Machine::agent();
    assert_eq!(bind(&agent, &["--proxy-bindall=true", "--address=10.9.9.9"]), "--bind-address=0.0.0.0");
    assert_eq!(bind(&agent, &["--address=10.9.9.9"]), "--bind-address=10.9.9.9");
    assert_eq!(bind(&agent, &[]), "--bind-address=10.0.0.7");
    assert_eq!(bind(&Machine::with_env(&[("PATH", "/bin")]), &[]), "--bind-address=0.0.0.0");
    assert_eq!(bind(&Machine::with_env(&[("LIBPROCESS_IP", "")]), &[]), "--bind-address=0.0.0.0");
}

#[test]
fn a_libprocess_ip_that_is_none_is_passed_on_with_a_warning() {
    let profile = Machine::with_env(&[("LIBPROCESS_IP", "notanip")]).profile(&["--api-servers=a"]).unwrap();
    assert_eq!(super::text(&profile.tasks[0])[1], "--bind-address=notanip");
    assert!(profile.notices.iter().any(|notice| notice.warn && notice.text.contains("LIBPROCESS_IP=\"notanip\"")));
}

#[test]
fn the_cgroup_prefix_is_cleaned() {
    for (prefix, expected) in [("/a/b/../c/", "/a/c"), ("mesos", "/mesos"), ("../../x", "/x"), ("//a/./b", "/a/b")] {
        // The kernel says another container than the sandbox: the prefix decides where to look for it.
        let other = "11111111-8a44-4b0e-9d0c-5b6f7a120a11";
        let machine = Machine { cgroup: Some(format!("{expected}/{other}")), ..Machine::agent() };
        let executor = machine.executor(&[&format!("--mesos-cgroup-prefix={prefix}")]);
        assert!(has(&executor, &format!("--cgroup-root={expected}/{other}")), "{prefix} {executor:?}");
    }
}

#[test]
fn the_conntrack_timeout_is_passed_as_a_duration() {
    for (given, passed) in [("0", "0"), ("6", "6s"), ("86400", "24h0m0s"), ("1h", "1h0m0s"), ("0s", "0"), ("-5", "-5s")]
    {
        let proxy = Machine::agent().proxy(&[&format!("--conntrack-tcp-timeout-established={given}")]);
        assert_eq!(proxy[7], format!("--conntrack-tcp-timeout-established={passed}"));
    }
}

#[test]
fn the_proxys_mode_and_limits_are_passed_unchecked() {
    let proxy = Machine::agent().proxy(&["--proxy-mode=bogus", "--conntrack-max=-5", "--proxy-logv=0x3"]);
    assert_eq!([&proxy[5], &proxy[6], &proxy[2]], ["--proxy-mode=bogus", "--conntrack-max=-5", "--v=3"]);
    assert_eq!(Machine::agent().proxy(&["--proxy-mode="])[5], "--proxy-mode=");
}

#[test]
fn options_of_the_proxy_that_are_empty_are_left_out() {
    let proxy = Machine::agent().profile(&["--api-servers=", "--proxy-kubeconfig=", "--hostname-override="]).unwrap();
    assert_eq!(super::text(&proxy.tasks[0]).len(), 8);
}

#[test]
fn a_relative_km_becomes_absolute() {
    let options = options(&["--api-servers=a"]);
    let host = |km: &str, cwd: Option<&str>| minion::hyperkube::Host {
        km: km.into(),
        cwd: cwd.map(Into::into),
        cgroup_root: minion::hyperkube::CgroupRoot::Unknown,
        container: None,
        read: &|_| Err(std::io::ErrorKind::NotFound.into()),
    };
    let argv0 = |host| minion::hyperkube::profile(&options.profile, &[], &host).unwrap().tasks[0].args[0].clone();
    assert_eq!(argv0(host("./km", Some(DIRECTORY))), format!("{DIRECTORY}/km").as_str());
    assert_eq!(argv0(host("/opt/km", Some(DIRECTORY))), "/opt/km");
    assert_eq!(argv0(host("./km", None)), "./km");
}
