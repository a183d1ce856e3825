//! `minion why` and `minion inspect` on processes that a user of any kind can make.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

#[path = "inspect/absent.rs"]
mod absent;
#[path = "inspect/cost.rs"]
mod cost;
#[path = "inspect/words.rs"]
mod words;

use common::look::{Looked, Said, Stray, why_pid};
use common::{DEADLINE, minion, wait_dead};
use nix::sys::signal::{SigSet, Signal};
use rustix::process::{Pid, WaitId, WaitIdOptions, kill_process, waitid};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

fn run(args: &[&str]) -> (i32, String, String) {
    run_in(Path::new("."), args)
}

fn run_in(directory: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::new(minion()).args(args).current_dir(directory).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn pid(word: &str) -> i32 {
    word.parse().unwrap_or_else(|e| panic!("{word:?}: {e}"))
}

#[test]
fn a_zombie_is_told_with_the_parent_that_does_not_reap_it() {
    let mut child = Command::new("true").spawn().unwrap();
    let zombie = i32::try_from(child.id()).unwrap();
    assert!(wait_dead(zombie, Instant::now() + DEADLINE));
    let said = why_pid(zombie);
    assert!(said.actual("zombie").contains(&format!("pid {}", std::process::id())), "{}", said.text);
    assert_eq!(said.code, 1);
    child.wait().unwrap();
}

#[test]
fn a_stopped_process_needs_a_cont() {
    let looked = Looked::waiting();
    let target = Pid::from_raw(looked.pid()).unwrap();
    kill_process(target, rustix::process::Signal::STOP).unwrap();
    waitid(WaitId::Pid(target), WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT).unwrap();
    let said = why_pid(looked.pid());
    let remedy = said.finding("stopped")["remedy"].as_str().unwrap().to_owned();
    assert!(remedy.starts_with(&format!("kill -CONT {}", looked.pid())), "{remedy}");
}

#[test]
fn a_tracer_is_named() {
    let looked = Looked::waiting();
    let tracer = Command::new("strace")
        .args(["-o", "/dev/null", "-p", &looked.pid().to_string()])
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut tracer) = tracer else { return eprintln!("SKIP: no strace on this machine") };
    let mut line = [0; 16];
    std::io::Read::read_exact(tracer.stderr.as_mut().unwrap(), &mut line).unwrap();
    assert!(String::from_utf8_lossy(&line).contains("Process"), "{line:?}");
    let said = why_pid(looked.pid());
    assert!(said.actual("traced").starts_with(&format!("pid {}", tracer.id())), "{}", said.text);
    tracer.kill().unwrap();
    tracer.wait().unwrap();
}

#[test]
fn a_blocked_sigterm_is_found_with_one_that_waits() {
    let mut term = SigSet::empty();
    term.add(Signal::SIGTERM);
    // A child of std's Command has the mask of the thread that starts it. [KF-66]
    term.thread_block().unwrap();
    let (looked, _) = Looked::script("echo ready");
    term.thread_unblock().unwrap();
    assert!(!why_pid(looked.pid()).actual("term-blocked").contains("waiting"));
    kill_process(Pid::from_raw(looked.pid()).unwrap(), rustix::process::Signal::TERM).unwrap();
    assert!(why_pid(looked.pid()).actual("term-blocked").contains("one is waiting"));
}

#[test]
fn an_ignored_sigterm_is_found() {
    let (looked, _) = Looked::script("trap '' TERM; echo ready");
    let said = why_pid(looked.pid());
    said.finding("term-ignored");
    assert!(!said.has("term-blocked"));
}

#[test]
fn a_program_and_a_sandbox_that_were_deleted_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let (program, sandbox) = (directory.path().join("program"), directory.path().join("sandbox"));
    common::another_name("/bin/bash", &program);
    fs::create_dir(&sandbox).unwrap();
    let (looked, _) =
        Looked::start(Command::new(&program).args(["-c", "echo ready; read -r forever"]).current_dir(&sandbox));
    assert!(!why_pid(looked.pid()).has("executable-deleted"));
    fs::remove_file(&program).unwrap();
    fs::remove_dir(&sandbox).unwrap();
    let said = why_pid(looked.pid());
    let expected = said.finding("executable-deleted")["expected"].as_str().unwrap();
    assert!(expected.starts_with(program.to_str().unwrap()) && !expected.contains("deleted"), "{expected}");
    said.finding("sandbox-deleted");
}

#[test]
fn low_limits_are_found() {
    let (looked, _) = Looked::script("ulimit -n 100; ulimit -u 500; echo ready");
    let said = why_pid(looked.pid());
    assert_eq!(said.actual("few-open-files"), "the soft limit is 100");
    assert_eq!(said.actual("few-processes"), "the soft limit is 500");
}

#[test]
fn a_score_that_bends_the_oom_killers_choice_is_found() {
    let (looked, _) = Looked::script("echo 1000 > /proc/$$/oom_score_adj; echo ready");
    assert_eq!(why_pid(looked.pid()).actual("oom-score-unusual"), "oom_score_adj is 1000");
    let (never, said) =
        Looked::script("if echo -1000 2>/dev/null >/proc/$$/oom_score_adj; then echo yes; else echo not permitted; fi");
    if said != "yes" {
        return eprintln!("SKIP the score -1000: {said}");
    }
    assert!(why_pid(never.pid()).cause("oom-score-unusual").contains("never takes it"));
}

