//! The stand-in that plays kube-proxy and the executor: it does what its script says, and records what it was given.

mod common;

use ::minion::rehearsal::{Agent, Builder};
use common::{DEADLINE, minion};
use std::fs;
use std::path::Path;
use std::time::Instant;

fn builder() -> Builder {
    Agent::builder(Path::new(minion()), "mesos-test-none").without_cgroups().reap_at_once()
}

fn soon() -> Instant {
    Instant::now() + DEADLINE
}

#[test]
fn a_stand_in_writes_exactly_the_bytes_of_its_burst_in_whole_lines() {
    for bytes in [1, 99, 100, 1_000, 1_000_001] {
        let script = format!("quiet,burst={bytes},crash-after=0ms:0");
        let agent = builder().environment("STAND_IN_PROXY", script).start().unwrap();
        let mut container = agent.launch(&["./km", "proxy"]).unwrap();
        assert_eq!(container.wait(soon()).unwrap().raw, 0);
        let log = fs::read(container.sandbox().join("stderr")).unwrap();
        assert_eq!(log.len(), bytes);
        assert_eq!(log.last(), Some(&b'\n'));
        if bytes > 200 {
            assert!(log[100..].starts_with(b"proxy line 00000002 ..."));
        }
    }
}

#[test]
fn a_stand_in_records_what_it_was_given() {
    let agent = builder().environment("STAND_IN_PROXY", "record=seen.json,crash-after=0ms:5").start().unwrap();
    let mut container = agent.launch(&["./km", "proxy", "--master=http://a b"]).unwrap();
    assert_eq!(container.wait(soon()).unwrap().raw, 5 << 8);
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(container.sandbox().join("seen.json")).unwrap()).unwrap();
    let argv: Vec<&str> = record["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(argv, ["./km", "proxy", "--master=http://a b"]);
    assert_eq!(record["env"]["MESOS_DIRECTORY"], container.sandbox().to_str().unwrap());
    assert_eq!(record["cwd"], container.sandbox().to_str().unwrap());
    assert_eq!(record["fds"].as_object().unwrap().len(), 3, "{record:#}");
    assert_eq!(record["ids"]["session"], container.pid());
    assert_eq!(record["signals"]["SigBlk"], "0000000000000000");
    assert_eq!(record["umask"], "0022");
    assert!(!record["cgroup"].as_array().unwrap().is_empty());
}

#[test]
fn a_stand_in_dies_by_the_signal_it_is_told() {
    for signal in [libc::SIGSEGV, libc::SIGKILL, libc::SIGTERM] {
        let script = format!("die-after=0ms:{signal}");
        let agent = builder().environment("STAND_IN_PROXY", script).start().unwrap();
        let mut container = agent.launch(&["./km", "proxy"]).unwrap();
        // The eighth bit says that a core was dumped.
        assert_eq!(container.wait(soon()).unwrap().raw & !0x80, signal);
    }
}

#[test]
fn a_stand_in_refuses_a_verb_that_it_does_not_know() {
    let agent = builder().environment("STAND_IN_PROXY", "ignoreterm").start().unwrap();
    let mut container = agent.launch(&["./km", "proxy"]).unwrap();
    assert_eq!(container.wait(soon()).unwrap().raw, 1 << 8);
    let said = fs::read_to_string(container.sandbox().join("stderr")).unwrap();
    assert_eq!(said, "stand-in: read stand-in script ignoreterm: no such verb or value\n");
}
