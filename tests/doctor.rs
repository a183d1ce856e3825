//! `minion doctor` in sandboxes that the test makes good or bad.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

#[path = "doctor/leftovers.rs"]
mod leftovers;
#[path = "doctor/mounts.rs"]
mod mounts;
#[path = "doctor/socket.rs"]
mod socket;

use common::look::Looked;
use common::{CgroupGuard, minion, write_program};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const CPUSET: &str = "/sys/fs/cgroup/cpuset";
const FREEZER: &str = "/sys/fs/cgroup/freezer";
const MEMORY: &str = "/sys/fs/cgroup/memory";

/// What the doctor said.
struct Report {
    code: i32,
    json: Value,
}

impl Report {
    /// From `minion doctor --json ARGS` in a directory, with no environment but PATH and these variables.
    fn of(sandbox: &Path, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(minion());
        command
            .args(["doctor", "--json"])
            .args(args)
            .current_dir(sandbox)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let output = command.envs(variables.iter().copied()).output().unwrap();
        Self::from(&output)
    }

    /// From what it printed.
    fn from(output: &Output) -> Self {
        let text = String::from_utf8_lossy(&output.stdout);
        let json = serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{e}: {text} {}", String::from_utf8_lossy(&output.stderr)));
        Self { code: output.status.code().unwrap(), json }
    }

    fn check(&self, name: &str) -> &Value {
        let checks = self.json["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name}: {}", self.json))
    }

    fn all(&self, name: &str) -> Vec<&Value> {
        self.json["checks"].as_array().unwrap().iter().filter(|check| check["name"] == name).collect()
    }

    fn has(&self, name: &str) -> bool {
        !self.all(name).is_empty()
    }

    /// The check has this health, and its evidence holds these words.
    fn says(&self, name: &str, health: &str, words: &str) {
        let check = self.check(name);
        assert_eq!(check["health"], health, "{check}");
        assert!(check["evidence"].as_str().unwrap().contains(words), "{check}");
        assert_eq!(check["remedy"].as_str().unwrap().is_empty(), matches!(health, "ok" | "unknown"), "{check}");
    }
}

/// A program of these bytes.
fn program(directory: &Path, bytes: &[u8]) -> String {
    let path = directory.join("km");
    write_program(&path, bytes, 0o755);
    format!("--km-binary={}", path.display())
}

#[test]
fn every_check_is_there_with_evidence_and_an_exit_code_that_fits() {
    let sandbox = tempfile::tempdir().unwrap();
    let report = Report::of(sandbox.path(), &[], &[]);
    assert_eq!(report.json["schema"], "minion.doctor/1");
    for name in [
        "pidfd_open",
        "pidfd_send_signal",
        "pidfd group signal",
        "clone3",
        "close_range",
        "openat2",
        "cgroup.kill",
        "seccomp",
        "capabilities",
        "no_new_privs",
        "cgroup layout",
        "container id",
        "isolators",
        "memory hierarchy",
        "cpuset",
        "propagation of /",
        "sandbox mount",
        "sandbox",
        "log space",
        "grace period",
        "programs in PATH",
        "km",
        "control socket",
        "leftover processes",
    ] {
        let check = report.check(name);
        assert!(!check["evidence"].as_str().unwrap().is_empty(), "{check}");
        let bad = matches!(check["health"].as_str().unwrap(), "warn" | "fail");
        assert_eq!(bad, !check["remedy"].as_str().unwrap().is_empty(), "{check}");
    }
    assert_eq!(report.code, 1, "no km and no container");
    report.says("km", "warn", "");
    report.says("pidfd_open", "ok", "tried");
}

#[test]
fn a_grace_period_beyond_the_agents_fails() {
    let sandbox = tempfile::tempdir().unwrap();
    let name = "MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD";
    Report::of(sandbox.path(), &["--grace=10s"], &[(name, "5secs")]).says("grace period", "fail", "after 5.0s");
    Report::of(sandbox.path(), &["--grace=3s"], &[(name, "5secs")]).says("grace period", "ok", "3.0s, by --grace");
    Report::of(sandbox.path(), &[], &[(name, "5s")]).says("grace period", "warn", "\"5s\"");
}

