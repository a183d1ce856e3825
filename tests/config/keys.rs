//! Each key, and where it lands.

use super::common::keys::below;
use super::{Machine, executor, sidecar};
use minion::config::{self, About, Keeping, Takes};
use minion::task::spec::{
    Attributes, Health, Hook, Limited, LogSettings, Probe, Readiness, ReadyWay, ResourceLimit, StartLimit, StdoutMode,
    User,
};
use minion::task::{Restart, Role, TaskSpec};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn env(task: &TaskSpec) -> Vec<(&str, &str)> {
    task.env.iter().map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap())).collect()
}

#[test]
fn sidecars_come_in_the_order_of_the_file_and_the_executor_last() {
    let text = "[[sidecar]]\nname = \"b\"\ncommand = [\"prog\", \"-x\", \"\"]\n[[sidecar]]\nname = \"a\"\n\
                command = [\"./bin/tool\"]\n[executor]\ncommand = [\"sub/tool\"]\n";
    let tasks = Machine::new().loaded(text).tasks;
    let seen: Vec<_> =
        tasks.iter().map(|task| (task.name.as_str(), task.role, task.program.to_str().unwrap())).collect();
    assert_eq!(
        seen,
        [
            ("b", Role::Helper, "/bin/prog"),
            ("a", Role::Helper, "/sandbox/bin/tool"),
            ("executor", Role::Executor, "/sandbox/sub/tool")
        ]
    );
    assert_eq!(tasks[0].args, words(&["prog", "-x", ""]));
    assert_eq!(tasks[1].args, words(&["./bin/tool"]));
}

#[test]
fn the_executor_may_come_from_the_command_line() {
    let machine = Machine::new().command(&["sh", "-c", "x"]);
    let [task] = &machine.loaded("").tasks[..] else { panic!() };
    assert_eq!((task.program.as_path(), task.args.as_slice()), (Path::new("/bin/sh"), &words(&["sh", "-c", "x"])[..]));
    assert_eq!(machine.loaded("[executor]\nnice = 1").tasks[0].attributes.nice, Some(1));
}

#[test]
fn a_task_without_keys_has_the_defaults() {
    let expected = TaskSpec {
        args: words(&["/bin/prog"]),
        env: Machine::new().env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        ..TaskSpec::new("s", Role::Helper, "/bin/prog", Restart::Always { delay: 5 * SECOND, max: 60 * SECOND })
    };
    assert_eq!(sidecar(""), expected);
    let expected = TaskSpec { name: "executor".into(), role: Role::Executor, restart: Restart::Never, ..expected };
    assert_eq!(executor(""), expected);
}

#[test]
fn a_program_is_looked_for_in_the_path_of_its_task() {
    let task = sidecar("environment = { PATH = \"/opt\" }\nbefore-start = { command = [\"prog\", \"x\"] }");
    assert_eq!(task.before_start.unwrap().args, words(&["/opt/prog", "x"]));
    let machine = Machine::new();
    let task = &machine.loaded("executor = { command = [\"prog\"], environment.PATH = \"/opt\" }").tasks[0];
    assert_eq!(task.program, Path::new("/opt/prog"));
    let task = &machine.loaded("executor = { command = [\"prog\"], clear-environment = true }").tasks[0];
    assert_eq!(task.program, Path::new("/bin/prog"));
}

#[test]
fn the_environment_is_minions_own_then_the_file_then_the_table() {
    let text = "[executor]\ncommand = [\"prog\"]\nenvironment-file = \"e\"\nenvironment = { Z = \"3\", B = \"4\" }";
    let machine = Machine::new().file("e", "# x\nA=1\nB=2 \nHOME=/h\n");
    assert_eq!(
        env(&machine.loaded(text).tasks[0]),
        [("PATH", "relative:/usr/bin:/bin"), ("HOME", "/h"), ("A", "1"), ("B", "4"), ("Z", "3")]
    );
    let cleared = machine.loaded(&format!("{text}\nclear-environment = true"));
    assert_eq!(env(&cleared.tasks[0]), [("A", "1"), ("B", "4"), ("HOME", "/h"), ("Z", "3")]);
}