#[test]
fn privileges_that_were_taken_away_are_found() {
    let mut command = Command::new("setpriv");
    let (looked, _) = Looked::start(command.args(["--no-new-privs", "bash", "-c", "echo ready; read -r x"]));
    let said = why_pid(looked.pid());
    said.finding("no-new-privs");
    assert_eq!(said.finding("no-new-privs")["level"], "note");
}

/// Sets a filter that lets everything through, then runs bash.
const FILTER: &str = r#"
    syscall(157, 38, 1, 0, 0, 0) == 0 or die "no_new_privs: $!";
    my $allow = pack("SCCL", 0x06, 0, 0, 0x7fff0000);
    my $program = pack("S x6 P", 1, $allow);
    syscall(157, 22, 2, unpack("Q", pack("P", $program)), 0, 0) == 0 or die "seccomp: $!";
    exec "bash", "-c", "echo ready; read -r x";
"#;

#[test]
fn a_seccomp_filter_is_found() {
    if !cfg!(target_arch = "x86_64") || Command::new("perl").arg("-v").output().is_err() {
        return eprintln!("SKIP: no perl, or other numbers of system calls");
    }
    let (looked, _) = Looked::start(Command::new("perl").args(["-e", FILTER]));
    why_pid(looked.pid()).finding("seccomp-filter");
}

#[test]
fn descendants_that_would_outlive_it_are_named() {
    let (looked, stray) = Looked::script("setsid bash -c 'echo $$; exec sleep 1000' &");
    let stray = Stray(pid(&stray));
    let said = why_pid(looked.pid());
    assert!(said.actual("descendants-outlive").contains(&format!("{} (", stray.0)), "{}", said.text);
}

#[test]
fn a_process_whose_minion_is_gone_is_found() {
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let marker = format!("proxy.{}.3", gone.id());
    let (looked, _) =
        Looked::start(Command::new("bash").args(["-c", "echo ready; read -r x"]).env("MINION_TASK", marker));
    assert!(why_pid(looked.pid()).actual("minion-gone").contains("run 3 of task proxy"));
}

#[test]
fn a_process_outside_of_any_container_is_only_noted() {
    let looked = Looked::waiting();
    let said = why_pid(looked.pid());
    assert_eq!(said.finding("container-none")["level"], "note");
    assert_ne!(said.code, 1);
}

#[test]
fn a_container_whose_cgroups_are_gone_is_found() {
    let mut command = Command::new("bash");
    command.args(["-c", "echo ready; read -r x"]).env("MESOS_DIRECTORY", "/w/runs/a-container-that-was");
    let (looked, _) = Looked::start(&mut command);
    let said = why_pid(looked.pid());
    let expected = said.finding("cgroup-removed")["expected"].as_str().unwrap();
    assert!(expected.contains("a-container-that-was"), "{expected}");
}

/// A shell under the name of a supervisor: its children are tasks by the marker that it gives them.
fn minion_like(script: &str) -> (Looked, String, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("minion");
    symlink("/bin/bash", &program).unwrap();
    let (looked, line) = Looked::start(Command::new(&program).args(["-c", &format!("{script}\nread -r forever")]));
    (looked, line, directory)
}

#[test]
fn a_descendant_in_a_session_of_its_own_has_escaped() {
    let script = "MINION_TASK=proxy.$$.1 setsid bash -c \
                  'setsid bash -c \"echo \\$\\$ \\$PPID; exec sleep 1000\" & exec sleep 1000' &";
    let (_minion, line, _directory) = minion_like(script);
    let mut pids = line.split(' ').map(pid);
    let (escaped, main) = (Stray(pids.next().unwrap()), Stray(pids.next().unwrap()));
    let said = why_pid(escaped.0);
    let expected = said.finding("session-escaped")["expected"].as_str().unwrap();
    assert!(expected.contains("task proxy") && expected.contains(&format!("pid {}", main.0)), "{expected}");
    assert!(!said.has("descendants-outlive") && !why_pid(main.0).has("session-escaped"));
}

#[test]
fn the_log_pipe_of_another_task_is_found() {
    // Each task says a line when it has its marker and its pipes: the executor through its own log.
    let script = "exec 9>&1; exec 3> >(cat >&9)
        MINION_TASK=executor.$$.1 setsid bash -c 'echo up; exec sleep 1000' >&3 2>&3 3>&- &
        MINION_TASK=proxy.$$.2 setsid bash -c 'exec 5>&3 3>&-; echo $$; exec sleep 1000' 2>/dev/null &";
    let (mut minion, first, _directory) = minion_like(script);
    let lines = [first, minion.line()];
    let holder = pid(lines.iter().find(|line| *line != "up").unwrap());
    let others = fs::read_to_string(format!("/proc/{0}/task/{0}/children", minion.pid())).unwrap();
    assert!(others.split_ascii_whitespace().count() >= 2, "{others}");
    let said = why_pid(holder);
    assert!(said.actual("log-pipe-held").contains("fd 5 is pipe:["), "{}", said.text);
    for child in others.split_ascii_whitespace().map(pid) {
        drop(Stray(child));
    }
}

