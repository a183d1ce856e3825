//! `minion supervise` as a process.

use super::common::minion;
use super::common::minion::{Ended, Minion, Sandbox};
use std::fs;
use std::process::{Command, Output};

fn supervise(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = Command::new(minion());
    command.arg("supervise").args(args);
    sandbox.mark(&mut command);
    command
}

fn output(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = supervise(sandbox, args).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn run(sandbox: &Sandbox, args: &[&str]) -> Ended {
    Minion::spawn(&mut supervise(sandbox, &[&["--cgroup-attach=off"], args].concat())).wait()
}

#[test]
fn the_exit_code_is_the_executors() {
    let sandbox = Sandbox::with_km("");
    run(&sandbox, &["--", "sh", "-c", "echo out; echo err >&2; exit 7"]).assert_code(7);
    assert_eq!(sandbox.read("executor.log"), "out\nerr\n");
    run(&sandbox, &["--", "sh", "-c", "kill -9 $$"]).assert_code(137);
    run(&sandbox, &["--", "true"]).assert_code(0);
}

#[test]
fn a_sidecar_of_the_file_runs_and_ends_with_the_executor() {
    let sandbox = Sandbox::with_km("");
    let mut up = sandbox.events("up");
    let lifeline = sandbox.lifeline();
    let text = "[[sidecar]]\nname = \"side\"\n\
                command = [\"sh\", \"-c\", \"exec 9>lifeline; echo $A; echo up >up; while :; do read x <never; done\"]\n\
                environment = { A = \"of the file\" }\nlog = { stdout = \"separate\" }\n\
                [executor]\ncommand = [\"sh\", \"-c\", \"exec 9>lifeline; read x <go; exit 3\"]\n";
    fs::write(sandbox.path("m.toml"), text).unwrap();
    for name in ["never", "go"] {
        rustix::fs::mkfifoat(rustix::fs::CWD, sandbox.path(name), rustix::fs::Mode::RWXU).unwrap();
    }
    let minion = Minion::spawn(&mut supervise(&sandbox, &["--config=m.toml", "--cgroup-attach=off"]));
    up.next_with("up");
    fs::write(sandbox.path("go"), "\n").unwrap();
    minion.wait().assert_code(3);
    drop(lifeline);
    assert_eq!(sandbox.read("side.stdout.log"), "of the file\n");
    sandbox.assert_deserted();
}

#[test]
fn flags_override_the_file() {
    let sandbox = Sandbox::with_km("");
    fs::write(
        sandbox.path("m.toml"),
        "executor.command = [\"echo\", \"x\"]\nlog.stdout = \"discard\"\nstop.grace = \"9s\"\n",
    )
    .unwrap();
    run(&sandbox, &["--config=m.toml"]).assert_code(0);
    assert_eq!(sandbox.read("executor.log"), "");
    run(&sandbox, &["--config=m.toml", "--stdout=merge"]).assert_code(0);
    assert_eq!(sandbox.read("executor.log"), "x\n");
    let (_, plan, _) = output(&sandbox, &["--config=m.toml", "--check", "--grace=3s", "--max-log-size=1Ki"]);
    assert!(plan.contains("all within 3s\n") && plan.contains("rotated at 1024 bytes"), "{plan}");
}

#[test]
fn a_check_starts_nothing_and_says_all() {
    let sandbox = Sandbox::with_km("");
    fs::write(sandbox.path("m.toml"), "[executor]\ncommand = [\"touch\", \"started\"]\n").unwrap();
    let (code, plan, said) = output(&sandbox, &["--config", "m.toml", "--check"]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert!(plan.starts_with("1 task in 1 step\n\n1. executor (executor)\n"), "{plan}");
    assert!(!sandbox.path("started").exists() && !sandbox.path("executor.log").exists());
}

#[test]
fn what_is_wrong_is_told_and_decides_the_exit_code() {
    let sandbox = Sandbox::with_km("");
    fs::write(sandbox.path("m.toml"), "[executor]\ncommand = [\"true\"]\nnise = 1\nnice = 99\n").unwrap();
    let said = "minion: m.toml:3:1: nise: no such key (hint: did you mean nice?)\n\
                minion: m.toml:4:8: nice: out of range: 99 (hint: nice takes a whole number from -20 to 19)\n";
    for flags in [&["--config=m.toml"][..], &["--config=m.toml", "--check"]] {
        assert_eq!(output(&sandbox, flags), (Some(100), String::new(), said.to_owned()));
    }
    let (code, _, said) = output(&sandbox, &["--", "no-such-program"]);
    assert_eq!(code, Some(111));
    assert!(said.starts_with("minion: command line: command: no executable \"no-such-program\" in PATH ("), "{said}");
    let (code, _, said) = output(&sandbox, &["--config=absent.toml"]);
    assert_eq!(code, Some(111));
    assert_eq!(
        said,
        "minion: read --config=absent.toml: No such file or directory (hint: is it among the URIs of the command?)\n"
    );
    fs::write(sandbox.path("m.toml"), b"\n# \xff").unwrap();
    assert_eq!(
        output(&sandbox, &["--config=m.toml"]),
        (Some(100), String::new(), "minion: m.toml:2: not UTF-8\n".into())
    );
}

#[test]
fn a_check_refuses_what_the_run_would_not_start() {
    let sandbox = Sandbox::with_km("");
    fs::write(sandbox.path("plain"), "").unwrap();
    fs::write(sandbox.path("m.toml"), "[executor]\ncommand = [\"true\"]\ndirectory = \"absent\"\n").unwrap();
    for (args, said) in [
        (&["--", "./nothere"][..], "command: no executable file: "),
        (&["--", "./plain"], "command: no executable file: "),
        (&["--config=m.toml"], "minion: m.toml:3:13: directory: no directory to enter: "),
    ] {
        let checked = output(&sandbox, &[&["--check"], args].concat());
        assert!(checked.0 == Some(111) && checked.2.contains(said), "{args:?}: {checked:?}");
        assert_eq!(output(&sandbox, &[&["--cgroup-attach=off"], args].concat()), checked, "{args:?}");
    }
}

#[test]
fn what_before_start_makes_is_started() {
    let sandbox = Sandbox::with_km("");
    let text = "[executor]\ncommand = [\"./made/prog\", \"-c\", \"exit 5\"]\ndirectory = \"made\"\n\
                before-start = { command = [\"ln\", \"-s\", \"/bin/sh\", \"prog\"] }\n";
    fs::create_dir(sandbox.path("made")).unwrap();
    fs::write(sandbox.path("m.toml"), text).unwrap();
    run(&sandbox, &["--config=m.toml"]).assert_code(5);
}

#[test]
fn a_printed_configuration_comes_with_every_warning() {
    let sandbox = Sandbox::with_km("");
    let mut command = sandbox.command(&["--print-config", "--frob=1", "--my-token=hidden"]);
    let Output { status, stdout, stderr } = command.env("LIBPROCESS_IP", "nonsense").output().unwrap();
    let (file, told) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success() && !file.contains("hidden"), "{file}{told}");
    for line in [
        "minion: not known to minion, forwarded to the executor as written: --frob, --my-token\n",
        "minion: LIBPROCESS_IP=\"nonsense\" is no IP address: kube-proxy will refuse it\n",
        "minion: no --cgroup-root for the executor: the container is not known\n",
        "minion: a secret is left out of the file: --my-token\n",
    ] {
        assert!(told.contains(line), "{line}{told}");
    }
}

/// What `km` writes of itself.
const WRITES: &str = "out=$1.$OUT; { printf '%s\\n' \"$0\" \"$@\"; env | grep -v -e ^MINION_TASK= -e ^_= | sort; } >$out\necho $1 >up\n\
                      [ $1 = proxy ] && exec sleep 60\nread x <go; exit 0\n";

#[test]
fn the_printed_profile_starts_the_same_two_children() {
    let sandbox = Sandbox::with_km(WRITES);
    let mut up = sandbox.events("up");
    rustix::fs::mkfifoat(rustix::fs::CWD, sandbox.path("go"), rustix::fs::Mode::RWXU).unwrap();
    let flags = ["--hostname-override=n1", "--max-pods=3", "--", "--last", "a b"];
    let printed = sandbox.command(&[&["--print-config"], &flags[..]].concat()).env("OUT", "x").output().unwrap();
    assert!(printed.status.success(), "{printed:?}");
    fs::write(sandbox.path("m.toml"), printed.stdout).unwrap();
    let mut of_run = sandbox.command(&flags);
    let mut of_file = supervise(&sandbox, &["--cgroup-attach=off", "--config=m.toml"]);
    for (command, out) in [(&mut of_run, "run"), (&mut of_file, "file")] {
        let mut minion = Minion::spawn(command.env("OUT", out));
        minion.is_up();
        (0..2).for_each(|_| drop(up.next_with("")));
        fs::write(sandbox.path("go"), "\n").unwrap();
        minion.wait().assert_code(0);
    }
    for task in ["proxy", "executor"] {
        let (run, file) = (sandbox.read(&format!("{task}.run")), sandbox.read(&format!("{task}.file")));
        assert_eq!(run.replace("OUT=run", "OUT=file"), file);
        assert!(run.contains("n1"), "{run}");
    }
}

#[test]
fn the_schema_is_printed_without_a_file() {
    let sandbox = Sandbox::with_km("");
    let (code, schema, _) = output(&sandbox, &["--print-schema"]);
    assert_eq!((code, schema), (Some(0), ::minion::config::schema()));
}
