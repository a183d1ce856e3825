//! Processes to look at, and what `minion why` says of them.

use super::{DEADLINE, minion, wait_dead, wait_readable};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

/// A process of the test, ended and reaped when dropped. Its script says `ready` and then waits for a line.
pub struct Looked {
    pub child: Child,
}

impl Looked {
    /// A command whose standard output says a line when it is in the state to be looked at; returned without the line feed.
    pub fn start(command: &mut Command) -> (Self, String) {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut looked = Self { child };
        let line = looked.line();
        (looked, line)
    }

    /// The same from a shell script, which has to say a line. It waits at its end by itself.
    pub fn script(script: &str) -> (Self, String) {
        Self::start(Command::new("bash").args(["-c", &format!("{script}\nread -r forever")]))
    }

    /// A shell that waits.
    pub fn waiting() -> Self {
        Self::script("echo ready").0
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// The next line of its standard output.
    pub fn line(&mut self) -> String {
        let deadline = Instant::now() + DEADLINE;
        let output = self.child.stdout.as_mut().unwrap();
        let mut line = Vec::new();
        loop {
            assert!(wait_readable(output.as_fd(), deadline), "no line: {:?}", String::from_utf8_lossy(&line));
            let mut byte = [0];
            match output.read(&mut byte).unwrap() {
                1 if byte[0] != b'\n' => line.push(byte[0]),
                1 => return String::from_utf8(line).unwrap(),
                _ => panic!("ended after {:?}", String::from_utf8_lossy(&line)),
            }
        }
    }

    /// Puts it into a cgroup.
    pub fn enters_cgroup(&self, directory: &Path) {
        fs::write(directory.join("cgroup.procs"), self.pid().to_string())
            .unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    }
}

impl Drop for Looked {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A pid that a script printed, ended when dropped.
pub struct Stray(pub i32);

impl Drop for Stray {
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.0) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        wait_dead(self.0, Instant::now() + DEADLINE);
    }
}

/// What `minion why … --json` said.
pub struct Said {
    pub code: i32,
    pub json: Value,
    pub text: String,
    /// Whether its commands are pasted when it is dropped.
    pastes: bool,
}

/// A command of a remedy as a person gives it to a shell, where `minion` is this one.
///
/// It has to be understood and to find what it is about; what it then says or cannot do is another matter.
pub fn paste(command: &str) -> Output {
    paste_into(Command::new("sh").arg("-c"), command)
}

/// The same, into a command that takes a script as its last word.
pub fn paste_into(shell: &mut Command, command: &str) -> Output {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(minion(), directory.path().join("minion")).unwrap();
    let path = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap());
    let output = shell.arg(command).env("PATH", path).stdin(Stdio::null()).output().unwrap();
    let found = output.status.code().is_some_and(|code| code < 2 || (code == 2 && !output.stdout.is_empty()));
    assert!(found, "{command}: {output:?}");
    output
}

/// The commands of the findings in an answer, of `inspect`, `why` or `containers`.
pub fn commands(findings: &Value) -> Vec<String> {
    let each = findings.as_array().unwrap().iter().flat_map(|finding| finding["commands"].as_array().unwrap());
    each.map(|command| command.as_str().unwrap().to_owned()).collect()
}

impl Said {
    /// From what a `minion` printed.
    pub fn from(output: &Output) -> Self {
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let json = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text:?} {errors}"));
        Self { code: output.status.code().unwrap(), json, text, pastes: false }
    }

    /// The commands that its remedies name.
    pub fn commands(&self) -> Vec<String> {
        self.json["processes"].as_array().unwrap().iter().flat_map(|one| commands(&one["findings"])).collect()
    }

    /// What came of them, now and not in the end.
    pub fn pasted(&mut self) -> Vec<Output> {
        self.pastes = false;
        self.commands().iter().map(|command| paste(command)).collect()
    }

    /// The finding of this kind of the first process. Panics, with what there is, where there is none.
    pub fn finding(&self, kind: &str) -> &Value {
        let all = self.json["processes"][0]["findings"].as_array().unwrap_or_else(|| panic!("{}", self.text));
        let found = all.iter().find(|finding| finding["kind"] == kind);
        let kinds: Vec<&Value> = all.iter().map(|finding| &finding["kind"]).collect();
        let found = found.unwrap_or_else(|| panic!("no {kind} in {kinds:?}: {}", self.text));
        for sentence in ["expected", "actual", "cause", "remedy"] {
            assert!(found[sentence].as_str().is_some_and(|text| text.len() > 3), "{kind} has no {sentence}: {found}");
        }
        found
    }

    pub fn has(&self, kind: &str) -> bool {
        let all = self.json["processes"][0]["findings"].as_array().unwrap();
        all.iter().any(|finding| finding["kind"] == kind)
    }

    /// What the finding says to be so.
    pub fn actual(&self, kind: &str) -> String {
        self.finding(kind)["actual"].as_str().unwrap().to_owned()
    }

    pub fn cause(&self, kind: &str) -> String {
        self.finding(kind)["cause"].as_str().unwrap().to_owned()
    }
}

/// While what it is about is still there.
impl Drop for Said {
    fn drop(&mut self) {
        if self.pastes && !std::thread::panicking() {
            self.pasted();
        }
    }
}

/// `minion why PID --json ARGS`. Each command that its remedies name is pasted in the end.
pub fn why<A: AsRef<OsStr>>(pid: i32, args: &[A]) -> Said {
    let output = Command::new(minion()).args(["why", &pid.to_string(), "--json"]).args(args).output().unwrap();
    let mut said = Said::from(&output);
    said.pastes = true;
    said
}

/// The same without flags.
pub fn why_pid(pid: i32) -> Said {
    why::<&str>(pid, &[])
}
