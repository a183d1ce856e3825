//! Start, restart, stop and idle of the main job, measured on the release binary with children that stamp their first
//! instruction. `cargo bench --bench life [-- --idle SECONDS] [-- --runs N]`. Prints figures; asserts none.

#![allow(clippy::print_stdout, reason = "helpers fail and print as tests do")]

mod stamps;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use stamps::{Stamps, ms, number, wait};

const MINION: &str = env!("CARGO_BIN_EXE_minion");

fn main() {
    let runs = number("--runs", 40);
    let bench = Bench::new();
    println!("minion {MINION}, {} bytes", fs::metadata(MINION).expect("it is built").len());
    bench.starts_and_stops(runs);
    bench.restarts(runs);
    bench.idle(Duration::from_secs(number("--idle", 60)));
    bench.system_calls();
}

struct Bench {
    directory: tempfile::TempDir,
    fifo: PathBuf,
}

struct Running {
    child: Child,
    stamps: Stamps,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        stamps::build("stamp.c", &[], &directory.path().join("km"));
        let fifo = directory.path().join("stamps");
        stamps::make_fifo(&fifo);
        Self { directory, fifo }
    }

    fn command(&self, extra: &[&str]) -> Vec<OsString> {
        let km = self.directory.path().join("km");
        let mut command: Vec<OsString> = vec![km.into(), "launch".into(), MINION.into(), "run".into()];
        command.extend(["--api-servers=http://10.0.0.1:8888", "--hostname-override=agent7"].map(OsString::from));
        command.push({
            let mut flag = OsString::from("--km-binary=");
            flag.push(self.directory.path().join("km"));
            flag
        });
        command.extend(extra.iter().map(OsString::from));
        command
    }

    fn start(&self, extra: &[&str], env: &[(&str, &str)]) -> Running {
        let stamps = Stamps::open(&self.fifo);
        let command = self.command(extra);
        let child = Command::new(&command[0])
            .args(&command[1..])
            .current_dir(self.directory.path())
            .env("STAMP_FIFO", &self.fifo)
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        Running { child, stamps }
    }

    fn starts_and_stops(&self, runs: u64) {
        let (mut first, mut both, mut stop) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..runs {
            let mut running = self.start(&[], &[]);
            let launch = running.stamp("launch");
            let (a, b) = (running.any(), running.any());
            first.push(a.min(b) - launch);
            both.push(a.max(b) - launch);
            running.settle();
            stop.push(running.stop());
        }
        print("exec of minion -> first child's first instruction", &mut first);
        print("exec of minion -> both children's first instruction", &mut both);
        print("SIGTERM -> exit, well-behaved children", &mut stop);
    }

    fn restarts(&self, runs: u64) {
        for lives in ["20", "1200"] {
            let runs = if lives == "20" { runs } else { runs.min(5) };
            let mut running = self.start(&["--restart-delay=0"], &[("STAMP_PROXY_LIVES_MS", lives)]);
            let mut gaps = Vec::new();
            for _ in 0..runs {
                let exit = running.stamp("exit");
                gaps.push(running.stamp("proxy") - exit);
            }
            running.stop();
            print(&format!("death of the proxy after {lives} ms -> next one's first instruction"), &mut gaps);
        }
    }

    fn idle(&self, time: Duration) {
        let mut running = self.start(&[], &[]);
        running.stamp("launch");
        running.any();
        running.any();
        running.settle();
        let pid = running.child.id();
        // The placement is checked 1, 10 and 60 s after a start: idle begins after the second, and the third is part of it.
        wait(Duration::from_secs(if time > Duration::from_secs(20) { 12 } else { 2 }));
        let before = switches(pid);
        wait(time);
        let after = switches(pid);
        println!("voluntary context switches in {} s idle, per thread: {before:?} -> {after:?}", time.as_secs());
        for line in fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("it lives").lines() {
            if ["Rss:", "Pss:", "Private_Dirty:", "Private_Clean:"].iter().any(|name| line.starts_with(name)) {
                println!("idle {line}");
            }
        }
        println!("idle threads: {}", fs::read_dir(format!("/proc/{pid}/task")).expect("it lives").count());
        println!("idle fds: {}", fs::read_dir(format!("/proc/{pid}/fd")).expect("it lives").count());
        running.stop();
    }

    fn system_calls(&self) {
        let log = self.directory.path().join("strace");
        let command = self.command(&[]);
        let stamps = Stamps::open(&self.fifo);
        let traced = Command::new("strace")
            .args(["-f", "-qq", "-o"])
            .arg(&log)
            .args(&command[2..])
            .current_dir(self.directory.path())
            .env("STAMP_FIFO", &self.fifo)
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = traced else { return println!("system calls: strace is not installed") };
        let mut running = Running { child, stamps };
        running.any();
        running.any();
        let text = fs::read_to_string(&log).expect("strace wrote");
        let minion = text.lines().find_map(|line| line.split(' ').next()).expect("a line").to_owned();
        if let Some(pid) = Pid::from_raw(minion.parse().expect("a pid")) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = running.child.wait();
        println!("system calls from exec to the last child's exec, all threads: {}", calls_until_last_exec(&text));
    }
}

impl Running {
    fn any(&mut self) -> u64 {
        self.stamps.any()
    }

    fn stamp(&mut self, wanted: &str) -> u64 {
        self.stamps.stamp(wanted)
    }

    /// Until its log lines of the start are written.
    fn settle(&self) {
        wait(Duration::from_millis(30));
        assert!(Path::new(&format!("/proc/{}", self.child.id())).exists(), "minion lives");
    }

    fn stop(&mut self) -> u64 {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid");
        let begin = Instant::now();
        kill_process(pid, Signal::TERM).expect("it is there");
        let status = self.child.wait().expect("it ends");
        let took = begin.elapsed();
        assert!(status.success(), "{status}");
        u64::try_from(took.as_nanos()).expect("short")
    }
}

/// Of minion, and of each child before its exec: a call that strace shows in two halves is one, and what a program does
/// behind its exec is its own.
fn calls_until_last_exec(trace: &str) -> usize {
    let calls: Vec<(&str, &str)> = trace.lines().filter_map(|line| line.split_once(' ')).collect();
    let (minion, _) = calls[0];
    let last = calls.iter().rposition(|(_, call)| call.trim_start().starts_with("execve(")).expect("an exec");
    let mut executed = std::collections::HashSet::new();
    let mut count = 0;
    for (pid, call) in &calls[..=last] {
        let call = call.trim_start();
        if call.starts_with("<...") || call.starts_with("---") || executed.contains(pid) {
            continue;
        }
        count += 1;
        if call.starts_with("execve(") && *pid != minion {
            executed.insert(*pid);
        }
    }
    count
}

fn switches(pid: u32) -> Vec<u64> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it lives");
    let mut counts: Vec<u64> = tasks
        .flatten()
        .map(|task| {
            let status = fs::read_to_string(task.path().join("status")).expect("it lives");
            let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).expect("a line");
            line.split_whitespace().nth(1).and_then(|count| count.parse().ok()).expect("a count")
        })
        .collect();
    counts.sort_unstable();
    counts
}

fn print(what: &str, nanos: &mut [u64]) {
    nanos.sort_unstable();
    println!(
        "{what}: median {:.2} ms [{:.2} - {:.2}], n={}",
        ms(nanos[nanos.len() / 2]),
        ms(nanos[0]),
        ms(nanos[nanos.len() - 1]),
        nanos.len()
    );
}
