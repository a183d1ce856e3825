//! What `--check` prints: each task as it would be started, defaults included, in the order of the start.

use super::order;
use super::value::resource_name;
use super::{Context, Keeping, Loaded, layered};
use crate::hyperkube::duration::GoDuration;
use crate::mesos::secret;
use crate::render::clean;
use crate::task::spec::{Health, Hook, Limited, LogSettings, Probe, ReadyWay, StdoutMode};
use crate::task::{Restart, Role, TaskSpec};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::time::Duration;

/// The width of the names on the left.
const COLUMN: usize = 15;

/// The plan as text: a block a task. Secrets are not in it. [ME-04]
pub fn plan(loaded: &Loaded, context: &Context<'_>) -> String {
    let waves = order::waves(&loaded.tasks);
    let mut text = format!("{} in {}\n", count(loaded.tasks.len(), "task"), count(waves.len(), "step"));
    for (nth, wave) in waves.iter().enumerate() {
        for task in wave {
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(text, "\n{}. {} ({})", nth + 1, clean(&task.name), role(task.role));
            for (name, value) in rows(task, loaded, context) {
                let _ = writeln!(text, "   {name:COLUMN$} {}", clean(&value));
            }
        }
    }
    let grace = loaded.grace.map_or_else(|| "what the agent says, or 5s".to_owned(), span);
    let _ = writeln!(text, "\nstop, in the reverse order: all within {grace}");
    text
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Executor => "executor",
        Role::Helper => "sidecar",
    }
}

fn rows(task: &TaskSpec, loaded: &Loaded, context: &Context<'_>) -> Vec<(&'static str, String)> {
    let attributes = &task.attributes;
    let own = || "minion's own".to_owned();
    let mut rows = vec![
        ("starts", starts(task)),
        ("program", program(task, context)),
        ("arguments", words(&task.args[1..])),
        ("environment", environment(task, context.environment)),
        ("directory", directory(task, context)),
        (
            "user",
            attributes.user.as_ref().map_or_else(own, |user| {
                let groups: Vec<String> = user.groups.iter().map(u32::to_string).collect();
                format!("uid {}, gid {}, groups {}", user.uid, user.gid, groups.join(" "))
            }),
        ),
        ("limits", limits(task)),
        ("nice", attributes.nice.map_or_else(own, |nice| nice.to_string())),
        ("oom-score-adj", attributes.oom_score_adj.map_or_else(own, |score| score.to_string())),
        ("ready", ready(task)),
        ("health", task.health.as_ref().map_or("not asked".into(), |health| health_of(health, task.role))),
        ("restart", restart(task)),
    ];
    for (name, hook) in [("before-start", &task.before_start), ("after-stop", &task.after_stop)] {
        if let Some(hook) = hook {
            rows.push((name, hook_of(hook)));
        }
    }
    rows.push(("stop-signal", signal(task.stop_signal)));
    rows.push(("log", log(&task.name, task.log, loaded)));
    rows
}

/// What a check cannot know: see [`super::resolve`].
const OF_USER: &str = " (not for minion: its user has to have access to it)";

fn program(task: &TaskSpec, context: &Context<'_>) -> String {
    let shown = secret::shown_word(task.program.as_os_str());
    let note = match ((context.is_executable)(&task.program), &task.before_start) {
        (true, _) => "",
        (false, Some(_)) => " (not there yet: before-start is to make it)",
        (false, None) => OF_USER,
    };
    format!("{}{note}", shown.display())
}

fn directory(task: &TaskSpec, context: &Context<'_>) -> String {
    let Some(path) = &task.attributes.directory else { return "the sandbox".to_owned() };
    format!("{}{}", path.display(), if (context.is_directory)(path) { "" } else { OF_USER })
}

fn starts(task: &TaskSpec) -> String {
    match task.after.as_slice() {
        [] => "at once".to_owned(),
        [one] => format!("when {one} is ready"),
        several => format!("when these are ready: {}", several.join(", ")),
    }
}

fn words(words: &[OsString]) -> String {
    if words.is_empty() {
        return "none".to_owned();
    }
    let quoted: Vec<String> = secret::shown(words).iter().map(|word| format!("{word:?}")).collect();
    quoted.join(" ")
}

