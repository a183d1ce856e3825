//! The life of a container as any user sees it: a rehearsal agent without cgroups, and every exit code by its cause.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::agent::{Contained, LINES, builder, open, scripts};
use common::minion::{FLAGS, Minion, Sandbox};
use common::{DEADLINE, minion, proc};
use rustix::process::Signal;
use std::process::Command;
use std::time::Instant;

/// Starts it, begins the end, and looks: nobody alive, that code, whole logs, and nothing for the agent to kill.
fn ends(executor: &str, proxy: &str, begin: impl FnOnce(&Contained), code: i32) {
    let (agent, root) = builder();
    let agent = scripts(agent.without_cgroups(), executor, proxy);
    let mut run = Contained::launch_anywhere((agent, root), &["--grace=2s"]);
    run.are_ready();
    let minion = open(run.minion());
    begin(&run);
    let (_, alive) = run.end_of(&minion, DEADLINE);
    assert_eq!(alive, [], "{}", run.read("stderr"));
    assert_eq!(run.status().exit().code(), Some(code), "{}", run.read("stderr"));
    assert_eq!([run.numbered_lines("executor"), run.numbered_lines("proxy")], [LINES, LINES]);
    assert!(run.container.destroy(Instant::now() + DEADLINE).unwrap().is_clean());
}

#[test]
fn the_agents_message_ends_the_executor_and_that_ends_the_rest() {
    ends("", "", |run| assert!(run.container.send_shutdown().unwrap()), 0);
    ends("daemonise,linger=50ms", "daemonise,hold-stderr", |run| assert!(run.container.send_shutdown().unwrap()), 0);
}

#[test]
fn a_signal_ends_everything_without_cgroups_too() {
    ends("", "", |run| run.signal(Signal::TERM), 0);
    ends("daemonise,stubborn", "hop=3,stubborn,ignore-term", |run| run.signal(Signal::INT), 0);
}

#[test]
fn a_dead_executor_ends_everything_without_cgroups_too() {
    let kill = |run: &Contained| common::agent::signal(run.child("executor"), Signal::KILL);
    ends("daemonise", "", kill, 137);
    ends("forkloop=40,hop=3", "hold-stderr", kill, 137);
}

/// The exit codes of `run`, each by what causes it. 113 needs a process that cannot be killed: `tests/root_lifecycle.rs`.
#[test]
fn every_exit_code_has_its_cause() {
    let up = "echo up >events\nexec sleep 300\n";
    let told_to_stop = |signal: Signal| {
        let sandbox = Sandbox::with_km(up);
        let mut events = sandbox.events("events");
        let minion = sandbox.start(&["--run-proxy=false"]);
        events.next();
        minion.signal(signal);
        minion.wait().code()
    };
    assert_eq!([Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT].map(told_to_stop), [0; 4]);
    let own = |end: &str| Sandbox::with_km(&format!("{end}\n")).run(&["--run-proxy=false"]).code();
    assert_eq!(["exit 0", "exit 1", "exit 100", "exit 255"].map(own), [0, 1, 100, 255]);
    assert_eq!(["kill -TERM $$", "kill -KILL $$", "kill -ABRT $$"].map(own), [143, 137, 134]);
    assert_eq!(Sandbox::with_km("").run(&["--max-log-age=x"]).code(), 100);
    let sandbox = Sandbox::with_km("");
    std::fs::remove_file(sandbox.path("km")).unwrap();
    assert_eq!(sandbox.run(&[]).code(), 111, "no km anywhere");
    assert_eq!(Sandbox::with_km("").run(&["--cgroup-attach=require", "--mesos-cgroup-prefix=no/such"]).code(), 111);
}

#[test]
fn a_helper_that_cannot_start_at_all_ends_the_executor_again() {
    let sandbox = Sandbox::with_km("exec 9>lifeline\nexec sleep 300\n");
    // The proxy's log is a directory: found before anything starts.
    std::fs::create_dir(sandbox.path("proxy.log")).unwrap();
    let lifeline = sandbox.lifeline();
    let said = sandbox.run(&[]).assert_code(111);
    assert!(said.contains("proxy.log"), "{said}");
    assert!(!lifeline.is_cut(), "nobody ever held it");
    sandbox.assert_deserted();
}

#[test]
fn the_executor_runs_once_however_it_ends() {
    let sandbox = Sandbox::with_km("echo $1 >>starts\n[ $1 = executor ] && { read -r _ <go; exit 5; }\nexit 1\n");
    let _go = sandbox.events("go");
    let mut minion = sandbox.start(&["--restart-delay=0s", "--restart-delay-max=0s"]);
    (0..10).for_each(|_| drop(minion.says("exited with 1")));
    std::fs::write(sandbox.path("go"), "go\n").unwrap();
    minion.wait().assert_code(5);
    let starts = sandbox.read("starts");
    assert_eq!(starts.matches("executor").count(), 1);
    assert!(starts.matches("proxy").count() >= 10);
}

#[test]
fn as_pid_1_of_a_pid_namespace_minion_reaps_and_obeys() {
    need!("root");
    let sandbox = Sandbox::with_km(
        "[ $1 = executor ] && { echo up >events; exec sleep 300; }\n(true & exec true) &\n(sleep 0 &)\nexit 1\n",
    );
    let mut events = sandbox.events("events");
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", minion()]).args(FLAGS);
    command.args(["--restart-delay=0s", "--restart-delay-max=0s"]);
    sandbox.mark(&mut command);
    let mut unshare = Minion::spawn(&mut command);
    events.next();
    (0..20).for_each(|_| drop(unshare.says("exited with 1")));
    let init = proc::children(unshare.pid())[0];
    // The executor, a proxy and what that starts right now; twenty runs of zombies would be forty more.
    assert!(proc::children(init).len() < 10, "{:?}", proc::children(init));
    common::agent::signal(init, Signal::TERM);
    unshare.wait().assert_code(0);
    sandbox.assert_deserted();
}
