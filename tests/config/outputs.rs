//! The plan of `--check`, and the file that `minion run --print-config` prints.

use super::{Machine, beside_executor};
use minion::cli::{self, Command};
use minion::config::{self, Loaded};
use minion::hyperkube::{CgroupRoot, Host, profile};
use minion::task::spec::{LogSettings, StdoutMode};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

fn plan(machine: &Machine<'_>, text: &str) -> String {
    let loaded = machine.loaded(text);
    machine.with(|context| config::plan(&loaded, context))
}

#[test]
fn the_plan_shows_each_task_with_its_defaults() {
    assert_eq!(
        plan(&Machine::new().command(&["prog", "-x"]), ""),
        "1 task in 1 step\n\
         \n\
         1. executor (executor)\n\
         \x20  starts          at once\n\
         \x20  program         /bin/prog\n\
         \x20  arguments       \"-x\"\n\
         \x20  environment     minion's own\n\
         \x20  directory       the sandbox\n\
         \x20  user            minion's own\n\
         \x20  limits          minion's own\n\
         \x20  nice            minion's own\n\
         \x20  oom-score-adj   minion's own\n\
         \x20  ready           as soon as it runs\n\
         \x20  health          not asked\n\
         \x20  restart         never\n\
         \x20  stop-signal     SIGTERM\n\
         \x20  log             executor.log, rotated at 10485760 bytes; 5 backups up to 168h0m0s old; stdout in it\n\
         \n\
         stop, in the reverse order: all within what the agent says, or 5s\n"
    );
}

#[test]
fn the_plan_shows_what_the_file_says() {
    let text = beside_executor(
        "environment = { A = \"1\", DB_PASSWORD = \"hidden\" }\nclear-environment = true\ndirectory = \"/d\"\n\
         user = \"kube\"\nlimits = { core = \"0:unlimited\" }\nnice = 1\noom-score-adj = 2\nstop-signal = 40\n\
         restart = \"on-failure\"\nstart-limit = { starts = 3, then = \"give-up\" }\nafter = [\"executor\"]\n\
         readiness = { unix = \"a.sock\", within = \"0s\" }\nhealth = { watchdog = true, every = \"2s\" }\n\
         before-start = { command = [\"sh\", \"x y\"] }\nlog = { max-size = 0, gzip = true, stdout = \"separate\" }",
    );
    let plan = plan(&Machine::new(), &format!("stop.grace = \"9s\"\n{text}"));
    assert!(plan.starts_with("2 tasks in 2 steps\n\n1. executor (executor)\n"), "{plan}");
    assert!(!plan.contains("hidden"), "{plan}");
    assert!(plan.ends_with("\nstop, in the reverse order: all within 9s\n"), "{plan}");
    let (_, block) = plan.split_once("2. s (sidecar)\n").unwrap();
    for line in [
        "starts          when executor is ready",
        "arguments       none",
        "environment     none of minion's, A=\"1\" DB_PASSWORD=<secret>",
        "directory       /d",
        "user            uid 700, gid 701, groups 701 702",
        "limits          core 0:unlimited",
        "nice            1",
        "oom-score-adj   2",
        "ready           when a.sock accepts a connection, tried every 250ms, whenever that is",
        "health          WATCHDOG=1 every 2s; 1 missing restart it",
        "restart         on failure, after 5s up to 1m0s; after 3 starts within 1m0s it stays down",
        "before-start    \"/bin/sh\" \"x y\", for at most 30s",
        "stop-signal     40",
        "log             s.log, never rotated; 5 backups up to 168h0m0s old, packed; stdout in s.stdout.log",
    ] {
        assert!(block.contains(&format!("   {line}\n")), "{line}\n{block}");
    }
}

#[test]
fn what_before_start_or_the_user_may_make_true_is_told_by_the_plan() {
    let block = |lines: &str| {
        let text = format!("[executor]\ncommand = [\"./unpacked/prog\"]\n{lines}\n");
        plan(&Machine::new(), &text)
    };
    let before = block("before-start = { command = [\"sh\"] }");
    let line = "program         /sandbox/unpacked/prog (not there yet: before-start is to make it)";
    assert!(before.contains(&format!("   {line}\n")), "{before}");
    let user = block("user = \"kube\"\ndirectory = \"own\"");
    for line in ["program         /sandbox/unpacked/prog", "directory       /sandbox/own"] {
        let line = format!("   {line} (not for minion: its user has to have access to it)\n");
        assert!(user.contains(&line), "{line}{user}");
    }
}

#[test]
fn the_plan_shows_no_secret() {
    let text = beside_executor(
        "environment = { DATABASE_URL = \"postgres://u:hidden@h\", REDIS_AUTH = \"hidden\" }\n\
         readiness = { command = [\"sh\", \"--password=hidden\"] }\n\
         health = { http = \"http://127.0.0.1/x?token=hidden\" }\n\
         before-start = { command = [\"sh\", \"-c\", \"DB_PASS=hidden x\"] }\n\
         after-stop = { command = [\"sh\", \"--auth-token\", \"hidden\"] }",
    )
    .replace("executor.command = [\"/bin/prog\"]", "executor.command = [\"/bin/prog\", \"--token=hidden\", \"--v=2\"]");
    let plan = plan(&Machine::new(), &text);
    assert!(!plan.contains("hidden"), "{plan}");
    for line in [
        "arguments       \"--token=<secret>\" \"--v=2\"",
        "environment     minion's own, DATABASE_URL=\"postgres://<secret>@h\" REDIS_AUTH=<secret>",
        "after-stop      \"/bin/sh\" \"--auth-token\" \"<secret>\", for at most 30s",
    ] {
        assert!(plan.contains(&format!("   {line}\n")), "{line}\n{plan}");
    }
}

