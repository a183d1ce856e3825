//! A command of another user, and the caller's terminal.

use super::common::wait_dead;
use super::ends::Typed;
use super::{DEADLINE, Task, minion};
use crate::need;
use std::process::Command;
use std::time::Instant;

const NOBODY: [&str; 6] = ["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", ""];

/// Types for whoever reads the terminal (TIOCSTI). What is typed is in two pieces, so that it is not what was typed here.
fn types_for_others(terminal: &str) -> String {
    format!(
        "{terminal} for (split //, join qq(), qq(in), qq(jected\\n)) {{ ioctl(T, 0x5412, \\$_) }}; print qq(tried\\n)"
    )
}

#[test]
fn a_command_of_another_user_types_nothing_for_the_caller() {
    need!("root", "script", "setpriv", "perl");
    let nobodys = Task::start("setpriv", &NOBODY);
    let foreign =
        Task::start("setpriv", &[&NOBODY[..3], &["unshare", "--user", "--map-root-user", "sh", "-c", ""]].concat());
    let own = "open(T, q(<&), *STDIN);";
    let named = "open(T, q(+<), q(/dev/tty)) or print qq(none\\n);";
    for (terminal, redirected) in [(own, ""), (named, ""), (named, "</dev/null 2>&1 | cat")] {
        for (task, user) in [(&nobodys, "--user"), (&foreign, "")] {
            let perl = types_for_others(terminal);
            let enter = format!("{} enter {} {user} -- perl -e \"{perl}\" {redirected}", minion(), task.pid);
            let shell = format!("stty -echo; {enter}; echo ended; read -r line; echo line=$line");
            let mut typed = Typed::start(&shell);
            typed.lines.next_with("tried");
            typed.lines.next_with("ended");
            typed.types("mine\n");
            assert_eq!(typed.lines.next_with("line=").trim(), "line=mine", "{enter}");
            assert!(typed.script.wait().unwrap().success());
        }
    }
}

#[test]
fn its_own_terminal_has_the_size_of_the_callers_and_what_is_typed_reaches_it() {
    need!("root", "script", "setpriv");
    let task = Task::start("setpriv", &NOBODY);
    let inner =
        "trap \"stty size\" WINCH; ps -o pgrp=,tpgid= -p $$; stty size; while read line; do echo got $line; done";
    let enter = format!("{} enter {} --user -- bash -c '{inner}'", minion(), task.pid);
    let mut typed = Typed::start(&format!("stty -echo rows 33 cols 77; tty; {enter}; echo code $?; stty -a; true"));
    let tty = typed.lines.next_with("/dev/pts/").trim().to_owned();
    typed.is_in_the_foreground("the command");
    assert_eq!(typed.lines.next().trim(), "33 77");
    typed.types("one\n");
    assert_eq!(typed.lines.next().trim(), "got one");
    assert!(Command::new("stty").args(["-F", &tty, "rows", "31", "cols", "91"]).status().unwrap().success());
    // bash runs the trap between two reads. A shell whose child heard ^C too and did not die of it goes on: so not while stty
    // may still run.
    let deadline = Instant::now() + DEADLINE;
    for number in 0.. {
        assert!(Instant::now() < deadline, "no word of the new size");
        typed.types(&format!("{number}\n"));
        let got = format!("got {number}");
        let before = std::iter::repeat_with(|| typed.lines.next()).take_while(|line| line.trim() != got);
        if before.filter(|line| line.contains("31 91")).count() > 0 {
            break;
        }
    }
    typed.types("\x03");
    typed.lines.next_with("code 130");
    // As it was before.
    typed.lines.next_with("isig icanon iexten -echo ");
    assert!(typed.script.wait().unwrap().success());
}

#[test]
fn all_that_the_command_says_is_shown_though_it_ends_at_once() {
    need!("root", "script", "setpriv");
    let task = Task::start("setpriv", &NOBODY);
    // More than a terminal takes at once.
    let enter = format!("{} enter {} --user -- seq 5000", minion(), task.pid);
    for redirected in ["", "</dev/null"] {
        let output =
            Command::new("script").args(["-qefc", &format!("{enter} {redirected}"), "/dev/null"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
        let last: Vec<&str> = text.lines().rev().take(2).collect();
        assert_eq!((text.lines().count(), last), (5000, vec!["5000", "4999"]), "{redirected}");
    }
}

#[test]
fn killed_with_its_terminal_relayed_it_leaves_nothing() {
    need!("root", "script", "setpriv");
    let task = Task::start("setpriv", &NOBODY);
    let enter = format!("exec {} enter {} --user -- sh -c 'echo $$; exec sleep 300'", minion(), task.pid);
    let mut typed = Typed::start(&enter);
    let pid: i32 = typed.lines.next().trim().parse().unwrap();
    typed.script.kill().unwrap();
    typed.script.wait().unwrap();
    assert!(wait_dead(pid, Instant::now() + DEADLINE));
}
