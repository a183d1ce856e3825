//! From what the file says to what is run: programs, users and environments of this machine, and the defaults.

use super::account::{Accounts, Unknown};
use super::draft::{Asking, Hook, RestartWhen, Task, Way};
use super::nested::{HEALTH_EVERY, HEALTH_FAILURES, HEALTH_TIMEOUT, HOOK_TIMEOUT, READY_EVERY, READY_WITHIN};
use super::placed::{Findings, Placed};
use super::{Context, environment};
use crate::hyperkube::in_path;
use crate::mesos::{DEFAULT_PATH, secret};
use crate::task::spec::{Attributes, Health, Probe, Readiness, ReadyWay, User};
use crate::task::{Restart, Role, TaskSpec, spec};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a task is resolved with.
pub(super) struct Resolver<'a, 'f> {
    pub(super) context: &'a Context<'a>,
    pub(super) findings: &'a mut Findings<'f>,
}

/// How the programs of a task are looked for.
#[derive(Clone)]
struct Search {
    /// PATH of the task.
    path: OsString,
    /// Whether it is too early to say that a path leads nowhere: `before-start` may make what is there, and only the task's
    /// user knows what he may. What is not there yet is told by the plan.
    early: bool,
}

impl Resolver<'_, '_> {
    /// The task, or what came of it before something was missing: then there is a finding.
    pub(super) fn task(&mut self, name: &str, role: Role, draft: &Task, args: &[OsString]) -> TaskSpec {
        let restart = self.restart(role, draft);
        let env = self.environment(draft);
        let search = Search { path: path_of(&env), early: draft.user.is_some() || draft.before_start.is_some() };
        let of_before_start = Search { early: draft.user.is_some(), ..search.clone() };
        let at = draft.command.as_ref().map_or(draft.at, |command| command.at);
        let program = args.first().map(|program| self.program(at, program, &search)).unwrap_or_default();
        let mut task = TaskSpec {
            args: args.to_vec(),
            start_limit: draft.start_limit,
            attributes: self.attributes(draft, &of_before_start),
            after: unique(&draft.after),
            readiness: draft.readiness.as_ref().map(|asking| self.readiness(asking, &search)).unwrap_or_default(),
            health: draft.health.as_ref().and_then(|asking| self.health(asking, &search)),
            before_start: draft.before_start.as_ref().and_then(|hook| self.hook(hook, &of_before_start)),
            after_stop: draft.after_stop.as_ref().and_then(|hook| self.hook(hook, &search)),
            log: draft.log,
            env,
            ..TaskSpec::new(name, role, program, restart)
        };
        if let Some(signal) = draft.stop_signal {
            task.stop_signal = signal;
        }
        task
    }

    fn restart(&mut self, role: Role, draft: &Task) -> Restart {
        let delay = draft.restart_delay.unwrap_or(self.context.restart_delay);
        let given = draft.restart_delay_max.as_ref();
        if let Some(max) = given.filter(|max| max.value < delay) {
            let hint = format!("the first delay is {delay:?}");
            self.findings.add(max.at, "restart-delay-max: below the first delay", hint);
        }
        let max = given.map_or(self.context.restart_delay_max, |max| max.value).max(delay);
        match (role, draft.restart) {
            (Role::Executor, _) | (_, RestartWhen::Never) => Restart::Never,
            (Role::Helper, RestartWhen::Always) => Restart::Always { delay, max },
            (Role::Helper, RestartWhen::OnFailure) => Restart::OnFailure { delay, max },
        }
    }

    fn environment(&mut self, draft: &Task) -> Vec<(OsString, OsString)> {
        let file = draft.environment_file.as_ref().and_then(|file| match (self.context.read)(&file.value) {
            Ok(bytes) => environment::parse(&bytes)
                .map_err(|line| {
                    let message = format!("environment-file: {:?}: line {line} is no NAME=VALUE", file.value);
                    self.findings.lacks(file.at, message, "it is taken literally, without export and quotes");
                })
                .ok(),
            Err(error) => {
                let message = format!("environment-file: {:?}: {error}", file.value);
                self.findings.lacks(file.at, message, "a relative path starts in the sandbox");
                None
            }
        });
        let inherited = if draft.clear_environment { &[] } else { self.context.environment };
        let own = draft.environment.iter().map(|(name, value)| (name.into(), value.into()));
        environment::layered(inherited, file.unwrap_or_default().into_iter().chain(own))
    }

    fn attributes(&mut self, draft: &Task, search: &Search) -> Attributes {
        Attributes {
            directory: draft.directory.as_ref().map(|path| self.directory(path, search)),
            user: self.user(draft),
            limits: draft.limits.clone(),
            nice: draft.nice,
            oom_score_adj: draft.oom_score_adj,
        }
    }

