//! A view as JSON. Names are stable within a schema version; numbers are exact: bytes, seconds, inode numbers.

use super::finding::{Finding, mount_words};
use super::proc::mounts::Mount;
use super::proc::seen::Seen;
use super::proc::stat::Stat;
use super::proc::status::{Status, capabilities, signals};
use super::view::cgroups::{Row, Standing};
use super::view::kin::Marker;
use super::view::kmsg::Victim;
use super::view::resources::{Memory, Pids};
use super::view::{Namespace, View};
use serde_json::Value;
use std::path::Path;

/// The version of what `inspect --json` and `why --json` print. Fields may be added to it, not changed or removed.
pub(super) const SCHEMA: &str = "minion.inspect/1";

/// An object. A function for all of them: the macro for it puts its whole code at each place, 27 kB in all.
#[inline(never)]
pub(super) fn object(entries: Vec<(&'static str, Value)>) -> Value {
    Value::Object(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A known value, or `{"unknown": "EACCES on …"}`.
fn seen<T>(seen: &Seen<T>, value: impl FnOnce(&T) -> Value) -> Value {
    match seen {
        Seen::Known(known) => value(known),
        Seen::Unknown(why) => object(vec![("unknown", why.as_str().into())]),
    }
}

fn option<T>(option: Option<T>, value: impl FnOnce(T) -> Value) -> Value {
    option.map_or(Value::Null, value)
}

fn list<T>(items: impl IntoIterator<Item = T>, value: impl FnMut(T) -> Value) -> Value {
    Value::Array(items.into_iter().map(value).collect())
}

/// What has its own form in JSON.
pub(super) fn plain(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// The whole view.
pub(super) fn view(view: &View) -> Value {
    let (stat, kin, cgroups) = (&view.stat, &view.kin, &view.cgroups);
    object(vec![
        ("pid", stat.pid.into()),
        ("name", stat.name.as_str().into()),
        ("arguments", seen(&view.arguments, |arguments| words(arguments))),
        ("state", stat.state.to_string().into()),
        ("group", stat.group.into()),
        ("session", stat.session.into()),
        ("scheduling", view.policy().into()),
        ("age_seconds", seen(&view.age, |age| age.as_secs().into())),
        ("executable", seen(&view.executable, |path| shown(path))),
        ("directory", seen(&view.directory, |path| shown(path))),
        ("oom_score_adj", seen(&view.oom_score, |score| (*score).into())),
        ("parent", option(kin.parent.as_ref(), relative)),
        ("minion", option(kin.minion.as_ref(), relative)),
        ("agent", option(kin.agent.as_ref(), relative)),
        ("task", option(kin.task.as_ref(), task)),
        ("descendants", list(&kin.descendants, relative)),
        ("container", container(view)),
        ("layout", cgroups.layout.to_string().into()),
        ("cgroups", list(&cgroups.rows, row)),
        ("namespaces", list(&view.namespaces, namespace)),
        ("mounts", mounts(view)),
        ("status", seen(&view.status, status)),
        ("limits", seen(&view.limits, |limits| list(limits, plain))),
        ("resources", resources(view)),
        ("unseen", list(view.unseen(), Value::from)),
    ])
}

/// A process and its findings, without the view.
pub(super) fn findings(view: &View, findings: &[Finding]) -> Value {
    let (pid, name) = (view.stat.pid.into(), view.stat.name.as_str().into());
    object(vec![("pid", pid), ("name", name), ("findings", list(findings, plain))])
}

fn words(words: &[String]) -> Value {
    list(words, |word| word.as_str().into())
}

#[inline(never)]
fn relative(stat: &Stat) -> Value {
    object(vec![
        ("pid", stat.pid.into()),
        ("name", stat.name.as_str().into()),
        ("state", stat.state.to_string().into()),
        ("session", stat.session.into()),
    ])
}

fn task(task: &Marker) -> Value {
    let Marker { task, minion, run } = task;
    object(vec![("name", task.as_str().into()), ("minion", (*minion).into()), ("run", run.as_str().into())])
}

fn container(view: &View) -> Value {
    let id = option(view.cgroups.container.as_deref(), Value::from);
    object(vec![("id", id), ("evidence", view.cgroups.evidence.as_str().into())])
}

fn row(row: &Row) -> Value {
    let (verdict, expected, why) = match &row.standing {
        Standing::Inside { .. } => ("inside", Some(&row.actual), None),
        Standing::Below { expected } => ("below", Some(expected), None),
        Standing::Inner { expected } => ("inner", Some(expected), None),
        Standing::Outside { expected, .. } => ("outside", Some(expected), None),
        Standing::None(why) => ("none", None, why.map(|why| why.to_string())),
    };
    object(vec![
        ("hierarchy", row.hierarchy.as_str().into()),
        ("expected", option(expected, |path| shown(path))),
        ("actual", shown(&row.actual)),
        ("verdict", verdict.into()),
        ("why", option(why, Value::from)),
    ])
}

fn namespace(namespace: &Namespace) -> Value {
    let number = |number: &Seen<u64>| seen(number, |number| (*number).into());
    object(vec![
        ("kind", namespace.kind.into()),
        ("own", number(&namespace.own)),
        ("host", number(&namespace.host)),
        ("minion", option(namespace.minion.as_ref(), number)),
        ("agent", option(namespace.agent.as_ref(), number)),
    ])
}

fn mounts(view: &View) -> Value {
    let mount = |mount: &Mount| {
        object(vec![
            ("point", mount.point.as_str().into()),
            ("type", mount.kind.as_str().into()),
            ("propagation", mount.propagation().into()),
        ])
    };
    let differences = list(&view.mounts.differences, |difference| mount_words(difference).into());
    object(vec![("own", seen(&view.mounts.own, |mounts| list(mounts, mount))), ("differences", differences)])
}

fn status(status: &Status) -> Value {
    let names = |mask| words(&signals(mask));
    object(vec![
        ("uid", status.uid.into()),
        ("threads", status.threads.into()),
        ("tracer", status.tracer.into()),
        ("resident_bytes", status.resident.into()),
        ("effective", capabilities(status.effective).into()),
        ("permitted", capabilities(status.permitted).into()),
        ("bounding", capabilities(status.bounding).into()),
        ("seccomp", status.seccomp.into()),
        ("no_new_privs", status.no_new_privs.into()),
        ("blocked", names(status.blocked)),
        ("ignored", names(status.ignored)),
        ("caught", names(status.caught)),
        ("pending", names(status.pending)),
    ])
}

fn resources(view: &View) -> Value {
    let resources = &view.resources;
    let memory = |memory: &Memory| {
        object(vec![
            ("cgroup", shown(&memory.directory)),
            ("limit_bytes", memory.limit.into()),
            ("usage_bytes", memory.usage.into()),
            ("peak_bytes", memory.peak.into()),
            ("oom_kills", memory.kills.into()),
        ])
    };
    let victim = |victim: &Victim| {
        object(vec![
            ("pid", victim.pid.into()),
            ("name", victim.name.as_str().into()),
            ("limiter", victim.limiter.as_str().into()),
            ("microseconds", victim.when.into()),
        ])
    };
    let pids = |pids: &Pids| {
        object(vec![("cgroup", shown(&pids.directory)), ("current", pids.current.into()), ("max", pids.max.into())])
    };
    object(vec![
        ("memory", option(resources.memory.as_ref(), memory)),
        ("oom_victims", seen(&resources.kmsg, |victims| list(victims, victim))),
        ("pids", option(resources.pids.as_ref(), pids)),
        ("frozen", option(resources.frozen.as_deref(), shown)),
    ])
}

fn shown(path: &Path) -> Value {
    path.to_string_lossy().into_owned().into()
}
