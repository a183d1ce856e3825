//! What is refused, word for word.

use super::{Machine, beside_executor};
use minion::config::Fault;

const DURATION: &str = "takes a duration such as \"10s\", \"1m30s\", \"500ms\" or \"90secs\"";
const ADDRESS: &str = "takes an address such as \"127.0.0.1:80\", \"[::1]:80\" or \"localhost:80\"";
const LIMITS: &str = "takes a table such as { nofile = 1024, core = \"0:unlimited\" }";
const COMMAND: &str = "takes a program and its arguments, such as [\"/bin/prog\", \"-v\"]";

/// Each line of the fifth line of a file, in a sidecar, with what is said of it behind `m.toml:5:`.
fn each(cases: &[(&str, &str)]) {
    for (line, said) in cases {
        assert_eq!(Machine::new().refused(&beside_executor(line)), format!("m.toml:5:{said}\n"), "{line}");
    }
}

#[test]
fn a_value_of_another_type_is_refused_at_its_place() {
    each(&[
        ("nice = \"1\"", "8: nice: wrong type: a text (hint: nice takes a whole number from -20 to 19)"),
        ("nice = 1.5", "8: nice: wrong type: a floating point number (hint: nice takes a whole number from -20 to 19)"),
        ("directory = true", "13: directory: wrong type: a boolean (hint: directory takes a path in quotes)"),
        (
            "directory = 1979-05-27",
            "13: directory: wrong type: a date or time (hint: directory takes a path in quotes)",
        ),
        ("restart-delay = 5", &format!("17: restart-delay: wrong type: an integer (hint: restart-delay {DURATION})")),
        ("after = \"x\"", "9: after: wrong type: a text (hint: after takes a list of texts such as [\"a\", \"b\"])"),
        ("after = [1]", "10: after: wrong type: an integer (hint: after takes a list of texts such as [\"a\", \"b\"])"),
        (
            "clear-environment = \"yes\"",
            "21: clear-environment: wrong type: a text (hint: clear-environment takes true or false)",
        ),
        (
            "environment = []",
            "15: environment: wrong type: a list (hint: environment takes a table of texts such as { NAME = \"value\" })",
        ),
        (
            "health = 1",
            "10: health: wrong type: an integer (hint: health takes a table of watchdog, tcp, unix, http, \
          command, file, every, timeout, failures)",
        ),
        (
            "log = { max-size = {} }",
            "20: max-size: wrong type: a table (hint: max-size takes a size such as \"10Mi\", \
          \"1G\" or a number of bytes)",
        ),
    ]);
}

#[test]
fn a_value_that_a_key_does_not_take_is_refused() {
    each(&[
        ("nice = 20", "8: nice: out of range: 20 (hint: nice takes a whole number from -20 to 19)"),
        (
            "oom-score-adj = 99999999999999999999",
            "17: oom-score-adj: out of range: 99999999999999999999 (hint: oom-score-adj takes a whole number from -1000 \
             to 1000)",
        ),
        (
            "restart = \"often\"",
            "11: restart: no such choice: \"often\" (hint: restart takes \"always\", \"on-failure\" \
          or \"never\")",
        ),
        (
            "restart-delay = \"5\"",
            &format!("17: restart-delay: not a duration: \"5\" (hint: restart-delay {DURATION})"),
        ),
        ("restart-delay = \"-5s\"", &format!("17: restart-delay: negative: \"-5s\" (hint: restart-delay {DURATION})")),
        ("restart-delay-max = \"1s\"", "21: restart-delay-max: below the first delay (hint: the first delay is 5s)"),
        (
            "stop-signal = \"FOO\"",
            "15: stop-signal: no such signal: \"FOO\" (hint: stop-signal takes a signal such as \
          \"TERM\", \"SIGINT\" or 10)",
        ),
        (
            "stop-signal = \"STOP\"",
            "15: stop-signal: a signal that ends nothing (hint: stop-signal takes a signal such \
          as \"TERM\", \"SIGINT\" or 10)",
        ),
        (
            "stop-signal = 65",
            "15: stop-signal: out of range: 65 (hint: stop-signal takes a signal such as \"TERM\", \
          \"SIGINT\" or 10)",
        ),
        (
            "limits = { nofile = \"2:1\" }",
            &format!(
                "21: limits: the soft limit is above the hard one: \"2:1\" (hint: \
          limits {LIMITS})"
            ),
        ),
        ("limits = { nofile = \"x\" }", &format!("21: limits: no limit: \"x\" (hint: limits {LIMITS})")),
        (
            "environment = { \"A=B\" = \"\" }",
            "17: environment: no name of a variable: \"A=B\" (hint: environment takes \
          a table of texts such as { NAME = \"value\" })",
        ),
        (
            "environment.A = \"\\u0000\"",
            "17: environment: a NUL in the text (hint: environment takes a table of texts \
          such as { NAME = \"value\" })",
        ),
        ("directory = \"\"", "13: directory: empty (hint: directory takes a path in quotes)"),
        ("before-start = { command = [] }", &format!("28: command: no program (hint: command {COMMAND})")),
        ("before-start = {}", &format!("16: command: missing (hint: it {COMMAND})")),
        (
            "start-limit = { within = \"1s\" }",
            "15: starts: missing (hint: it takes a whole number from 1 to 4294967295)",
        ),
        (
            "log.max-size = \"x\"",
            "16: max-size: not a quantity: \"x\" (hint: max-size takes a size such as \"10Mi\", \
          \"1G\" or a number of bytes)",
        ),
    ]);
}