    fn user(&mut self, draft: &Task) -> Option<User> {
        let Some(user) = &draft.user else {
            if let Some(group) = &draft.group {
                self.findings.add(group.at, "group: without a user", "name the user too");
            }
            return None;
        };
        let text = |path: &str| {
            let bytes = (self.context.read)(Path::new(path)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (passwd, groups) = (text("/etc/passwd"), text("/etc/group"));
        let accounts = Accounts { passwd: &passwd, group: &groups };
        let group = draft.group.as_ref().map(|group| accounts.group(&group.value).map_err(|e| ("group", group.at, e)));
        let found = group
            .transpose()
            .and_then(|group| accounts.user(&user.value, group).map_err(|unknown| ("user", user.at, unknown)));
        found
            .map_err(|(key, at, Unknown { message, hint })| {
                self.findings.lacks(at, format!("{key}: {message}"), hint);
            })
            .ok()
    }

    fn readiness(&mut self, asking: &Placed<Asking>, search: &Search) -> Readiness {
        let every = asking.value.every.unwrap_or(READY_EVERY);
        let way = match asking.value.ways.first().map(|way| &way.value.1) {
            None | Some(Way::Watchdog) => ReadyWay::Exec,
            Some(Way::Notify) => ReadyWay::Notify,
            Some(Way::Fd(fd)) => ReadyWay::Fd(*fd),
            Some(Way::Probe(probe)) => ReadyWay::Probe { probe: probe.clone(), every },
            Some(Way::Command(command)) => ReadyWay::Probe { probe: self.command_probe(command, search), every },
        };
        let within = asking.value.within.unwrap_or(READY_WITHIN);
        Readiness { way, within: (within > Duration::ZERO).then_some(within) }
    }

    fn health(&mut self, asking: &Placed<Asking>, search: &Search) -> Option<Health> {
        let Asking { ways, every, timeout, failures, .. } = &asking.value;
        let probe = match ways.first().map(|way| &way.value.1)? {
            Way::Notify | Way::Fd(_) => return None,
            Way::Watchdog => None,
            Way::Probe(probe) => Some(probe.clone()),
            Way::Command(command) => Some(self.command_probe(command, search)),
        };
        if let (None, Some(timeout)) = (&probe, timeout) {
            self.findings.add(timeout.at, "timeout: a watchdog is not asked", "every is its longest silence");
        }
        let patience = if probe.is_some() { HEALTH_FAILURES } else { 1 };
        Some(Health {
            probe,
            every: every.unwrap_or(HEALTH_EVERY),
            timeout: timeout.as_ref().map_or(HEALTH_TIMEOUT, |timeout| timeout.value),
            failures: failures.unwrap_or(patience),
        })
    }

    fn command_probe(&mut self, command: &Placed<Vec<String>>, search: &Search) -> Probe {
        Probe::Command(self.args(command, search))
    }

    fn hook(&mut self, hook: &Hook, search: &Search) -> Option<spec::Hook> {
        let args = self.args(hook.command.as_ref()?, search);
        Some(spec::Hook { args, timeout: hook.timeout.unwrap_or(HOOK_TIMEOUT) })
    }

    /// Of hooks and probes the first argument is what is executed.
    fn args(&mut self, command: &Placed<Vec<String>>, search: &Search) -> Vec<OsString> {
        let mut args: Vec<OsString> = command.value.iter().map(OsString::from).collect();
        args[0] = self.program(command.at, &args[0], search).into();
        args
    }

    /// The file to execute. A name without a slash is looked for in PATH.
    fn program(&mut self, at: usize, program: &OsStr, search: &Search) -> PathBuf {
        let path = search.path.as_os_str();
        let Some(name) = program.to_str().filter(|name| !name.contains('/')) else {
            let file = self.absolute(Path::new(program));
            if !search.early && !(self.context.is_executable)(&file) {
                let message = format!("command: no executable file: {:?}", secret::shown_word(file.as_os_str()));
                self.findings.lacks(at, message, "put one there that this user may execute, or let before-start do it");
            }
            return file;
        };
        in_path(name, Some(path), self.context.is_executable).unwrap_or_else(|| {
            let shown = secret::shown_word(OsStr::new(name));
            let message = format!("command: no executable {shown:?} in PATH ({path:?})");
            self.findings.lacks(at, message, format!("a path, such as \"./{}\", says where it is", shown.display()));
            PathBuf::from(program)
        })
    }

    fn directory(&mut self, path: &Placed<PathBuf>, search: &Search) -> PathBuf {
        let directory = self.absolute(&path.value);
        if !search.early && !(self.context.is_directory)(&directory) {
            let message = format!("directory: no directory to enter: {directory:?}");
            self.findings.lacks(path.at, message, "make one that this user may enter: before-start runs in it too");
        }
        directory
    }

    /// Below the sandbox, where minion started.
    fn absolute(&self, path: &Path) -> PathBuf {
        let path = path.strip_prefix("./").unwrap_or(path);
        self.context.directory.as_ref().map_or_else(|| path.to_owned(), |directory| directory.join(path))
    }
}

/// PATH of the task; what an agent sets where it has none.
fn path_of(env: &[(OsString, OsString)]) -> OsString {
    let path = env.iter().find(|(name, value)| name == "PATH" && !value.is_empty());
    path.map_or_else(|| DEFAULT_PATH.into(), |(_, path)| path.clone())
}

fn unique(names: &[Placed<String>]) -> Vec<String> {
    let mut unique: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        if !unique.contains(&name.value) {
            unique.push(name.value.clone());
        }
    }
    unique
}
