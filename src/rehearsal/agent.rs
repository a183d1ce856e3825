//! The agent: what it was told, where it works, and how it launches a container.

use super::cgroups::{DEFAULT, Group, Tree};
use super::container::Container;
use super::environment::{self, Environment};
use super::init;
use super::recovery::{Orphan, orphans};
use super::sandbox::{self, Ids};
use super::unified::Home;
use crate::error::{During, Error, Result};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// How to start a rehearsal agent.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    minion: PathBuf,
    cgroup_root: PathBuf,
    hierarchies: Vec<String>,
    choice: Choice,
    parent: PathBuf,
    executor: String,
    pub(super) grace: Duration,
    pub(super) checkpoint: bool,
    environment: Vec<(OsString, OsString)>,
    memory: Option<u64>,
    pub(super) polls: bool,
    pub(super) freeze_retry: Duration,
    keep: bool,
}

#[derive(Clone, Debug)]
enum Choice {
    /// v1 where freezer is mounted, else cgroup2 at `/sys/fs/cgroup`, else none.
    Automatic,
    V2(PathBuf),
    /// The same, with the calling process in the agent's cgroup.
    Inhabited(PathBuf),
    None,
}

/// A running rehearsal agent. Dropping it and its containers ends and removes all that they made.
#[derive(Debug)]
pub struct Agent {
    host: Arc<Host>,
}

/// What the agent and its containers share.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) options: Builder,
    pub(super) base: PathBuf,
    pub(super) ids: Ids,
    /// Left before the tree is removed.
    pub(super) home: Option<Home>,
    pub(super) tree: Option<Tree>,
    missing: Vec<String>,
}

/// A container that has everything but processes.
pub(super) struct Empty {
    pub(super) id: String,
    pub(super) sandbox: PathBuf,
    pub(super) group: Option<Group>,
    pub(super) environment: Environment,
}

impl Builder {
    /// Which v1 hierarchies get a cgroup, those that are mounted: `freezer` first, then `systemd`, then controllers.
    /// Without it: freezer, systemd, cpu, cpuacct, memory.
    pub fn hierarchies(mut self, names: &[&str]) -> Self {
        self.hierarchies = names.iter().map(|&name| name.to_owned()).collect();
        self
    }

    /// The v2 layout on the cgroup2 file system mounted at `mount`.
    pub fn v2(mut self, mount: &Path) -> Self {
        self.choice = Choice::V2(mount.to_owned());
        self
    }

    /// The same, and the calling process goes into the agent's own cgroup, `<root>/agent/leaf`, as long as the agent lives:
    /// what it starts is then born where an agent's containers are. One agent of this kind in a process.
    pub fn v2_inhabited(mut self, mount: &Path) -> Self {
        self.choice = Choice::Inhabited(mount.to_owned());
        self
    }

    /// No cgroups, as when the caller is not root.
    pub fn without_cgroups(mut self) -> Self {
        self.choice = Choice::None;
        self
    }

    /// The directory below which the agent makes its own, instead of the system's for temporary files.
    pub fn directory(mut self, parent: &Path) -> Self {
        parent.clone_into(&mut self.parent);
        self
    }

    /// The executor's id: part of the sandbox path. It may hold a space, and does so without this.
    pub fn executor_id(mut self, id: &str) -> Self {
        id.clone_into(&mut self.executor);
        self
    }

    /// The grace period between the SHUTDOWN message and the destroy; 5 s without this.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Whether the framework checkpoints: three variables differ.
    pub fn checkpoint(mut self, checkpoint: bool) -> Self {
        self.checkpoint = checkpoint;
        self
    }

