//! Every key of the file and of its tasks. With [`super::nested`] the only place that knows them.

use super::draft::{Document, RestartWhen, Task};
use super::key::{About, Key, Takes, abouts, put, read};
use super::nested::{HEALTH, HOOK, LIMIT, LOG, PATH, READINESS, STOP, Stop, TASK_LOG};
use super::nested::{asking, name, placed_path, start_limit};
use super::placed::Placed;
use super::value;

const NAME: Takes = Takes::Text("a name for logs and commands: letters, digits, - _ and .");
const AGAIN: &[&str] = &["always", "on-failure", "never"];

/// The file itself.
pub(super) static DOCUMENT: [Key<Document>; 4] = [
    About::new("executor", Takes::Table(|| abouts(&EXECUTOR)))
        .help("What the container lives for: its end is the end of everything, its exit code is minion's.")
        .sets(|document, node, findings| {
            let task = Task { at: node.at(), ..read(&EXECUTOR, node.table()?, node.at(), findings) };
            put(&mut document.executor, Ok(Some(task)))
        }),
    About::new("sidecar", Takes::Tables(|| abouts(&SIDECAR)))
        .help("What serves the executor, a [[sidecar]] each. It may end and start again.")
        .sets(|document, node, findings| {
            for node in node.tables()? {
                let table = node.table().map_err(|wrong| wrong.at(node.at()))?;
                document.sidecars.push(Task { at: node.at(), ..read(&SIDECAR, table, node.at(), findings) });
            }
            Ok(())
        }),
    About::new("log", Takes::Table(|| abouts(&LOG)))
        .help("How all logs are kept. A flag of the command line overrides it, a task's own log table both.")
        .sets(|document, node, findings| {
            put(&mut document.log, node.table().map(|table| read(&LOG, table, node.at(), findings)))
        }),
    About::new("stop", Takes::Table(|| abouts(&STOP))).help("How everything ends.").sets(|document, node, findings| {
        put(&mut document.grace, node.table().map(|table| read::<Stop>(&STOP, table, node.at(), findings).grace))
    }),
];

static EXECUTOR: [Key<Task>; 17] = [
    command(false),
    after(),
    environment(),
    environment_file(),
    clear_environment(),
    directory(),
    user(),
    group(),
    limits(),
    nice(),
    oom_score_adj(),
    stop_signal(),
    readiness(),
    health(),
    before_start(),
    after_stop(),
    log(),
];

static SIDECAR: [Key<Task>; 22] = [
    About::new("name", NAME)
        .required()
        .help("Its name: in logs, in commands, and of its log file.")
        .sets(|task, node, _| put(&mut task.name, name(node).map(Some))),
    command(true),
    after(),
    environment(),
    environment_file(),
    clear_environment(),
    directory(),
    user(),
    group(),
    limits(),
    nice(),
    oom_score_adj(),
    stop_signal(),
    About::new("restart", Takes::Choice(AGAIN))
        .default("always")
        .help("Whether it starts again after its end: always, after every end but exit code 0, or never.")
        .sets(|task, node, _| {
            let all = [RestartWhen::Always, RestartWhen::OnFailure, RestartWhen::Never];
            put(&mut task.restart, value::choice(node, AGAIN).map(|nth| all[nth]))
        }),
    About::new("restart-delay", Takes::Duration)
        .default("5s, or what --restart-delay says")
        .help("The wait before it starts again. It doubles from restart to restart; a minute up resets it.")
        .sets(|task, node, _| put(&mut task.restart_delay, value::span(node).map(Some))),
    About::new("restart-delay-max", Takes::Duration)
        .default("1m, or what --restart-delay-max says")
        .help("The longest wait before a restart.")
        .sets(|task, node, _| {
            put(&mut task.restart_delay_max, value::span(node).map(|span| Some(Placed::new(node.at(), span))))
        }),
    About::new("start-limit", Takes::Table(|| abouts(&LIMIT)))
        .default("none")
        .help("How often it may start, and what follows one start more.")
        .sets(|task, node, findings| put(&mut task.start_limit, start_limit(node, findings))),
    readiness(),
    health(),
    before_start(),
    after_stop(),
    log(),
];

/// Of the executor the command line may give it.
const fn command(required: bool) -> Key<Task> {
    let about = About::new("command", Takes::Command);
    let about = if required { about.required() } else { about };
    about
        .help(
            "The program and its arguments. No shell reads them. A program without a slash is looked for in the task's \
             PATH; a relative path starts in the sandbox.",
        )
        .sets(|task, node, _| {
            task.has_command = true;
            put(&mut task.command, value::command(node).map(Some))
        })
}

