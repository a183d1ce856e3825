//! What a bad sidecar does to the others: nothing. Each time an executor counts into its log, one sidecar serves and another
//! waits for it; while the bad one is bad, they start, the one that serves is killed and starts again, no line is lost, and
//! all end on time, those that can in their order.

use super::{IDLE, ends, sh, start};
use crate::common::fifo::Lines;
use crate::common::logs::wait_for_names;
use crate::common::minion::{Minion, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

/// Inside this, everything ends. More than the bad one's share of it is not for the bad one.
const GRACE: Duration = Duration::from_secs(8);

/// The others, and the bad one with these keys.
struct Scene {
    sandbox: Sandbox,
    events: Lines,
    minion: Minion,
    serves: i32,
}

impl Scene {
    /// Starts all of them, and sees that the others are up.
    fn with(bad: &str) -> Self {
        let sandbox = Sandbox::with_km("");
        let mut events = sandbox.events("events");
        let counts = "trap \"echo last; echo end executor >events; exit 0\" TERM; n=0; \
                      while :; do n=$((n+1)); echo line $n; sleep 0.01; done";
        let tells = |name: &str| {
            sh(&format!(
                "trap \"echo end {name} >events; exit 0\" TERM; echo up {name} >events; touch {name}.up; while :; do sleep 0.02; done"
            ))
        };
        let file = format!(
            "[executor]\ncommand = {}\nafter = ['waits']\n[stop]\ngrace = '{}s'\n\
             [[sidecar]]\nname = 'serves'\ncommand = {}\nrestart-delay = '10ms'\nreadiness = {{ file = 'serves.up', every = '10ms' }}\n\
             [[sidecar]]\nname = 'waits'\ncommand = {}\nafter = ['serves']\nreadiness = {{ file = 'waits.up', every = '10ms' }}\n\
             [[sidecar]]\nname = 'bad'\nrestart-delay = '10ms'\n{bad}\n",
            sh(counts),
            GRACE.as_secs(),
            tells("serves"),
            tells("waits"),
        );
        let minion = start(&sandbox, &file);
        events.next_with("up serves");
        events.next_with("up waits");
        sandbox.until_logged("executor.log", "line 1\n");
        let pids = sandbox.alive();
        let (serves, _) = pids.iter().find(|(_, command)| command.contains("up serves")).unwrap();
        Self { serves: *serves, sandbox, events, minion }
    }

    /// The bad one has been bad: the others restart, end on time and have lost nothing. What minion said.
    fn nobody_is_harmed(mut self) -> String {
        kill_process(Pid::from_raw(self.serves).unwrap(), Signal::KILL).unwrap();
        self.events.next_with("up serves");
        let begin = Instant::now();
        self.minion.signal(Signal::TERM);
        let ended = self.minion.wait_within(GRACE);
        assert!(begin.elapsed() < GRACE, "{:?}", begin.elapsed());
        let said = ended.assert_code(0);
        let mut ends = ends(&said);
        ends.retain(|name| *name != "bad");
        assert!(ends.ends_with(&["executor", "waits", "serves"]), "{said}");
        let log = self.sandbox.read("executor.log");
        // The shell may say that its sleep was terminated too.
        let mut lines: Vec<&str> = log.lines().filter(|line| line.starts_with("line ") || *line == "last").collect();
        assert_eq!(lines.pop(), Some("last"), "{log}");
        let counted: Vec<String> = (1..=lines.len()).map(|n| format!("line {n}")).collect();
        assert!(lines == counted, "{log}");
        self.sandbox.assert_deserted();
        said
    }
}

#[test]
fn one_that_never_gets_ready() {
    let mut scene =
        Scene::with("command = ['sleep', '1000']\nreadiness = { file = 'never', every = '10ms', within = '100ms' }");
    for _ in 0..3 {
        scene.minion.says("not ready within 100ms");
    }
    scene.nobody_is_harmed();
}

#[test]
fn one_that_flaps() {
    let mut scene = Scene::with(&format!("command = {}\nrestart-delay-max = '10ms'", sh("exit 1")));
    for _ in 0..20 {
        scene.minion.says("exited with 1");
    }
    scene.nobody_is_harmed();
}

#[test]
fn one_that_ignores_term() {
    let script = "trap \"\" TERM; echo up bad >events; while :; do sleep 0.05; done";
    let mut scene = Scene::with(&format!("command = {}", sh(script)));
    scene.minion.started("bad");
    let said = scene.nobody_is_harmed();
    assert!(said.contains("killed by signal 9"), "{said}");
}

#[test]
fn one_that_forks_away() {
    // Daemons in sessions of their own that hold the log open, ignore TERM and say nothing; and then it fails.
    let script = "for n in 1 2 3; do (trap \"\" TERM; setsid sleep 1000 &); done; exit 1";
    let mut scene = Scene::with(&format!("command = {}", sh(script)));
    for _ in 0..3 {
        scene.minion.started("bad");
    }
    scene.nobody_is_harmed();
}

#[test]
fn one_that_fills_its_log() {
    let keys = format!("command = {}\nlog = {{ max-size = '100Ki', max-backups = 2 }}", sh("exec yes bad"));
    let mut scene = Scene::with(&keys);
    scene.minion.started("bad");
    wait_for_names(&scene.sandbox.path("."), |names| names.iter().filter(|name| name.starts_with("bad-")).count() == 2);
    scene.nobody_is_harmed();
}

#[test]
fn one_that_is_all_of_it() {
    let script = "trap \"\" TERM; (setsid sleep 1000 &); yes bad | head -c 3000000; exit 1";
    let keys = format!(
        "command = {}\nlog = {{ max-size = '100Ki', max-backups = 2 }}\nrestart-delay-max = '20ms'\n\
         readiness = {{ file = 'never', every = '10ms' }}",
        sh(script)
    );
    let mut scene = Scene::with(&keys);
    for _ in 0..3 {
        scene.minion.says("exited with 1");
    }
    scene.nobody_is_harmed();
}

#[test]
fn questions_to_one_task_do_not_hold_up_the_end_of_another() {
    // A command that asks is a child of minion as an orphan is, and hides its environment while it is executed.
    let asked =
        "[[sidecar]]\nname = 'asked'\ncommand = ['sleep', '1000']\nhealth = { command = ['true'], every = '1ms' }\n";
    let bad = sh("(setsid sleep 1000 &) ; exit 1");
    let file = format!(
        "{IDLE}{asked}[[sidecar]]\nname = 'bad'\ncommand = {bad}\nrestart-delay = '1ms'\nrestart-delay-max = '1ms'\n"
    );
    let sandbox = Sandbox::with_km("");
    let mut minion = start(&sandbox, &file);
    for _ in 0..300 {
        minion.started("bad");
    }
    minion.stop().assert_code(0);
    sandbox.assert_deserted();
}
