//! Command line and environment: what both children get of what minion got.

use super::common::minion as common_minion;
use common_minion::{Minion, Sandbox};
use std::path::Path;
use std::process::Command;

const RECORDS: &str = "
printf '%s\\n' \"$@\" >$1.argv
/usr/bin/env >$1.env
if [ $1 = proxy ]; then echo done >go; exec /bin/sleep 300; fi
if [ -p go ]; then read -r _ <go; fi
";

/// Both argument lists, without `proxy` and `executor`, and what minion said; the proxy's is empty when there is none.
struct Recorded {
    proxy: Vec<String>,
    executor: Vec<String>,
    said: String,
    sandbox: Sandbox,
}

impl Recorded {
    /// The lines of the executor's environment that begin so.
    fn env(&self, name: &str) -> Vec<String> {
        let text = self.sandbox.read("executor.env");
        text.lines().filter(|line| line.starts_with(&format!("{name}="))).map(str::to_owned).collect()
    }
}

fn record_with(flags: &[&str], change: impl FnOnce(&mut Command)) -> Recorded {
    let sandbox = Sandbox::with_km(RECORDS);
    let runs_proxy = !flags.iter().any(|flag| flag.starts_with("--run-proxy"));
    let _go = runs_proxy.then(|| sandbox.events("go"));
    let mut command = sandbox.command(flags);
    change(&mut command);
    let said = Minion::spawn(&mut command).wait().assert_code(0);
    let argv = |role: &str| {
        let text = std::fs::read_to_string(sandbox.path(&format!("{role}.argv"))).unwrap_or_default();
        text.lines().skip(1).map(str::to_owned).collect()
    };
    Recorded { proxy: argv("proxy"), executor: argv("executor"), said, sandbox }
}

fn record(flags: &[&str]) -> Recorded {
    record_with(flags, |_| {})
}

fn usage(args: &[&str]) -> String {
    let sandbox = Sandbox::with_km("");
    let mut command = Command::new(super::common::minion());
    sandbox.mark(&mut command);
    Minion::spawn(command.args(args)).wait().assert_code(100)
}

#[test]
fn weakness_04_both_forms_of_a_flag_reach_the_executor_whole() {
    let seen = record(&["--hostname-override", "n1", "--max-pods", "3", "--allow-privileged", "--", "-x", "word"]);
    assert_eq!(seen.executor[1..6], ["--hostname-override", "n1", "--max-pods", "3", "--allow-privileged"]);
    assert_eq!(seen.executor[seen.executor.len() - 2..], ["-x", "word"]);
    assert!(seen.proxy.contains(&"--hostname-override=n1".to_owned()), "{:?}", seen.proxy);
    assert_eq!(record(&["--run-proxy=false"]).proxy, [] as [&str; 0], "no proxy");
    // A switch takes its value behind an equals sign; what the original forwarded as a word of its own is refused.
    assert!(usage(&["run", "--run-proxy", "false"]).starts_with("minion: stray word: \"false\"\n"));
    assert!(usage(&["run", "--max-pods=3", "stray"]).starts_with("minion: stray word: \"stray\"\n"));
    // Without `run` the first flag is a flag, not a word that is dropped.
    assert!(usage(&["--api-serverz=http://a:1"]).contains("--api-servers"));
}

#[test]
fn weakness_11_the_conntrack_timeout_is_a_duration() {
    for (given, passed) in [("6", "6s"), ("0", "0"), ("24h", "24h0m0s")] {
        let seen = record(&[&format!("--conntrack-tcp-timeout-established={given}")]);
        let expected = format!("--conntrack-tcp-timeout-established={passed}");
        assert!(seen.proxy.contains(&expected), "{expected} in {:?}", seen.proxy);
    }
}

#[test]
fn weakness_12_no_mesos_directory_leads_out_of_the_cgroup_root() {
    for directory in ["/", ".", "/a/..", "", "/a/x\ny"] {
        let seen = record_with(&[], |command| {
            command.env("MESOS_DIRECTORY", directory);
        });
        assert!(!seen.executor.iter().any(|word| word.starts_with("--cgroup-root")), "{directory:?}");
        assert_eq!(seen.env("MESOS_EXECUTOR_CONTAINER_UUID"), ["MESOS_EXECUTOR_CONTAINER_UUID="], "{directory:?}");
        assert!(seen.said.contains("no --cgroup-root for the executor"), "{directory:?}: {}", seen.said);
    }
}

#[test]
fn weakness_13_path_is_right_without_path_and_nothing_panics_without_a_directory() {
    let seen = record_with(&["--path-override=/opt/bin"], |command| {
        command.env_remove("PATH");
    });
    let bin = seen.sandbox.path("bin");
    assert_eq!(seen.env("PATH"), [format!("PATH=/opt/bin:{}", bin.display())]);
    let seen = record_with(&[], |command| {
        command.env("PATH", "");
    });
    let path = seen.env("PATH").remove(0);
    assert!(path.ends_with(&format!("{}", seen.sandbox.path("bin").display())), "{path}");
    assert!(!path.contains("=:") && !path.contains("::") && path.split(':').count() > 1, "no empty element: {path}");
    // A working directory that is gone: no log can be made in it, and that is said.
    let sandbox = Sandbox::with_km("");
    let inner = sandbox.command(&[&format!("--km-binary={}", sandbox.path("km").display())]);
    let mut command = Command::new("sh");
    command.args(["-c", "mkdir gone; cd gone; rmdir ../gone; exec \"$0\" \"$@\""]);
    command.arg(inner.get_program()).args(inner.get_args());
    sandbox.mark(&mut command);
    let said = Minion::spawn(&mut command).wait().assert_code(111);
    assert!(!said.contains("panicked") && said.contains("proxy.log"), "{said}");
}

#[test]
fn weakness_14_verbosity_is_minions_own_too() {
    let seen = record(&["--v=1"]);
    assert!(seen.executor.contains(&"--v=1".to_owned()), "{:?}", seen.executor);
    assert!(seen.said.contains(" debug "), "{}", seen.said);
    assert!(!record(&[]).said.contains(" debug "));
}

#[test]
fn weakness_19_api_servers_are_checked() {
    let sandbox = Sandbox::with_km("");
    for servers in [":::", "http://a:1,ftp//b", "a b", "http://"] {
        let mut command = Command::new(super::common::minion());
        command.args(["run", "--cgroup-attach=off", &format!("--api-servers={servers}")]);
        sandbox.mark(&mut command);
        let said = Minion::spawn(&mut command).wait().assert_code(111);
        assert!(said.contains("--api-servers"), "{servers}: {said}");
        assert!(!Path::new(&sandbox.path("executor.argv")).exists());
    }
    // Several are all kept for the executor; the proxy can use one.
    let seen = record(&["--api-servers=http://10.0.0.2:8888"]);
    assert_eq!(seen.executor[..2], ["--api-servers=http://10.0.0.1:8888", "--api-servers=http://10.0.0.2:8888"]);
    assert!(seen.proxy.contains(&"--master=http://10.0.0.1:8888".to_owned()), "{:?}", seen.proxy);
}