#[test]
fn readiness_and_health_take_exactly_one_way() {
    const READINESS: &str = "readiness takes a table of notify, fd, tcp, unix, http, command, file, every, within";
    const URL: &str = "http takes a URL with an address, such as \"http://127.0.0.1:8080/healthz\"";
    each(&[
        ("readiness = {}", &format!("13: readiness: no way (hint: {READINESS})")),
        ("readiness = { notify = false }", &format!("13: readiness: no way (hint: {READINESS})")),
        (
            "readiness = { fd = 3, file = \"a\" }",
            &format!("30: readiness: more than one way: fd is another (hint: {READINESS})"),
        ),
        ("readiness = { fd = 2 }", "20: fd: out of range: 2 (hint: fd takes a whole number from 3 to 255)"),
        ("readiness = { tcp = \"a:1\" }", &format!("21: tcp: no address: \"a:1\" (hint: tcp {ADDRESS})")),
        ("readiness = { tcp = \":80\" }", &format!("21: tcp: no address: \":80\" (hint: tcp {ADDRESS})")),
        ("readiness = { tcp = \"[::1]:0\" }", &format!("21: tcp: no address: \"[::1]:0\" (hint: tcp {ADDRESS})")),
        (
            "readiness = { http = \"https://127.0.0.1/\" }",
            &format!("22: http: no URL of this machine: \"https://127.0.0.1/\" (hint: {URL})"),
        ),
        (
            "readiness = { http = \"http://127.0.0.1/a b\" }",
            &format!("22: http: no URL of this machine: \"http://127.0.0.1/a b\" (hint: {URL})"),
        ),
        (
            "readiness = { file = \"a\", every = \"0s\" }",
            &format!("35: every: no time at all (hint: every {DURATION})"),
        ),
        (
            "health = { watchdog = true, timeout = \"1s\" }",
            "39: timeout: a watchdog is not asked (hint: every is its longest silence)",
        ),
    ]);
}

#[test]
fn a_key_that_nobody_knows_is_refused_with_the_nearest() {
    each(&[
        ("restart_delay = \"1s\"", "1: restart_delay: no such key (hint: did you mean restart-delay?)"),
        ("readyness = {}", "1: readyness: no such key (hint: did you mean readiness?)"),
        ("log = { maxsize = 1 }", "9: maxsize: no such key (hint: did you mean max-size?)"),
        (
            "x = 1",
            "1: x: no such key (hint: known here: name, command, after, environment, environment-file, \
          clear-environment, directory, user, group, limits, nice, oom-score-adj, stop-signal, restart, restart-delay, \
          restart-delay-max, start-limit, readiness, health, before-start, after-stop, log)",
        ),
        (
            "limits = { file = 1 }",
            "12: limits: no such resource: \"file\" (hint: known here: as, core, cpu, data, fsize, \
          locks, memlock, msgqueue, nice, nofile, nproc, rss, rtprio, rttime, sigpending, stack)",
        ),
    ]);
    assert_eq!(
        Machine::new().refused("executor.command = [\"sh\"]\n[[sidecar]]\nname = \"a\"\ncomand = [\"sh\"]"),
        "m.toml:4:1: comand: no such key (hint: did you mean command?)\n"
    );
    let refused = Machine::new().refused("[executor]\ncommand = [\"sh\"]\nrestart = \"always\"\nname = \"x\"\n");
    assert!(refused.starts_with("m.toml:3:1: restart: no such key (hint: known here: command,"), "{refused}");
    assert!(refused.contains("\nm.toml:4:1: name: no such key"), "{refused}");
}

