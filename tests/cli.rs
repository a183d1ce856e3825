//! The command line: what each line comes to, the exact text of each refusal, and that help, completions and manual pages
//! say all there is.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers fail and skip as tests do")]

#[path = "cli/outputs.rs"]
mod outputs;
#[path = "cli/properties.rs"]
mod properties;
#[path = "cli/refusals.rs"]
mod refusals;

use minion::cli::{self, CgroupAttach, CgroupDrift, Command, LogFormat, RunOptions, SuperviseOptions, Usage};
use minion::task::spec::StdoutMode;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

fn parse(args: &[&str]) -> Result<Command, Usage> {
    cli::parse(args.iter().map(OsString::from))
}

fn run(args: &[&str]) -> RunOptions {
    match parse(args) {
        Ok(Command::Run(options)) => *options,
        other => panic!("{args:?}: {other:?}"),
    }
}

fn refusal(args: &[&str]) -> String {
    match parse(args) {
        Err(usage) => usage.to_string(),
        Ok(command) => panic!("{args:?}: {command:?}"),
    }
}

fn forwarded(options: &RunOptions) -> Vec<&str> {
    options.profile.executor_args.iter().map(|arg| arg.to_str().unwrap()).collect()
}

#[test]
fn run_may_be_left_out_before_a_flag() {
    assert_eq!(run(&["--grace=1s"]), run(&["run", "--grace=1s"]));
    assert_eq!(run(&["-v", "1"]), run(&["run", "-v", "1"]));
    assert_eq!(run(&["run"]), RunOptions::default());
    assert_eq!(run(&["--"]), RunOptions::default());
}

#[test]
fn both_forms_of_a_value_mean_the_same() {
    for (apart, together) in [
        (["--grace", "3s"], "--grace=3s"),
        (["--max-log-size", "1Ki"], "--max-log-size=1Ki"),
        (["--conntrack-max", "-5"], "--conntrack-max=-5"),
        (["--path-override", ""], "--path-override="),
    ] {
        assert_eq!(run(&["run", apart[0], apart[1]]), run(&["run", together]), "{together}");
    }
}

#[test]
fn every_flag_of_minion_lands_where_it_belongs() {
    let options = run(&[
        "--km-binary=/opt/km",
        "--path-override=/p",
        "--grace=90secs",
        "--restart-delay=1s",
        "--restart-delay-max=2m",
        "--mesos-cgroup-prefix=/a/b/../c/",
        "--contain-pod-resources=false",
        "--cgroup-attach=require",
        "--cgroup-drift=reattach",
        "--private-mountns",
        "--max-log-size=0.5Gi",
        "--max-log-age=1",
        "--max-log-backups=2",
        "--stdout=separate",
        "--log-gzip",
        "--log-stall=1.5s",
        "--log-format=json",
        "--print-config",
    ]);
    assert!(options.print_config);
    assert_eq!(options.profile.km_binary.as_deref(), Some(Path::new("/opt/km")));
    assert_eq!(options.profile.path_override, "/p");
    assert_eq!(options.common.grace, Some(Duration::from_secs(90)));
    assert_eq!(options.profile.restart_delay, Duration::from_secs(1));
    assert_eq!(options.profile.restart_delay_max, Duration::from_secs(120));
    assert_eq!(options.common.mesos_cgroup_prefix, "a/c");
    assert_eq!(options.profile.contain_pod_resources, Some(false));
    assert_eq!(options.common.cgroup_attach, CgroupAttach::Require);
    assert_eq!(options.common.cgroup_drift, CgroupDrift::Reattach);
    assert!(options.common.private_mountns);
    assert_eq!(options.common.log.max_size, Some(1 << 29));
    assert_eq!(options.common.log.max_age, Some(Duration::from_secs(86_400)));
    assert_eq!(options.common.log.max_backups, Some(2));
    assert_eq!(options.common.log.stdout, Some(StdoutMode::Separate));
    assert_eq!(options.common.log.gzip, Some(true));
    assert_eq!(options.common.log_stall, Some(Duration::from_millis(1500)));
    assert_eq!(options.common.log_format, LogFormat::Json);
    assert_eq!(forwarded(&options), Vec::<&str>::new());
    assert_eq!(options.common.notices, Vec::<String>::new());
}

#[test]
fn zero_and_less_keep_every_log() {
    let options = run(&["--max-log-size=0", "--max-log-age=0", "--max-log-backups=-1"]);
    assert_eq!(
        (options.common.log.max_size, options.common.log.max_age, options.common.log.max_backups),
        (Some(0), Some(Duration::ZERO), Some(0))
    );
    assert_eq!(run(&["--max-log-age=-1"]).common.log.max_age, Some(Duration::ZERO));
}

#[test]
fn a_flag_given_twice_counts_as_it_was_given_last() {
    assert_eq!(run(&["--grace=1s", "--grace=2s"]).common.grace, Some(Duration::from_secs(2)));
    assert_eq!(run(&["--stdout=discard", "--stdout=merge"]).common.log.stdout, Some(StdoutMode::Merge));
}

#[test]
fn executor_flags_go_on_in_order_and_as_written() {
    let options = run(&["--max-pods", "3", "--allow-privileged", "--grace=1s", "--sync-frequency=10s", "--max-pods=4"]);
    assert_eq!(forwarded(&options), ["--max-pods", "3", "--allow-privileged", "--sync-frequency=10s", "--max-pods=4"]);
}

