//! SIGKILL to minion at any moment: no direct child lives on, not even one that had not executed yet.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "clippy takes a test's helpers for production"
)]

mod common;

use common::minion::Sandbox;
use common::{DEADLINE, proc, wait_readable};
use rustix::process::Signal;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// `splitmix64`: enough to pick moments, and the same again from the printed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }
}

fn seed() -> u64 {
    let given = std::env::var("MINION_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos().into());
    println!("MINION_TEST_SEED={seed}");
    seed
}

/// Kills minion that long after its start: whatever carries the sandbox's mark then has to die by itself.
fn kill_after(moment: Duration, km: &str, flags: &[&str]) {
    let sandbox = Sandbox::with_km(km);
    let _lifeline = sandbox.lifeline();
    let minion = sandbox.start(flags);
    let ended_before = wait_readable(&minion.pidfd, Instant::now() + moment);
    assert!(!ended_before, "it ended by itself before {moment:?}: {:?}", minion.wait());
    let children = proc::children(minion.pid());
    minion.signal(Signal::KILL);
    // The end of its stderr is the death of minion and of every fork of it that had not executed.
    let ended = minion.wait();
    assert_eq!(ended.status.code(), None, "{ended:?}");
    sandbox.assert_deserted();
    assert!(children.iter().all(|pid| common::wait_dead(*pid, Instant::now() + DEADLINE)), "{children:?}");
}

/// Children that neither SIGTERM nor the end of a pipe would end.
const STUBBORN: &str = "trap '' TERM INT HUP PIPE\nexec 9>lifeline\nexec sleep 300\n";

#[test]
fn no_direct_child_outlives_minion_killed_in_its_first_fifty_milliseconds() {
    let mut random = Random(seed());
    for _ in 0..50 {
        kill_after(Duration::from_micros(random.below(50_000)), STUBBORN, &[]);
    }
}

#[test]
fn no_direct_child_outlives_minion_killed_amid_restarts() {
    let mut random = Random(seed());
    let km = "[ $1 = proxy ] && exit 1\ntrap '' TERM\nexec 9>lifeline\nexec sleep 300\n";
    for _ in 0..25 {
        kill_after(Duration::from_micros(random.below(200_000)), km, &["--restart-delay=0s"]);
    }
}

#[test]
fn no_direct_child_outlives_minion_killed_while_it_stops() {
    let mut random = Random(seed());
    for _ in 0..15 {
        let sandbox = Sandbox::with_km("trap '' TERM\nexec 9>lifeline\necho up >events\nexec sleep 300\n");
        let (lifeline, mut events) = (sandbox.lifeline(), sandbox.events("events"));
        let minion = sandbox.start(&[]);
        events.next();
        events.next();
        minion.signal(Signal::TERM);
        wait_readable(&minion.pidfd, Instant::now() + Duration::from_micros(random.below(20_000)));
        minion.signal(Signal::KILL);
        assert_eq!(minion.wait().status.code(), None);
        lifeline.assert_cut();
    }
}

/// What the README says of this case: a grandchild has no death signal and lives on, until the agent destroys the container.
#[test]
fn a_grandchild_may_outlive_a_killed_minion() {
    let sandbox = Sandbox::with_km("sleep 300 &\nexec 9>lifeline\necho $! >events\nexec sleep 300\n");
    let (lifeline, mut events) = (sandbox.lifeline(), sandbox.events("events"));
    let minion = sandbox.start(&["--run-proxy=false"]);
    let grandchild: i32 = events.next().parse().unwrap();
    minion.signal(Signal::KILL);
    minion.wait();
    lifeline.assert_cut();
    assert!(proc::is_alive(grandchild), "the day this fails, the README promises too little");
}

/// The death signal cannot be read from outside; the kernel says it to the process itself.
#[test]
fn a_child_has_sigkill_for_its_death_signal() {
    if !Command::new("perl").arg("-v").output().is_ok_and(|output| output.status.success()) {
        return eprintln!("SKIP a_child_has_sigkill_for_its_death_signal: no perl");
    }
    // prctl(PR_GET_PDEATHSIG = 2, &number)
    let perl = r#"my $n = pack("i", 0); syscall(157, 2, $n); print "death signal ", unpack("i", $n), "\n""#;
    let sandbox = Sandbox::with_km(&format!("[ $1 = proxy ] && exec sleep 300\nexec perl -e '{perl}'\n"));
    sandbox.run(&[]).assert_code(0);
    if cfg!(target_arch = "x86_64") {
        assert_eq!(sandbox.read("executor.log"), "death signal 9\n");
    }
}