#[test]
fn text_that_is_no_toml_is_refused_at_its_place() {
    for (text, said) in [
        ("x", "m.toml:1:2: key with no value, expected `=`\n"),
        ("a = 1\na = 2", "m.toml:2:1: duplicate key\n"),
        ("[executor]\ncommand = [\"é\" \"x\"]\n", "m.toml:2:16: missing comma between array elements, expected `,`\n"),
    ] {
        assert_eq!(Machine::new().refused(text), said, "{text}");
    }
}

#[test]
fn columns_are_counted_in_characters() {
    let refused = Machine::new().refused("executor = { environment.a = \"ééé\", command = 1 }");
    assert_eq!(
        refused.lines().next().unwrap(),
        format!("m.toml:1:47: command: wrong type: an integer (hint: command {COMMAND})")
    );
}

#[test]
fn names_are_taken_once_and_fit_a_log() {
    const NAME: &str = "name takes a name for logs and commands: letters, digits, - _ and .";
    let named = |name: &str| {
        let text = format!("executor.command = [\"sh\"]\n[[sidecar]]\nname = {name:?}\ncommand = [\"sh\"]\n");
        Machine::new().refused(&text)
    };
    for name in ["a/b", ".a", "-a", "a b", "é"] {
        assert_eq!(named(name), format!("m.toml:3:8: name: no name of a log: {name:?} (hint: {NAME})\n"));
    }
    assert_eq!(named(""), format!("m.toml:3:8: name: empty (hint: {NAME})\n"));
    assert_eq!(
        named("executor"),
        "m.toml:3:8: name: \"executor\" is the executor's own (hint: give the sidecar another name)\n"
    );
    assert_eq!(
        named("a.stdout"),
        "m.toml:3:8: name: the name of another log: \"a.stdout\" (hint: that is where a task's standard output goes, \
         with stdout = \"separate\")\n"
    );
    assert_eq!(
        named("executor-2026-11-30T01-18-34.945"),
        "m.toml:3:8: name: the name of another log: \"executor-2026-11-30T01-18-34.945\" (hint: that is where the log of \
         \"executor\" goes when it is rotated)\n"
    );
    assert_eq!(
        Machine::new().refused(&beside_executor("[[sidecar]]\nname = \"s\"\ncommand = [\"sh\"]")),
        "m.toml:6:8: name: taken: \"s\" (hint: each sidecar has a name of its own)\n"
    );
    assert_eq!(
        Machine::new().refused("executor.command = [\"sh\"]\n[[sidecar]]\n"),
        format!(
            "m.toml:2:1: name: missing (hint: it takes {})\nm.toml:2:1: command: missing (hint: it {COMMAND})\n",
            &NAME[11..]
        )
    );
}

#[test]
fn the_order_is_of_tasks_that_exist_and_has_no_circle() {
    let task =
        |name: &str, after: &str| format!("[[sidecar]]\nname = \"{name}\"\ncommand = [\"sh\"]\nafter = [{after}]\n");
    let text = format!("executor.command = [\"sh\"]\n{}{}", task("web", "\"wep\""), task("db", "\"x\""));
    assert_eq!(
        Machine::new().refused(&text),
        "m.toml:5:10: after: no such task: \"wep\" (hint: the tasks are web, db, executor)\n\
         m.toml:9:10: after: no such task: \"x\" (hint: the tasks are web, db, executor)\n"
    );
    let text = format!(
        "executor = {{ command = [\"sh\"], after = [\"d\"] }}\n{}{}{}{}",
        task("d", "\"a\""),
        task("a", "\"b\""),
        task("b", "\"c\""),
        task("c", "\"a\"")
    );
    assert_eq!(
        Machine::new().refused(&text),
        "m.toml:17:10: after: a circle: a -> b -> c -> a (hint: each waits for the next for ever: leave one of these \
         out)\n"
    );
    let refused = Machine::new().refused(&format!("executor.command = [\"sh\"]\n{}", task("a", "\"a\"")));
    assert!(refused.contains("a circle: a -> a "), "{refused}");
}

