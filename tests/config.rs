//! The file of `minion supervise`: where each key lands, the exact text of each refusal, and what is printed of it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers fail as tests do")]

mod common;
#[path = "config/examples.rs"]
mod examples;
#[path = "config/keys.rs"]
mod keys;
#[path = "config/outputs.rs"]
mod outputs;
#[path = "config/program.rs"]
mod program;
#[path = "config/properties.rs"]
mod properties;
#[path = "config/refusals.rs"]
mod refusals;
#[path = "config/schema.rs"]
mod schema;
#[path = "config/started.rs"]
mod started;

use minion::config::{self, Context, Loaded, Problem};
use minion::task::TaskSpec;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

/// A machine without a file but these; programs are `/bin/prog`, `/bin/sh`, `/opt/prog` and three in the sandbox;
/// directories are `/d` and `d` in the sandbox.
struct Machine<'a> {
    env: Vec<(&'a str, &'a str)>,
    command: Vec<&'a str>,
    files: Vec<(&'a str, &'a str)>,
}

impl<'a> Machine<'a> {
    fn new() -> Self {
        let passwd = "root:x:0:0::/root:/bin/sh\nkube:x:700:701::/:/bin/false\n";
        let group = "root:x:0:\nkube:x:701:\ndocker:x:702:kube\n";
        Self {
            env: vec![("PATH", "relative:/usr/bin:/bin"), ("HOME", "/root")],
            command: Vec::new(),
            files: vec![("/etc/passwd", passwd), ("/etc/group", group)],
        }
    }

    fn command(self, command: &[&'a str]) -> Self {
        Self { command: command.to_vec(), ..self }
    }

    fn file(mut self, path: &'a str, text: &'a str) -> Self {
        self.files.push((path, text));
        self
    }

    fn with<R>(&self, act: impl FnOnce(&Context<'_>) -> R) -> R {
        let read = |path: &Path| {
            let found = self.files.iter().find(|(there, _)| path == Path::new(there));
            found.map(|(_, text)| text.as_bytes().to_vec()).ok_or(io::Error::from_raw_os_error(libc::ENOENT))
        };
        let sandbox = ["/sandbox/km", "/sandbox/bin/tool", "/sandbox/sub/tool"];
        let programs = [&["/bin/prog", "/bin/sh", "/opt/prog", "relative/prog"], &sandbox[..]].concat();
        act(&Context {
            environment: &self.env.iter().map(|(k, v)| (k.into(), v.into())).collect::<Vec<(OsString, OsString)>>(),
            directory: Some("/sandbox".into()),
            command: &self.command.iter().map(OsString::from).collect::<Vec<_>>(),
            restart_delay: Duration::from_secs(5),
            restart_delay_max: Duration::from_secs(60),
            read: &read,
            is_executable: &|path| programs.iter().any(|program| path == Path::new(program)),
            is_directory: &|path| path == Path::new("/d") || path == Path::new("/sandbox/d"),
        })
    }

    fn load(&self, text: &str) -> Result<Loaded, Vec<Problem>> {
        self.with(|context| config::load(text, Path::new("m.toml"), context))
    }

    fn loaded(&self, text: &str) -> Loaded {
        self.load(text).unwrap_or_else(|problems| panic!("{text}\n{problems:#?}"))
    }

    /// The problems, one a line.
    fn refused(&self, text: &str) -> String {
        match self.load(text) {
            Err(problems) => problems.iter().map(ToString::to_string).map(|line| line + "\n").collect(),
            Ok(loaded) => panic!("{text}\n{loaded:#?}"),
        }
    }
}

/// The sidecar `s` with these lines, beside an executor.
fn sidecar(lines: &str) -> TaskSpec {
    Machine::new().loaded(&beside_executor(lines)).tasks.swap_remove(0)
}

fn beside_executor(lines: &str) -> String {
    format!("executor.command = [\"/bin/prog\"]\n[[sidecar]]\nname = \"s\"\ncommand = [\"/bin/prog\"]\n{lines}\n")
}

/// The executor with these lines.
fn executor(lines: &str) -> TaskSpec {
    Machine::new().loaded(&format!("[executor]\ncommand = [\"/bin/prog\"]\n{lines}\n")).tasks.swap_remove(0)
}