#[test]
fn attributes_land_where_they_belong() {
    let text = "directory = \"sub\"\nuser = \"kube\"\nnice = -5\noom-score-adj = -999\n\
                limits = { nofile = 1024, core = \"0:unlimited\", memlock = \"unlimited\", stack = \"8Mi:16Mi\" }";
    let limit = |resource, soft, hard| ResourceLimit { resource, soft, hard };
    assert_eq!(
        sidecar(text).attributes,
        Attributes {
            directory: Some("/sandbox/sub".into()),
            user: Some(User { uid: 700, gid: 701, groups: vec![701, 702] }),
            limits: vec![
                limit(libc::RLIMIT_NOFILE, Some(1024), Some(1024)),
                limit(libc::RLIMIT_CORE, Some(0), None),
                limit(libc::RLIMIT_MEMLOCK, None, None),
                limit(libc::RLIMIT_STACK, Some(8 << 20), Some(16 << 20)),
            ],
            nice: Some(-5),
            oom_score_adj: Some(-999),
        }
    );
    let user = |lines| sidecar(lines).attributes.user.unwrap();
    assert_eq!(user("user = 700\ngroup = \"docker\""), User { uid: 700, gid: 702, groups: vec![702] });
    assert_eq!(user("user = 5\ngroup = 6"), User { uid: 5, gid: 6, groups: vec![6] });
}

#[test]
fn stop_signals_go_by_name_or_number() {
    for (written, signal) in [("\"INT\"", 2), ("\"sigquit\"", 3), ("\"SIGUSR1\"", 10), ("37", 37), ("0xF", 15)] {
        assert_eq!(sidecar(&format!("stop-signal = {written}")).stop_signal, signal, "{written}");
    }
}

#[test]
fn a_restart_has_its_delays_and_its_limit() {
    let task = sidecar("restart = \"on-failure\"\nrestart-delay = \"100ms\"\nrestart-delay-max = \"2secs\"");
    assert_eq!(task.restart, Restart::OnFailure { delay: SECOND / 10, max: 2 * SECOND });
    assert_eq!(sidecar("restart = \"never\"").restart, Restart::Never);
    let task = sidecar("restart-delay = \"2m\"");
    assert_eq!(task.restart, Restart::Always { delay: 120 * SECOND, max: 120 * SECOND });
    let limit = |lines: &str| sidecar(lines).start_limit.unwrap();
    assert_eq!(
        limit("start-limit = { starts = 3, within = \"10s\", then = \"give-up\" }"),
        StartLimit { starts: 3, within: 10 * SECOND, then: Limited::GiveUp }
    );
    let default = StartLimit { starts: 3, within: 60 * SECOND, then: Limited::End };
    assert_eq!(limit("start-limit = { starts = 3 }"), default);
}

#[test]
fn every_way_to_be_ready_is_understood() {
    let probe = |probe| ReadyWay::Probe { probe, every: SECOND / 4 };
    for (written, way) in [
        ("notify = true", ReadyWay::Notify),
        ("fd = 3", ReadyWay::Fd(3)),
        ("tcp = \"127.0.0.1:80\"", probe(Probe::Tcp("127.0.0.1:80".parse().unwrap()))),
        ("tcp = \"localhost:81\"", probe(Probe::Tcp("127.0.0.1:81".parse().unwrap()))),
        ("tcp = \"[::1]:82\"", probe(Probe::Tcp("[::1]:82".parse().unwrap()))),
        ("unix = \"a.sock\"", probe(Probe::Unix("a.sock".into()))),
        ("file = \"/run/a\"", probe(Probe::File("/run/a".into()))),
        ("command = [\"prog\", \"ok\"]", probe(Probe::Command(words(&["/bin/prog", "ok"])))),
        ("http = \"http://127.0.0.1:8080/healthz?x=1\"", probe(http("127.0.0.1:8080", "/healthz?x=1"))),
        ("http = \"http://[::1]\"", probe(http("[::1]:80", "/"))),
        ("http = \"http://127.0.0.1?x\"", probe(http("127.0.0.1:80", "/?x"))),
    ] {
        let expected = Readiness { way, within: Some(60 * SECOND) };
        assert_eq!(sidecar(&format!("readiness = {{ {written} }}")).readiness, expected, "{written}");
        assert_eq!(executor(&format!("readiness = {{ {written} }}")).readiness, expected, "{written}");
    }
    let task = sidecar("readiness = { file = \"/f\", every = \"1s\", within = \"0s\" }");
    let way = ReadyWay::Probe { probe: Probe::File("/f".into()), every: SECOND };
    assert_eq!(task.readiness, Readiness { way, within: None });
}

fn http(address: &str, path: &str) -> Probe {
    Probe::Http { address: address.parse().unwrap(), path: path.to_owned() }
}

