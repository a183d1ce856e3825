//! What is refused, word for word.

use super::{parse, refusal};
use minion::cli;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Each command line with the fault that is named and the hint that is given.
fn each(cases: &[(&[&str], &str, &str)]) {
    for (args, wrong, hint) in cases {
        assert_eq!(refusal(args), format!("minion: {wrong}\nminion: hint: {hint}"), "{args:?}");
    }
}

#[test]
fn a_command_that_is_not_understood_is_refused() {
    each(&[
        (&[], "no command", "minion --help lists the commands and the flags of minion run"),
        (&["frob"], "no such command: \"frob\"", "minion --help lists the commands"),
        (&["dmeo"], "no such command: \"dmeo\"", "did you mean minion demo?"),
        (&[""], "no such command: \"\"", "minion --help lists the commands"),
        (&["-"], "no such command: \"-\"", "minion --help lists the commands"),
        (
            &["minion", "--v=1"],
            "no such command: \"minion\"",
            "\"km minion --flags\" becomes \"minion --flags\": leave the word minion out",
        ),
        (&["help", "stand-in"], "no such command: \"stand-in\"", "minion --help lists the commands"),
        (&["man", "frob"], "no such command: \"frob\"", "minion --help lists the commands"),
        (&["demo", "x"], "stray word: \"x\"", "minion demo [FLAGS]"),
        (&["demo", "--frob"], "--frob: no such flag of minion demo", "minion demo --help lists its flags"),
        (&["demo", "--keeep"], "--keeep: no such flag of minion demo", "did you mean --keep?"),
        (&["demo", "--keep=x"], "--keep: not a boolean: \"x\"", "--keep takes true or false"),
        (
            &["supervise"],
            "supervise: nothing to run",
            "minion supervise -- COMMAND [ARGS], or --config=FILE with an [executor]",
        ),
        (&["supervise", "--", ""], "supervise: the executor has no name", "minion supervise -- COMMAND [ARGS]"),
        (
            &["supervise", "./executor"],
            "stray word: \"./executor\"",
            "the executor and its arguments stand behind --: minion supervise -- COMMAND [ARGS]",
        ),
        (&["supervise", "--confg=x", "--", "x"], "--confg: no such flag of minion supervise", "did you mean --config?"),
        (&["completions"], "completions: no shell", "minion completions bash, zsh or fish"),
        (&["completions", "sh"], "completions: no such shell: \"sh\"", "minion completions bash, zsh or fish"),
    ]);
}

#[test]
fn a_word_that_belongs_to_no_flag_is_refused() {
    each(&[
        (&["run", "foo"], "stray word: \"foo\"", "minion run takes flags only; words for the executor go behind --"),
        (
            &["--run-proxy", "false"],
            "stray word: \"false\"",
            "--run-proxy is a boolean: its value is written --run-proxy=false",
        ),
        (
            &["--allow-privileged", "true"],
            "stray word: \"true\"",
            "--allow-privileged is a boolean: its value is written --allow-privileged=true",
        ),
        (
            &["--frob", "word"],
            "stray word: \"word\"",
            "--frob is not known to minion: with a value it is written --frob=word",
        ),
        (
            &["--auth-token", "SECRET"],
            "stray word behind --auth-token",
            "--auth-token is not known to minion: its value is written behind =",
        ),
        (&["--grace=1s", "-"], "stray word: \"-\"", "minion run takes flags only; words for the executor go behind --"),
        (&["--=x"], "stray word: \"--=x\"", "minion run takes flags only; words for the executor go behind --"),
    ]);
}

#[test]
fn no_secret_that_was_typed_is_in_a_refusal() {
    for args in [
        &["foo://u:hidden@h"][..],
        &["run", "DB_PASS=hidden"],
        &["--run-proxy", "--", "x"],
        &["--run-proxy", "http://u:hidden@h"],
        &["--frob", "--token=hidden", "stray=//u:hidden@h", "http://u:hidden@h"],
        &["-token=hidden"],
        &["--grace=http://u:hidden@h"],
        &["--api-serverz=http://u:hidden@h"],
        &["supervise", "--token=hidden"],
        &["supervise", "PASSWORD=hidden"],
        &["inspect", "TOKEN=hidden", "TOKEN=hidden"],
        &["attach", "TOKEN=hidden"],
        &["logs", "http://u:hidden@h"],
        &["completions", "TOKEN=hidden"],
        &["demo", "TOKEN=hidden"],
    ] {
        let told = parse(args).map_or_else(|usage| usage.to_string(), |_| String::new());
        assert!(!told.contains("hidden"), "{args:?}: {told}");
    }
    let bytes = OsString::from_vec(b"--api-servers=http://u:hidden@h:1\xff".to_vec());
    let told = cli::parse([bytes].into_iter()).unwrap_err().to_string();
    assert!(!told.contains("hidden") && told.contains("http://<secret>@h:1\\xFF"), "{told}");
}

