//! A view as JSON. Names are stable within a schema version; numbers are exact: bytes, seconds, inode numbers.

use super::finding::{Finding, mount_words};
use super::proc::mounts::Mount;
use super::proc::seen::Seen;
use super::proc::stat::Stat;
use super::proc::status::{Status, capabilities, signals};
use super::view::cgroups::{Row, Standing};
use super::view::kin::Marker;
use super::view::kmsg::{Kill, Victim};
use super::view::resources::{Memory, Pids};
use super::view::{Namespace, View};
use serde_json::{Map, Value};
use std::path::Path;

/// The version of what `inspect --json` and `why --json` print. Fields may be added to it, not changed or removed.
pub(super) const SCHEMA: &str = "minion.inspect/1";

/// An object. Its functions are called and not copied to each place, as the macro for it does, with 27 kB in all.
#[derive(Default)]
pub(super) struct Object(Map<String, Value>);

impl Object {
    #[inline(never)]
    pub(super) fn put(mut self, name: &str, value: Value) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    #[inline(never)]
    pub(super) fn text(self, name: &str, text: &str) -> Self {
        self.put(name, Value::String(text.to_owned()))
    }

    #[inline(never)]
    pub(super) fn number(self, name: &str, number: i64) -> Self {
        self.put(name, Value::from(number))
    }

    /// Null where it is not known.
    #[inline(never)]
    pub(super) fn count(self, name: &str, count: Option<u64>) -> Self {
        self.put(name, Value::from(count))
    }

    pub(super) fn end(self) -> Value {
        Value::Object(self.0)
    }
}

