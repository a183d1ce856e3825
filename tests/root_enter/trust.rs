//! What a task of another user cannot make root do.

use super::Task;
use super::common::fifo::Lines;
use super::common::{copy_program, proc, write_program};
use crate::need;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];
const LEFT_OUT: &str = "minion: the environment of process ";

/// Programs of somebody else, that say so.
fn evil() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["id", "shell"] {
        write_program(directory.path().join(name), "#!/bin/sh\necho evil\n", 0o755);
    }
    directory
}

/// A task of nobody that has written all that decides what executes.
fn nobodys(evil: &Path, before: &[&str]) -> Task {
    let path = format!("PATH={}:/usr/bin:/bin", evil.display());
    let shell = format!("SHELL={}/shell", evil.display());
    let own = ["env", &path, &shell, "LD_AUDIT=/nonexistent.so", "MESOS_MODULES=evil", "MESOS_SANDBOX=/box"];
    Task::start("setpriv", &[&NOBODY[..], &own, before, &["sh", "-c", ""]].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a shell without a command says.
fn shell_says(task: &Task, arguments: &[&str]) -> Output {
    let mut command = task.command(arguments);
    let mut entered = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The other one does not read.
    let _ = entered.stdin.take().unwrap().write_all(b"echo $0\n");
    entered.wait_with_output().unwrap()
}

#[test]
fn a_task_of_another_user_does_not_decide_what_root_executes() {
    need!("root", "setpriv");
    let evil = evil();
    let task = nobodys(evil.path(), &[]);
    let output = task.enter(&["--", "id", "-u"]);
    assert_eq!(text(&output.stdout), "0\n");
    let said = text(&output.stderr);
    assert!(said.starts_with(LEFT_OUT) && said.contains("--user") && said.lines().count() == 1, "{said}");
    assert_eq!(text(&shell_says(&task, &[]).stdout), "/bin/sh\n");
    let variables = text(&task.enter(&["--", "env"]).stdout);
    let names: Vec<&str> = variables.lines().map(|line| line.split_once('=').unwrap().0).collect();
    let known = ["MESOS_SANDBOX", "PATH", "TERM", "LANG", "MINION_ENTER"];
    assert!(names.iter().all(|name| known.contains(name)) && names.contains(&"MESOS_SANDBOX"), "{names:?}");
}

#[test]
fn with_user_the_environment_of_that_user_is_whole_and_nothing_is_said() {
    need!("root", "setpriv");
    let evil = evil();
    let task = nobodys(evil.path(), &[]);
    let output = task.enter(&["--user", "--", "id", "-u"]);
    assert_eq!(text(&output.stdout), "evil\n");
    assert!(!text(&output.stderr).contains(LEFT_OUT), "{output:?}");
    assert_eq!(text(&shell_says(&task, &["--user"]).stdout), "evil\n");
}

#[test]
fn in_another_user_namespace_root_has_nothing_of_the_environment_and_user_has_all() {
    need!("root", "userns", "setpriv");
    let evil = evil();
    let task = nobodys(evil.path(), &["unshare", "--user", "--map-root-user"]);
    assert_eq!(text(&task.enter(&["--", "id", "-u"]).stdout), "0\n");
    assert_eq!(text(&task.enter(&["--user", "--", "id", "-u"]).stdout), "evil\n");
}

/// A set-user-ID program of root, run by nobody, says `ready` and waits.
fn suid(evil: &Path, original: &str, arguments: &[&str]) -> Task {
    let program = evil.join("suid");
    copy_program(original, &program, 0o4755);
    let mut command = Command::new("setpriv");
    command.args(NOBODY).arg(&program).args(arguments).env("PATH", format!("{}:/bin:/usr/bin", evil.display()));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    Lines::of(child.stdout.take().unwrap().into()).next_with("ready");
    let pid = child.id().cast_signed();
    Task { child, pid }
}

#[test]
fn a_program_that_became_root_by_its_file_has_the_environment_of_whoever_started_it() {
    need!("root", "setpriv", "perl");
    for becomes in ["", "$< = 0; $( = 0;"] {
        let evil = evil();
        let task =
            suid(evil.path(), "/usr/bin/perl", &["-e", &format!("{becomes} $| = 1; print qq(ready\\n); sleep 300")]);
        let uids = proc::status(task.pid, "Uid");
        assert_eq!(uids.split_whitespace().all(|uid| uid == "0"), !becomes.is_empty(), "{uids}");
        for user in [&[][..], &["--user"]] {
            let output = task.enter(&[user, &["--", "id", "-u"]].concat());
            assert_eq!(text(&output.stdout), "0\n", "{uids}");
            assert!(text(&output.stderr).starts_with(LEFT_OUT), "{output:?}");
        }
    }
}

#[test]
fn a_task_of_root_alone_is_entered_with_all_that_it_has() {
    need!("root");
    let evil = evil();
    symlink("/bin/sh", evil.path().join("mine")).unwrap();
    let path = format!("PATH={}:/usr/bin:/bin", evil.path().display());
    let task = Task::start("env", &[&path, "sh", "-c", ""]);
    let output = task.enter(&["--", "mine", "-c", "echo $SECRET_TOKEN"]);
    assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), ("hunter2\n", ""));
}