const fn after() -> Key<Task> {
    About::new("after", Takes::Words)
        .default("none")
        .help("The tasks that must be ready before it starts. At a stop it is told to end before they are.")
        .sets(|task, node, _| put(&mut task.after, node.words()))
}

const fn environment() -> Key<Task> {
    About::new("environment", Takes::Variables)
        .default("none")
        .help("Variables on top of minion's own and of environment-file.")
        .sets(|task, node, _| put(&mut task.environment, value::variables(node)))
}

const fn environment_file() -> Key<Task> {
    About::new("environment-file", PATH)
        .default("none")
        .help("A file of NAME=VALUE lines, taken literally, on top of minion's own environment. # begins a comment.")
        .sets(|task, node, _| put(&mut task.environment_file, placed_path(node)))
}

const fn clear_environment() -> Key<Task> {
    About::new("clear-environment", Takes::Switch)
        .default("false")
        .help("Leave out minion's own environment, which is the agent's, tokens included.")
        .sets(|task, node, _| put(&mut task.clear_environment, node.boolean()))
}

const fn directory() -> Key<Task> {
    About::new("directory", PATH)
        .default("the sandbox")
        .help("The working directory. A relative path starts in the sandbox.")
        .sets(|task, node, _| put(&mut task.directory, placed_path(node)))
}

const fn user() -> Key<Task> {
    About::new("user", Takes::Account)
        .default("minion's own")
        .help("The user, with the groups that /etc/passwd and /etc/group give it.")
        .sets(|task, node, _| put(&mut task.user, value::account(node).map(Some)))
}

const fn group() -> Key<Task> {
    About::new("group", Takes::Account)
        .default("the user's own")
        .help("The group in place of the user's own; required for a number that /etc/passwd does not know.")
        .sets(|task, node, _| put(&mut task.group, value::account(node).map(Some)))
}

const fn limits() -> Key<Task> {
    About::new("limits", Takes::Limits)
        .default("minion's own")
        .help("Resource limits, as a number for both the soft and the hard limit or as \"soft:hard\".")
        .sets(|task, node, _| put(&mut task.limits, value::limits(node)))
}

const fn nice() -> Key<Task> {
    About::new("nice", Takes::Integer(-20, 19))
        .default("minion's own")
        .help("The nice value.")
        .sets(|task, node, _| put(&mut task.nice, value::number(node, -20, 19).map(Some)))
}

const fn oom_score_adj() -> Key<Task> {
    About::new("oom-score-adj", Takes::Integer(-1000, 1000))
        .default("minion's own")
        .help("How early the kernel kills it for lack of memory.")
        .sets(|task, node, _| put(&mut task.oom_score_adj, value::number(node, -1000, 1000).map(Some)))
}

const fn stop_signal() -> Key<Task> {
    About::new("stop-signal", Takes::Signal)
        .default("TERM")
        .help("The signal that asks it to end. SIGKILL follows when the time is up.")
        .sets(|task, node, _| put(&mut task.stop_signal, value::signal(node).map(Some)))
}

const fn readiness() -> Key<Task> {
    About::new("readiness", Takes::Table(|| abouts(&READINESS)))
        .default("ready as soon as it runs")
        .help("How it is known that it can serve: exactly one way, and its times.")
        .sets(|task, node, findings| put(&mut task.readiness, asking(&READINESS, node, findings)))
}

const fn health() -> Key<Task> {
    About::new("health", Takes::Table(|| abouts(&HEALTH)))
        .default("none")
        .help(
            "How it is known that it still can, once it is ready: exactly one way, and its times. The verdict restarts a \
             sidecar and ends the run for the executor.",
        )
        .sets(|task, node, findings| put(&mut task.health, asking(&HEALTH, node, findings)))
}

const fn before_start() -> Key<Task> {
    About::new("before-start", Takes::Table(|| abouts(&HOOK)))
        .default("none")
        .help("A command that runs before each start. Its failure is a failed start.")
        .sets(|task, node, findings| {
            put(&mut task.before_start, node.table().map(|table| Some(read(&HOOK, table, node.at(), findings))))
        })
}

const fn after_stop() -> Key<Task> {
    About::new("after-stop", Takes::Table(|| abouts(&HOOK)))
        .default("none")
        .help("A command that runs after each end.")
        .sets(|task, node, findings| {
            put(&mut task.after_stop, node.table().map(|table| Some(read(&HOOK, table, node.at(), findings))))
        })
}

const fn log() -> Key<Task> {
    About::new("log", Takes::Table(|| abouts(&TASK_LOG)))
        .default("as [log] says")
        .help("How its log is kept, where that differs from the others.")
        .sets(|task, node, findings| {
            put(&mut task.log, node.table().map(|table| read(&TASK_LOG, table, node.at(), findings)))
        })
}
