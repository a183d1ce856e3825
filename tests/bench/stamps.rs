//! What the benchmarks of starts and stops share: programs that stamp their first instruction, and times.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Compiles one of the programs of this directory.
pub(crate) fn build(source: &str, flags: &[&str], program: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench").join(source);
    let built = Command::new("cc").args(["-O2", "-static"]).args(flags).arg("-o").arg(program).arg(source).status();
    let built = built.expect("cc runs");
    assert!(built.success(), "cc failed");
}

pub(crate) fn make_fifo(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a fifo");
}

/// The stamps as they come: a word and a time, in nanoseconds of the monotonic clock.
pub(crate) struct Stamps(BufReader<File>);

impl Stamps {
    /// Out of the FIFO that is `STAMP_FIFO` to the programs. It is open for writing here too, so it is never at its end.
    pub(crate) fn open(fifo: &Path) -> Self {
        Self(BufReader::new(OpenOptions::new().read(true).write(true).open(fifo).expect("the fifo opens")))
    }

    pub(crate) fn line(&mut self) -> (String, u64) {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a stamp");
        let (what, at) = line.trim().split_once(' ').expect("two words");
        (what.to_owned(), at.parse().expect("a number"))
    }

    pub(crate) fn any(&mut self) -> u64 {
        self.line().1
    }

    pub(crate) fn stamp(&mut self, wanted: &str) -> u64 {
        loop {
            let (what, at) = self.line();
            if what == wanted {
                return at;
            }
        }
    }
}

/// Not a sleep: a wait on an fd that nothing happens on, which is what idle is.
pub(crate) fn wait(time: Duration) {
    let (quiet, _keep) = rustix::pipe::pipe().expect("a pipe");
    let time = Timespec::try_from(time).expect("short");
    let _ = poll(&mut [PollFd::new(&quiet.as_fd(), PollFlags::IN)], Some(&time));
}

/// The number behind a flag of the benchmark's command line.
pub(crate) fn number(flag: &str, default: u64) -> u64 {
    let args: Vec<String> = std::env::args().collect();
    let at = args.iter().position(|arg| arg == flag);
    at.and_then(|at| args.get(at + 1)).map_or(default, |text| text.parse().expect("a number"))
}

pub(crate) fn ms(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64() * 1e3
}
