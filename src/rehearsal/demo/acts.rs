//! The acts of the demo: each looks at the real system and then tells what it saw.

use super::super::agent::Agent;
use super::super::container::Container;
use super::narrator::Narrator;
use super::scene::{Scene, Seen, log_files};
use super::{GRACE, lines};
use crate::error::{During, Error, Result};
use crate::process::tree;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Those of the children's flags that are worth a line.
const SHOWN: [&str; 4] = ["--bind-address=", "--master=", "--api-servers=", "--cgroup-root="];

/// All acts, in order. The error of one that was not seen says what was expected.
pub(super) fn play(mut scene: Scene<'_>, agent: &Agent, narrator: &mut Narrator<'_>) -> Result<()> {
    show_container(scene.container, agent, narrator)?;
    let proxy = scene.child("proxy", None)?;
    let executor = scene.child("executor", None)?;
    show_children(&scene, narrator, [("proxy", &proxy), ("executor", &executor)])?;
    show_rotation(&scene, narrator)?;
    let proxy = show_restart(&scene, narrator, &proxy, executor.parent)?;
    show_end(&mut scene, narrator, &[("executor", &executor), ("proxy", &proxy)])?;
    show_logs(scene.container.sandbox(), narrator)?;
    show_nothing_left(scene.container, narrator)
}

/// What the agent made: sandbox, environment, cgroups.
fn show_container(container: &Container, agent: &Agent, narrator: &mut Narrator<'_>) -> Result<()> {
    let sandbox = container.sandbox();
    let mode = fs::metadata(sandbox).during("stat", sandbox.display())?.mode() & 0o7777;
    narrator.step(format_args!("The agent made a sandbox, mode {mode:04o}:"))?;
    narrator.detail(sandbox.display())?;
    let file = format!("/proc/{}/environ", container.pid());
    let environment = fs::read(&file).during("read", &file)?;
    let names = environment.split(|byte| *byte == 0).filter_map(|entry| entry.split(|byte| *byte == b'=').next());
    let names: Vec<_> = names.map(String::from_utf8_lossy).collect();
    let of_mesos = names.iter().filter(|name| name.starts_with("MESOS_EXECUTOR") || **name == "MESOS_DIRECTORY");
    let some: Vec<_> = of_mesos.map(|name| &**name).collect();
    let count = names.iter().filter(|name| !name.is_empty()).count() - 1; // one is the init's own
    narrator
        .step(format_args!("It built an environment from empty, {count} variables. Among them {}.", some.join(", ")))?;
    for missing in agent.missing() {
        narrator.step(format_args!("No cgroups, so nothing of them is shown. {missing}"))?;
    }
    if container.cgroups().is_empty() {
        return Ok(());
    }
    narrator.step("It made a cgroup for the container in each of its hierarchies:")?;
    for (_, directory) in container.cgroups() {
        fs::metadata(directory).during("stat", directory.display())?;
    }
    in_braces(container.cgroups()).iter().try_for_each(|path| narrator.detail(path))
}

/// The directories in short, as a shell would take them: `/sys/fs/cgroup/{cpu,memory}/<root>/<id>`.
fn in_braces(cgroups: &[(String, PathBuf)]) -> Vec<String> {
    let mut groups: Vec<(&Path, &Path, Vec<&str>)> = Vec::new();
    for directory in cgroups.iter().map(|(_, directory)| directory.as_path()) {
        let mount = directory.parent().and_then(Path::parent).unwrap_or(directory);
        let tail = directory.strip_prefix(mount).unwrap_or(directory);
        let (parent, name) = (mount.parent().unwrap_or(mount), mount.file_name().and_then(|name| name.to_str()));
        match groups.last_mut().filter(|group| group.0 == parent && group.1 == tail) {
            Some(group) => group.2.extend(name),
            None => groups.push((parent, tail, name.into_iter().collect())),
        }
    }
    let short = |(parent, tail, names): &(&Path, &Path, Vec<&str>)| {
        format!("{}/{{{}}}/{}", parent.display(), names.join(","), tail.display())
    };
    groups.iter().map(short).collect()
}

fn show_children(scene: &Scene<'_>, narrator: &mut Narrator<'_>, children: [(&str, &Seen); 2]) -> Result<()> {
    let minion = children[0].1.parent;
    let init = scene.container.pid();
    let parent = tree::Process::read(minion).map(|process| process.parent);
    if children[1].1.parent != minion || parent.ok() != Some(init) {
        return Err(Error::new("find", "the children", "they do not have one parent that the init started"));
    }
    narrator.step(format_args!("It started an init (pid {init}), which started minion (pid {minion})."))?;
    for (role, child) in children {
        let flags = child.argv.iter().filter(|word| word.starts_with("--"));
        narrator.step(format_args!(
            "minion started {role}, pid {}: km {role}, {} flags:",
            child.pid,
            flags.clone().count()
        ))?;
        for flag in flags.filter(|flag| SHOWN.iter().any(|shown| flag.starts_with(shown))) {
            narrator.detail(flag)?;
        }
        show_cgroups(scene, narrator, role, child)?;
    }
    let orphans = scene.container.recovery_check();
    if let Some(orphan) = orphans.first() {
        return Err(Error::new("check recovery", orphan, "an agent that restarts now would take it for an orphan"));
    }
    Ok(())
}