#[test]
fn a_flag_that_is_nearly_one_of_minions_is_refused() {
    each(&[
        (
            &["--max-log-sise=1"],
            "--max-log-sise: no such flag",
            "did you mean --max-log-size? An executor flag of that name goes behind --",
        ),
        (
            &["--run_proxy=false"],
            "--run_proxy: no such flag",
            "did you mean --run-proxy? An executor flag of that name goes behind --",
        ),
        (
            &["--housekeeping-interval=1s"],
            "--housekeeping-interval: no such flag",
            "did you mean --housekeeping_interval? An executor flag of that name goes behind --",
        ),
        (&["-run-proxy=false"], "\"-run-proxy=false\": a long flag with one dash", "write it as --run-proxy=false"),
        (&["-verbose"], "\"-verbose\": a long flag with one dash", "write it as --verbose"),
        (&["-x"], "\"-x\": no such flag", "minion --help lists the flags"),
    ]);
}

#[test]
fn a_value_that_a_flag_does_not_take_is_refused() {
    const SIZE: &str = "--max-log-size takes a size such as 10Mi, 1G or 512Ki; 0 never rotates";
    const SPAN: &str = "--grace takes a number with a unit, such as 10s, 1m30s, 500ms or 90secs";
    each(&[
        (&["--grace"], "--grace: no value", "write it as --grace=DURATION"),
        (&["--grace", "--v=1"], "--grace: no value", "write it as --grace=DURATION"),
        (&["--max-pods"], "--max-pods: no value", "write it as --max-pods=N"),
        (&["--stdout"], "--stdout: no value", "write it as --stdout=merge|separate|discard"),
        (&["-v"], "--v: no value", "write it as --v=N"),
        (&["--max-log-size=x"], "--max-log-size: not a quantity: \"x\"", SIZE),
        (&["--max-log-size=-1"], "--max-log-size: negative: \"-1\"", SIZE),
        (&["--grace=5"], "--grace: not a duration: \"5\"", SPAN),
        (&["--grace=-5s"], "--grace: negative: \"-5s\"", SPAN),
        (&["--run-proxy=yes"], "--run-proxy: not a boolean: \"yes\"", "--run-proxy takes true or false"),
        (&["--stdout=x"], "--stdout: no such choice: \"x\"", "--stdout takes merge, separate or discard"),
        (
            &["--cgroup-attach=x"],
            "--cgroup-attach: no such choice: \"x\"",
            "--cgroup-attach takes auto, require or off",
        ),
        (&["--cgroup-drift=x"], "--cgroup-drift: no such choice: \"x\"", "--cgroup-drift takes warn or reattach"),
        (&["--log-format=x"], "--log-format: no such choice: \"x\"", "--log-format takes text or json"),
        (&["-v=x"], "--v: not an integer: \"x\"", "--v takes an integer, such as 3, 0x3 or -1"),
        (
            &["--address=foo"],
            "--address: not an IP address: \"foo\"",
            "--address takes an address such as 10.0.0.7 or fd00::7",
        ),
        (
            &["--mesos-cgroup-prefix=a\nb"],
            "--mesos-cgroup-prefix: not a cgroup: \"a\\nb\"",
            "--mesos-cgroup-prefix takes the agent's --cgroups_root, such as mesos",
        ),
        (
            &["--conntrack-tcp-timeout-established=x"],
            "--conntrack-tcp-timeout-established: not a duration: \"x\"",
            "--conntrack-tcp-timeout-established takes seconds, or a number with a unit such as 24h; 0 changes nothing",
        ),
        (
            &["--max-pods=abc"],
            "--max-pods: not an integer: \"abc\"",
            "--max-pods takes an integer, such as 3, 0x3 or -1",
        ),
        (
            &["--max-pods", "3000000000"],
            "--max-pods: does not fit 32 bits: \"3000000000\"",
            "--max-pods takes an integer from -2147483648 to 2147483647",
        ),
        (&["--chaos-chance=x"], "--chaos-chance: not a number: \"x\"", "--chaos-chance takes a number, such as 0.5"),
        (
            &["--suicide-timeout=20"],
            "--suicide-timeout: not a duration: \"20\"",
            "--suicide-timeout takes a number with a unit, such as 10s, 1m30s or 500ms",
        ),
        (&["--logtostderr=no"], "--logtostderr: not a boolean: \"no\"", "--logtostderr takes true or false"),
    ]);
}