    /// One entry of the command's own environment. It replaces what the agent would set.
    pub fn environment(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The container's memory limit in bytes; none without this.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Sees a container's end at once, instead of at the next of the agent's polls, which are 100 ms apart.
    pub fn reap_at_once(mut self) -> Self {
        self.polls = false;
        self
    }

    /// After how long a destroy kills, thaws and freezes again what does not freeze; 10 s without this. [KF-61]
    pub fn freeze_retry(mut self, retry: Duration) -> Self {
        self.freeze_retry = retry;
        self
    }

    /// Leaves sandbox and runtime directory behind for a person to look at.
    pub fn keep(mut self, keep: bool) -> Self {
        self.keep = keep;
        self
    }

    /// Makes the directories and, where it may, the cgroup roots.
    pub fn start(self) -> Result<Agent> {
        let ids = Ids::new(&self.executor)?;
        let base = self.parent.join(format!("minion-rehearsal-{}", &sandbox::uuid()?[..8]));
        fs::create_dir(&base).during("make directory", base.display())?;
        let mut host = Host { options: self, base, ids, home: None, tree: None, missing: Vec::new() };
        for name in ["work", "run/containers"] {
            let directory = host.base.join(name);
            fs::create_dir_all(&directory).during("make directory", directory.display())?;
        }
        let minion = &host.options.minion;
        let minion = minion.canonicalize().during("find", minion.display())?;
        symlink(&minion, host.link()).during("link", host.link().display())?;
        host.make_tree()?;
        Ok(Agent { host: Arc::new(host) })
    }
}

impl Agent {
    /// An agent that starts its inits and stand-ins from the program `minion` and puts cgroups below `cgroup_root`
    /// (`mesos-test-1-2`, or several components) in each hierarchy.
    pub fn builder(minion: &Path, cgroup_root: &str) -> Builder {
        Builder {
            minion: minion.to_owned(),
            cgroup_root: cgroup_root.trim_start_matches('/').into(),
            hierarchies: DEFAULT.map(str::to_owned).to_vec(),
            choice: Choice::Automatic,
            parent: std::env::temp_dir(),
            executor: "stand-in executor".to_owned(),
            grace: Duration::from_secs(5),
            checkpoint: false,
            environment: Vec::new(),
            memory: None,
            polls: true,
            freeze_retry: Duration::from_secs(10),
            keep: false,
        }
    }

    /// What a real agent would have given and this one could not, with the reason; empty as root on a v1 host.
    pub fn missing(&self) -> &[String] {
        &self.host.missing
    }

    /// The directory that holds all this agent made: `work` (sandboxes), `run` (runtime) and a link to minion.
    pub fn directory(&self) -> &Path {
        &self.host.base
    }

    /// Launches `argv` in a new container: sandbox, cgroups, init, attach, and then lets it go on.
    pub fn launch<A: AsRef<OsStr>>(&self, argv: &[A]) -> Result<Container> {
        self.host.run(self.empty()?, argv, Command::spawn)
    }

    /// A new container without processes.
    pub(super) fn empty(&self) -> Result<Empty> {
        let host = &self.host;
        let id = sandbox::uuid()?;
        let sandbox = sandbox::make(&host.base.join("work"), &host.ids, &id)?;
        let environment = environment::build(&environment::Facts {
            ids: &host.ids,
            sandbox: &sandbox,
            grace: host.options.grace,
            checkpoint: host.options.checkpoint,
            command: &host.options.environment,
        });
        Ok(Empty { group: host.make_group(&id)?, id, sandbox, environment })
    }

    pub(super) fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// What a restart of this agent would find, if it knew the containers `known` from its checkpoint.
    pub fn recovery_check(&self, known: &[&Container]) -> Vec<Orphan> {
        self.host.recovery_check(known.iter().map(|container| container.id()))
    }
}

impl Host {
    /// A short path to minion, without white space: what can stand in a `#!` line.
    fn link(&self) -> PathBuf {
        self.base.join("minion")
    }

