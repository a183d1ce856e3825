//! What a look costs: system calls, counted by strace.

use super::common::minion as program;
use super::common::minion::{Minion, Sandbox};
use super::need;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The system calls of `minion why WORD` in a directory.
fn calls(word: &str, directory: &Path) -> usize {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut strace = Command::new("strace");
    strace.arg("-f").arg("-o").arg(log.path()).args([program(), "why", word]).current_dir(directory);
    let output = strace.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 2 || !output.stdout.is_empty()), "{text}");
    let calls = fs::read_to_string(log.path()).unwrap();
    calls.lines().filter(|line| line.contains('(') && !line.contains("+++")).count()
}

/// Pids with a program: what anybody who looks for a program has to look at.
fn programs() -> usize {
    let pids = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok())
            && fs::read_link(entry.path().join("exe"))
                .map_or_else(|e| e.kind() != std::io::ErrorKind::NotFound, |_| true)
    });
    pids.count()
}

#[test]
fn a_task_costs_at_most_300_calls_and_from_elsewhere_one_more_for_each_process() {
    need!("strace");
    let (sandbox, name) = (Sandbox::with_stand_in(), format!("side-{}", std::process::id()));
    fs::write(sandbox.path("side.toml"), format!("[[sidecar]]\nname = \"{name}\"\ncommand = [\"sleep\", \"1000\"]\n"))
        .unwrap();
    let mut command = Command::new(program());
    command.args(["supervise", "--cgroup-attach=off", "--config=side.toml", "--", "sleep", "1000"]);
    sandbox.mark(&mut command);
    let mut minion = Minion::spawn(&mut command);
    // Both: one that is amid its exec is looked at again and again.
    let mut started = [(); 2].map(|()| minion.says("started task="));
    started.sort_by_key(|line| !line.contains(&name));
    let main = started[0].split_once(" pid=").unwrap().1.split(' ').next().unwrap().to_owned();
    let (here, by_pid) = (calls(&name, &sandbox.path(".")), calls(&main, &sandbox.path(".")));
    assert!(here <= 300 && by_pid <= 300, "by name {here}, by pid {by_pid}");
    // A minion costs some more than another process, and other tests have theirs.
    let (elsewhere, programs) = (calls(&name, Path::new("/")), programs());
    assert!(elsewhere <= 300 + 3 * programs, "{elsewhere} with {programs} programs");
    minion.stop();
}
