//! `minion attach`: putting a stray process back. The only tool that changes anything.

use super::json::Object;
use super::proc::KTHREADD;
use super::proc::once::Once;
use super::proc::seen::Seen;
use super::proc::stat::Stat;
use super::report::Answer;
use super::target;
use super::view::cgroups::{Elsewhere, Host, PREFIX};
use crate::cgroup::{Place, Validated};
use crate::error::{Error, Result};
use crate::mesos::clean_prefix;
use crate::render::{Cell, Column, Fit, Screen, Table, Tone};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;

/// The version of what `attach --json` prints.
const SCHEMA: &str = "minion.attach/1";

/// Which process belongs where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// The process.
    pub pid: i32,
    /// The container's id.
    pub container: String,
    /// The one hierarchy to attach in: a controller, `systemd` or `unified`.
    pub only: Option<String>,
    /// Take it out of another container too.
    pub take: bool,
    /// `--mesos-cgroup-prefix`.
    pub prefix: Option<String>,
    /// JSON instead of text.
    pub json: bool,
}

/// What became of one hierarchy.
struct Outcome {
    hierarchy: String,
    cgroup: String,
    result: Done,
}

enum Done {
    Moved,
    /// It was there already.
    There,
    /// It is in this other container, and stays there.
    Left(String),
    Failed(Error),
}

/// Puts the process into each of the container's cgroups. Code 0: it is in all of them now, and in no other container; 1: it is
/// not.
///
/// The process is nobody's child here, so its number could go to another one: a pidfd that was opened first tells at the end
/// whether it lived the whole time. [KF-65]
pub fn attach(errand: &Errand, screen: &Screen) -> Result<Answer> {
    let pidfd = open(errand.pid)?;
    let stat = match Stat::read(errand.pid) {
        Seen::Known(stat) => stat,
        Seen::Unknown(why) => return Err(gone(errand.pid, why)),
    };
    if stat.is_zombie() {
        return Err(zombie(&stat));
    }
    let (places, elsewhere) = (places(errand)?, elsewhere(errand)?);
    if !errand.take && !elsewhere.is_empty() {
        return Err(inside(&stat, errand, &elsewhere));
    }
    let mut outcomes: Vec<Outcome> = places.into_iter().map(|place| put(place, &stat)).collect();
    let is_named = |one: &Elsewhere| outcomes.iter().any(|outcome| outcome.hierarchy == one.hierarchy);
    let left: Vec<Outcome> = elsewhere.into_iter().filter(|one| !is_named(one)).map(Outcome::left).collect();
    outcomes.extend(left);
    if has_ended(&pidfd) {
        return Err(gone(errand.pid, "it ended while it was being moved; nothing of this counts".to_owned()));
    }
    let complete = outcomes.iter().all(|outcome| matches!(outcome.result, Done::Moved | Done::There));
    let text = if errand.json { object(errand, &outcomes) } else { page(&stat, errand, &outcomes, screen) };
    Ok(Answer { text, code: u8::from(!complete) })
}

fn open(pid: i32) -> Result<OwnedFd> {
    let valid = Pid::from_raw(pid).filter(|pid| pid.as_raw_nonzero().get() > 0);
    let pid = valid.ok_or_else(|| Error::new("attach", format!("pid {pid}"), "it is not the pid of a process"))?;
    pidfd_open(pid, PidfdFlags::empty())
        .map_err(|error| Error::io("attach", format!("pid {}", pid.as_raw_nonzero()), error))
        .map_err(|error| if error.errno() == Some(libc::ESRCH) { error.hint("the process has ended") } else { error })
}

fn gone(pid: i32, why: String) -> Error {
    Error::new("attach", format!("pid {pid}"), why).hint("the process has ended")
}