#[test]
fn logs_that_do_not_fit_or_have_no_bound_are_told_with_the_sum() {
    let sandbox = tempfile::tempdir().unwrap();
    let report = Report::of(sandbox.path(), &["--max-log-size=1Pi", "--max-log-backups=1"], &[]);
    report.says("log space", "warn", "1.0 PiB x 2 files x 2 logs = 4.0 PiB at most");
    Report::of(sandbox.path(), &["--max-log-size=0"], &[]).says("log space", "warn", "without bound");
    Report::of(sandbox.path(), &["--max-log-size=1Ki"], &[]).says(
        "log space",
        "ok",
        "1.0 KiB x 6 files x 2 logs = 12 KiB",
    );
}

#[test]
fn a_km_that_is_not_called_km_would_not_read_its_command() {
    let sandbox = tempfile::tempdir().unwrap();
    let km = |name: &str, to: &str| {
        let path = sandbox.path().join(name);
        std::os::unix::fs::symlink(to, &path).unwrap();
        Report::of(sandbox.path(), &[&format!("--km-binary={}", path.display())], &[])
    };
    let program = fs::canonicalize("/bin/sh").unwrap();
    km("km.real", program.to_str().unwrap()).says("km", "fail", "is not called km");
    km("km", program.to_str().unwrap()).says("km", "ok", "--km-binary");
    write_program(sandbox.path().join("script"), "#!/bin/sh\n", 0o755);
    km("km.script", "script").says("km", "ok", "a script for /bin/sh");
}

#[test]
fn a_km_is_judged_by_its_first_bytes() {
    let sandbox = tempfile::tempdir().unwrap();
    let km = |bytes: &[u8]| Report::of(sandbox.path(), &[&program(sandbox.path(), bytes)], &[]);
    km(&fs::read("/bin/sh").unwrap()).says("km", "ok", "--km-binary");
    km(b"#!/bin/sh\n").says("km", "ok", "a script for /bin/sh");
    km(b"#!/no/such/interpreter\n").says("km", "fail", "cannot be executed");
    km(b"not a program").says("km", "fail", "neither an ELF program nor a script");
    let mut foreign = fs::read("/bin/sh").unwrap()[..64].to_vec();
    foreign[18] = if foreign[18] == 22 { 62 } else { 22 };
    km(&foreign).says("km", "fail", "built for ");
    fs::set_permissions(sandbox.path().join("km"), fs::Permissions::from_mode(0o644)).unwrap();
    let flag = format!("--km-binary={}", sandbox.path().join("km").display());
    Report::of(sandbox.path(), &[&flag], &[]).says("km", "fail", "no executable file");
}

#[test]
fn a_km_that_nobody_named_is_for_minion_run_alone() {
    let sandbox = tempfile::tempdir().unwrap();
    let report = Report::of(sandbox.path(), &[], &[("PATH", "/nowhere")]);
    report.says("km", "warn", "");
    let remedy = report.check("km")["remedy"].as_str().unwrap().to_owned();
    assert!(remedy.contains("minion run needs one") && remedy.contains("minion supervise does not"), "{remedy}");
    Report::of(sandbox.path(), &["--km-binary=/no/km"], &[]).says("km", "fail", "/no/km");
}

#[test]
fn with_the_file_of_supervise_its_programs_and_logs_are_looked_at_and_no_km() {
    let sandbox = tempfile::tempdir().unwrap();
    write_program(sandbox.path().join("broken"), "not a program", 0o755);
    let text = "[[sidecar]]\nname = \"side\"\ncommand = [\"./broken\"]\n[log]\nmax-size = \"1Ki\"\nstdout = \"separate\"\n\
                [stop]\ngrace = \"3s\"\n";
    fs::write(sandbox.path().join("side.toml"), text).unwrap();
    let report = Report::of(sandbox.path(), &["--config=side.toml", "--", "sh", "-c", "true"], &[]);
    assert!(!report.has("km") && !report.has("programs in PATH"), "what only kube-proxy and the kubelet need");
    report.says("task", "fail", "side: ");
    let tasks: Vec<String> = report.all("task").iter().map(|check| check["evidence"].to_string()).collect();
    assert!(tasks.len() == 2 && tasks[1].contains("executor: ") && tasks[1].contains("/sh"), "{tasks:?}");
    report.says("log space", "ok", "1.0 KiB x 6 files x 4 logs = 24 KiB");
    report.says("grace period", "ok", "3.0s, by the file");
    fs::write(sandbox.path().join("side.toml"), "[[sidecar]]\nname = \"side\"\ncommnd = []\n").unwrap();
    let report = Report::of(sandbox.path(), &["--config=side.toml", "--", "sh"], &[]);
    report.says("config", "fail", "side.toml:3:1: ");
    report.says("log space", "unknown", "");
}

