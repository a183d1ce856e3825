//! What in a status wants attention, in sentences. Pure.

use crate::control::protocol::{Log, Status, Task};
use crate::render::unit::{bytes, seconds};

/// Everything that is not as it should be. Empty when all is well.
pub(super) fn of(status: &Status) -> Vec<String> {
    let mut findings = Vec::new();
    if let Some(reason) = &status.stopping {
        findings.push(format!("everything is ending: {reason}"));
    }
    if status.container.verdict == "disagreement" {
        findings.push(status.container.evidence.clone());
    }
    if let Some(kills) = status.oom_kills.filter(|kills| *kills > 0) {
        let times = if kills == 1 { "once".to_owned() } else { format!("{kills} times") };
        findings.push(format!("the kernel killed for lack of memory in this container, {times} so far"));
    }
    status.tasks.iter().for_each(|task| of_task(task, status.pid, &mut findings));
    findings
}

fn of_task(task: &Task, minion: i32, findings: &mut Vec<String>) {
    let name = &task.name;
    let last = task.last_exit.as_ref().map_or_else(String::new, |exit| format!("; it {}", verb(&exit.text)));
    match task.state.as_str() {
        "running" if !task.ready && task.hook.is_none() => findings.push(format!("{name} runs, and is not ready yet")),
        "backoff" => {
            let wait = seconds(task.starts_in_seconds.unwrap_or(0.0));
            findings.push(format!("{name} does not run, and starts again in {wait}{last}"));
        }
        "down" => {
            findings.push(format!("{name} is kept down by a command; minion start {name} --target={minion} starts it"));
        }
        // One that did its work and was not to run again is as it should be.
        "ended" if task.last_exit.as_ref().is_some_and(|exit| exit.code == 0) => {}
        "ended" => findings.push(format!("{name} has ended and does not start again{last}")),
        _ => {}
    }
    findings.extend(task.drift.iter().map(|drift| format!("{name} left its cgroup: {drift}")));
    task.logs.iter().for_each(|log| of_log(log, findings));
}

fn of_log(log: &Log, findings: &mut Vec<String>) {
    let file = &log.file;
    if let Some(why) = &log.degraded {
        findings.push(format!("{file} cannot be written: {why}"));
    }
    if log.dropped > 0 {
        findings.push(format!("{file} lacks {} that had to be dropped; it says where", bytes(log.dropped)));
    }
}

/// `was killed by signal 9`: the exit's words as part of a sentence.
fn verb(text: &str) -> String {
    if text.starts_with("killed") { format!("was {text}") } else { text.to_owned() }
}
