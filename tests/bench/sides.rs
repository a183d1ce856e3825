//! The supervisors that are compared, each with the least that it needs for the job.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

pub(crate) const MINION: &str = env!("CARGO_BIN_EXE_minion");

/// Who supervises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Minion,
    S6,
    S6Logged,
    Supervisord,
}

impl Side {
    pub(crate) const ALL: [Self; 4] = [Self::Minion, Self::S6, Self::S6Logged, Self::Supervisord];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Minion => "minion",
            Self::S6 => "s6, no logs",
            Self::S6Logged => "s6 and s6-log",
            Self::Supervisord => "supervisord",
        }
    }

    /// The program; where there is none, what to say of that.
    pub(crate) fn program(self) -> Result<PathBuf, String> {
        let name = match self {
            Self::Minion => return Ok(MINION.into()),
            Self::S6 | Self::S6Logged => "s6-svscan",
            Self::Supervisord => "supervisord",
        };
        let path = std::env::var("PATH").unwrap_or_default();
        let found = path.split(':').map(|directory| Path::new(directory).join(name)).find(|program| program.exists());
        found.ok_or_else(|| format!("SKIP {}: no {name} in PATH; tests/setup installs it", self.name()))
    }

    /// Writes what it reads into an empty directory: its arguments for an executor and so many sidecars.
    pub(crate) fn prepare(self, directory: &Path, sidecar: &Path, count: usize) -> Vec<OsString> {
        match self {
            Self::Minion => minion(directory, &plan(sidecar, count)),
            Self::S6 | Self::S6Logged => s6(directory, sidecar, count + 1, self == Self::S6Logged),
            Self::Supervisord => supervisord(directory, sidecar, count + 1),
        }
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// minion on a file of tasks.
pub(crate) fn minion(directory: &Path, file: &str) -> Vec<OsString> {
    fs::write(directory.join("tasks.toml"), file).expect("it is written");
    words(&["supervise", "--config=tasks.toml"])
}

fn plan(sidecar: &Path, count: usize) -> String {
    let mut file = format!("[executor]\ncommand = [{sidecar:?}]\n");
    for n in 0..count {
        write!(file, "[[sidecar]]\nname = 's{n}'\ncommand = [{sidecar:?}]\n").expect("text");
    }
    file
}

/// A scan directory. `run` is the program itself, not a script, which is the fastest that there is; so are loggers plain
/// `s6-log`, in the way of its manual.
fn s6(directory: &Path, sidecar: &Path, count: usize, logged: bool) -> Vec<OsString> {
    for n in 0..count {
        let service = directory.join(format!("services/s{n}"));
        fs::create_dir_all(&service).expect("a directory");
        symlink(sidecar, service.join("run")).expect("a link");
        if logged {
            let run = service.join("log/run");
            fs::create_dir(service.join("log")).expect("a directory");
            fs::write(&run, "#!/bin/execlineb -P\ns6-log n5 s10485760 ./main\n").expect("it is written");
            fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
    }
    // As many services as there are, loggers too: its default is 500.
    words(&["-c", "1000", "services"])
}

/// One log a program, rotated as minion's are. `startsecs=0`: running as soon as it is started, so nothing is waited for. One
/// group: several are ended one after the other.
fn supervisord(directory: &Path, sidecar: &Path, count: usize) -> Vec<OsString> {
    let here = directory.display();
    let mut file = format!(
        "[supervisord]\nnodaemon=true\nuser=root\nminfds=4096\nlogfile={here}/own.log\npidfile={here}/pid\nchildlogdir={here}\n"
    );
    for n in 0..count {
        write!(
            file,
            "[program:s{n}]\ncommand={}\nstartsecs=0\nautorestart=true\nredirect_stderr=true\n\
             stdout_logfile={here}/s{n}.log\nstdout_logfile_maxbytes=10MB\nstdout_logfile_backups=5\n",
            sidecar.display()
        )
        .expect("text");
    }
    let names: Vec<String> = (0..count).map(|n| format!("s{n}")).collect();
    write!(file, "[group:all]\nprograms={}\n", names.join(",")).expect("text");
    fs::write(directory.join("supervisord.conf"), file).expect("it is written");
    words(&["-c", "supervisord.conf"])
}
