//! The life of a container under a rehearsal agent: whatever happens, nothing is alive when minion is gone, the agent's
//! destroy has nothing to do, the exit code is the documented one and the logs are whole.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

#[path = "root_lifecycle/placement.rs"]
mod placement;
#[path = "root_lifecycle/restart.rs"]
mod restart;

use common::agent::{Contained, LINES, builder, open, scripts, signal};
use common::{DEADLINE, proc, wait_dead};
use rustix::process::Signal;
use std::fs;
use std::time::{Duration, Instant};

/// How the end begins.
#[derive(Clone, Copy, Debug)]
enum Cause {
    /// The executor ends by what its script says.
    Script,
    /// The agent's message to the executor.
    Message,
    /// A signal to the init, which forwards it to minion.
    ToMinion(Signal),
    /// A signal to the executor, behind minion's back.
    ToExecutor(Signal),
    /// SIGSTOP to both children, then SIGTERM to minion.
    StoppedChildren,
}

/// A row: what the children do, what begins the end, and the exit code. Verbs: `src/rehearsal/stand_in/script.rs`.
#[derive(Debug)]
struct Case {
    executor: &'static str,
    proxy: &'static str,
    cause: Cause,
    code: i32,
    /// Seconds of grace that the agent gives.
    grace: u64,
}

const fn case(executor: &'static str, proxy: &'static str, cause: Cause, code: i32) -> Case {
    Case { executor, proxy, cause, code, grace: 5 }
}

/// Everything ends by force here, at three quarters of the budget: with less grace it is sooner.
const fn slow(executor: &'static str, proxy: &'static str, cause: Cause, code: i32) -> Case {
    Case { executor, proxy, cause, code, grace: 2 }
}

impl Case {
    fn check(&self) {
        let (agent, root) = builder();
        let agent = scripts(agent, self.executor, self.proxy).grace(Duration::from_secs(self.grace));
        let mut run = Contained::launch((agent, root), &[]);
        // Before that: a script may end a second after its start.
        let minion = open(run.minion());
        run.are_ready();
        // A script's end comes a second after its start, and only then the time runs.
        let early = if let Cause::Script = self.cause { 1 } else { 0 };
        let limit = Duration::from_secs(self.grace + early);
        self.begin_the_end(&run);
        let (_, alive) = run.end_of(&minion, limit);
        assert_eq!(alive, [], "{self:?}: alive when minion is gone\n{}", run.read("stderr"));
        assert_eq!(run.status().exit().code(), Some(self.code), "{self:?}\n{}", run.read("stderr"));
        for role in ["executor", "proxy"] {
            assert_eq!(run.numbered_lines(role), LINES, "{self:?}: lines of {role}");
        }
        let report = run.container.destroy(Instant::now() + DEADLINE).unwrap();
        assert!(report.is_clean(), "{self:?}: {report:?}");
        assert_eq!(run.container.recovery_check(), [], "{self:?}");
        assert_eq!(run.container.survivors().unwrap(), [], "{self:?}");
        self.check_the_words(&run);
    }

    fn begin_the_end(&self, run: &Contained) {
        match self.cause {
            Cause::Script => {}
            Cause::Message => assert!(run.container.send_shutdown().unwrap()),
            Cause::ToMinion(number) => run.signal(number),
            Cause::ToExecutor(number) => signal(run.child("executor"), number),
            Cause::StoppedChildren => {
                signal(run.child("executor"), Signal::STOP);
                signal(run.child("proxy"), Signal::STOP);
                run.signal(Signal::TERM);
            }
        }
    }

    /// The last line says what ended the run and how the executor did; who could obey said goodbye.
    fn check_the_words(&self, run: &Contained) {
        let said = run.read("stderr");
        let last = said.lines().last().unwrap();
        let expected = match self.cause {
            Cause::Script | Cause::Message | Cause::ToExecutor(_) => "ended: executor ",
            Cause::ToMinion(_) | Cause::StoppedChildren => " asked for it; executor ",
        };
        assert!(last.contains(expected) && last.ends_with(&format!("code={}", self.code)), "{self:?}: {last}");
        if !self.proxy.contains("ignore-term") {
            assert!(run.read("proxy.log").contains("proxy says goodbye"), "{self:?}");
        }
    }
}

fn check(cases: &[Case]) {
    cases.iter().for_each(Case::check);
}

#[test]
fn the_executor_ends_everything_and_its_code_is_ours() {
    need!("root", "v1");
    check(&[
        case("", "", Cause::Message, 0),
        case("crash-after=1s:3", "", Cause::Script, 3),
        case("die-after=1s:11", "", Cause::Script, 139),
        case("", "", Cause::ToExecutor(Signal::KILL), 137),
        slow("crash-after=1s:3", "ignore-term", Cause::Script, 3),
        slow("daemonise", "daemonise,stubborn,ignore-term", Cause::ToExecutor(Signal::KILL), 137),
    ]);
}

#[test]
fn a_signal_ends_everything_with_code_0() {
    need!("root", "v1");
    check(&[
        case("", "", Cause::ToMinion(Signal::TERM), 0),
        case("", "", Cause::ToMinion(Signal::INT), 0),
        case("", "", Cause::ToMinion(Signal::HUP), 0),
        case("linger=300ms", "linger=200ms", Cause::ToMinion(Signal::TERM), 0),
    ]);
}

