//! The script of the README that a scheduler's `km` is replaced by, at work.
//!
//! Alone in its program: what was just written may be executed only while no other thread forks. [KF-80]

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers fail as tests do")]

mod common;

use common::minion::{Minion, Sandbox};
use common::{minion, write_program};
use std::fs;
use std::process::Command;

/// As hyperkube: under the name `km` the first word is the command's name, under any other the name itself is it. [GO-58]
const ORIGINAL: &str = "#!/bin/sh\n\
    command=${0##*/}; [ $command = km ] && { command=$1; shift; }\n\
    case $command in\n\
    executor) echo \"executor with $# flags\"; exit 3 ;;\n\
    proxy) exec sleep 1000 ;;\n\
    *) echo \"no command $command\" >&2; exit 9 ;;\n\
    esac\n";

#[test]
fn the_script_for_the_schedulers_km_starts_minion_and_passes_the_rest_on() {
    let readme = fs::read_to_string("README.md").unwrap();
    let script = readme.split("\n```sh\n").find(|block| block.starts_with("#!/bin/sh\n# km: ")).unwrap();
    let script = script.split("\n```").next().unwrap().replace("/usr/local/bin/minion", minion());
    let sandbox = Sandbox::with_km("");
    fs::remove_file(sandbox.path("km")).unwrap();
    fs::create_dir(sandbox.path("real")).unwrap();
    for (name, text) in [("km", script.as_str()), ("real/km", ORIGINAL)] {
        write_program(sandbox.path(name), text, 0o755);
    }
    let km = |args: &[&str]| {
        let mut command = Command::new("./km");
        sandbox.mark(&mut command);
        command.args(args);
        command
    };
    let flags = ["minion", "--api-servers=http://10.0.0.1:8888", "--cgroup-attach=off", "--checks=false"];
    let stderr = Minion::spawn(&mut km(&flags)).wait().assert_code(3);
    assert!(sandbox.read("executor.log").starts_with("executor with "), "{stderr}");
    let other = km(&["executor", "--a"]).output().unwrap();
    assert_eq!((other.status.code(), other.stdout.as_slice()), (Some(3), &b"executor with 1 flags\n"[..]));
}
