//! `minion containers` on a real tree of many containers, against `systemd-cgls` and `find | xargs cat` on the same tree in the
//! same run. `cargo bench --bench containers [-- --containers N] [-- --processes N] [-- --runs N]`. Root, and v1 freezer and
//! memory hierarchies. Prints figures; asserts none.

#![allow(clippy::print_stdout, reason = "a bench prints")]

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MINION: &str = env!("CARGO_BIN_EXE_minion");
const HIERARCHIES: [&str; 2] = ["/sys/fs/cgroup/freezer", "/sys/fs/cgroup/memory"];
/// What a real executor has, with ids of the usual length.
const SANDBOX: &str = "/var/lib/mesos/slaves/2d23ec88-7b89-4675-8f88-cbbd29fd5c2d-S0/frameworks/\
                       6091d7c7-b435-477f-bbe7-70020452df9e-0000/executors/executor/runs/0c8c9b9e-8f0b-4f5c-9d8e-2f0b1a3c4d5e";

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |name: &str, default: usize| {
        let at = args.iter().position(|arg| arg == name);
        at.and_then(|at| args.get(at + 1)).map_or(default, |text| text.parse().expect("a number"))
    };
    if HIERARCHIES.iter().any(|hierarchy| !Path::new(hierarchy).join("cgroup.procs").exists()) {
        return println!("containers: no v1 freezer and memory hierarchies here");
    }
    let begin = Instant::now();
    let forest = Forest::plant(number("--containers", 5_000), number("--processes", 20_000));
    println!(
        "{} container cgroups in each of freezer and memory, {} processes, made in {:.1} s",
        forest.containers,
        forest.count(),
        begin.elapsed().as_secs_f64()
    );
    forest.compare(number("--runs", 7));
}

/// The cgroups and the processes in them. Dropped, all are gone; and should this process be killed, the processes end too,
/// because the last writer of their FIFO is gone.
struct Forest {
    name: String,
    containers: usize,
    directory: tempfile::TempDir,
    keeper: Option<OwnedFd>,
    shell: Option<Child>,
}

impl Forest {
    fn plant(containers: usize, processes: usize) -> Self {
        let name = format!("mesos-test-bench-{}", std::process::id());
        let directory = tempfile::tempdir().expect("a directory");
        let mut forest = Self { name, containers, directory, keeper: None, shell: None };
        for top in forest.tops() {
            fs::create_dir(&top).expect("root makes cgroups");
            (0..containers).for_each(|n| fs::create_dir(top.join(id(n))).expect("root makes cgroups"));
        }
        forest.populate(processes);
        forest
    }

    fn tops(&self) -> Vec<PathBuf> {
        HIERARCHIES.iter().map(|hierarchy| Path::new(hierarchy).join(&self.name)).collect()
    }

    /// A shell goes from container to container and forks in each: the cheapest processes there are, each waiting for the end
    /// of a FIFO.
    fn populate(&mut self, processes: usize) {
        let fifo = self.directory.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
        self.keeper = Some(open(&fifo, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).expect("it opens"));
        let each = processes.div_ceil(self.containers);
        let mut script = String::from("exec 9<$1; ");
        let mut left = processes;
        for n in 0..self.containers {
            for top in self.tops() {
                let _ = write!(script, "echo 0 >{}/{}/cgroup.procs; ", top.display(), id(n));
            }
            for _ in 0..each.min(left) {
                script.push_str("(read x <&9) & ");
            }
            left = left.saturating_sub(each);
            script.push('\n');
        }
        script.push_str("echo 0 >/sys/fs/cgroup/freezer/cgroup.procs; echo 0 >/sys/fs/cgroup/memory/cgroup.procs; echo ready; wait\n");
        let file = self.directory.path().join("script");
        fs::write(&file, script).expect("a script");
        let mut shell = Command::new("sh")
            .arg(file)
            .arg(fifo)
            .env_clear()
            .env("MESOS_DIRECTORY", SANDBOX)
            .env("MESOS_EXECUTOR_ID", "executor")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        let mut output = BufReader::new(shell.stdout.take().expect("a pipe"));
        self.shell = Some(shell);
        output.read_line(&mut line).expect("it speaks");
        assert_eq!(line, "ready\n", "the shell could not fork that many");
    }

