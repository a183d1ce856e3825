//! A view as JSON. Names are stable within a schema version; numbers are exact: bytes, seconds, inode numbers.

use super::finding::{Finding, mount_words};
use super::proc::stat::Stat;
use super::proc::status::{capabilities, signals};
use super::view::View;
use super::view::cgroups::{Row, Standing};
use serde_json::{Value, json};
use std::path::Path;

/// The version of what `inspect --json` and `why --json` print. Fields may be added to it, not changed or removed.
pub(super) const SCHEMA: &str = "minion.inspect/1";

/// The whole view.
pub(super) fn view(view: &View) -> Value {
    let stat = &view.stat;
    json!({
        "pid": stat.pid,
        "name": stat.name,
        "arguments": view.arguments,
        "state": stat.state.to_string(),
        "group": stat.group,
        "session": stat.session,
        "scheduling": view.policy(),
        "age_seconds": view.age.clone().map(|age| age.as_secs()),
        "executable": view.executable.clone().map(|path| shown(&path)),
        "directory": view.directory.clone().map(|path| shown(&path)),
        "oom_score_adj": view.oom_score,
        "parent": view.kin.parent.as_ref().map(relative),
        "minion": view.kin.minion.as_ref().map(relative),
        "agent": view.kin.agent.as_ref().map(relative),
        "task": view.kin.task.as_ref().map(|task| json!({"name": task.task, "minion": task.minion, "run": task.run})),
        "descendants": view.kin.descendants.iter().map(relative).collect::<Vec<_>>(),
        "container": {"id": view.cgroups.container, "evidence": view.cgroups.evidence},
        "layout": view.cgroups.layout.to_string(),
        "cgroups": view.cgroups.rows.iter().map(row).collect::<Vec<_>>(),
        "namespaces": namespaces(view),
        "mounts": mounts(view),
        "status": status(view),
        "limits": view.limits,
        "resources": resources(view),
        "unseen": view.unseen(),
    })
}

/// A process and its findings, without the view.
pub(super) fn findings(view: &View, findings: &[Finding]) -> Value {
    json!({"pid": view.stat.pid, "name": view.stat.name, "findings": findings})
}

fn relative(stat: &Stat) -> Value {
    json!({"pid": stat.pid, "name": stat.name, "state": stat.state.to_string(), "session": stat.session})
}

fn row(row: &Row) -> Value {
    let (verdict, expected, why) = match &row.standing {
        Standing::Inside { .. } => ("inside", Some(&row.actual), None),
        Standing::Below { expected } => ("below", Some(expected), None),
        Standing::Inner { expected } => ("inner", Some(expected), None),
        Standing::Outside { expected, .. } => ("outside", Some(expected), None),
        Standing::None(why) => ("none", None, why.map(|why| why.to_string())),
    };
    json!({
        "hierarchy": row.hierarchy,
        "expected": expected.map(|path| shown(path)),
        "actual": shown(&row.actual),
        "verdict": verdict,
        "why": why,
    })
}

fn namespaces(view: &View) -> Value {
    let namespace = |namespace: &super::view::Namespace| {
        json!({
            "kind": namespace.kind,
            "own": namespace.own,
            "host": namespace.host,
            "minion": namespace.minion,
            "agent": namespace.agent,
        })
    };
    view.namespaces.iter().map(namespace).collect()
}

fn mounts(view: &View) -> Value {
    let own = view.mounts.own.clone().map(|mounts| {
        let mount = |mount: &super::proc::mounts::Mount| {
            json!({"point": mount.point, "type": mount.kind, "propagation": mount.propagation()})
        };
        mounts.iter().map(mount).collect::<Vec<_>>()
    });
    json!({"own": own, "differences": view.mounts.differences.iter().map(mount_words).collect::<Vec<_>>()})
}

fn status(view: &View) -> Value {
    let status = view.status.clone().map(|status| {
        json!({
            "uid": status.uid,
            "threads": status.threads,
            "tracer": status.tracer,
            "resident_bytes": status.resident,
            "effective": capabilities(status.effective),
            "permitted": capabilities(status.permitted),
            "bounding": capabilities(status.bounding),
            "seccomp": status.seccomp,
            "no_new_privs": status.no_new_privs,
            "blocked": signals(status.blocked),
            "ignored": signals(status.ignored),
            "caught": signals(status.caught),
            "pending": signals(status.pending),
        })
    });
    json!(status)
}

fn resources(view: &View) -> Value {
    let resources = &view.resources;
    json!({
        "memory": resources.memory.as_ref().map(|memory| json!({
            "cgroup": shown(&memory.directory),
            "limit_bytes": memory.limit,
            "usage_bytes": memory.usage,
            "peak_bytes": memory.peak,
            "oom_kills": memory.kills,
        })),
        "oom_victims": resources.kmsg.clone().map(|victims| {
            let victim = |victim: &super::view::kmsg::Victim| {
                json!({"pid": victim.pid, "name": victim.name, "limiter": victim.limiter, "microseconds": victim.when})
            };
            victims.iter().map(victim).collect::<Vec<_>>()
        }),
        "pids": resources.pids.as_ref().map(|pids| json!({
            "cgroup": shown(&pids.directory), "current": pids.current, "max": pids.max,
        })),
        "frozen": resources.frozen.as_deref().map(shown),
    })
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
