//! `minion demo`: the main job on a machine with nothing else installed, told step by step.
//!
//! Every line says what was seen of the real system just before it was written: processes in `/proc`, cgroup files, log
//! files. What minion says of itself is not used. A step that was not seen ends the demo with exit code 1.

mod acts;
mod lines;
mod narrator;
mod scene;

use self::narrator::Narrator;
use self::scene::{Interrupts, Scene};
use super::agent::Agent;
use crate::error::Result;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the demo is run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where the agent makes its directory, instead of the one for temporary files.
    pub directory: Option<PathBuf>,
    /// Leaves the sandbox behind.
    pub keep: bool,
    /// Makes no cgroups, as without root.
    pub no_cgroups: bool,
    /// The program to run as minion, if not minion: tests show the demo a bad supervisor.
    pub supervisor: Option<PathBuf>,
}

/// The grace period of the demo's agent: the default of a real one.
const GRACE: Duration = Duration::from_secs(5);
/// What the proxy does: dies once, with code 3.
const PROXY: &str = "record=record-proxy-%p.json,lines=1000000,every=100ms,crash-after=1200ms:3,once";
/// What the executor does: writes more than one log file holds, then a line now and then.
const EXECUTOR: &str = "record=record-executor-%p.json,burst=1300000,lines=1000000,every=100ms";
/// What the Kubernetes scheduler of 2016 puts on minion's command line.
const FLAGS: [&str; 15] = [
    "--api-servers=http://127.0.0.1:8888",
    "--v=1",
    "--allow-privileged=true",
    "--suicide-timeout=20m0s",
    "--mesos-launch-grace-period=5m0s",
    "--cadvisor-port=4194",
    "--sync-frequency=10s",
    "--enable-debugging-handlers=true",
    "--cluster-dns=10.10.10.10",
    "--cluster-domain=cluster.local",
    "--host-network-sources=file,api",
    "--hostname-override=agent7.example",
    "--proxy-mode=userspace",
    "--max-log-size=1Mi",
    "--restart-delay=1s",
];

/// Runs the demo with `minion` as the program for everything. The code is 0 when every step was seen, 1 when one was not;
/// the error is one of writing to `out`, or of a machine on which nothing can be shown.
pub fn run(options: &Options, minion: &Path, out: &mut dyn Write) -> Result<u8> {
    let interrupts = Interrupts::block()?;
    let mut narrator = Narrator::new(out);
    let root = format!("mesos-demo-{}", std::process::id());
    let mut builder = Agent::builder(minion, &root)
        .grace(GRACE)
        .keep(options.keep)
        .environment("STAND_IN_PROXY", PROXY)
        .environment("STAND_IN_EXECUTOR", EXECUTOR);
    if let Some(parent) = &options.directory {
        builder = builder.directory(parent);
    }
    if options.no_cgroups {
        builder = builder.without_cgroups();
    }
    let agent = builder.start()?;
    narrator.plain("minion demo: a rehearsal agent (a stand-in, not Mesos) runs minion, and")?;
    narrator.plain("minion runs two stand-ins for kube-proxy and the kubelet-executor.")?;
    let supervisor = options.supervisor.as_deref().unwrap_or(minion);
    let mut container = agent.launch(&command_line(supervisor, &root))?;
    let played = Scene::watch(&mut container, &interrupts).and_then(|scene| acts::play(scene, &agent, &mut narrator));
    if let Err(error) = played {
        narrator.plain(format_args!("NOT SEEN: {error}"))?;
        tell_tail(&mut narrator, &container.sandbox().join("stderr"))?;
        return Ok(1);
    }
    drop(container);
    if options.keep {
        narrator.plain(format_args!("Kept: {}", agent.directory().display()))?;
    }
    narrator.plain(format_args!("All {} steps were seen in {:.1} s.", narrator.steps(), narrator.seconds()))?;
    Ok(0)
}

fn command_line(supervisor: &Path, root: &str) -> Vec<OsString> {
    let mut argv: Vec<OsString> = vec![supervisor.into(), "run".into(), "--km-binary=./km".into()];
    argv.push(format!("--mesos-cgroup-prefix=/{root}").into());
    argv.extend(FLAGS.iter().map(OsString::from));
    argv
}

/// The last lines that minion wrote: why it did not work, if it says so.
fn tell_tail(narrator: &mut Narrator<'_>, stderr: &Path) -> Result<()> {
    let text = fs::read(stderr).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    narrator.plain(format_args!("The end of minion's stderr ({} lines):", lines.len()))?;
    lines.iter().skip(lines.len().saturating_sub(20)).try_for_each(|line| narrator.plain(format_args!("  {line}")))
}
