//! Who starts after whom: names that nobody has, circles, and the waves in which a plan starts.

use super::draft::Task;
use super::placed::Findings;
use crate::near;
use crate::task::TaskSpec;
use std::collections::BTreeMap;

/// The name of the executor, which no sidecar may have.
pub(super) const EXECUTOR: &str = "executor";

/// Finds names that are taken, unknown or in a circle. `tasks` are all that have a name.
pub(super) fn check(tasks: &[(&str, &Task)], findings: &mut Findings<'_>) {
    for (nth, (name, task)) in tasks.iter().enumerate() {
        taken(name, task, &tasks[..nth], findings);
        for after in &task.after {
            if tasks.iter().all(|(known, _)| *known != after.value) {
                let known = || tasks.iter().map(|(known, _)| *known);
                let hint = match near::nearest(&after.value, known()) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("the tasks are {}", known().collect::<Vec<_>>().join(", ")),
                };
                findings.add(after.at, format!("after: no such task: {:?}", after.value), hint);
            }
        }
    }
    circle(tasks, findings);
}

fn taken(name: &str, task: &Task, before: &[(&str, &Task)], findings: &mut Findings<'_>) {
    let Some(written) = &task.name else { return };
    if name == EXECUTOR {
        findings.add(written.at, "name: \"executor\" is the executor's own", "give the sidecar another name");
    } else if before.iter().any(|(earlier, _)| *earlier == name) {
        findings.add(written.at, format!("name: taken: {name:?}"), "each sidecar has a name of its own");
    }
}

/// Names the first circle as a path, at the entry that closes it.
fn circle(tasks: &[(&str, &Task)], findings: &mut Findings<'_>) {
    let by_name: BTreeMap<&str, &Task> = tasks.iter().copied().collect();
    let mut done: Vec<&str> = Vec::new();
    for (name, _) in tasks {
        let mut path: Vec<&str> = Vec::new();
        // What is still to be looked at: a task, and how deep in the path it stands.
        let mut open = vec![(*name, 0)];
        while let Some((name, depth)) = open.pop() {
            done.extend(path.drain(depth..));
            if done.contains(&name) {
                continue;
            }
            path.push(name);
            let Some(task) = by_name.get(name) else { continue };
            for after in &task.after {
                if let Some(start) = path.iter().position(|earlier| *earlier == after.value) {
                    let mut shown = path[start..].to_vec();
                    shown.push(path[start]);
                    let hint = "each waits for the next for ever: leave one of these out";
                    findings.add(after.at, format!("after: a circle: {}", shown.join(" -> ")), hint);
                    return;
                }
                open.push((&after.value, depth + 1));
            }
        }
        done.append(&mut path);
    }
}

/// The tasks in waves: each waits for some of the wave before it. All of a plan that has no circle.
pub(super) fn waves(tasks: &[TaskSpec]) -> Vec<Vec<&TaskSpec>> {
    let mut waves: Vec<Vec<&TaskSpec>> = Vec::new();
    let mut left: Vec<&TaskSpec> = tasks.iter().collect();
    let mut started: Vec<&str> = Vec::new();
    while !left.is_empty() {
        let is_free = |task: &&TaskSpec| task.after.iter().all(|name| started.contains(&name.as_str()));
        let (wave, rest): (Vec<&TaskSpec>, Vec<&TaskSpec>) = left.into_iter().partition(is_free);
        if wave.is_empty() {
            break;
        }
        started.extend(wave.iter().map(|task| task.name.as_str()));
        waves.push(wave);
        left = rest;
    }
    waves
}