#[test]
fn what_is_wrong_with_a_file_is_told_without_its_secrets() {
    for lines in [
        "health = { http = \"http://u:hidden@127.0.0.1/\" }",
        "readiness = { tcp = \"http://u:hidden@127.0.0.1/\" }",
        "environment = { \"DB_PASS=hidden\" = \"x\" }",
        "before-start = { command = [\"TOKEN=hidden\"] }",
        "nice = \"http://u:hidden@h\"",
        "stop-signal = \"http://u:hidden@h\"",
        "restart = \"http://u:hidden@h\"",
        "after = [\"http://u:hidden@h\"]",
    ] {
        let told = Machine::new().refused(&beside_executor(lines)).to_lowercase();
        assert!(!told.contains("hidden"), "{told}");
    }
    let both = Machine::new().command(&["TOKEN=hidden"]).refused(&beside_executor(""));
    assert!(!both.contains("hidden"), "{both}");
}

/// The tasks of a command line of `run`, on a machine with a container.
fn profiled(args: &[&str], machine: &Machine<'_>) -> Loaded {
    let options = match cli::parse(args.iter().map(OsString::from)) {
        Ok(Command::Run(options)) => *options,
        other => panic!("{args:?}: {other:?}"),
    };
    let host = Host {
        km: "./km".into(),
        cwd: Some("/sandbox".into()),
        cgroup_root: CgroupRoot::Path("/mesos/c1".into()),
        container: Some("c1".into()),
        read: &|_| Err(std::io::Error::from_raw_os_error(libc::ENOENT)),
    };
    let tasks = machine.with(|context| profile(&options.profile, context.environment, &host).unwrap().tasks);
    Loaded { tasks, log: options.common.log, stall: options.common.log_stall, grace: options.common.grace }
}

/// Prints and reads again.
pub fn round_trip(args: &[&str]) -> (Loaded, Loaded) {
    let machine = Machine::new();
    let loaded = profiled(args, &machine);
    let printed = machine.with(|context| config::print(&loaded, context.environment)).unwrap();
    assert_eq!(printed.left_out, Vec::<String>::new());
    (machine.loaded(&printed.text), loaded)
}

#[test]
fn the_printed_file_gives_the_same_tasks() {
    for args in [
        &["--api-servers=http://10.0.0.1:8888"][..],
        &["--api-servers=a:1,b:2", "--run-proxy=false", "--max-pods", "3", "--", "--x", "a \"b\"\\\n\u{7f}é", ""],
        &["--api-servers=a:1", "--restart-delay=1500ms", "--path-override=/p:/q", "--tls-private-key-file=k", "-v=2"],
        &[
            "--api-servers=a:1",
            "--grace=1.5s",
            "--max-log-size=1Ki",
            "--max-log-age=0",
            "--max-log-backups=0",
            "--stdout=separate",
            "--log-gzip",
            "--log-stall=0",
        ],
    ] {
        let (again, loaded) = round_trip(args);
        assert_eq!(again, loaded, "{args:?}");
        assert!(loaded.tasks.iter().all(|task| task.program == Path::new("/sandbox/km")));
    }
}

#[test]
fn settings_that_are_printed_are_those_of_the_flags() {
    let (again, _) = round_trip(&["--api-servers=a:1", "--grace=2s", "--stdout=discard", "--log-stall=1s"]);
    let log = LogSettings { stdout: Some(StdoutMode::Discard), ..LogSettings::default() };
    assert_eq!(again.log, log);
    assert_eq!((again.grace, again.stall), (Some(Duration::from_secs(2)), Some(Duration::from_secs(1))));
}

#[test]
fn secrets_are_left_out_and_named() {
    let machine =
        Machine { env: vec![("PATH", "/bin"), ("MESOS_EXECUTOR_AUTHENTICATION_TOKEN", "hidden")], ..Machine::new() };
    let args = [
        "--api-servers=http://u:hidden@a",
        "--my-token=hidden",
        "--manifest-url-header=Authorization:hidden",
        "--manifest-url",
        "http://u:hidden@h/x?node=1",
        "--",
        "--password",
        "hidden",
        "--plain",
        "x",
        "--no-flag",
        "--private-mountns",
        "4711",
    ];
    let loaded = profiled(&args, &machine);
    let printed = machine.with(|context| config::print(&loaded, context.environment)).unwrap();
    assert!(!printed.text.contains("hidden"), "{}", printed.text);
    assert_eq!(
        printed.left_out,
        ["--master", "--api-servers", "--my-token", "--manifest-url-header", "--manifest-url", "--password"]
    );
    assert!(printed.text.contains("\n    \"4711\",\n"), "{}", printed.text);
    assert!(printed.text.contains("\n    \"--my-token=<secret>\",\n") && printed.text.contains("\n    \"x\",\n"));
}

#[test]
fn bytes_that_are_no_text_cannot_be_printed() {
    let machine = Machine::new();
    let mut loaded = profiled(&["--api-servers=a:1"], &machine);
    loaded.tasks[0].args.push(std::os::unix::ffi::OsStringExt::from_vec(vec![0xff]));
    assert_eq!(
        machine.with(|context| config::print(&loaded, context.environment)).unwrap_err().to_string(),
        "print the configuration: write \"\\xFF\": not UTF-8 (hint: TOML has no other text)"
    );
}
