//! Status as text for Prometheus. Pure.

use crate::control::protocol::{Log, Status, Task};
use crate::render::clean;
use std::fmt::Write as _;

/// The label that tells one minion from another.
const CONTAINER: &str = "container";

/// The states of a task, each with a sample of the state set.
const STATES: [&str; 8] = ["idle", "starting", "running", "stopping", "clearing", "backoff", "down", "ended"];

/// How it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exposition {
    /// `OpenMetrics` 1.0.
    #[default]
    OpenMetrics,
    /// The older text of Prometheus (0.0.4), which is all that the textfile collector of a node exporter reads: it has no
    /// `info` and no `stateset`, and a counter is called by the name of its samples.
    ///
    /// A collector puts the files of all minions of a host together, so here each sample names its container.
    Prometheus,
}

/// The whole exposition, `# EOF` included where there is one.
#[allow(clippy::cast_precision_loss, reason = "samples are floating point in OpenMetrics")]
pub(super) fn text(status: &Status, form: Exposition) -> String {
    let container = status.container.id.as_deref().unwrap_or_default();
    let mut page = Page { text: String::new(), form, container: Some(container).filter(|id| !id.is_empty()) };
    let version = status.version.as_str();
    page.family("minion", "info", None, "The minion and its container.");
    page.sample("minion_info", &[("version", version), (CONTAINER, container)], 1.0);
    page.family("minion_uptime_seconds", "gauge", Some("seconds"), "How long minion supervises.");
    page.sample("minion_uptime_seconds", &[], status.uptime_seconds);
    page.family("minion_stopping", "gauge", None, "1 once everything is ending.");
    page.sample("minion_stopping", &[], f64::from(u8::from(status.stopping.is_some())));
    page.family("minion_events", "counter", None, "Lifecycle events so far.");
    page.sample("minion_events_total", &[], status.events.last().map_or(0, |event| event.seq) as f64);
    if let Some(kills) = status.oom_kills {
        page.family(
            "minion_container_oom_kills",
            "counter",
            None,
            "OOM kills in the container, by the kernel's count.",
        );
        page.sample("minion_container_oom_kills_total", &[], kills as f64);
    }
    page.states(&status.tasks);
    page.tasks(&status.tasks, ("up", "gauge", None), "1 while the program runs.", |task| {
        Some(f64::from(u8::from(task.state == "running" && task.hook.is_none())))
    });
    page.tasks(&status.tasks, ("ready", "gauge", None), "1 while it can serve.", |task| {
        Some(f64::from(u8::from(task.ready)))
    });
    page.tasks(&status.tasks, ("restarts", "counter", None), "Starts after the first.", |task| {
        Some(task.restarts as f64)
    });
    page.tasks(&status.tasks, ("uptime_seconds", "gauge", Some("seconds")), "How long this run lasts.", |task| {
        task.uptime_seconds
    });
    page.tasks(&status.tasks, ("last_exit_code", "gauge", None), "128+n after signal n.", |task| {
        task.last_exit.as_ref().map(|exit| f64::from(exit.code))
    });
    page.tasks(
        &status.tasks,
        ("resident_memory_bytes", "gauge", Some("bytes")),
        "Resident memory of the main process.",
        |task| task.rss_bytes.map(|bytes| bytes as f64),
    );
    page.tasks(
        &status.tasks,
        ("cpu_seconds", "counter", Some("seconds")),
        "Processor time of the main process; it begins anew with each run.",
        |task| task.cpu_seconds,
    );
    page.tasks(&status.tasks, ("drifted", "gauge", None), "Hierarchies in which it left its cgroup.", |task| {
        Some(task.drift.len() as f64)
    });
    page.logs(&status.tasks);
    if form == Exposition::OpenMetrics {
        page.text.push_str("# EOF\n");
    }
    page.text
}

struct Page<'a> {
    text: String,
    form: Exposition,
    container: Option<&'a str>,
}

// Writing to a String cannot fail, so the results of `writeln!` say nothing here.
impl Page<'_> {
    fn family(&mut self, name: &str, kind: &str, unit: Option<&str>, help: &str) {
        let (suffix, kind) = match (self.form, kind) {
            (Exposition::OpenMetrics, kind) => ("", kind),
            (Exposition::Prometheus, "info") => ("_info", "gauge"),
            (Exposition::Prometheus, "counter") => ("_total", "counter"),
            (Exposition::Prometheus, _) => ("", "gauge"),
        };
        let _ = writeln!(self.text, "# TYPE {name}{suffix} {kind}");
        if let (Exposition::OpenMetrics, Some(unit)) = (self.form, unit) {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.text, "# HELP {name}{suffix} {help}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let named = self.form == Exposition::OpenMetrics || labels.iter().any(|(name, _)| *name == CONTAINER);
        let whose = self.container.filter(|_| !named).map(|id| (CONTAINER, id));
        let labels = labels.iter().copied().chain(whose).map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
        let labels = labels.collect::<Vec<_>>().join(",");
        let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }

    /// A family with a sample for each task that has a value.
    fn tasks(
        &mut self,
        tasks: &[Task],
        (name, kind, unit): (&str, &str, Option<&str>),
        help: &str,
        value: impl Fn(&Task) -> Option<f64>,
    ) {
        let family = format!("minion_task_{name}");
        self.family(&family, kind, unit, help);
        let sample = if kind == "counter" { format!("{family}_total") } else { family };
        for task in tasks {
            if let Some(value) = value(task) {
                self.sample(&sample, &[("task", &task.name)], value);
            }
        }
    }

    fn states(&mut self, tasks: &[Task]) {
        self.family("minion_task_state", "stateset", None, "Where the task is in its life.");
        for task in tasks {
            for state in STATES {
                let value = f64::from(u8::from(task.state == state));
                self.sample("minion_task_state", &[("task", &task.name), ("minion_task_state", state)], value);
            }
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "samples are floating point in OpenMetrics")]
    fn logs(&mut self, tasks: &[Task]) {
        let bytes = Some("bytes");
        self.log(tasks, ("written_bytes", "counter", bytes), "Bytes that it took.", |log| log.bytes as f64);
        self.log(tasks, ("dropped_bytes", "counter", bytes), "Bytes that are in no file.", |log| log.dropped as f64);
        self.log(tasks, ("degraded", "gauge", None), "1 while it cannot be written.", |log| {
            f64::from(u8::from(log.degraded.is_some()))
        });
    }

    /// A family with a sample for each log.
    fn log(
        &mut self,
        tasks: &[Task],
        (name, kind, unit): (&str, &str, Option<&str>),
        help: &str,
        value: impl Fn(&Log) -> f64,
    ) {
        let family = format!("minion_log_{name}");
        self.family(&family, kind, unit, help);
        let sample = if kind == "counter" { format!("{family}_total") } else { family };
        for task in tasks {
            for log in &task.logs {
                self.sample(&sample, &[("task", &task.name), ("file", &log.file)], value(log));
            }
        }
    }
}

/// A label's value: backslash, quote and line feed are escaped. Other control characters are spelled out, since the text may
/// go to a terminal, and neither form has an escape for them.
fn escaped(value: &str) -> String {
    value
        .split('\n')
        .map(clean)
        .collect::<Vec<_>>()
        .join("\n")
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