/// The kernel takes a zombie's pid without a word and moves nothing that matters. [KF-25]
fn zombie(stat: &Stat) -> Error {
    Error::new(
        "attach",
        format!("pid {} ({})", stat.pid, stat.name),
        "it is a zombie: dead, and not reaped by its parent",
    )
    .hint(format!(
        "the kernel would say yes and do nothing; what holds resources is its parent, pid {}, or a child of it",
        stat.parent
    ))
}

/// Where the process is inside of another container now. Those of the usual root count too: they have an agent as well.
fn elsewhere(errand: &Errand) -> Result<Vec<Elsewhere>> {
    let once = Once::default();
    let path = super::proc::path(errand.pid, "cgroup");
    let text = match once.piece(path) {
        Seen::Known(text) => text,
        Seen::Unknown(why) => return Err(gone(errand.pid, why)),
    };
    let found = Host::read(errand.prefix.clone(), &once)?.elsewhere(&text, &errand.container);
    if !found.is_empty() || errand.prefix.as_deref().is_none_or(|prefix| clean_prefix(prefix) == PREFIX) {
        return Ok(found);
    }
    Ok(Host::read(None, &once)?.elsewhere(&text, ""))
}

/// A healthy process of another container: its limits, its accounting and its end would change.
fn inside(stat: &Stat, errand: &Errand, elsewhere: &[Elsewhere]) -> Error {
    let places: Vec<&str> = elsewhere.iter().map(|one| one.hierarchy.as_str()).collect();
    let other = elsewhere.first().map_or("", |one| one.container.as_str());
    let (pid, name) = (stat.pid, crate::render::clean(&stat.name));
    Error::new(
        "attach",
        format!("pid {pid} ({name})"),
        format!("it is inside another container, {other}, in {}", places.join(", ")),
    )
    .hint(format!(
        "minion why {pid} says where it belongs; if that is {}, --move takes it out of the other one",
        errand.container
    ))
}

fn places(errand: &Errand) -> Result<Vec<Place>> {
    let validated = target::validated(&errand.container, errand.prefix.as_deref(), &Once::default())?;
    let subject = format!("container {:?}", errand.container);
    if validated.places.is_empty() {
        return Err(Error::new("attach to", subject, "it has no cgroup in any hierarchy")
            .hint("the agent has destroyed it, or --mesos-cgroup-prefix is not the agent's --cgroups_root"));
    }
    let Some(only) = &errand.only else { return Ok(validated.places) };
    let named =
        |place: &Place| place.hierarchy.split(',').any(|name| name == only || name.strip_prefix("name=") == Some(only));
    let there: Vec<String> = validated.places.iter().map(|place| place.hierarchy.clone()).collect();
    let places: Vec<Place> = validated.places.into_iter().filter(named).collect();
    if places.is_empty() {
        let cause = format!("it has no cgroup in the hierarchy of {only:?}");
        return Err(Error::new("attach to", subject, cause).hint(format!("it has them in: {}", there.join(", "))));
    }
    Ok(places)
}

/// True when it was moved, false when it was there already.
fn put(place: Place, stat: &Stat) -> Outcome {
    let (hierarchy, cgroup) = (place.hierarchy.clone(), place.path.to_string_lossy().into_owned());
    let one = Validated { places: vec![place], inherited: Vec::new(), refused: Vec::new() };
    let result = match one.attach(stat.pid) {
        Ok(attached) if attached.moved.is_empty() => Done::There,
        Ok(_) => Done::Moved,
        Err(error) => Done::Failed(explained(error, stat, &hierarchy)),
    };
    Outcome { hierarchy, cgroup, result }
}

/// What this process has to do with the errno, where more is known than `cgroup`'s own hint says.
fn explained(error: Error, stat: &Stat, hierarchy: &str) -> Error {
    if error.errno() != Some(libc::EINVAL) {
        return error;
    }
    // All but kthreadd itself are its children, and nothing else is.
    if [stat.pid, stat.parent].contains(&KTHREADD) {
        return error.hint("it is a thread of the kernel, which keeps it where it is: no container needs it");
    }
    let has_cpu = hierarchy.split(',').any(|controller| controller == "cpu");
    match stat.policy {
        _ if !has_cpu => error,
        1 | 2 => {
            let pid = stat.pid;
            error.hint(format!(
                "it is a real-time process, and a v1 cpu cgroup takes one only where cpu.rt_runtime_us is above 0: chrt --other \
                 --pid 0 {pid} first, or give the cgroup real-time runtime"
            ))
        }
        _ => {
            error.hint("one of its threads may be a real-time one (chrt --all-tasks --pid): a v1 cpu cgroup refuses it")
        }
    }
}