    fn count(&self) -> usize {
        let top = &self.tops()[0];
        let procs = |n| fs::read_to_string(top.join(id(n)).join("cgroup.procs")).map_or(0, |text| text.lines().count());
        (0..self.containers).map(procs).sum()
    }

    fn compare(&self, runs: usize) {
        let tops: Vec<String> = self.tops().iter().map(|top| top.display().to_string()).collect();
        let cat = format!(
            "find {} \\( -name cgroup.procs -o -name memory.usage_in_bytes -o -name memory.limit_in_bytes -o -name \
             memory.oom_control \\) -print0 | xargs -0 cat",
            tops.join(" ")
        );
        let freezer = format!("freezer:/{}", self.name);
        let rivals: [(&str, Vec<&str>); 4] = [
            ("minion containers --json", vec![MINION, "containers", "--json", "--root", &self.name]),
            ("minion containers", vec![MINION, "containers", "--root", &self.name]),
            ("find | xargs cat of the same files", vec!["sh", "-c", &cat]),
            ("systemd-cgls, freezer alone", vec!["systemd-cgls", "--no-pager", &freezer]),
        ];
        let mut times = vec![Vec::new(); rivals.len()];
        let (mut trees, mut proc) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            for ((_, command), times) in rivals.iter().zip(&mut times) {
                let begin = Instant::now();
                let Ok(output) = Command::new(command[0]).args(&command[1..]).output() else { continue };
                times.push(begin.elapsed());
                if command.contains(&"--json") {
                    let seen: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
                    assert_eq!(seen["containers"].as_array().map(Vec::len), Some(self.containers), "all are seen");
                    let part = |name: &str| Duration::from_micros(seen["took"][name].as_u64().expect("a time"));
                    trees.push(part("trees_us"));
                    proc.push(part("proc_us"));
                }
            }
        }
        let ours = print(rivals[0].0, &mut times[0], None).expect("minion runs");
        print("  of that, the trees", &mut trees, None);
        print("  of that, /proc", &mut proc, None);
        for ((name, _), times) in rivals.iter().zip(&mut times).skip(1) {
            if print(name, times, Some(ours)).is_none() {
                println!("{name}: not installed");
            }
        }
    }
}

impl Drop for Forest {
    fn drop(&mut self) {
        self.keeper = None;
        if let Some(mut shell) = self.shell.take() {
            // It waits for all of them.
            let _ = shell.wait();
        }
        for top in self.tops() {
            for n in 0..self.containers {
                remove(&top.join(id(n)));
            }
            remove(&top);
        }
    }
}

/// The kernel lets go of a dead process a moment after its parent has heard of it.
fn remove(cgroup: &Path) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while fs::remove_dir(cgroup).is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
        && Instant::now() < deadline
    {}
}

fn id(n: usize) -> String {
    format!("0c8c9b9e-8f0b-4f5c-9d8e-{n:012x}")
}

fn print(what: &str, times: &mut [Duration], ours: Option<Duration>) -> Option<Duration> {
    times.sort_unstable();
    let (first, median, last) = (times.first()?, *times.get(times.len() / 2)?, times.last()?);
    let ms = |time: &Duration| time.as_secs_f64() * 1e3;
    let ratio = ours.map_or_else(String::new, |ours| format!(", {:.2} x minion's", ms(&median) / ms(&ours)));
    println!("{what}: median {:.0} ms [{:.0} - {:.0}], n={}{ratio}", ms(&median), ms(first), ms(last), times.len());
    Some(median)
}