    fn make_tree(&mut self) -> Result<()> {
        let root = &self.options.cgroup_root;
        if root.as_os_str().is_empty() || !root.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(Error::new("use cgroup root", root.display(), "it is no relative path of ordinary names"));
        }
        let unified = Path::new("/sys/fs/cgroup");
        let tree = match &self.options.choice {
            Choice::None => Err(Error::new("make cgroups", root.display(), "the caller wants none")),
            Choice::V2(mount) | Choice::Inhabited(mount) => Tree::v2(root, mount),
            Choice::Automatic if unified.join("cgroup.controllers").exists() => Tree::v2(root, unified),
            Choice::Automatic => Tree::v1(root, &self.options.hierarchies),
        };
        match tree {
            Ok(tree) => {
                let inhabited = matches!(self.options.choice, Choice::Inhabited(_));
                self.home = if inhabited { tree.agent().map(Home::enter).transpose()? } else { None };
                self.tree = Some(tree);
            }
            Err(error) => {
                let denied = matches!(error.errno(), Some(libc::EACCES | libc::EPERM | libc::EROFS));
                let error = if denied { error.hint("root of the host may make them") } else { error };
                self.missing.push(format!("cgroups: {error}"));
            }
        }
        Ok(())
    }

    /// The framework's entries for the environment of each container.
    pub(super) fn command_environment(&self) -> &[(OsString, OsString)] {
        &self.options.environment
    }

    fn make_group(&self, id: &str) -> Result<Option<Group>> {
        let Some(tree) = &self.tree else {
            return Ok(None);
        };
        let group = tree.make_group(id)?;
        if let Some(bytes) = self.options.memory {
            group.limit_memory(bytes).inspect_err(|_| group.abandon())?;
        }
        Ok(Some(group))
    }

    /// Starts the init of a container with `spawn`, attaches it, and lets it go on.
    pub(super) fn run<A: AsRef<OsStr>>(
        self: &Arc<Self>,
        container: Empty,
        argv: &[A],
        spawn: impl FnOnce(&mut Command) -> std::io::Result<Child>,
    ) -> Result<Container> {
        let Empty { id, sandbox, group, environment } = container;
        let runtime = self.base.join("run/containers").join(&id);
        let started = self
            .prepare(&sandbox, &runtime, argv, environment)
            .and_then(|mut command| spawn(&mut command).during("start init", self.link().display()));
        let mut init = started.inspect_err(|_| group.iter().for_each(Group::abandon))?;
        let gate = init.stdin.take();
        let container = Container::new(self.clone(), id, [sandbox, runtime], group, init)?;
        container.attach()?;
        // The one byte that the init waits for. Whatever failed before leaves it waiting, and then it ends. [ME-44]
        gate.map_or(Ok(()), |mut gate| gate.write_all(b"\n")).during("release init", container.id())?;
        Ok(container)
    }

    fn prepare<A: AsRef<OsStr>>(
        &self,
        sandbox: &Path,
        runtime: &Path,
        argv: &[A],
        environment: Environment,
    ) -> Result<Command> {
        sandbox::write_km(sandbox, &self.link())?;
        fs::create_dir(runtime).during("make directory", runtime.display())?;
        let mut command = Command::new(self.link());
        command
            .args(["rehearsal-init", init::LAUNCH])
            .args(argv)
            .env_clear()
            .envs(environment)
            .env(init::RUNTIME_DIRECTORY, runtime)
            .current_dir(sandbox)
            .stdin(Stdio::piped())
            .stdout(sandbox::output(sandbox, "stdout")?)
            .stderr(sandbox::output(sandbox, "stderr")?);
        Ok(command)
    }

    pub(super) fn recovery_check<'a>(&self, known: impl Iterator<Item = &'a str>) -> Vec<Orphan> {
        let known: BTreeSet<String> = known.map(str::to_owned).collect();
        self.tree.as_ref().map_or_else(Vec::new, |tree| orphans(tree.layout(), &known, &tree.below_root()))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if !self.options.keep {
            // Best effort: what is left names itself, `minion-rehearsal-…` below the directory for temporary files.
            let _ = fs::remove_dir_all(&self.base);
        }
    }
}