#[test]
fn shared_flags_are_read_and_go_on() {
    let options = run(&["--api-servers", "a:1,b", "--hostname-override=n1", "--api-servers=c", "--address=10.0.0.7"]);
    assert_eq!(options.profile.api_servers.as_deref(), Some(["a:1", "b", "c"].map(String::from).as_slice()));
    assert_eq!(options.profile.hostname_override, "n1");
    assert_eq!(options.profile.address.as_deref(), Some(OsStr::new("10.0.0.7")));
    assert_eq!(
        forwarded(&options),
        ["--api-servers", "a:1,b", "--hostname-override=n1", "--api-servers=c", "--address=10.0.0.7"]
    );
}

#[test]
fn verbosity_is_minions_and_the_executors() {
    for args in [&["-v", "2"][..], &["-v2"], &["-v=2"], &["--v=2"]] {
        let options = run(&[&["run"], args].concat());
        assert_eq!((options.common.verbosity, forwarded(&options)), (2, vec!["--v=2"]), "{args:?}");
    }
    let options = run(&["--v", "2"]);
    assert_eq!((options.common.verbosity, forwarded(&options)), (2, vec!["--v", "2"]));
}

#[test]
fn an_unknown_flag_goes_on_with_one_warning() {
    let options = run(&["--frob", "--max-podz=3", "--other=x", "--max_pods=1"]);
    assert_eq!(forwarded(&options), ["--frob", "--max-podz=3", "--other=x", "--max_pods=1"]);
    assert_eq!(
        options.common.notices,
        ["not known to minion, forwarded to the executor as written: --frob, --max-podz (did you mean --max-pods?), \
          --other, --max_pods (did you mean --max-pods?)"]
    );
}

#[test]
fn bytes_that_are_no_text_go_on_unchanged() {
    let args = [&b"run"[..], b"--cert-dir=\xff\xfe", b"--\xff=\xfe", b"--node-ip", b"\xff", b"--", b"\x80"];
    let Ok(Command::Run(options)) = cli::parse(args.iter().map(|arg| OsStr::from_bytes(arg).to_owned())) else {
        panic!("refused")
    };
    let bytes: Vec<&[u8]> = options.profile.executor_args.iter().map(|arg| arg.as_bytes()).collect();
    assert_eq!(bytes, args[1..5]);
    assert_eq!(options.profile.trailing_args, [OsStr::from_bytes(b"\x80")]);
}

#[test]
fn everything_behind_two_dashes_is_the_executors() {
    let options = run(&["--grace=1s", "--", "--grace=2s", "x", "--help", "--", "-q"]);
    assert_eq!(options.common.grace, Some(Duration::from_secs(1)));
    assert_eq!(options.profile.trailing_args, ["--grace=2s", "x", "--help", "--", "-q"]);
}

#[test]
fn help_and_version_are_commands_wherever_they_stand() {
    for args in
        [&["--help"][..], &["-h"], &["run", "--grace=1s", "-h"], &["help"], &["help", "run"], &["demo", "--help"]]
    {
        assert!(matches!(parse(args), Ok(Command::Help(_))), "{args:?}");
    }
    for args in [&["--version"][..], &["run", "--version"], &["demo", "--version=true"]] {
        match parse(args) {
            Ok(Command::Version(text)) => assert_eq!(text, concat!("minion ", env!("CARGO_PKG_VERSION"), "\n")),
            other => panic!("{args:?}: {other:?}"),
        }
    }
    assert_eq!(run(&["run", "--help=false"]), RunOptions::default());
}

#[test]
fn the_demo_has_flags_of_its_own() {
    assert!(matches!(parse(&["demo"]), Ok(Command::Demo(options)) if !options.keep));
    assert!(matches!(parse(&["demo", "--keep"]), Ok(Command::Demo(options)) if options.keep));
}

#[test]
fn hidden_commands_get_their_arguments_unread() {
    let args = ["--frob", "--help", "--", "-x"].map(OsString::from);
    match parse(&["stand-in", "--frob", "--help", "--", "-x"]) {
        Ok(Command::StandIn(got)) => assert_eq!(got, args),
        other => panic!("{other:?}"),
    }
    match parse(&["rehearsal-init", "--frob", "--help", "--", "-x"]) {
        Ok(Command::RehearsalInit(got)) => assert_eq!(got, args),
        other => panic!("{other:?}"),
    }
}

#[test]
fn supervise_takes_its_flags_and_the_executor_behind_two_dashes() {
    let supervise = |args: &[&str]| match parse(&[&["supervise"], args].concat()) {
        Ok(Command::Supervise(options)) => *options,
        other => panic!("{args:?}: {other:?}"),
    };
    let options = supervise(&[
        "--config=a.toml",
        "--check",
        "--restart-delay=1s",
        "--restart-delay-max",
        "2s",
        "--grace=3s",
        "--max-log-size=1Ki",
        "-v2",
        "--",
        "run",
        "--grace=4s",
        "--",
        "--help",
    ]);
    let expected = SuperviseOptions {
        config: Some("a.toml".into()),
        check: true,
        command: ["run", "--grace=4s", "--", "--help"].map(OsString::from).to_vec(),
        restart_delay: Duration::from_secs(1),
        restart_delay_max: Duration::from_secs(2),
        ..SuperviseOptions::default()
    };
    assert_eq!((options.common.grace, options.common.log.max_size), (Some(Duration::from_secs(3)), Some(1024)));
    assert_eq!(options.common.verbosity, 2);
    assert_eq!(SuperviseOptions { common: expected.common.clone(), ..options }, expected);
    assert_eq!(supervise(&["--", "x"]), SuperviseOptions { command: vec!["x".into()], ..Default::default() });
    assert!(matches!(parse(&["supervise", "--print-schema"]), Ok(Command::Schema(_))));
}
