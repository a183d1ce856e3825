//! Restarts in a container: nothing of a run is alive when the next one starts, the delay doubles, the executor runs once.

use super::common::DEADLINE;
use super::common::agent::{Contained, builder};
use super::common::minion::Sandbox;
use super::common::sandbox::until;
use crate::need;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// A proxy that dies at once and leaves processes that hold a lock: the next run can take it only when all of them are dead.
/// One is in the group, one in a session of its own, one lost its parent as well, and one ignores SIGTERM.
const LEAVES_DAEMONS: &str = "
[ $1 = executor ] && { echo executor >>starts; exec sleep 300; }
exec 9>lock
flock --nonblock 9 || echo 'the last run is alive' >>overlaps
sleep 300 &
setsid sleep 300 &
(setsid sh -c 'sleep 300 & exec sleep 300' &)
if [ \"$STUBBORN\" ]; then
    rm -f events; mkfifo events
    setsid sh -c 'trap \"\" TERM; echo up >events; exec sleep 300' &
    read -r _ <events
fi
echo $$ >>starts
exit 1
";

fn overlaps_of(restarts: usize, stubborn: bool) {
    let km = Sandbox::with_km(LEAVES_DAEMONS);
    let (mut agent, root) = builder();
    if stubborn {
        agent = agent.environment("STUBBORN", "1");
    }
    let km_binary = format!("--km-binary={}", km.path("km").display());
    let mut run = Contained::launch((agent, root), &[&km_binary, "--restart-delay=0s", "--restart-delay-max=0s"]);
    for restart in 1..=restarts {
        until(run.sandbox(), "a restart", || (run.read("starts").lines().count() > restart).then_some(()));
    }
    let minion = super::open(run.minion_by_init());
    run.signal(Signal::TERM);
    let (_, alive) = run.end_of(&minion, Duration::from_secs(5));
    assert_eq!(alive, []);
    assert_eq!(run.read("overlaps"), "", "no run began beside what the last one left behind");
    assert_eq!(run.read("starts").matches("executor").count(), 1, "the executor never restarts");
    assert_eq!(run.status().exit().code(), Some(0));
    assert!(run.container.destroy(Instant::now() + DEADLINE).unwrap().is_clean());
    assert_eq!(run.container.recovery_check(), []);
}

#[test]
fn nothing_of_a_run_is_alive_when_the_next_one_starts() {
    need!("root", "v1");
    overlaps_of(20, false);
}

#[test]
fn a_daemon_that_ignores_sigterm_is_dead_before_the_next_run_too() {
    need!("root", "v1");
    overlaps_of(3, true);
}

#[test]
fn the_delay_doubles_up_to_its_limit_and_the_children_wait_it() {
    need!("root", "v1");
    let (agent, root) = builder();
    let agent = agent.environment("STAND_IN_PROXY", "crash-after=0ms:4,record=proxy-%p.json");
    let mut run = Contained::launch((agent, root), &["--restart-delay=20ms", "--restart-delay-max=100ms"]);
    let starts = || run.read("stderr").matches("started task=proxy").count();
    until(run.sandbox(), "six starts", || (starts() >= 6).then_some(()));
    run.signal(Signal::TERM);
    assert_eq!(run.status().exit().code(), Some(0));
    let said = run.read("stderr");
    let delays: Vec<&str> = said
        .lines()
        .filter_map(|line| line.split_once("exited with 4 after ")?.1.split_once("starts again in "))
        .map(|(_, rest)| rest)
        .collect();
    for (delay, expected) in delays.iter().zip(["20ms", "40ms", "80ms", "100ms", "100ms"]) {
        assert!(delay.starts_with(&format!("{expected} task=proxy pid=")), "{said}");
    }
    assert_begins(&run, &[20, 40, 80, 100, 100]);
    assert!(run.container.destroy(Instant::now() + DEADLINE).unwrap().is_clean());
}

/// From one start to the next at least that many milliseconds passed, by the children's own clocks.
fn assert_begins(run: &Contained, delays: &[u64]) {
    let mut begins: Vec<u64> = std::fs::read_dir(run.sandbox())
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("proxy-"))
        .map(|entry| serde_json::from_slice::<serde_json::Value>(&std::fs::read(entry.path()).unwrap()).unwrap())
        .map(|record| record["realtime_ns"].as_u64().unwrap())
        .collect();
    begins.sort_unstable();
    for (pair, delay) in begins.windows(2).zip(delays) {
        assert!(pair[1] - pair[0] >= delay * 1_000_000, "{begins:?}");
    }
}

#[test]
fn sigterm_during_the_delay_ends_at_once() {
    need!("root", "v1");
    let (agent, root) = builder();
    let agent = agent.environment("STAND_IN_PROXY", "crash-after=0ms:4");
    let mut run = Contained::launch((agent, root), &["--restart-delay=1h", "--restart-delay-max=1h"]);
    run.says("starts again in 3600s");
    let minion = super::open(run.minion_by_init());
    run.signal(Signal::TERM);
    let (took, alive) = run.end_of(&minion, DEADLINE);
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(alive, []);
    assert_eq!(run.status().exit().code(), Some(0));
}

/// Without environment, group and session there is nothing to tell whose it is, while the executor could be its owner too:
/// then it holds up no restart, and ends with everything.
#[test]
fn a_daemon_without_any_mark_delays_no_restart_and_ends_at_the_stop() {
    need!("root", "v1");
    let km = Sandbox::with_km(
        "[ $1 = executor ] && exec sleep 300\nenv -i setsid sleep 300 &\nenv -i setsid sh -c 'trap \"\" TERM; exec sleep 300' &\nexit 1\n",
    );
    let km_binary = format!("--km-binary={}", km.path("km").display());
    let flags = [km_binary.as_str(), "--restart-delay=0s", "--restart-delay-max=0s", "--grace=2s"];
    let mut run = Contained::launch(builder(), &flags);
    until(run.sandbox(), "ten restarts", || (run.read("stderr").matches("exited with 1").count() >= 10).then_some(()));
    let minion = super::open(run.minion_by_init());
    run.signal(Signal::TERM);
    let (_, alive) = run.end_of(&minion, Duration::from_secs(2));
    assert_eq!(alive, [], "{}", run.read("stderr"));
    assert_eq!(run.status().exit().code(), Some(0));
    assert!(run.container.destroy(Instant::now() + DEADLINE).unwrap().is_clean());
}
