//! `minion containers`: every Mesos container of this host, from the cgroup trees alone.
//!
//! ```text
//! tree, measure ─▶ merge ─▶ hazard, drift, stray, owner ─▶ page, json, live
//! the trees        rows     findings                       text
//! ```

mod drift;
mod finding;
mod hazard;
mod history;
mod live;
mod measure;
mod merge;
mod owner;
mod page;
mod stray;
mod tree;

pub use finding::{Finding, Kind, Severity};
pub use live::watch;

use super::command;
use super::minion::Named;
use super::proc::once::Once;
use super::view::cgroups::PREFIX;
use crate::error::{Error, Result};
use measure::Numbers;
use owner::Owner;
use serde::Serialize;
use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;
use tree::{Branch, Tree};

/// So many containers are a job of one thread.
const SHARE: usize = 100;

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By root and id.
    #[default]
    Id,
    /// Most processes first.
    Pids,
    /// Most memory first.
    Memory,
    /// Most cpu time first.
    Cpu,
    /// Most OOM kills first.
    Oom,
}

/// One container. What is None is not counted on this host, or could not be seen.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Container {
    /// The agent's root: `mesos`.
    pub root: String,
    /// `parent.child` for a nested one.
    pub id: String,
    /// The container that it is nested in.
    pub parent: Option<String>,
    /// The framework's id.
    pub framework: Option<String>,
    /// The executor's id.
    pub executor: Option<String>,
    /// The sandbox, as the host sees it.
    pub sandbox: Option<String>,
    /// The minion in it.
    pub minion: Option<i32>,
    /// Processes of its own: those of nested containers are theirs.
    pub pids: usize,
    /// Memory in use.
    pub memory_bytes: Option<u64>,
    /// Its limit; None also for none.
    pub memory_limit_bytes: Option<u64>,
    /// Processor time used.
    pub cpu_ns: Option<u64>,
    /// Processes killed for lack of memory.
    pub oom_kills: Option<u64>,
    /// Per cent of the last ten seconds in which a process waited for a processor. v2 only.
    pub cpu_pressure: Option<f32>,
    /// The same for memory.
    pub memory_pressure: Option<f32>,
    /// The hierarchies in which it has a cgroup.
    pub hierarchies: Vec<String>,
    /// Its own processes, ascending.
    #[serde(skip)]
    own: Vec<i32>,
    /// Those of nested containers too, in any hierarchy, ascending. Empty for nested ones.
    #[serde(skip)]
    everyone: Vec<i32>,
}

/// All containers, and what is wrong.
#[derive(Debug, Serialize)]
pub struct Survey {
    /// The version of this object.
    pub schema: &'static str,
    /// `legacy`, `hybrid`, `unified`.
    pub layout: &'static str,
    /// The cgroups below which containers were looked for.
    pub roots: Vec<String>,
    /// The containers.
    pub containers: Vec<Container>,
    /// What is wrong with them.
    pub findings: Vec<Finding>,
    /// How many processes belong to others and could not be asked whose they are.
    pub unseen: usize,
    /// How long that took.
    pub took: Took,
}

/// Times in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Took {
    /// Reading the cgroup trees, and making rows of them.
    pub trees_us: u64,
    /// Reading `/proc`.
    pub proc_us: u64,
}

/// Reads everything once. `root` is the agent's `--cgroups_root`; without it containers are looked for by their shape.
pub fn survey(root: Option<&str>) -> Result<Survey> {
    let begin = Instant::now();
    let trees = tree::trees()?;
    if trees.is_empty() {
        return Err(Error::new("read", "the cgroup trees", "no hierarchy is mounted whole here")
            .hint("run it on the host, not inside a container"));
    }
    let roots: Vec<PathBuf> = root.map_or_else(|| tree::roots(&trees), |root| vec![root.into()]);
    let branches = branches(&trees, &roots);
    let merged = merge::merge(&trees, &branches);
    let mut survey = Survey {
        schema: "minion.containers/1",
        layout: layout(&trees),
        roots: roots.iter().map(|root| root.display().to_string()).collect(),
        containers: merged.containers,
        findings: Vec::new(),
        unseen: 0,
        took: Took::default(),
    };
    let launched = merged.launched;
    let hazards = branches.iter().flat_map(|branch| hazard::find(&trees[branch.tree], branch, &launched));
    survey.findings.extend(hazards);
    survey.findings.extend(survey.containers.iter().filter_map(|container| hazard::empty(container, &launched)));
    let suspects = drift::suspects(&merged.places);
    survey.took.trees_us = micros(begin);
    let begin = Instant::now();
    survey.findings.extend(drift::find(&trees, &suspects, &survey.containers));
    survey.ask_owners();
    let (strays, unseen) = stray::find(&survey.containers, root.unwrap_or(PREFIX));
    survey.findings.extend(strays);
    survey.unseen += unseen;
    survey.findings.sort_by_key(|finding| Reverse(finding.severity));
    survey.took.proc_us = micros(begin);
    survey.sort(Order::Id);
    Ok(survey)
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

fn layout(trees: &[Tree]) -> &'static str {
    let v2 = trees.iter().filter(|tree| tree.label == "unified").count();
    match (v2, trees.len()) {
        (0, _) => "legacy",
        (v2, all) if v2 == all => "unified",
        _ => "hybrid",
    }
}