#[test]
fn a_task_is_found_by_its_name_and_an_unknown_one_is_told() {
    let name = format!("task-{}", std::process::id());
    let script = format!("MINION_TASK={name}.$$.1 setsid bash -c 'echo $$; exec sleep 1000' &");
    let (minion, line, _directory) = minion_like(&script);
    let task = Stray(pid(&line));
    let (_, text, errors) = run(&["inspect", &name]);
    assert!(text.starts_with(&format!("pid {} (", task.0)), "{text} {errors}");
    assert!(text.contains(&format!("run 1 of minion {}", minion.pid())), "{text}");
    let (code, text, errors) = run(&["why", "no-such-task"]);
    assert_eq!((code, text.as_str()), (2, ""));
    assert!(errors.starts_with("minion: find \"no-such-task\"") && errors.contains(&name), "{errors}");
}

#[test]
fn no_secret_of_a_process_is_printed() {
    let secret = "c0ffee-not-for-you";
    let mut command = Command::new("bash");
    command.args(["-c", "echo ready; read -r x", "--token", secret, &format!("--db-password={secret}")]);
    let (looked, _) = Looked::start(command.env("MESOS_EXECUTOR_AUTHENTICATION_TOKEN", secret));
    let pid = looked.pid().to_string();
    for args in [vec!["inspect", &pid], vec!["inspect", &pid, "--json"], vec!["why", &pid]] {
        let (_, text, errors) = run(&args);
        assert!(!text.contains(secret) && !errors.contains(secret), "{text}");
        assert!(args[0] == "why" || text.contains("--db-password=<secret>"), "{text}");
    }
}

#[test]
fn a_name_that_would_steer_a_terminal_is_spelled_out() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("a\x1b[31mb");
    symlink("/bin/bash", &program).unwrap();
    let (looked, _) = Looked::start(Command::new(program).args(["-c", "echo ready; read -r x"]));
    let (_, text, _) = run(&["inspect", &looked.pid().to_string()]);
    assert!(!text.contains('\x1b') && text.contains("\\u{1b}[31m"), "{text}");
}

#[test]
fn a_process_that_is_gone_is_exit_code_2() {
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let (code, _, errors) = run(&["inspect", &gone.id().to_string()]);
    assert_eq!(code, 2);
    assert!(errors.contains("ENOENT on /proc/") && errors.contains("it has ended"), "{errors}");
}

#[test]
fn a_stranger_sees_what_he_may_and_is_told_what_not() {
    need!("root");
    let looked = Looked::waiting();
    // Debug builds live in a directory that others may not enter.
    let directory = tempfile::tempdir_in("/tmp").unwrap();
    let program = directory.path().join("minion");
    common::another_name(minion(), &program);
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let pid = looked.pid().to_string();
    let output = Command::new(program)
        .args(["inspect", &pid, "--json"])
        .uid(65534)
        .gid(65534)
        .current_dir("/")
        .output()
        .unwrap();
    let said = Said::from(&output);
    assert_eq!(said.code, 2, "{}", said.text);
    let view = &said.json["processes"][0]["view"];
    assert_eq!(view["directory"]["unknown"], format!("EACCES on /proc/{pid}/cwd"));
    assert_eq!(view["name"], "bash");
    let unseen = view["unseen"].as_array().unwrap();
    assert!(unseen.iter().any(|why| why.as_str().unwrap().ends_with("/environ")), "{unseen:?}");
}

#[test]
fn every_page_fits_eighty_columns_but_for_what_cannot_be_broken() {
    let looked = Looked::waiting();
    for command in ["inspect", "why"] {
        let (_, text, _) = run(&[command, &looked.pid().to_string()]);
        for line in text.lines().filter(|line| line.chars().count() > 80) {
            let longest = line.split_whitespace().map(|word| word.chars().count()).max().unwrap();
            assert!(longest > 40, "{line}");
        }
        assert!(!text.contains('\x1b'), "colour without a terminal");
    }
}

#[test]
fn every_kind_of_finding_has_a_test_that_makes_it() {
    let tests = [
        include_str!("inspect.rs"),
        include_str!("root_attach.rs"),
        include_str!("root_inspect.rs"),
        include_str!("root_inspect/namespaces.rs"),
        include_str!("root_inspect/resources.rs"),
        include_str!("root_inspect/under_agent.rs"),
    ];
    let looks_for = |kind: &str| {
        let calls = ["finding", "actual", "cause"].map(|call| format!("{call}(\"{kind}\")"));
        tests.iter().any(|test| calls.iter().any(|call| test.contains(call)))
    };
    let untested: Vec<&str> = ::minion::inspect::finding::kinds().filter(|kind| !looks_for(kind)).collect();
    assert_eq!(untested, [] as [&str; 0]);
}