#[test]
fn children_that_ignore_sigterm_or_are_stopped_end_all_the_same() {
    need!("root", "v1");
    check(&[
        slow("ignore-term", "", Cause::ToMinion(Signal::TERM), 0),
        slow("", "ignore-term", Cause::ToMinion(Signal::TERM), 0),
        slow("ignore-term", "ignore-term", Cause::ToMinion(Signal::HUP), 0),
        case("", "", Cause::StoppedChildren, 0),
        slow("ignore-term", "ignore-term", Cause::StoppedChildren, 0),
    ]);
}

#[test]
fn grandchildren_in_sessions_of_their_own_end_with_their_task() {
    need!("root", "v1");
    check(&[
        case("daemonise", "daemonise", Cause::ToMinion(Signal::TERM), 0),
        case("daemonise", "daemonise", Cause::Message, 0),
        slow("daemonise,stubborn", "daemonise,stubborn", Cause::ToMinion(Signal::TERM), 0),
        slow("daemonise,stubborn", "daemonise", Cause::Message, 0),
    ]);
}

#[test]
fn grandchildren_that_hold_stderr_open_delay_nothing() {
    need!("root", "v1");
    check(&[
        case("hold-stderr", "hold-stderr", Cause::ToMinion(Signal::TERM), 0),
        slow("hold-stderr,stubborn", "hold-stderr,stubborn", Cause::ToMinion(Signal::TERM), 0),
        slow("hold-stderr,stubborn", "hold-stderr", Cause::Message, 0),
        case("hold-stderr", "", Cause::ToExecutor(Signal::KILL), 137),
    ]);
}

#[test]
fn five_hundred_processes_and_those_that_keep_forking_all_end() {
    need!("root", "v1");
    // A machine may say how many it can end within the grace: one emulated processor has enough to do with those that fork.
    let many = std::env::var("MINION_TEST_CROWD").unwrap_or_else(|_| "forkloop=500,hop=4".to_owned());
    let crowd = |more: &str| -> &'static str { format!("{many}{more}").leak() };
    check(&[
        case(crowd(""), "", Cause::ToMinion(Signal::TERM), 0),
        // A second for the killing: on a busy machine stopping them all takes half of that.
        case(crowd(",stubborn,ignore-term"), "hop=2,stubborn", Cause::ToMinion(Signal::TERM), 0),
        // What an executor leaves by its own end has a second.
        slow("", "forkloop=50,hop=1,stubborn", Cause::Message, 0),
    ]);
}

#[test]
fn after_sigkill_to_minion_direct_children_die_and_the_agent_ends_the_rest() {
    need!("root", "v1");
    let (agent, root) = builder();
    let agent = scripts(agent, "ignore-term,daemonise,stubborn", "ignore-term");
    let mut run = Contained::launch((agent, root), &[]);
    run.are_ready();
    let children = [run.child("executor"), run.child("proxy")];
    let all = run.container.members().len();
    signal(run.minion(), Signal::KILL);
    let deadline = Instant::now() + DEADLINE;
    assert!(children.iter().all(|pid| wait_dead(*pid, deadline)), "by their death signal");
    assert_eq!(run.status().exit(), std::os::unix::process::ExitStatusExt::from_raw(9));
    // init, minion, two children and the grandchild: the last one has no death signal and is for the agent to end.
    assert_eq!(all, 5);
    let report = run.container.destroy(deadline).unwrap();
    assert_eq!(report.killed.len(), 1, "{report:?}");
    assert!(report.killed[0].command.contains("--offspring"), "{report:?}");
    assert_eq!(run.container.recovery_check(), []);
    assert_eq!(run.container.survivors().unwrap(), []);
    assert_eq!([run.numbered_lines("executor"), run.numbered_lines("proxy")], [LINES, LINES]);
}

#[test]
fn what_cannot_be_killed_is_named_and_the_code_is_113() {
    need!("root", "v1");
    let (agent, root) = builder();
    let mut run = Contained::launch((scripts(agent, "", "").grace(Duration::from_secs(2)), root), &[]);
    run.are_ready();
    let executor = run.child("executor");
    let minion = open(run.minion());
    // In a frozen cgroup of v1 a process dies only when it is thawed. [KF-64]
    let freezer = &run.container.cgroups()[0].1.join("frozen");
    fs::create_dir(freezer).unwrap();
    fs::write(freezer.join("cgroup.procs"), executor.to_string()).unwrap();
    fs::write(freezer.join("freezer.state"), "FROZEN").unwrap();
    run.signal(Signal::TERM);
    let (_, alive) = run.end_of(&minion, Duration::from_secs(2));
    assert_eq!(alive.iter().map(|process| process.pid).collect::<Vec<_>>(), [executor]);
    assert_eq!(run.status().exit().code(), Some(113), "{}", run.read("stderr"));
    let said = run.read("stderr");
    assert!(said.contains(&format!("still alive after SIGKILL pid={executor}")), "{said}");
    run.container.destroy(Instant::now() + DEADLINE).unwrap();
    assert!(!proc::is_alive(executor));
}

#[test]
fn a_child_that_cannot_be_started_ends_everything_with_111() {
    need!("root", "v1");
    let (agent, root) = builder();
    let mut run = Contained::launch((scripts(agent, "", ""), root), &["--km-binary=/etc/passwd"]);
    assert_eq!(run.status().exit().code(), Some(111));
    let said = run.read("stderr");
    assert!(said.contains("/etc/passwd"), "{said}");
    assert_eq!(run.container.survivors().unwrap(), []);
    assert!(run.container.destroy(Instant::now() + DEADLINE).unwrap().is_clean());
    assert_eq!(run.container.recovery_check(), []);
}
