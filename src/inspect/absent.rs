//! `minion why` of a task that has no process now: who ended it, from what its minion tells and the kernel keeps.

use super::finding::{Finding, Level};
use super::proc::seen::Seen;
use super::report::{Answer, Form};
use super::view::kmsg::{self, Kill, Victims};
use super::{command, json, page};
use crate::mesos::recovery::above_leaf;
use crate::process::signals;
use crate::render::Screen;
use crate::render::unit::span;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// What a shell adds to the number of the signal that ended a program.
const BY_SIGNAL: u8 = 128;

/// A task without a process, as its minion tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Absent {
    /// Its name.
    pub task: String,
    /// The minion's pid.
    pub minion: i32,
    /// The minion's working directory.
    pub sandbox: String,
    /// `backoff`, `down`, `ended`, …
    pub state: String,
    /// How its last run ended; None where there was none.
    pub exit: Option<LastExit>,
    /// The signal that a command of minion sent to that run last: `signal SIGKILL, by uid 0 (pid 4711)`.
    pub signalled: Option<String>,
    /// OOM kills in the container so far; None where they are not counted.
    pub oom_kills: Option<u64>,
    /// The container's memory cgroup.
    pub memory: Option<PathBuf>,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastExit {
    /// `killed by signal 9 (SIGKILL)`.
    pub text: String,
    /// Its pid, as the minion numbers it; older ones do not tell.
    pub pid: Option<i32>,
    /// As a shell gives it: 128+n after signal n, 127 when nothing ran.
    pub code: u8,
    /// When.
    pub time: String,
    /// How long it had lasted.
    pub up: Duration,
    /// Whether a command ended it.
    pub commanded: bool,
}

/// Says why it does not run. Code 1 but where it was told so or has done its work.
pub fn absent(absent: &Absent, form: Form, screen: &Screen) -> Answer {
    let victims = match &absent.memory {
        Some(cgroup) if absent.oom_kills.is_some_and(|kills| kills > 0) => kmsg::victims(above_leaf(cgroup)),
        Some(_) | None => Seen::default(),
    };
    let finding = finding(absent, &victims);
    let code = u8::from(finding.level > Level::Note);
    let who = format!("task {} of minion {}", absent.task, absent.minion);
    let text = if form.json {
        let task = json::Object::default()
            .text("name", &absent.task)
            .number("minion", i64::from(absent.minion))
            .text("state", &absent.state)
            .put("findings", vec![json::plain(finding)].into())
            .end();
        let object = json::Object::default()
            .text("schema", json::SCHEMA)
            .text("asked", &absent.task)
            .put("container", Value::Null)
            .put("processes", Value::Array(Vec::new()))
            .put("task", task)
            .end();
        format!("{object}\n")
    } else {
        page::findings(&who, &[finding], screen)
    };
    Answer { text, code }
}

impl Absent {
    /// What to do, in words and as a command.
    pub(super) fn remedy(&self) -> (&'static str, String) {
        let of_task = |verb: &str| command::of_task(verb, &self.task, &self.sandbox);
        match self.state.as_str() {
            "down" => ("it was told to stay down: start it", of_task("start")),
            _ => ("read the end of its log", of_task("logs --lines=20")),
        }
    }
}

fn finding(absent: &Absent, victims: &Seen<Victims>) -> Finding {
    let Absent { task, state, exit, .. } = absent;
    let last = exit.as_ref().map_or_else(
        || "it has not run yet".to_owned(),
        |exit| format!("its last run {}, at {}, after {}", verb(&exit.text), exit.time, span(exit.up)),
    );
    let meant = state == "down" || (state == "ended" && exit.as_ref().is_some_and(|exit| exit.code == 0));
    let (remedy, command) = absent.remedy();
    Finding {
        kind: "task-not-running",
        level: if meant { Level::Note } else { Level::Problem },
        expected: format!("task {task} running"),
        actual: format!("it has no process, and its state is {state}; {last}"),
        cause: exit.as_ref().map_or_else(|| "nothing has ended it".to_owned(), |exit| cause(exit, absent, victims)),
        remedy: remedy.to_owned(),
        commands: vec![command],
    }
}

/// Who did it. The kernel keeps no record of who sent a signal, but of its own kills.
fn cause(exit: &LastExit, absent: &Absent, victims: &Seen<Victims>) -> String {
    let signal = i32::from(exit.code.saturating_sub(BY_SIGNAL));
    let is_it = |words: &&String| words.split(',').next() == Some(&format!("signal {}", signals::name(signal)));
    match signal {
        // Most tasks obey the signal and exit with a code of their own.
        0 | libc::SIGKILL | libc::SIGTERM if exit.commanded => {
            "a command of minion (stop, restart) ended it".to_owned()
        }
        1.. if let Some(words) = absent.signalled.as_ref().filter(is_it) => {
            format!("a command of minion sent it: {words}")
        }
        libc::SIGKILL => match (absent.oom_kills, victims) {
            (Some(1..), Seen::Known(victims)) => out_of_memory(victims, exit.pid),
            (Some(1..), Seen::Unknown(why)) => {
                format!(
                    "most likely the kernel, for lack of memory: it has killed in this container; whom is unknown: {why}"
                )
            }
            (Some(0), _) => {
                "a person, the agent, or another process that may: the kernel has killed nobody for memory here, \
                             and keeps no record of who sends a signal"
                    .to_owned()
            }
            (None, _) => {
                "a person, the agent, another process that may, or the kernel for lack of memory: its kills are not \
                          counted here, and it keeps no record of who sends a signal"
                    .to_owned()
            }
        },
        libc::SIGSYS => {
            "a seccomp filter that kills for a call that it does not know: the agent's linux/seccomp profile or the \
                         program's own; the kernel's log names the call where audit is on (type=1326)"
                .to_owned()
        }
        libc::SIGSEGV | libc::SIGBUS | libc::SIGILL | libc::SIGFPE | libc::SIGABRT | libc::SIGTRAP => {
            "a fault of the program itself: the kernel or its own check stopped it".to_owned()
        }
        0 if exit.code == 127 => "nothing ran: the program could not be started".to_owned(),
        0 => match &absent.signalled {
            Some(words) => format!("it ended by itself, or obeyed a command of minion: {words}"),
            None => "it ended by itself".to_owned(),
        },
        _ => "a person or another process sent it: the kernel keeps no record of who".to_owned(),
    }
}

