//! What an agent, or the machine, may take from minion without root: what still works, and which line says what does not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use common::minion::{Minion, Sandbox};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A proxy that stays and an executor that ends with 3 as soon as the proxy is up.
const KM: &str = "echo \"$1 up\" >&2
if [ $1 = proxy ]; then echo >gate; exec sleep 300; fi
read -r _ <gate
exit 3\n";

/// What the agent's example profile does not know, `pidfd_open` left out. [ME-30]
const UNKNOWN: &str = "clone3,close_range,openat2,pidfd_send_signal,unshare";

/// A sandbox with such a km, and the gate held open.
fn sandbox() -> (Sandbox, common::fifo::Lines) {
    let sandbox = Sandbox::with_km(KM);
    let gate = sandbox.events("gate");
    (sandbox, gate)
}

/// Runs minion where these calls are answered with EPERM.
fn without(calls: &str, sandbox: &Sandbox, flags: &[&str]) -> common::minion::Ended {
    sandbox.run_under(&[&python(), &script("seccomp.py"), calls], flags)
}

/// Not the one in `PATH`, which may be a script that needs a home.
fn python() -> String {
    let found = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
}

fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common").join(name).display().to_string()
}

/// The lines that say that something is wrong.
fn complaints(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|line| line.contains(" error ") || line.starts_with("minion: ")).collect()
}

#[test]
fn without_new_privileges_everything_works() {
    need!("setpriv");
    let (sandbox, _gate) = sandbox();
    sandbox.run_under(&["setpriv", "--no-new-privs"], &[]).assert_code(3);
    assert_eq!(sandbox.read("executor.log"), "executor up\n");
    assert_eq!(sandbox.read("proxy.log"), "proxy up\n");
}

#[test]
fn under_the_agents_profile_everything_works_once_it_allows_pidfd_open() {
    need!("python3");
    let (sandbox, _gate) = sandbox();
    let said = without(UNKNOWN, &sandbox, &[]).assert_code(3);
    assert_eq!(sandbox.read("executor.log"), "executor up\n", "{said}");
    assert_eq!(sandbox.read("proxy.log"), "proxy up\n", "{said}");
    sandbox.assert_deserted();
}

#[test]
fn under_the_agents_profile_a_helper_is_restarted_and_leftovers_end() {
    need!("python3");
    let sandbox = Sandbox::with_km(
        "if [ $1 = proxy ]; then setsid sleep 300 & if [ -e once ]; then echo >gate; exec sleep 300; fi; >once; exit 1; fi
         read -r _ <gate
         exit 3\n",
    );
    let _gate = sandbox.events("gate");
    let said = without(UNKNOWN, &sandbox, &["--restart-delay=0s"]).assert_code(3);
    assert!(said.contains("the run left processes behind"), "{said}");
    sandbox.assert_deserted();
}

#[test]
fn without_pidfd_open_nothing_is_started_and_one_line_says_why() {
    need!("python3");
    let sandbox = Sandbox::with_km(">started\n");
    let said = without(&format!("pidfd_open,{UNKNOWN}"), &sandbox, &[]).assert_code(111);
    let line = "open a pidfd: Operation not permitted (hint: minion needs Linux 5.3 and a seccomp profile that allows \
                pidfd_open) errno=1 code=111";
    assert_eq!(complaints(&said).len(), 1, "{said}");
    assert!(said.trim_end().ends_with(line), "{said}");
    assert!(!sandbox.path("started").exists());
}

#[test]
fn each_lack_of_descriptors_is_one_line_and_ends_what_was_started() {
    let (sandbox, _gate) = sandbox();
    let enough = (3..64)
        .find(|limit| {
            let ended = sandbox.run_under(&["prlimit", &format!("--nofile={limit}")], &[]);
            if ended.status.code() == Some(3) {
                return true;
            }
            let said = ended.assert_code(111);
            assert!(said.contains("Too many open files"), "{limit}: {said}");
            sandbox.assert_deserted();
            false
        })
        .expect("64 descriptors are enough");
    assert!(enough > 10, "the limit did not reach minion: {enough}");
    assert!(sandbox.read("executor.log").ends_with("executor up\n"));
}

#[test]
fn a_helper_that_lacks_descriptors_later_is_tried_again() {
    need!("unshare");
    let sandbox = Sandbox::with_km(
        "if [ $1 = proxy ]; then [ -e enough ] && exec sleep 300; read -r _ <crash; exit 1; fi
         echo up >&2; read -r _ <gate; exit 3\n",
    );
    let (_crash, _gate) = (sandbox.events("crash"), sandbox.events("gate"));
    // The first failure of a start comes after a second, so that `--restart-delay=0` cannot spin.
    let mut minion = sandbox.start(&["--restart-delay=0s", "--restart-delay-max=0s"]);
    sandbox.until_logged("executor.log", "up");
    let pid = minion.pid().to_string();
    let limit = |limit: &str| {
        let set = Command::new("prlimit").args(["--pid", &pid, limit]).status().unwrap();
        assert!(set.success());
    };
    limit("--nofile=12:4096");
    fs::write(sandbox.path("crash"), "\n").unwrap();
    let line = minion.says("error start proxy: ");
    assert!(line.contains("Too many open files"), "{line}");
    minion.says("never started after");
    fs::write(sandbox.path("enough"), "").unwrap();
    limit("--nofile=4096:4096");
    minion.started("proxy");
    fs::write(sandbox.path("gate"), "\n").unwrap();
    minion.wait().assert_code(3);
}

#[test]
fn a_deleted_sandbox_is_refused() {
    let sandbox = Sandbox::with_km(KM);
    fs::create_dir(sandbox.path("gone")).unwrap();
    let km = sandbox.path("km").display().to_string();
    let there = "cd gone && rmdir ../gone && exec \"$@\"";
    let said = sandbox.run_under(&["sh", "-c", there, "sh"], &["--km-binary", &km]).assert_code(111);
    let line = "open the log proxy.log: No such file or directory (hint: the sandbox was removed) errno=2 code=111";
    assert!(said.trim_end().ends_with(line), "{said}");
}

#[test]
fn a_sandbox_that_is_deleted_later_stops_nobody() {
    let sandbox = Sandbox::with_km(
        "cd ..; echo $1 >events; read -r _ <tick; echo to nowhere >&2; echo written >events; exec sleep 300\n",
    );
    fs::create_dir(sandbox.path("gone")).unwrap();
    let km = sandbox.path("km").display().to_string();
    let (mut events, _tick) = (sandbox.events("events"), sandbox.events("tick"));
    let there = "cd gone && exec \"$@\"";
    let minion =
        Minion::spawn(&mut sandbox.command_under(&["sh", "-c", there, "sh"], &["--km-binary", &km, "--grace=4s"]));
    events.next();
    events.next();
    fs::remove_dir_all(sandbox.path("gone")).unwrap();
    fs::write(sandbox.path("tick"), "\n\n").unwrap();
    assert_eq!([events.next(), events.next()], ["written", "written"]);
    let said = minion.stop().assert_code(0);
    assert!(
        said.contains("open the log executor.log: No such file or directory (hint: the sandbox was removed)"),
        "{said}"
    );
    sandbox.assert_deserted();
}