/// Where the kernel says a child is, one line for all hierarchies of one path.
fn show_cgroups(scene: &Scene<'_>, narrator: &mut Narrator<'_>, role: &str, child: &Seen) -> Result<()> {
    let found = scene.check_cgroups(role, child.pid)?;
    let mut left: &[(String, String)] = &found;
    while let Some((_, path)) = left.first() {
        let same = left.iter().take_while(|(_, other)| other == path).count();
        let names: Vec<&str> = left[..same].iter().map(|(name, _)| name.as_str()).collect();
        narrator.detail(format_args!("/proc/{}/cgroup, {}: {path}", child.pid, names.join(" ")))?;
        left = &left[same..];
    }
    Ok(())
}

fn show_rotation(scene: &Scene<'_>, narrator: &mut Narrator<'_>) -> Result<()> {
    let sandbox = scene.container.sandbox();
    let files = scene.until("the rotation of executor.log", || {
        let files = log_files(sandbox, "executor");
        let full = files.len() > 1 && files.iter().all(|file| fs::metadata(file).is_ok_and(|file| file.size() > 0));
        Ok(full.then_some(files))
    })?;
    let backup = &files[..1];
    let last = lines::check("executor", backup)?.last;
    narrator.step(format_args!("minion rotated the executor's log at the end of line {last}:"))?;
    for file in &files {
        let size = fs::metadata(file).during("stat", file.display())?.size();
        narrator.detail(format_args!("{} {size} bytes", file.file_name().unwrap_or_default().display()))?;
    }
    Ok(())
}

/// The proxy's death and its next run.
fn show_restart(scene: &Scene<'_>, narrator: &mut Narrator<'_>, old: &Seen, minion: i32) -> Result<Seen> {
    let died = scene.until_dead("proxy", &old.pidfd)?;
    narrator.step(format_args!("proxy {} is dead: its script told it to exit with code 3.", old.pid))?;
    let new = scene.child("proxy", Some(old.pid))?;
    if new.parent != minion {
        return Err(Error::new("find", format!("proxy {}", new.pid), "minion is not its parent"));
    }
    let delay = died.elapsed().as_millis();
    narrator.step(format_args!("minion, told --restart-delay=1s, started proxy {} {delay} ms later.", new.pid))?;
    show_cgroups(scene, narrator, "proxy", &new)?;
    Ok(new)
}

/// SHUTDOWN, obeyed by the executor; minion ends the rest and itself.
fn show_end(scene: &mut Scene<'_>, narrator: &mut Narrator<'_>, children: &[(&str, &Seen)]) -> Result<()> {
    let sent = Instant::now();
    if !scene.container.send_shutdown()? {
        return Err(Error::new("send SHUTDOWN to", "the executor", "it does not listen"));
    }
    narrator.step("The agent sent SHUTDOWN to the executor: a message, no signal. Grace: 5 s.")?;
    for (role, child) in children {
        let died = scene.until_dead(role, &child.pidfd)?;
        let after = died.duration_since(sent).as_secs_f64() * 1e3;
        narrator.step(format_args!("{role} {} has ended, {after:.1} ms after SHUTDOWN.", child.pid))?;
    }
    let status = scene.container.wait(sent + GRACE)?;
    if status.raw != 0 || !status.written {
        return Err(Error::new("see a clean end of", "minion", format!("it ended with {}", status.exit())));
    }
    let took = sent.elapsed().as_millis();
    narrator.step(format_args!("minion ended with {}; the agent saw it {took} ms after SHUTDOWN.", status.exit()))
}

fn show_logs(sandbox: &Path, narrator: &mut Narrator<'_>) -> Result<()> {
    let executor = lines::check("executor", &log_files(sandbox, "executor"))?;
    narrator.step(format_args!("The executor's logs hold lines 1 to {}, none missing, none cut.", executor.last))?;
    let proxy = fs::read_to_string(sandbox.join("proxy.log")).during("read", "proxy.log")?;
    for (role, ending) in [("executor", executor.ending.as_str()), ("proxy", proxy.lines().last().unwrap_or(""))] {
        if !ending.ends_with("says goodbye") {
            return Err(Error::new("find the last words of", role, format!("its log ends with {ending:?}")));
        }
        narrator.detail(format_args!("{role}.log ends with: {}", ending.rsplit("] ").next().unwrap_or(ending)))?;
    }
    Ok(())
}

/// The agent's destroy and its next recovery have nothing to do.
fn show_nothing_left(container: &mut Container, narrator: &mut Narrator<'_>) -> Result<()> {
    let alive = container.survivors()?;
    if let Some(process) = alive.first() {
        return Err(Error::new("see everything dead", process, format!("{} processes are alive", alive.len())));
    }
    narrator.step("No process of the container is alive (by cgroup, session, environment).")?;
    let report = container.destroy(Instant::now() + GRACE)?;
    if let Some(process) = report.killed.first() {
        return Err(Error::new("see everything dead", process, "the agent had to kill it"));
    }
    let directories = container.cgroups();
    if directories.is_empty() {
        return Ok(());
    }
    if let Some((_, left)) = directories.iter().find(|(_, directory)| directory.exists()) {
        return Err(Error::new("see the cgroups removed", left.display(), "it is still there"));
    }
    let tries = if report.retried.is_empty() { "at the first try" } else { "after a retry" };
    narrator.step(format_args!("The agent removed the container's {} cgroups {tries}.", directories.len()))?;
    match container.recovery_check().first() {
        Some(orphan) => Err(Error::new("check recovery", orphan, "an agent's restart would find it")),
        None => narrator.step("An agent that restarts now finds no orphaned container."),
    }
}