impl Outcome {
    fn left(one: Elsewhere) -> Self {
        let cgroup = one.cgroup.to_string_lossy().into_owned();
        Self { hierarchy: one.hierarchy, cgroup, result: Done::Left(one.container) }
    }
}

fn has_ended(pidfd: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
}

fn page(stat: &Stat, errand: &Errand, outcomes: &[Outcome], screen: &Screen) -> String {
    let mut table = Table::new(&[
        Column::new("HIERARCHY", Fit::Whole),
        Column::new("CGROUP", Fit::Middle),
        Column::new("RESULT", Fit::Wrapped),
    ]);
    for outcome in outcomes {
        let result = match &outcome.result {
            Done::Moved => Cell::toned(Tone::Good, "moved"),
            Done::There => "was there already".into(),
            Done::Left(container) => Cell::toned(Tone::Bad, format!("STAYS in container {container}")),
            Done::Failed(error) => Cell::toned(Tone::Bad, format!("FAILED: {error}")),
        };
        table.row([Cell::from(&outcome.hierarchy), (&outcome.cgroup).into(), result]);
    }
    let last = last(errand, outcomes);
    let who = format!("pid {} ({}): ", stat.pid, crate::render::clean(&stat.name));
    table.render(screen) + &screen.paragraph(&who, &last)
}

/// What is so now, in a sentence.
fn last(errand: &Errand, outcomes: &[Outcome]) -> String {
    let failed = outcomes.iter().filter(|outcome| matches!(outcome.result, Done::Failed(_))).count();
    let left = |outcome: &Outcome| match &outcome.result {
        Done::Left(container) => Some((outcome.hierarchy.clone(), container.clone())),
        Done::Moved | Done::There | Done::Failed(_) => None,
    };
    let left: Vec<(String, String)> = outcomes.iter().filter_map(left).collect();
    match (failed, left.first()) {
        (0, None) => "it is where it should be; its children are where they were".to_owned(),
        (0, Some((_, other))) => {
            let places: Vec<&str> = left.iter().map(|(hierarchy, _)| hierarchy.as_str()).collect();
            let container = &errand.container;
            let why = match &errand.only {
                Some(only) => format!("only {only} was asked for"),
                None => format!("{container} has no cgroup there"),
            };
            format!(
                "it is in two containers now: in {} the limits and the accounting of {other} hold for it, for {why}",
                places.join(", ")
            )
        }
        (failed, _) => format!("not attached in {failed} of {}", outcomes.len() - left.len()),
    }
}

fn object(errand: &Errand, outcomes: &[Outcome]) -> String {
    let outcome = |outcome: &Outcome| {
        let (result, error) = match &outcome.result {
            Done::Moved => ("moved", None),
            Done::There => ("there", None),
            Done::Left(_) => ("left", None),
            Done::Failed(error) => ("failed", Some(error)),
        };
        Object::default()
            .text("hierarchy", &outcome.hierarchy)
            .text("cgroup", &outcome.cgroup)
            .text("result", result)
            .put("errno", error.and_then(Error::errno).into())
            .put("error", error.map(ToString::to_string).into())
            .end()
    };
    let outcomes = outcomes.iter().map(outcome).collect();
    let object = Object::default()
        .text("schema", SCHEMA)
        .number("pid", i64::from(errand.pid))
        .text("container", &errand.container)
        .put("outcomes", outcomes)
        .end();
    format!("{object}\n")
}