#[test]
fn every_way_to_be_healthy_is_understood() {
    let health = |lines: &str| sidecar(&format!("health = {{ {lines} }}")).health.unwrap();
    let asked = |probe| Health { probe: Some(probe), every: 10 * SECOND, timeout: SECOND, failures: 3 };
    assert_eq!(health("tcp = \"127.0.0.1:80\""), asked(Probe::Tcp("127.0.0.1:80".parse().unwrap())));
    assert_eq!(health("http = \"http://127.0.0.1:1/a\""), asked(http("127.0.0.1:1", "/a")));
    assert_eq!(health("unix = \"a\""), asked(Probe::Unix("a".into())));
    assert_eq!(health("file = \"a\""), asked(Probe::File("a".into())));
    assert_eq!(
        health("command = [\"sh\"], every = \"2s\", timeout = \"500ms\", failures = 1"),
        Health {
            probe: Some(Probe::Command(words(&["/bin/sh"]))),
            every: 2 * SECOND,
            timeout: SECOND / 2,
            failures: 1
        }
    );
    let watchdog = Health { probe: None, every: 3 * SECOND, timeout: SECOND, failures: 1 };
    assert_eq!(health("watchdog = true, every = \"3s\""), watchdog);
}

#[test]
fn hooks_order_and_logs_land_where_they_belong() {
    let task = executor(
        "before-start = { command = [\"sh\", \"-c\", \"x\"] }\nafter-stop = { command = [\"/x\"], timeout = \"2s\" }",
    );
    assert_eq!(task.before_start, Some(Hook { args: words(&["/bin/sh", "-c", "x"]), timeout: 30 * SECOND }));
    assert_eq!(task.after_stop, Some(Hook { args: words(&["/x"]), timeout: 2 * SECOND }));
    assert_eq!(sidecar("after = [\"executor\", \"executor\"]").after, ["executor"]);
    assert_eq!(
        sidecar(
            "log = { max-size = \"1Mi\", max-age = \"2days\", max-backups = 3, gzip = true, stdout = \"discard\" }"
        )
        .log,
        LogSettings {
            max_size: Some(1 << 20),
            max_age: Some(2 * 86_400 * SECOND),
            max_backups: Some(3),
            gzip: Some(true),
            stdout: Some(StdoutMode::Discard),
        }
    );
}

#[test]
fn log_and_stop_are_for_all() {
    let machine = Machine::new().command(&["prog"]);
    let loaded =
        machine.loaded("log = { max-size = 0, stdout = \"separate\", stall = \"1s\" }\nstop = { grace = \"9secs\" }");
    let log = LogSettings { max_size: Some(0), stdout: Some(StdoutMode::Separate), ..LogSettings::default() };
    assert_eq!((loaded.log, loaded.stall, loaded.grace), (log, Some(SECOND), Some(9 * SECOND)));
    let plain = machine.loaded("");
    assert_eq!((plain.log, plain.stall, plain.grace), (LogSettings::default(), None, None));
}

#[test]
fn a_deleted_working_directory_leaves_relative_paths_as_they_are() {
    let directory = Machine::new().with(|context| {
        let context =
            minion::config::Context { directory: None, is_executable: &|_| true, is_directory: &|_| true, ..*context };
        let text = "executor = { command = [\"./a\"], directory = \"b\" }";
        let loaded = minion::config::load(text, Path::new("m.toml"), &context).unwrap();
        (loaded.tasks[0].program.clone(), loaded.tasks[0].attributes.directory.clone())
    });
    assert_eq!(directory, (PathBuf::from("a"), Some(PathBuf::from("b"))));
}

#[test]
fn each_default_that_is_told_is_the_default() {
    let row = |keys: &[&'static About], name: &str| *keys.iter().find(|about| about.name == name).unwrap();
    let sidecar_keys = below(row(&config::keys(), "sidecar"));
    for (table, first) in [
        ("readiness", "file = \"a\""),
        ("health", "file = \"a\""),
        ("start-limit", "starts = 3"),
        ("before-start", "command = [\"sh\"]"),
        ("log", "max-size = \"10Mi\""),
    ] {
        let whole = |text: &str| {
            let mut task = sidecar(&format!("{table} = {{ {first}{text} }}"));
            let keeping = Keeping::of(std::mem::take(&mut task.log));
            (task, keeping)
        };
        for about in below(row(&sidecar_keys, table)).iter().filter(|about| !about.default.is_empty()) {
            let default = about.default.split(',').next().unwrap();
            let quoted =
                if matches!(about.takes, Takes::Integer(..) | Takes::Switch) { String::new() } else { "\"".into() };
            if about.name != "max-size" {
                let given = whole(&format!(", {} = {quoted}{default}{quoted}", about.name));
                assert_eq!(given, whole(""), "{table} {}", about.name);
            }
        }
    }
    for (name, quote) in [
        ("restart", "\""),
        ("stop-signal", "\""),
        ("clear-environment", ""),
        ("restart-delay", "\""),
        ("restart-delay-max", "\""),
    ] {
        let about = row(&sidecar_keys, name);
        let default = about.default.split(',').next().unwrap();
        assert_eq!(sidecar(&format!("{name} = {quote}{default}{quote}")), sidecar(""), "{name}");
    }
}