/// Whether it was this run of the task, by its pid. minion numbers it as its own pid namespace does, the kernel's log as the host
/// does: so another number there proves nothing, and one without a report may be anybody's.
fn out_of_memory(victims: &Victims, pid: Option<i32>) -> String {
    let words = |kill: &Kill| format!("pid {} ({})", kill.pid, kill.name);
    let is_it = |kill: &Kill| Some(kill.pid) == pid;
    let reported = victims.reported.iter().rev().find(|victim| is_it(&victim.kill));
    let unreported = victims.unreported.iter().rev().find(|kill| is_it(kill));
    let told = match (reported, unreported, victims.reported.last()) {
        (Some(victim), _, _) => {
            let limiter = &victim.limiter;
            return format!(
                "the kernel, for lack of memory: its log names {}, by the limit of {limiter}",
                words(&victim.kill)
            );
        }
        (None, Some(kill), _) => format!("its log names {} among those that it does not report", words(kill)),
        (None, None, Some(last)) => {
            let another = if pid.is_some() { "another one, " } else { "" };
            format!(
                "the last of this container in its log is {another}{}, by the limit of {}",
                words(&last.kill),
                last.limiter
            )
        }
        (None, None, None) => "it has killed in this container, and its log does not say whom".to_owned(),
    };
    format!("most likely the kernel, for lack of memory: {told}")
}

/// The exit's words as part of a sentence.
fn verb(text: &str) -> String {
    if text.starts_with("killed") { format!("was {text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::view::kmsg::Victim;
    use super::*;

    fn told(code: u8, kills: Option<u64>, victims: &Seen<Victims>) -> String {
        let exit = LastExit { code, pid: Some(7), ..LastExit::default() };
        cause(&exit, &Absent { oom_kills: kills, ..Absent::default() }, victims)
    }

    #[test]
    fn a_sigkill_is_the_kernels_where_it_says_so() {
        let kill = |pid| Kill { pid, name: "km".into(), when: 1 };
        let reported = |pid| Victim::of(kill(pid), "/mesos/c1");
        let known = |reported, unreported| Seen::Known(Victims { reported, unreported });
        let itself = "the kernel, for lack of memory: its log names pid 7 (km), by the limit of /mesos/c1";
        assert_eq!(told(137, Some(2), &known(vec![reported(7), reported(8)], Vec::new())), itself);
        let likely = |words: &str| format!("most likely the kernel, for lack of memory: {words}");
        let another = "the last of this container in its log is another one, pid 8 (km), by the limit of /mesos/c1";
        assert_eq!(told(137, Some(2), &known(vec![reported(8)], Vec::new())), likely(another));
        let unreported = "its log names pid 7 (km) among those that it does not report";
        assert_eq!(told(137, Some(2), &known(vec![reported(8)], vec![kill(7), kill(8)])), likely(unreported));
        assert!(told(137, Some(2), &Seen::default()).ends_with("does not say whom"));
        let of_nobody = out_of_memory(&Victims { reported: vec![reported(7)], unreported: vec![kill(9)] }, None);
        assert_eq!(of_nobody, likely("the last of this container in its log is pid 7 (km), by the limit of /mesos/c1"));
        assert!(told(137, Some(2), &Seen::Unknown("EPERM on /dev/kmsg".into())).starts_with("most likely the kernel"));
        assert!(told(137, Some(0), &Seen::default()).contains("the kernel has killed nobody for memory here"));
        let uncounted = told(137, None, &Seen::default());
        assert!(uncounted.contains("not counted here") && !uncounted.contains("nobody"), "{uncounted}");
    }

    #[test]
    fn a_signal_that_a_command_sent_is_told_with_who_gave_it() {
        let told = |code, words: &str| {
            let exit = LastExit { code, ..LastExit::default() };
            let absent = Absent { signalled: Some(words.to_owned()), oom_kills: Some(1), ..Absent::default() };
            cause(&exit, &absent, &Seen::default())
        };
        let kill = "signal SIGKILL, by uid 0 (pid 7)";
        assert_eq!(told(137, kill), format!("a command of minion sent it: {kill}"));
        assert_eq!(told(129, "signal SIGHUP"), "a command of minion sent it: signal SIGHUP");
        assert!(told(137, "signal SIGHUP, by uid 0 (pid 7)").starts_with("most likely the kernel"));
        assert!(told(0, "signal SIGTERM").ends_with("or obeyed a command of minion: signal SIGTERM"));
    }

    #[test]
    fn a_task_that_obeyed_a_command_did_not_end_by_itself() {
        for code in [0, 4, 143, 137] {
            let exit = LastExit { code, commanded: true, ..LastExit::default() };
            let told = cause(&exit, &Absent::default(), &Seen::default());
            assert_eq!(told, "a command of minion (stop, restart) ended it", "{code}");
        }
    }

    #[test]
    fn each_kind_of_end_has_its_sentence() {
        for (code, words) in
            [(159, "seccomp"), (139, "fault of the program"), (143, "sent it"), (127, "nothing ran"), (3, "by itself")]
        {
            assert!(told(code, None, &Seen::default()).contains(words), "{code}");
        }
    }
}
