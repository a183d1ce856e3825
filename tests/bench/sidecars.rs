//! An executor with 1, 10 and 200 sidecars: start, stop and memory of `minion supervise`, beside s6 and supervisord, in one
//! run and in interleaved rounds; then what an order costs.
//!
//! `cargo bench --bench sidecars [-- --rounds N] [-- --order N]`. `tests/setup` installs the others. Prints figures and
//! ratios; asserts none.
//!
//! What each side does: it starts N + 1 programs of `sidecar.c` in a new directory, N sidecars and the executor, which is to
//! the others one service more. Nothing waits for anything.
//!
//! - minion: `minion supervise --config`, with a log for each task, which is never without.
//! - s6: `s6-svscan` on a scan directory, with no logs, and again with an `s6-log` for each service. `run` is the program.
//! - supervisord: nodaemon, `startsecs=0`, a log for each program.
//!
//! Start is from the exec of the supervisor to the first instruction of its last child. Stop is from SIGTERM, which each of
//! them takes for "end all and exit", until the supervisor is dead and a FIFO that each child holds open is at its end. It
//! comes 1.2 s after the start: s6-supervise makes a service that lived shorter than a second wait. Memory is the PSS of all
//! processes below and with the supervisor that are not the programs, loggers included, a second after the start.

#![allow(clippy::print_stdout, reason = "helpers fail and print as tests do")]

mod sides;
mod stamps;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use sides::Side;
use stamps::{Stamps, ms, number, wait};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// So long may anything take.
const DEADLINE: Duration = Duration::from_secs(60);

fn main() {
    let bench = Bench::new();
    println!("load {}", fs::read_to_string("/proc/loadavg").expect("it is there").trim());
    let mut sides = Vec::new();
    for side in Side::ALL {
        match side.program() {
            Ok(program) => sides.push((side, program)),
            Err(missing) => println!("{missing}"),
        }
    }
    let (rounds, orders) = (number("--rounds", 10), number("--order", 10));
    for count in [1, 10, 200].into_iter().filter(|_| rounds > 0) {
        bench.compare(&sides, count, rounds);
    }
    for delay in [20, 0].into_iter().filter(|_| orders > 0) {
        bench.order(delay, orders);
    }
    println!("load {}", fs::read_to_string("/proc/loadavg").expect("it is there").trim());
}

struct Bench {
    sidecar: PathBuf,
    /// All that is written, until the end: ext4 does not take the inode of a file that was removed in the last minutes, and a
    /// new file then costs a search among those of the rounds before.
    all: tempfile::TempDir,
}

/// A supervisor at work in a directory of its own.
struct Running {
    child: Child,
    stamps: Stamps,
    lifeline: File,
}

/// What was seen of a side.
#[derive(Default)]
struct Figures {
    start: Vec<u64>,
    stop: Vec<u64>,
    memory: Vec<u64>,
    processes: usize,
}

impl Bench {
    fn new() -> Self {
        let all = tempfile::tempdir().expect("a directory");
        let sidecar = all.path().join("sidecar");
        stamps::build("sidecar.c", &["-nostdlib"], &sidecar);
        Self { sidecar, all }
    }