/// What differs from minion's own.
fn environment(task: &TaskSpec, inherited: &[(OsString, OsString)]) -> String {
    let is_inherited = |name: &OsString| task.env.iter().any(|(known, _)| known == name);
    let base = if inherited.iter().all(|(name, _)| is_inherited(name)) { "minion's own" } else { "none of minion's" };
    let own = task.env.iter().filter(|variable| !inherited.contains(variable));
    let shown: Vec<String> = own
        .map(|(name, value)| {
            let (shown, name) = (secret::shown_variable(name, value), name.display());
            if shown == secret::MARK { format!("{name}={}", secret::MARK) } else { format!("{name}={shown:?}") }
        })
        .collect();
    if shown.is_empty() { base.to_owned() } else { format!("{base}, {}", shown.join(" ")) }
}

fn limits(task: &TaskSpec) -> String {
    if task.attributes.limits.is_empty() {
        return "minion's own".to_owned();
    }
    let number = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), |limit| limit.to_string());
    let one = |limit: &crate::task::spec::ResourceLimit| {
        let name = resource_name(limit.resource);
        format!("{name} {}:{}", number(limit.soft), number(limit.hard))
    };
    task.attributes.limits.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn ready(task: &TaskSpec) -> String {
    let way = match &task.readiness.way {
        ReadyWay::Exec => return "as soon as it runs".to_owned(),
        ReadyWay::Notify => "when it sends READY=1 to NOTIFY_SOCKET".to_owned(),
        ReadyWay::Fd(fd) => format!("when it writes a newline to fd {fd}"),
        ReadyWay::Probe { probe: asked, every } => format!("when {}, tried every {}", probe(asked), span(*every)),
    };
    match task.readiness.within {
        Some(within) => format!("{way}, within {}", span(within)),
        None => format!("{way}, whenever that is"),
    }
}

fn probe(probe: &Probe) -> String {
    match probe {
        Probe::Tcp(address) => format!("{address} accepts a connection"),
        Probe::Unix(path) => format!("{} accepts a connection", path.display()),
        Probe::Http { address, path } => {
            let path = secret::shown_word(OsStr::new(path));
            format!("GET http://{address}{} is answered with 200 to 399", path.display())
        }
        Probe::Command(args) => format!("this exits with 0: {}", words(args)),
        Probe::File(path) => format!("{} is there", path.display()),
    }
}

fn health_of(health: &Health, role: Role) -> String {
    let verdict = match role {
        Role::Executor => "end the run",
        Role::Helper => "restart it",
    };
    let every = span(health.every);
    let Health { failures, timeout, .. } = health;
    match &health.probe {
        None => format!("WATCHDOG=1 every {every}; {failures} missing {verdict}"),
        Some(asked) => {
            let timeout = span(*timeout);
            format!("{}, asked every {every}, timeout {timeout}; {failures} failures {verdict}", probe(asked))
        }
    }
}

fn restart(task: &TaskSpec) -> String {
    let mut text = match task.restart {
        Restart::Never => "never".to_owned(),
        Restart::OnFailure { delay, max } => format!("on failure, after {} up to {}", span(delay), span(max)),
        Restart::Always { delay, max } => format!("always, after {} up to {}", span(delay), span(max)),
    };
    if let Some(limit) = task.start_limit {
        let then = match limit.then {
            Limited::End => "everything ends",
            Limited::GiveUp => "it stays down",
        };
        let _ = write!(text, "; after {} starts within {} {then}", limit.starts, span(limit.within));
    }
    text
}

fn hook_of(hook: &Hook) -> String {
    format!("{}, for at most {}", words(&hook.args), span(hook.timeout))
}

/// `SIGTERM`, or the number of a signal without a name.
fn signal(number: i32) -> String {
    signal_hook::low_level::signal_name(number).map_or_else(|| number.to_string(), str::to_owned)
}

fn log(name: &str, own: LogSettings, loaded: &Loaded) -> String {
    let keeping = Keeping::of(layered(own, loaded.log));
    let size = match keeping.max_size {
        0 => "never rotated".to_owned(),
        bytes => format!("rotated at {bytes} bytes"),
    };
    let age = keeping.max_age.map_or_else(|| "of any age".to_owned(), |age| format!("up to {} old", span(age)));
    let backups = match keeping.max_backups {
        0 => "all backups".to_owned(),
        backups => count(backups as usize, "backup"),
    };
    let gzip = if keeping.gzip { ", packed" } else { "" };
    let stdout = match keeping.stdout {
        StdoutMode::Merge => "stdout in it".to_owned(),
        StdoutMode::Separate => format!("stdout in {name}.stdout.log"),
        StdoutMode::Discard => "stdout nowhere".to_owned(),
    };
    format!("{name}.log, {size}; {backups} {age}{gzip}; {stdout}")
}

fn span(span: Duration) -> String {
    let nanos = i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    GoDuration::from_nanos(nanos).to_string()
}
