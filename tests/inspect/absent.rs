//! A task that does not run has no process to look at: its minion and the kernel know who ended it.

use super::common::look::{commands, paste};
use super::common::minion as program;
use super::common::minion::{Minion, Sandbox};
use super::run_in;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// A minion with a sidecar that is this shell script and has ended once. It starts again in an hour.
fn with(script: &str) -> (Sandbox, Minion) {
    let sandbox = Sandbox::with_stand_in();
    fs::write(sandbox.path("side.sh"), script).unwrap();
    fs::write(sandbox.path("side.toml"), "[[sidecar]]\nname = \"side\"\ncommand = [\"bash\", \"side.sh\"]\n").unwrap();
    let mut command = Command::new(program());
    command.args(["supervise", "--cgroup-attach=off", "--config=side.toml"]);
    command.args(["--restart-delay=1h", "--restart-delay-max=1h", "--", "sleep", "1000"]);
    sandbox.mark(&mut command);
    let mut minion = Minion::spawn(&mut command);
    minion.says("starts again in 3600s task=side");
    (sandbox, minion)
}

/// What `minion why side` finds in the sandbox.
fn why(sandbox: &Sandbox) -> Value {
    let (code, text, errors) = run_in(&sandbox.path("."), &["why", "side", "--json"]);
    let said: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text} {errors}"));
    assert_eq!((code, &said["task"]["findings"][0]["kind"]), (1, &"task-not-running".into()), "{text}");
    said["task"]["findings"].clone()
}

#[test]
fn a_task_that_a_signal_ended_is_told_with_it_and_its_log_is_one_paste_away() {
    let (sandbox, minion) = with("echo the last words >&2; kill -9 $$");
    let findings = why(&sandbox);
    let actual = findings[0]["actual"].as_str().unwrap();
    assert!(actual.contains("state is backoff") && actual.contains("was killed by signal 9 (SIGKILL)"), "{actual}");
    assert!(findings[0]["cause"].as_str().unwrap().contains("keeps no record"), "{findings}");
    let log = paste(&commands(&findings)[0]);
    assert!(String::from_utf8_lossy(&log.stdout).contains("the last words"), "{log:?}");
    let (code, page, _) = run_in(&sandbox.path("."), &["inspect", "side"]);
    assert!(code == 1 && page.starts_with("PROBLEM task-not-running  task side of minion "), "{page}");
    minion.stop();
}

#[test]
fn a_task_that_a_signal_of_a_command_ended_is_told_with_who_gave_it() {
    let (sandbox, mut minion) = with("[ -e again ] && exec sleep 1000; touch again");
    assert_eq!(run_in(&sandbox.path("."), &["start", "side"]).0, 0);
    assert_eq!(run_in(&sandbox.path("."), &["signal", "side", "9"]).0, 0);
    minion.says("signal SIGKILL");
    minion.says("starts again in 3600s task=side");
    let findings = why(&sandbox);
    assert!(findings[0]["actual"].as_str().unwrap().contains("SIGKILL"), "{findings}");
    let cause = findings[0]["cause"].as_str().unwrap();
    let uid = rustix::process::getuid().as_raw();
    assert!(cause.starts_with(&format!("a command of minion sent it: signal SIGKILL, by uid {uid} (pid ")), "{cause}");
    minion.stop();
}

/// A filter that kills for whatever is called next.
const FILTER: &str = r#"
    syscall(157, 38, 1, 0, 0, 0) == 0 or die "no_new_privs: $!";
    my $kill = pack("SCCL", 0x06, 0, 0, 0x80000000);
    my $program = pack("S x6 P", 1, $kill);
    syscall(157, 22, 2, unpack("Q", pack("P", $program)), 0, 0);
"#;

#[test]
fn a_task_that_a_seccomp_filter_killed_is_told() {
    if !cfg!(target_arch = "x86_64") || Command::new("perl").arg("-v").output().is_err() {
        return eprintln!("SKIP: no perl, or other numbers of system calls");
    }
    let filter = tempfile::NamedTempFile::new().unwrap();
    fs::write(filter.path(), FILTER).unwrap();
    let (sandbox, minion) = with(&format!("exec perl {}", filter.path().display()));
    let findings = why(&sandbox);
    assert!(findings[0]["actual"].as_str().unwrap().contains("SIGSYS"), "{findings}");
    assert!(findings[0]["cause"].as_str().unwrap().starts_with("a seccomp filter"), "{findings}");
    minion.stop();
}

#[test]
fn a_task_that_ended_by_itself_or_was_told_to_is_told_so() {
    let (sandbox, minion) = with("exit 3");
    let findings = why(&sandbox);
    assert!(findings[0]["actual"].as_str().unwrap().contains("exited with 3"), "{findings}");
    assert_eq!(findings[0]["cause"], "it ended by itself");
    assert_eq!(run_in(&sandbox.path("."), &["stop", "side"]).0, 0);
    let (code, text, _) = run_in(&sandbox.path("."), &["why", "side", "--json"]);
    let said: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &said["task"]["state"]), (0, &"down".into()), "{text}");
    let command = commands(&said["task"]["findings"]).remove(0);
    assert!(paste(&command).status.success(), "{command}");
    minion.stop();
}