#[test]
fn what_a_task_is_to_be_born_with_is_held_against_what_minion_may_give() {
    let sandbox = tempfile::tempdir().unwrap();
    let text = "[[sidecar]]\nname = \"side\"\ncommand = [\"sh\"]\nnice = -5\nlimits = { nofile = \"unlimited\" }\n";
    fs::write(sandbox.path().join("side.toml"), text).unwrap();
    let report = Report::of(sandbox.path(), &["--config=side.toml", "--", "sh", "-c", "true"], &[]);
    assert_eq!(report.all("attributes").len(), 1, "the executor is born with nothing special");
    let check = report.check("attributes");
    // What it says is so: the run starts, or says the same of its own.
    let fine = check["health"] == "ok";
    let text = "[executor]\ncommand = [\"sh\", \"-c\", \"true\"]\nnice = -5\nlimits = { nofile = \"unlimited\" }\n";
    fs::write(sandbox.path().join("own.toml"), text).unwrap();
    let mut run = Command::new(minion());
    run.args(["supervise", "--config=own.toml", "--cgroup-attach=off"]).current_dir(sandbox.path());
    let output = run.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code() == Some(0), fine, "{check} {output:?}");
}

#[test]
fn a_process_of_a_minion_that_is_gone_is_a_leftover() {
    let sandbox = tempfile::tempdir().unwrap();
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let mut command = Command::new("bash");
    command.args(["-c", "echo ready; read -r x"]).env("MINION_TASK", format!("proxy.{}.1", gone.id()));
    let (left, _) = Looked::start(&mut command);
    let report = Report::of(sandbox.path(), &[], &[]);
    let check = report.check("leftover processes");
    assert_eq!(check["health"], "warn", "{check}");
    assert!(check["remedy"].as_str().unwrap().split(' ').any(|word| word == left.pid().to_string()), "{check}");
}

#[test]
fn what_is_missing_in_path_is_named_with_who_misses_it() {
    let sandbox = tempfile::tempdir().unwrap();
    let report = Report::of(sandbox.path(), &[], &[("PATH", "/nowhere")]);
    report.says("programs in PATH", "warn", "iptables, conntrack, nsenter, socat, mount");
    assert!(
        report.check("programs in PATH")["remedy"].as_str().unwrap().contains("socat (the kubelet's port-forward)")
    );
}

#[test]
fn privileges_are_told_in_words_and_decide_over_private_mounts() {
    need!("root");
    let sandbox = tempfile::tempdir().unwrap();
    let output = Command::new("setpriv")
        .args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "--no-new-privs", minion(), "doctor", "--json"])
        .args(["--private-mountns"])
        .current_dir(sandbox.path())
        .output()
        .unwrap();
    let report = Report { code: 1, json: serde_json::from_slice(&output.stdout).unwrap() };
    report.says("private mounts", "fail", "no CAP_SYS_ADMIN");
    report.says("no_new_privs", "warn", "set");
    report.says("capabilities", "ok", "sys_admin");
    Report::of(sandbox.path(), &["--private-mountns"], &[]).says("private mounts", "ok", "unshare is let through");
}

/// A filter that answers EPERM to `pidfd_open` (434) and openat2 (437), as a profile does that does not know them.
const PROFILE: &str = r#"
    syscall(157, 38, 1, 0, 0, 0) == 0 or die "no_new_privs: $!";
    my $filter = pack("(SCCL)5", 0x20, 0, 0, 0, 0x15, 2, 0, 434, 0x15, 1, 0, 437, 0x06, 0, 0, 0x7fff0000, 0x06, 0, 0, 0x00050001);
    my $program = pack("S x6 P", 5, $filter);
    syscall(157, 22, 2, unpack("Q", pack("P", $program)), 0, 0) == 0 or die "seccomp: $!";
    exec @ARGV;
"#;