    fn start(&self, program: &Path, prepare: impl FnOnce(&Path) -> Vec<OsString>) -> Running {
        let directory = tempfile::tempdir_in(self.all.path()).expect("a directory").keep();
        let args = prepare(&directory);
        let [fifo, lifeline] = ["stamps", "lifeline"].map(|name| directory.join(name));
        stamps::make_fifo(&fifo);
        stamps::make_fifo(&lifeline);
        let stamps = Stamps::open(&fifo);
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).expect("a flag");
        let held = OpenOptions::new().read(true).custom_flags(nonblocking).open(&lifeline).expect("the fifo opens");
        let child = Command::new(&self.sidecar)
            .arg("launch")
            .arg(program)
            .args(args)
            .current_dir(&directory)
            .env("STAMP_FIFO", &fifo)
            .env("LIFELINE", &lifeline)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        Running { child, stamps, lifeline: held }
    }

    fn compare(&self, sides: &[(Side, PathBuf)], count: usize, rounds: u64) {
        let mut figures: Vec<Figures> = sides.iter().map(|_| Figures::default()).collect();
        for _ in 0..rounds {
            for ((side, program), figures) in sides.iter().zip(&mut figures) {
                let mut running = self.start(program, |directory| side.prepare(directory, &self.sidecar, count));
                let launch = running.stamps.stamp("launch");
                let last = (0..=count).map(|_| running.stamps.any()).max().expect("at least one");
                figures.start.push(last - launch);
                wait(Duration::from_millis(1200));
                let (memory, processes) = running.memory(&self.sidecar);
                figures.memory.push(memory);
                figures.processes = processes;
                figures.stop.push(running.stop());
            }
        }
        println!(
            "\n{count} sidecars and an executor, {rounds} rounds: median [least - most], and the ratio to minion's"
        );
        let own = figures.first_mut().map_or([1, 1, 1], Figures::medians);
        for ((side, _), figures) in sides.iter().zip(&mut figures) {
            let [start, stop, memory] = figures.medians();
            println!(
                "  {:<14} start {} ms {:>6}   stop {} ms {:>6}   memory {memory:>6} kB in {:>3} processes {:>6}",
                side.name(),
                spread(&figures.start),
                ratio(start, own[0]),
                spread(&figures.stop),
                ratio(stop, own[1]),
                figures.processes,
                ratio(memory, own[2]),
            );
        }
    }

    /// From the exec of minion to the executor, which comes after all: a plan 20 wide and 10 deep beside one of its columns.
    /// Each sidecar says on its fd that it is ready so many milliseconds after its start.
    fn order(&self, delay: u64, rounds: u64) {
        let plans =
            [("10 deep, 1 wide", 1, false), ("10 deep, 20 wide", 20, false), ("the same, each after all", 20, true)];
        let mut times = plans.map(|_| Vec::new());
        for _ in 0..rounds {
            for ((_, width, all), times) in plans.iter().zip(&mut times) {
                let file = self.ordered(*width, delay, *all);
                let mut running = self.start(sides::MINION.as_ref(), |directory| sides::minion(directory, &file));
                let launch = running.stamps.stamp("launch");
                times.push(running.stamps.stamp("executor") - launch);
                running.stop();
            }
        }
        println!(
            "\nan order of sidecars, each ready {delay} ms after its start: exec of minion to the executor, {rounds} rounds"
        );
        for times in &mut times {
            times.sort_unstable();
        }
        let chain = times[0][times[0].len() / 2];
        for ((name, ..), times) in plans.iter().zip(&times) {
            println!("  {name:<26} {} ms {:>6}", spread(times), ratio(times[times.len() / 2], chain));
        }
    }

    fn ordered(&self, width: usize, delay: u64, all: bool) -> String {
        let names =
            |level: usize| (0..width).map(|column| format!("'s{level}-{column}'")).collect::<Vec<_>>().join(", ");
        let sidecar = &self.sidecar;
        let mut file = format!("[executor]\ncommand = [{sidecar:?}, 'executor']\nafter = [{}]\n", names(9));
        for (level, column) in (0..10).flat_map(|level| (0..width).map(move |column| (level, column))) {
            let after = match (level, all) {
                (0, _) => String::new(),
                (_, true) => names(level - 1),
                (_, false) => format!("'s{}-{column}'", level - 1),
            };
            write!(
                file,
                "[[sidecar]]\nname = 's{level}-{column}'\ncommand = [{sidecar:?}, 'up', '{delay}']\n\
                 readiness = {{ fd = 7 }}\nafter = [{after}]\n"
            )
            .expect("text");
        }
        file
    }
}

impl Running {
    /// The PSS, in kB, of the supervisor and of all below it but the programs; and how many processes that are.
    fn memory(&self, sidecar: &Path) -> (u64, usize) {
        let program = fs::metadata(sidecar).expect("it is there").ino();
        let parents = parents();
        let mut tree = vec![self.child.id()];
        let mut next = 0;
        while let Some(parent) = tree.get(next).copied() {
            tree.extend(parents.iter().filter(|(_, its)| *its == parent).map(|(pid, _)| *pid));
            next += 1;
        }
        let is_program = |pid: &u32| fs::metadata(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ino() == program);
        tree.retain(|pid| !is_program(pid));
        (tree.iter().map(|pid| pss(*pid)).sum(), tree.len())
    }

    /// SIGTERM until the supervisor is dead and no program holds the lifeline.
    fn stop(&mut self) -> u64 {
        let pidfd = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()).expect("it lives");
        let begin = Instant::now();
        pidfd_send_signal(&pidfd, Signal::TERM).expect("it lives");
        ended(pidfd.as_fd(), PollFlags::IN);
        ended(self.lifeline.as_fd(), PollFlags::empty());
        let took = begin.elapsed();
        self.child.wait().expect("it is dead");
        u64::try_from(took.as_nanos()).expect("short")
    }
}

fn ended(fd: std::os::fd::BorrowedFd<'_>, interest: PollFlags) {
    let time = Timespec::try_from(DEADLINE).expect("short");
    let ready = poll(&mut [PollFd::from_borrowed_fd(fd, interest)], Some(&time)).expect("poll");
    assert_eq!(ready, 1, "it does not end");
}

/// Every process of the machine with its parent.
fn parents() -> Vec<(u32, u32)> {
    let pids = fs::read_dir("/proc").expect("it is mounted").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some((pid, stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?))
    })
    .collect()
}

fn pss(pid: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

impl Figures {
    fn medians(&mut self) -> [u64; 3] {
        [&mut self.start, &mut self.stop, &mut self.memory].map(|values| {
            values.sort_unstable();
            values[values.len() / 2]
        })
    }
}

/// Of sorted times.
fn spread(times: &[u64]) -> String {
    let (least, median, most) = (ms(times[0]), ms(times[times.len() / 2]), ms(times[times.len() - 1]));
    format!("{median:>7.1} [{least:.1} - {most:.1}]")
}

fn ratio(value: u64, own: u64) -> String {
    let hundredths = value * 100 / own.max(1);
    format!("{}.{:02}x", hundredths / 100, hundredths % 100)
}