/// A known value, or `{"unknown": "EACCES on …"}`.
fn seen<T>(seen: &Seen<T>, value: impl FnOnce(&T) -> Value) -> Value {
    match seen {
        Seen::Known(known) => value(known),
        Seen::Unknown(why) => Object::default().text("unknown", why).end(),
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
    Object::default()
        .number("pid", i64::from(stat.pid))
        .text("name", &stat.name)
        .put("arguments", seen(&view.arguments, |arguments| words(arguments)))
        .text("state", &stat.state.to_string())
        .number("group", i64::from(stat.group))
        .number("session", i64::from(stat.session))
        .text("scheduling", view.policy())
        .put("age_seconds", seen(&view.age, |age| age.as_secs().into()))
        .put("executable", seen(&view.executable, |path| shown(path)))
        .put("directory", seen(&view.directory, |path| shown(path)))
        .put("oom_score_adj", seen(&view.oom_score, |score| (*score).into()))
        .put("parent", option(kin.parent.as_ref(), relative))
        .put("minion", option(kin.minion.as_ref(), relative))
        .put("agent", option(kin.agent.as_ref(), relative))
        .put("task", option(kin.task.as_ref(), task))
        .put("descendants", list(&kin.descendants, relative))
        .put("container", container(view))
        .text("layout", &cgroups.layout.to_string())
        .put("cgroups", list(&cgroups.rows, row))
        .put("namespaces", list(&view.namespaces, namespace))
        .put("mounts", mounts(view))
        .put("status", seen(&view.status, status))
        .put("limits", seen(&view.limits, |limits| list(limits, plain)))
        .put("resources", resources(view))
        .put("unseen", list(view.unseen(), Value::from))
        .end()
}

/// A process and its findings, without the view.
pub(super) fn findings(view: &View, findings: &[Finding]) -> Value {
    let (pid, name) = (view.stat.pid.into(), view.stat.name.as_str().into());
    Object::default().put("pid", pid).put("name", name).put("findings", list(findings, plain)).end()
}

fn words(words: &[String]) -> Value {
    list(words, |word| word.as_str().into())
}

#[inline(never)]
fn relative(stat: &Stat) -> Value {
    Object::default()
        .number("pid", i64::from(stat.pid))
        .text("name", &stat.name)
        .text("state", &stat.state.to_string())
        .number("session", i64::from(stat.session))
        .end()
}

fn task(task: &Marker) -> Value {
    let Marker { task, minion, run } = task;
    Object::default().text("name", task).number("minion", i64::from(*minion)).text("run", run).end()
}

fn container(view: &View) -> Value {
    let id = option(view.cgroups.container.as_deref(), Value::from);
    Object::default().put("id", id).text("evidence", &view.cgroups.evidence).end()
}

fn row(row: &Row) -> Value {
    let (verdict, expected, why) = match &row.standing {
        Standing::Inside { .. } => ("inside", Some(&row.actual), None),
        Standing::Below { expected } => ("below", Some(expected), None),
        Standing::Inner { expected } => ("inner", Some(expected), None),
        Standing::Outside { expected, .. } => ("outside", Some(expected), None),
        Standing::None(why) => ("none", None, why.map(|why| why.to_string())),
    };
    Object::default()
        .text("hierarchy", &row.hierarchy)
        .put("expected", option(expected, |path| shown(path)))
        .put("actual", shown(&row.actual))
        .text("verdict", verdict)
        .put("why", option(why, Value::from))
        .put("other_container", option(row.other.as_deref(), Value::from))
        .end()
}

fn namespace(namespace: &Namespace) -> Value {
    let number = |number: &Seen<u64>| seen(number, |number| (*number).into());
    Object::default()
        .text("kind", namespace.kind)
        .put("own", number(&namespace.own))
        .put("host", number(&namespace.host))
        .put("minion", option(namespace.minion.as_ref(), number))
        .put("agent", option(namespace.agent.as_ref(), number))
        .end()
}

fn mounts(view: &View) -> Value {
    let mount = |mount: &Mount| {
        Object::default()
            .text("point", &mount.point)
            .text("type", &mount.kind)
            .text("propagation", mount.propagation())
            .end()
    };
    let differences = list(&view.mounts.differences, |difference| mount_words(difference).into());
    Object::default()
        .put("own", seen(&view.mounts.own, |mounts| list(mounts, mount)))
        .put("differences", differences)
        .end()
}

fn status(status: &Status) -> Value {
    let names = |mask| words(&signals(mask));
    Object::default()
        .number("uid", i64::from(status.uid))
        .number("threads", i64::from(status.threads))
        .number("tracer", i64::from(status.tracer))
        .count("resident_bytes", status.resident)
        .text("effective", &capabilities(status.effective))
        .text("permitted", &capabilities(status.permitted))
        .text("bounding", &capabilities(status.bounding))
        .put("seccomp", status.seccomp.into())
        .put("no_new_privs", status.no_new_privs.into())
        .put("blocked", names(status.blocked))
        .put("ignored", names(status.ignored))
        .put("caught", names(status.caught))
        .put("pending", names(status.pending))
        .end()
}

fn resources(view: &View) -> Value {
    let resources = &view.resources;
    let memory = |memory: &Memory| {
        Object::default()
            .put("cgroup", shown(&memory.directory))
            .count("limit_bytes", memory.limit)
            .count("usage_bytes", memory.usage)
            .count("peak_bytes", memory.peak)
            .count("oom_kills", memory.kills)
            .end()
    };
    let kill = |kill: &Kill| {
        Object::default()
            .number("pid", i64::from(kill.pid))
            .text("name", &kill.name)
            .count("microseconds", Some(kill.when))
    };
    let victim = |victim: &Victim| kill(&victim.kill).text("limiter", &victim.limiter).end();
    let pids = |pids: &Pids| {
        Object::default()
            .put("cgroup", shown(&pids.directory))
            .count("current", Some(pids.current))
            .count("max", Some(pids.max))
            .end()
    };
    Object::default()
        .put("memory", option(resources.memory.as_ref(), memory))
        .put("oom_victims", seen(&resources.kmsg, |victims| list(&victims.reported, victim)))
        .put("oom_unreported", seen(&resources.kmsg, |victims| list(&victims.unreported, |one| kill(one).end())))
        .put("pids", option(resources.pids.as_ref(), pids))
        .put("frozen", option(resources.frozen.as_deref(), shown))
        .end()
}

fn shown(path: &Path) -> Value {
    path.to_string_lossy().into_owned().into()
}
