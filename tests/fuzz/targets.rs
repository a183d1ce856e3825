//! What is fuzzed, and what must hold besides that nothing panics.

#[path = "targets/config.rs"]
mod config;
#[path = "targets/core.rs"]
mod core;
#[path = "targets/heard.rs"]
mod heard;

use minion::cgroup::{self, Sources};
use minion::cli::{self, Command};
use minion::control::server::Request;
use minion::hyperkube::duration::GoDuration;
use minion::hyperkube::{CgroupRoot, Host, Profile, profile, quantity};
use minion::mesos::{Environment, duration};
use minion::process::tree::Process;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

/// Takes any bytes; a panic is a finding.
pub type Target = fn(&[u8]);

/// The targets by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("argv", argv),
    ("quantity", quantities),
    ("go-duration", go_durations),
    ("mesos-duration", mesos_durations),
    ("mountinfo", mountinfo),
    ("cgroup", membership),
    ("kubeconfig", kubeconfig),
    ("config", config::file),
    ("environment-file", config::environment_file),
    ("environment", heard::environment),
    ("notify", heard::notification),
    ("http", heard::reply),
    ("cgroup-path", heard::cgroup_path),
    ("time", heard::time),
    ("stat", stat_lines),
    ("control", requests),
    ("core", core::events),
];

/// Words that NUL bytes divide, as in `/proc/<pid>/cmdline`.
fn words(data: &[u8]) -> Vec<OsString> {
    data.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

fn argv(data: &[u8]) {
    let words = words(data);
    match cli::parse(words.iter().cloned()) {
        // A usage error is a line that says what, and one that says where help is.
        Err(usage) => assert_eq!(usage.to_string().lines().count(), 2, "{usage}"),
        Ok(Command::Run(options)) => {
            let made = run_profile(&options.profile, b"");
            let executor = made.as_ref().and_then(|made| made.tasks.last());
            let verbatim = words.iter().position(|word| word == "--").map(|at| &words[at + 1..]);
            if let (Some(executor), Some(verbatim)) = (executor, verbatim)
                // A flag before may have taken the dashes for its value.
                && executor.args.iter().any(|word| word == "--")
            {
                assert!(executor.args.ends_with(verbatim), "{:?}", executor.args);
            }
        }
        Ok(_) => {}
    }
}

/// The profile of a host whose files all hold the same.
fn run_profile(flags: &minion::hyperkube::Flags, file: &[u8]) -> Option<Profile> {
    let host = Host {
        km: "/k/km".into(),
        cwd: Some("/w".into()),
        cgroup_root: CgroupRoot::Path("/mesos/c1".to_owned()),
        container: Some("c1".to_owned()),
        read: &|_| Ok(file.to_vec()),
    };
    let made = profile(flags, &[("PATH".into(), "/bin".into())], &host);
    if let Err(error) = &made {
        assert!(!error.to_string().is_empty());
    }
    made.ok()
}

fn quantities(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(value) = quantity::parse(&text) {
        assert_eq!(quantity::parse(&value.to_string()), Some(value));
    }
}

fn go_durations(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(span) = GoDuration::parse(&text) {
        assert_eq!(GoDuration::parse(&span.to_string()), Some(span), "{span}");
    }
}

fn mesos_durations(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(span) = duration::parse(&text) {
        let again = duration::parse(&duration::format(span)).unwrap();
        // The agent prints fifteen digits.
        let off = span.abs_diff(again);
        assert!(off <= span.mul_f64(1e-14) + Duration::from_nanos(1), "{text}: {span:?}, {again:?}");
    }
}

/// Mountinfo, and behind a line of dashes the cgroup file.
fn mountinfo(data: &[u8]) {
    let at = data.windows(5).position(|part| part == b"\n---\n");
    let (mountinfo, cgroup) = match at {
        Some(at) => (&data[..at], &data[at + 5..]),
        None => (data, &b"4:memory:/mesos/c1\n0::/mesos/c1/leaf\n"[..]),
    };
    placement(mountinfo, cgroup, b"/w/runs/c1");
}

/// The cgroup file, and behind a NUL byte the sandbox.
fn membership(data: &[u8]) {
    const MOUNTS: &[u8] = b"25 1 0:22 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        26 1 0:23 /mesos /sys/fs/cgroup/freezer rw shared:1 - cgroup cgroup rw,freezer\n\
        27 1 0:24 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
        28 1 0:25 /../../c1 /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (cgroup, directory) = (parts.next().unwrap_or_default(), parts.next().unwrap_or(b"/w/runs/c1"));
    placement(MOUNTS, cgroup, directory);
}

fn placement(mountinfo: &[u8], cgroup: &[u8], directory: &[u8]) {
    let sources = Sources { mountinfo: mountinfo.to_vec(), cgroup: cgroup.to_vec() };
    let variables = [("MESOS_DIRECTORY".into(), OsStr::from_bytes(directory).to_owned())];
    let environment = Environment::from_vars(&variables);
    for prefix in ["mesos", "/", "a/../b"] {
        let placement = cgroup::discover(&sources, prefix, &environment);
        assert!(!placement.identity.to_string().contains('\n'), "{}", placement.identity);
        if let Some(root) = placement.cgroup_root() {
            assert!(root.starts_with("/") && root != std::path::Path::new("/"), "{root:?}");
            assert!(!root.components().any(|part| part == std::path::Component::ParentDir), "{root:?}");
        }
    }
}

fn kubeconfig(data: &[u8]) {
    let words = ["run", "--api-servers=", "--kubeconfig=/k/config"].map(OsString::from);
    let Ok(Command::Run(options)) = cli::parse(words.into_iter()) else { panic!("a good command line") };
    run_profile(&options.profile, data);
}

fn stat_lines(data: &[u8]) {
    if let Some(process) = Process::parse(data) {
        // A name with everything in it that a line has does not move the fields.
        let line = format!(
            "{} (a) R (\n) {} {} {} {} 0 -1 {} 0 0 0 0 0 0 0 0 20 0 1 0 0 0 0 0 {}",
            process.pid,
            char::from(process.state),
            process.parent,
            process.group,
            process.session,
            u32::from(!process.executed) * 0x40
                + u32::from(process.is_kernels) * 0x20_0000
                + u32::from(process.is_exiting) * 0x4,
            u32::from(!process.is_loading)
        );
        if process.state.is_ascii() && process.state != b' ' && process.state != b')' {
            assert_eq!(Process::parse(line.as_bytes()), Some(process), "{line}");
        }
    }
}

/// A line of the control protocol. What is refused is answered with one line.
fn requests(data: &[u8]) {
    if let Err(failure) = Request::parse(data) {
        assert!(!serde_json::to_string(&failure).unwrap().contains('\n'));
    }
}