/// What is below the roots, sorted by tree.
fn branches(trees: &[Tree], roots: &[PathBuf]) -> Vec<Branch> {
    let below = |root: &PathBuf, at: usize| trees[at].tops(root).chunks(SHARE).map(<[_]>::to_vec).collect::<Vec<_>>();
    let each = roots.iter().flat_map(|root| (0..trees.len()).map(move |at| (root, at)));
    let jobs: Vec<(&PathBuf, usize, Vec<PathBuf>)> =
        each.flat_map(|(root, at)| below(root, at).into_iter().map(move |tops| (root, at, tops))).collect();
    let mut branches = shared(&jobs, |(root, at, tops)| trees[*at].branch(*at, root, tops));
    branches.sort_by_key(|branch| branch.tree);
    branches
}

/// Does all jobs, on every processor where there are many: it is the kernel that works.
fn shared<J: Sync, T: Send>(jobs: &[J], work: impl Fn(&J) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push(work(job));
        }
        done
    };
    let threads = if jobs.len() > 8 { thread::available_parallelism().map_or(1, usize::from).min(8) } else { 1 };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut all = run();
        all.extend(others.into_iter().flat_map(|other| other.join().unwrap_or_default()));
        all
    })
}

impl Survey {
    /// Puts the rows in order.
    pub fn sort(&mut self, order: Order) {
        self.containers.sort_by(|a, b| (&a.root, &a.id).cmp(&(&b.root, &b.id)));
        match order {
            Order::Id => {}
            Order::Pids => self.containers.sort_by_key(|container| Reverse(container.pids)),
            Order::Memory => self.containers.sort_by_key(|container| Reverse(container.memory_bytes)),
            Order::Cpu => self.containers.sort_by_key(|container| Reverse(container.cpu_ns)),
            Order::Oom => self.containers.sort_by_key(|container| Reverse(container.oom_kills)),
        }
    }

    /// 1 when something is not as it should be; 2 when nothing is, of what this user could see, and that is not all; else 0.
    pub fn code(&self) -> u8 {
        if self.findings.iter().any(|finding| finding.severity >= Severity::Warning) {
            return 1;
        }
        if self.unseen > 0 { 2 } else { 0 }
    }

    /// One line of JSON, with its end.
    pub fn json(&self) -> String {
        // Strings, numbers and lists of them: nothing in it can fail.
        serde_json::to_string(self).map(|text| text + "\n").unwrap_or_default()
    }

    /// Whose the containers are, by the first of their processes that knows.
    fn ask_owners(&mut self) {
        let shares: Vec<(usize, &[Container])> =
            self.containers.chunks(SHARE).enumerate().map(|(at, share)| (at * SHARE, share)).collect();
        let answers = shared(&shares, |(first, share)| {
            let once = Once::default();
            let ask = |(at, container): (usize, &Container)| {
                let (owner, denied) = Owner::of_any(&container.own);
                (first + at, owner.minion(&once), owner, denied)
            };
            share.iter().enumerate().map(ask).collect::<Vec<_>>()
        });
        for (row, minion, owner, denied) in answers.into_iter().flatten() {
            self.unseen += denied;
            let finding = self.containers[row].belongs_to(owner, minion);
            self.findings.extend(finding);
        }
    }
}

impl Container {
    fn count(&mut self, numbers: Numbers) {
        self.memory_bytes = self.memory_bytes.or(numbers.memory);
        self.memory_limit_bytes = self.memory_limit_bytes.or(numbers.limit);
        self.cpu_ns = self.cpu_ns.or(numbers.cpu);
        self.oom_kills = self.oom_kills.or(numbers.oom_kills);
        self.cpu_pressure = self.cpu_pressure.or(numbers.cpu_pressure);
        self.memory_pressure = self.memory_pressure.or(numbers.memory_pressure);
    }

    /// Takes over what its processes say, and what became of the minion that they name.
    fn belongs_to(&mut self, owner: Owner, minion: Option<Named>) -> Option<Finding> {
        self.sandbox = owner.sandbox.map(|sandbox| sandbox.display().to_string());
        self.framework = owner.framework;
        self.executor = owner.executor;
        self.minion = minion.as_ref().and_then(Named::alive).map(|minion| minion.pid);
        let (task, number) = owner.task?;
        // One that may be alive is no finding: nobody is to end what is its.
        minion.filter(|minion| *minion == Named::Gone)?;
        let text = format!(
            "minion {number}, which started its task {task:?}, is gone, and {} still there",
            finding::named_with(&self.own, "is", "are")
        );
        let look =
            self.own.iter().take(finding::SHOWN).map(|pid| command::inspect(&pid.to_string(), &self.root)).collect();
        let remedy =
            "nobody restarts or ends them. An agent that runs destroys the container; without one, end them by hand";
        Some(Finding::new(Kind::MinionGone, Some(&self.id), text, remedy).of_pids(self.own.clone()).run(look))
    }
}
