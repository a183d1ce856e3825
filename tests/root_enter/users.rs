//! Tasks in a user namespace of their own.

use super::common::proc;
use super::{Task, code};
use crate::need;
use std::fs;
use std::process::Output;

/// Root of a namespace that nobody (65534, group 65533) made: setgroups is denied there, and root's own number has no place.
const NOBODYS: [&str; 9] =
    ["--reuid=65534", "--regid=65533", "--clear-groups", "unshare", "--user", "--map-root-user", "--mount", "sh", "-c"];

fn nobodys() -> Task {
    Task::start("setpriv", &[&NOBODYS[..], &[""]].concat())
}

fn namespace(pid: i32) -> String {
    fs::read_link(format!("/proc/{pid}/ns/user")).unwrap().to_string_lossy().into_owned()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_command_is_root_in_the_tasks_user_namespace_with_all_that_this_gives() {
    need!("root", "userns");
    let arguments = ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let mut outer = Task::start("unshare", &[&arguments[..], &["sh", "-c", ""]].concat());
    let init = proc::children(outer.pid)[0];
    let unshare = std::mem::replace(&mut outer.pid, init);
    assert_ne!(namespace(init), namespace(std::process::id().cast_signed()));
    let script = "readlink /proc/self/ns/user; cat /proc/1/comm; id -u; mount -t tmpfs none /mnt && echo mounted";
    assert_eq!(outer.text(script), format!("{}\nsleep\n0\nmounted\n", namespace(init)));
    let status = outer.text("cat /proc/self/status");
    assert_eq!(proc::field_of(&status, "CapEff"), proc::status(init, "CapEff"), "exec takes nothing away");
    outer.pid = unshare;
}

#[test]
fn in_another_users_namespace_the_command_is_that_user_for_the_host_and_has_none_of_our_groups() {
    need!("root", "userns", "setpriv");
    let task = nobodys();
    for user in [&[][..], &["--user"]] {
        let words = [user, &["--", "sh", "-c", "id -u; id -g; id -G; readlink /proc/self/ns/user"]].concat();
        let output = task.enter(&words);
        assert_eq!(said(&output), format!("0\n0\n0\n{}\n", namespace(task.pid)), "{user:?}");
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    task.text(&format!("touch {}/mine", directory.path().display()));
    let owner = fs::metadata(directory.path().join("mine")).unwrap();
    assert_eq!(
        (std::os::unix::fs::MetadataExt::uid(&owner), std::os::unix::fs::MetadataExt::gid(&owner)),
        (65534, 65533)
    );
}

#[test]
fn what_the_command_leaves_in_a_user_namespace_is_ended_too() {
    need!("root", "userns", "setpriv");
    let task = nobodys();
    let left: i32 = task.text("setsid sleep 300 >/dev/null & echo $!").trim().parse().unwrap();
    assert!(!proc::is_alive(left));
}

#[test]
fn a_namespace_without_numbers_for_its_task_is_refused_with_its_map() {
    need!("root", "userns");
    let task = Task::start("unshare", &["--user", "sh", "-c", ""]);
    let output = task.shell("id");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(code(&output), 125, "{error}");
    let cause = format!("process {}: user 0 has no number in its user namespace (its map is empty)", task.pid);
    assert!(error.contains(&cause) && error.contains("hint"), "{error}");
}

#[test]
fn where_the_kernel_refuses_the_namespace_the_error_says_what_it_takes() {
    need!("root", "userns", "setpriv");
    // Made by somebody else: its maker may do everything in it, without any capability here.
    let words: Vec<&str> = NOBODYS.into_iter().filter(|word| *word != "--mount").chain([""]).collect();
    let task = Task::start("setpriv", &words);
    let mut command = std::process::Command::new("setpriv");
    command.args(["--inh-caps=-sys_admin", "--bounding-set=-sys_admin", super::minion(), "enter"]);
    let output = command.args([&task.pid.to_string(), "--", "id"]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(code(&output), 125, "{error}");
    assert!(error.contains("join the user namespace for") && error.contains("CAP_SYS_ADMIN"), "{error}");
}

#[test]
fn root_of_a_user_namespace_cannot_look_into_the_command_before_its_exec() {
    need!("root", "userns", "strace");
    let directory = tempfile::tempdir().unwrap();
    let seen = directory.path().join("seen");
    // Whoever may follow this link may trace the process, and take from it what it has open of the host.
    let look = format!(
        "while :; do for pid in /proc/[0-9]*; do \
         [ $pid/exe -ef {} ] && echo looked into; [ -e $pid/exe ] || echo kept out; done; done >{} & sh -c ''",
        super::minion(),
        seen.display()
    );
    let arguments = ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let mut outer = Task::start("unshare", &[&arguments[..], &["sh", "-c", &look]].concat());
    let init = proc::children(outer.pid)[0];
    let unshare = std::mem::replace(&mut outer.pid, init);
    let mut command = std::process::Command::new("strace");
    // Between the namespace, where the other root has every capability, and the change of user, after which the kernel hides it.
    command.args(["-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=setresuid"]);
    command.args(["-e", "inject=setresuid:delay_enter=1000000"]);
    command.args([super::minion(), "enter", &outer.pid.to_string(), "--", "echo", "entered"]);
    assert_eq!(said(&command.output().unwrap()), "entered\n");
    outer.pid = unshare;
    drop(outer);
    let seen = fs::read_to_string(&seen).unwrap();
    assert!(seen.contains("kept out"), "nobody looked: {seen}");
    assert!(!seen.contains("looked into"));
}