#[test]
fn the_executor_is_named_exactly_once() {
    const HINT: &str = "[executor] command = [\"/bin/prog\"], or behind -- on the command line";
    assert_eq!(
        Machine::new().refused("[log]\n[executor]\n"),
        format!("m.toml:2:1: nothing says what the executor is (hint: {HINT})\n")
    );
    assert_eq!(
        Machine::new().refused("[log]"),
        format!("m.toml:1:1: nothing says what the executor is (hint: {HINT})\n")
    );
    assert_eq!(
        Machine::new().command(&["sh"]).refused("executor.command = [\"prog\"]"),
        "m.toml:1:20: command: the command line names the executor too: \"sh\" (hint: leave one of them out)\n"
    );
}

#[test]
fn what_this_machine_lacks_is_told_apart() {
    each(&[
        (
            "environment-file = \"e\"",
            "20: environment-file: \"e\": No such file or directory (os error 2) (hint: a \
          relative path starts in the sandbox)",
        ),
        (
            "before-start = { command = [\"nix\"] }",
            "28: command: no executable \"nix\" in PATH \
          (\"relative:/usr/bin:/bin\") (hint: a path, such as \"./nix\", says where it is)",
        ),
        (
            "user = \"kub\"",
            "8: user: no such user: \"kub\" (hint: a user of a directory service goes by its number, \
          with a group)",
        ),
        ("user = 7", "8: user: 7 is not in /etc/passwd (hint: name a group too)"),
    ]);
    let faults = |text: &str| -> Vec<Fault> {
        Machine::new().load(&beside_executor(text)).unwrap_err().iter().map(|problem| problem.fault).collect()
    };
    assert_eq!(faults("user = \"x\"\nnice = 99"), [Fault::Machine, Fault::Text]);
    assert_eq!(faults("group = \"x\""), [Fault::Text]);
    let machine = Machine::new().file("e", "A=1\nexport B=1\n");
    assert_eq!(
        machine.refused("executor = { command = [\"sh\"], environment-file = \"e\" }"),
        "m.toml:1:51: environment-file: \"e\": line 2 is no NAME=VALUE (hint: it is taken literally, without export and \
         quotes)\n"
    );
}

#[test]
fn a_program_with_a_slash_and_a_directory_have_to_be_there() {
    const PUT: &str = "(hint: put one there that this user may execute, or let before-start do it)";
    each(&[
        (
            "directory = \"e\"",
            "13: directory: no directory to enter: \"/sandbox/e\" (hint: make one that this user may enter: \
             before-start runs in it too)",
        ),
        (
            "readiness = { command = [\"./probe\"] }",
            &format!("25: command: no executable file: \"/sandbox/probe\" {PUT}"),
        ),
        ("after-stop = { command = [\"/a/b\"] }", &format!("26: command: no executable file: \"/a/b\" {PUT}")),
        ("before-start = { command = [\"/a/b\"] }", &format!("28: command: no executable file: \"/a/b\" {PUT}")),
    ]);
    assert_eq!(
        Machine::new().command(&["./nothere"]).refused(""),
        format!("m.toml: command: no executable file: \"/sandbox/nothere\" {PUT}\n")
    );
    let faults: Vec<Fault> =
        Machine::new().command(&["./nothere"]).load("").unwrap_err().iter().map(|p| p.fault).collect();
    assert_eq!(faults, [Fault::Machine]);
}

#[test]
fn the_command_line_alone_has_no_line() {
    assert_eq!(
        Machine::new().command(&["nix"]).refused(""),
        "m.toml: command: no executable \"nix\" in PATH (\"relative:/usr/bin:/bin\") (hint: a path, such as \"./nix\", \
         says where it is)\n"
    );
}

#[test]
fn all_problems_are_told_at_once_in_the_order_of_the_text() {
    let lines: String = (0..12).map(|nth| format!("k{nth} = 1")).collect::<Vec<_>>().join("\n");
    let refused = Machine::new().refused(&beside_executor(&lines));
    let places: Vec<&str> = refused.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, (5..17).map(|line| format!("m.toml:{line}:1")).collect::<Vec<_>>());
}
