//! The scheduler's whole command line under the rehearsal agent: what the two children are really given.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what serves a test is a test")]

mod common;

use common::agent::{Contained, builder, scripts};
use common::scheduler::{self, LINE};
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn the_schedulers_line_gives_both_children_the_lists_of_the_original() {
    need!("root", "v1");
    let (agent, root) = builder();
    let agent = scripts(agent.environment("LIBPROCESS_IP", "10.0.0.7"), "once", "once");
    // The agent's root is this test's own; all else is as the scheduler writes it.
    let flags: Vec<&str> = LINE.into_iter().filter(|flag| !flag.starts_with("--mesos-cgroup-prefix=")).collect();
    let flags: Vec<&str> = flags.into_iter().filter(|flag| !flag.starts_with("--api-servers=")).collect();
    let mut run = Contained::launch((agent, root.clone()), &flags);
    let given = |record: Value| -> Vec<String> { serde_json::from_value(record["argv"].clone()).unwrap() };
    let km = run.sandbox().join("km").display().to_string();
    let cgroup = format!("/{root}/{}", run.container.id());
    assert_eq!(given(run.record("proxy")), scheduler::proxy(&km));
    assert_eq!(given(run.record("executor")), scheduler::executor(&km, &cgroup));
    run.signal(Signal::TERM);
    assert_eq!(run.status().exit().code(), Some(0));
}