#[test]
fn a_call_that_a_seccomp_profile_forbids_is_found_by_trying_it() {
    if !cfg!(target_arch = "x86_64") || Command::new("perl").arg("-v").output().is_err() {
        return eprintln!("SKIP: no perl, or other numbers of system calls");
    }
    let sandbox = tempfile::tempdir().unwrap();
    let mut command = Command::new("perl");
    command.args(["-e", PROFILE, minion(), "doctor", "--json"]).current_dir(sandbox.path());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let report =
        Report { code: 1, json: serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {text}")) };
    report.says("pidfd_open", "fail", "EPERM");
    report.says("openat2", "warn", "EPERM");
    report.says("seccomp", "ok", "a filter is active");
    assert!(report.check("openat2")["remedy"].as_str().unwrap().contains("seccomp profile"));
}

#[test]
fn the_text_has_a_word_for_each_colour_and_fits_the_screen() {
    let sandbox = tempfile::tempdir().unwrap();
    let output =
        Command::new(minion()).arg("doctor").current_dir(sandbox.path()).env("COLUMNS", "100").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("WARN     km ") || text.contains("WARN    km "), "{text}");
    assert!(text.contains("remedy: ") && !text.contains('\x1b'), "{text}");
    let long = |line: &&str| line.chars().count() > 100 && !line.split_whitespace().any(|word| word.len() > 40);
    assert_eq!(text.lines().find(long), None);
}

#[test]
fn the_container_of_the_environment_alone_is_not_enough() {
    let sandbox = tempfile::tempdir().unwrap();
    let variables = [("MESOS_DIRECTORY", "/w/runs/c1"), ("MESOS_SLAVE_PID", "slave(1)@127.0.0.1:5051")];
    let report = Report::of(sandbox.path(), &["--mesos-cgroup-prefix=mesos-test-none"], &variables);
    report.says("container id", "warn", "by MESOS_DIRECTORY=\"/w/runs/c1\" alone");
    assert!(report.check("container id")["remedy"].as_str().unwrap().contains("--cgroups_root"));
    assert_eq!(report.code, 1);
}

/// The doctor in container c1 of these hierarchies, as a task there would run it.
fn in_container(guard: &CgroupGuard, hierarchies: &[&str], directory: &str) -> Report {
    let sandbox = tempfile::tempdir().unwrap();
    let procs: Vec<String> = hierarchies.iter().map(|one| format!("{one}/{}/c1/cgroup.procs", guard.name())).collect();
    let script = "for procs in $PROCS; do echo $$ > $procs || exit 9; done; exec \"$@\"";
    let mut command = Command::new("bash");
    command.args([
        "-c",
        script,
        "bash",
        minion(),
        "doctor",
        "--json",
        &format!("--mesos-cgroup-prefix={}", guard.name()),
    ]);
    command.env("PROCS", procs.join(" ")).env("MESOS_DIRECTORY", directory).current_dir(sandbox.path());
    let output = command.output().unwrap();
    Report { code: output.status.code().unwrap(), json: serde_json::from_slice(&output.stdout).unwrap() }
}

#[test]
fn in_a_container_the_kernel_and_the_environment_are_compared() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[FREEZER, MEMORY, CPUSET], "/c1");
    let report = in_container(&guard, &[FREEZER, MEMORY], "/w/runs/c1");
    report.says("container id", "ok", "agree");
    report.says("isolators", "ok", "cgroups in freezer, ");
    report.says("memory hierarchy", "ok", "");
    report.says("cpuset", "ok", "cpus ");
    in_container(&guard, &[FREEZER], "/w/runs/c2").says("container id", "warn", "is believed, but");
}

#[test]
fn a_container_without_freezer_or_with_an_empty_cpuset_is_ill() {
    need!("root", "v1");
    let guard = CgroupGuard::new(&[MEMORY, CPUSET], "/c1");
    let nested = Path::new(CPUSET).join(guard.name()).join("c1");
    fs::write(nested.join("cpuset.cpus"), "\n").unwrap();
    let report = in_container(&guard, &[MEMORY], "/w/runs/c1");
    report.says("isolators", "warn", "cgroups in ");
    report.says("cpuset", "fail", "cpus \"\"");
}

const UNIFIED: &str = "/sys/fs/cgroup/unified";
