//! Throughput and CPU of the log relay, beside the same writer straight to a file and through `cat > file`.
//!
//! `cargo bench --bench relay [-- MIB_OF_LINES MIB_OF_BLOCKS ROUNDS]`. All sides run in one go, interleaved, on /dev/shm.
//! The machine may be noisy: compare the ratios.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, clippy::unwrap_used)]

use minion::log::{Diagnostics, LogThread, Policy, Report, StreamId};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const DIRECTORY: &str = "/dev/shm/minion-bench-relay";
const MIB: u64 = 1024 * 1024;

#[derive(Clone, Copy)]
enum Side {
    File,
    Cat,
    Minion,
    /// With `gzip` on: while it packs, a round of the relay is longer by one slice.
    Packing,
}

struct Figure {
    rate: f64,
    cpu: f64,
    switches: u64,
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    if let [size, total] = numbers[..]
        && std::env::args().any(|word| word == "--write")
    {
        return write(size, total);
    }
    let amount = |index: usize, default| numbers.get(index).copied().unwrap_or(default);
    let rounds = amount(2, 5);
    for (size, total) in [(100, amount(0, 256) * MIB), (4096, amount(1, 1024) * MIB), (8192, amount(1, 1024) * MIB)] {
        let mut sides = [Side::File, Side::Cat, Side::Minion, Side::Packing].map(|side| (side, Vec::new()));
        for _ in 0..rounds {
            for (side, figures) in &mut sides {
                figures.push(measure(*side, size, total));
            }
        }
        report(size, total, &sides);
    }
    let _ = fs::remove_dir_all(DIRECTORY);
}

/// The writer: a process of its own, so that its CPU is not counted.
fn write(size: u64, total: u64) {
    let line = format!("{:099}\n", 7);
    let block: Vec<u8> = line.bytes().cycle().take(usize::try_from(size).unwrap()).collect();
    let mut stdout = File::from(rustix::io::dup(rustix::stdio::stdout()).unwrap());
    for _ in 0..total / size {
        stdout.write_all(&block).unwrap();
    }
}

fn measure(side: Side, size: u64, total: u64) -> Figure {
    let _ = fs::remove_dir_all(DIRECTORY);
    fs::create_dir(DIRECTORY).unwrap();
    let path = Path::new(DIRECTORY).join("plain.log");
    let mut writer = Command::new(std::env::current_exe().unwrap());
    writer.args(["--write".to_owned(), size.to_string(), total.to_string()]);
    let start = Instant::now();
    let (elapsed, cpu, switches) = match side {
        Side::File => {
            writer.stdout(File::create(path).unwrap()).status().unwrap();
            (start.elapsed(), 0.0, 0)
        }
        Side::Cat => {
            let (from, into) = pipe_with(PipeFlags::CLOEXEC).unwrap();
            let mut reader =
                Command::new("cat").stdin(Stdio::from(from)).stdout(File::create(path).unwrap()).spawn().unwrap();
            let mut child = writer.stdout(Stdio::from(into)).spawn().unwrap();
            drop(writer);
            child.wait().unwrap();
            let between = Usage::of_children();
            reader.wait().unwrap();
            let after = Usage::of_children();
            (start.elapsed(), after.cpu - between.cpu, after.switches - between.switches)
        }
        Side::Minion => relay(writer, size, total, false),
        Side::Packing => relay(writer, size, total, true),
    };
    Figure { rate: total as f64 / 1e6 / elapsed.as_secs_f64(), cpu: cpu / (total as f64 / 1e9), switches }
}

fn relay(mut writer: Command, size: u64, total: u64, gzip: bool) -> (Duration, f64, u64) {
    let policy = Policy {
        max_size: 10 * MIB,
        max_age: Some(Duration::from_secs(7 * 86_400)),
        max_backups: 5,
        gzip,
        stall: Duration::from_secs(5),
    };
    let directory = OwnedFd::from(File::open(DIRECTORY).unwrap());
    let mut log =
        LogThread::prepare(directory, policy, Diagnostics::new(|lost| format!("{lost} lines lost\n")).unwrap())
            .unwrap();
    let id = log.open("executor").unwrap();
    log.start().unwrap();
    let before = Usage::of_self();
    let start = Instant::now();
    let (from, into) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    log.relay(id, StreamId(1), from);
    let mut child = writer.stdout(Stdio::from(into)).spawn().unwrap();
    drop(writer);
    poll(&mut [PollFd::from_borrowed_fd(log.doorbell(), PollFlags::IN)], None).unwrap();
    let elapsed = start.elapsed();
    let ended = log.reports();
    assert!(matches!(ended[..], [Report::Ended { bytes, dropped: 0, .. }] if bytes == total / size * size));
    let after = Usage::of_self();
    child.wait().unwrap();
    assert!(log.stop(Duration::from_secs(5), Instant::now() + Duration::from_secs(5)));
    (elapsed, after.cpu - before.cpu, after.switches - before.switches)
}

/// CPU seconds and voluntary context switches.
struct Usage {
    cpu: f64,
    switches: u64,
}

impl Usage {
    fn of_self() -> Self {
        Self::of(nix::sys::resource::UsageWho::RUSAGE_SELF)
    }

    fn of_children() -> Self {
        Self::of(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)
    }

    fn of(who: nix::sys::resource::UsageWho) -> Self {
        let usage = nix::sys::resource::getrusage(who).unwrap();
        let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        Self {
            cpu: seconds(usage.user_time()) + seconds(usage.system_time()),
            switches: u64::try_from(usage.voluntary_context_switches()).unwrap_or(0),
        }
    }
}

fn report(size: u64, total: u64, sides: &[(Side, Vec<Figure>); 4]) {
    let median = |figures: &[Figure], of: fn(&Figure) -> f64| {
        let mut values: Vec<f64> = figures.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let [file, through_cat, minion, packing] = sides;
    let cat_rate = median(&through_cat.1, |figure| figure.rate);
    println!("\n{size}-byte writes, {} MiB, tmpfs, {} rounds, medians", total / MIB, minion.1.len());
    println!("{:<16}{:>8}{:>14}{:>12}{:>12}", "", "MB/s", "CPU s/GB", "switches", "rate/cat");
    for (name, (_, figures)) in
        [("straight to file", file), ("cat > file", through_cat), ("minion", minion), ("minion, gzip", packing)]
    {
        let rate = median(figures, |figure| figure.rate);
        let cpu = median(figures, |figure| figure.cpu);
        let switches = median(figures, |figure| figure.switches as f64);
        println!("{name:<16}{rate:>8.0}{cpu:>14.2}{switches:>12.0}{:>12.2}", rate / cat_rate);
    }
}
