//! Each verb's effect on real processes.

use super::common::control::{Asker, OBEDIENT, Up};
use super::common::minion::{Minion, Sandbox};
use super::common::{DEADLINE, wait_dead};
use std::time::{Duration, Instant};

#[test]
fn restart_ends_the_run_and_starts_another_at_once() {
    let mut up = Up::start(OBEDIENT, &["--restart-delay=1h"]);
    let mut watcher = up.asker().subscribe();
    let (code, said, _) = up.cli(&["restart", "proxy"]);
    assert_eq!((code, said.as_str()), (0, "proxy was told to end and starts again when nothing of it is left\n"));
    assert!(watcher.event("command").text.starts_with("restart, by uid "));
    let exited = watcher.event("exited");
    assert_eq!((exited.task.as_deref(), exited.pid, exited.code), (Some("proxy"), Some(up.proxy), Some(143)));
    assert!(wait_dead(up.proxy, Instant::now() + DEADLINE));
    let again = watcher.event("started").pid.unwrap();
    assert_eq!(up.events.next(), format!("proxy {again}"));
    assert_ne!(again, up.proxy);
    let status = up.asker().status();
    assert_eq!((status.tasks[0].restarts, status.tasks[0].pid), (1, Some(again)));
    assert!(status.tasks[0].last_exit.as_ref().unwrap().commanded);
    assert_eq!(status.tasks[1].pid, Some(up.executor));
    let said = up.minion.stop().assert_code(0);
    assert!(said.contains("info command: restart, by uid "), "{said}");
    assert!(!said.contains(" error "), "an end that was asked for is no error: {said}");
}

#[test]
fn stop_keeps_a_helper_down_until_start() {
    let mut up = Up::start(OBEDIENT, &["--restart-delay=0"]);
    let mut watcher = up.asker().subscribe();
    let (code, said, _) = up.cli(&["stop", "proxy"]);
    assert_eq!((code, said.as_str()), (0, "proxy was told to end and stays down until minion start proxy\n"));
    watcher.event("down");
    assert!(wait_dead(up.proxy, Instant::now() + DEADLINE));
    let (code, screen, _) = up.cli(&["status"]);
    assert_eq!(code, 1, "a helper that is down wants attention");
    assert!(screen.contains("proxy is kept down by a command; minion start proxy --target="), "{screen}");
    assert_eq!(up.cli(&["stop", "proxy"]).1, "proxy is down already\n");
    assert_eq!(up.cli(&["start", "proxy"]).1, "proxy was started\n");
    assert!(up.events.next().starts_with("proxy "));
    watcher.event("started");
    assert_eq!(up.cli(&["start", "proxy"]).1, "proxy runs already\n");
    assert_eq!(up.cli(&["status"]).0, 0);
    up.minion.stop().assert_code(0);
}

#[test]
fn a_helper_that_ignores_sigterm_is_killed_five_seconds_after_its_stop() {
    // It says so when a SIGTERM comes, and goes on; so does what it left in a session of its own.
    let script = "[ $1 = proxy ] || { echo $1 $$ >events; exec sleep 300; }\ntrap 'echo deaf >events' TERM\n\
                  setsid sh -c 'trap \"\" TERM; echo left $$ >events; exec sleep 300' &\necho $1 $$ >events\n\
                  while :; do sleep 300 & wait; done\n";
    let sandbox = Sandbox::with_km(script);
    let mut events = sandbox.events("events");
    let mut command = sandbox.command(&[]);
    let mut minion = Minion::spawn(&mut command);
    minion.is_up();
    let said: Vec<String> = (0..3).map(|_| events.next()).collect();
    let pid = |name: &str| said.iter().find_map(|line| line.strip_prefix(name)?.trim().parse::<i32>().ok()).unwrap();
    let mut watcher = Asker::of(&sandbox).subscribe();
    let asked = Instant::now();
    assert!(Asker::of(&sandbox).command("stop", "proxy").contains("was told to end"));
    events.next_with("deaf");
    let state = Asker::of(&sandbox).status().tasks[0].state.clone();
    assert_eq!(state, "stopping");
    let exited = watcher.event("exited");
    let took = asked.elapsed();
    assert_eq!((exited.pid, exited.code), (Some(pid("proxy")), Some(137)), "{exited:?}");
    assert!(took >= Duration::from_secs(5) && took < 2 * DEADLINE, "{took:?}");
    watcher.event("down");
    for name in ["proxy", "left"] {
        assert!(wait_dead(pid(name), Instant::now() + DEADLINE), "{name}");
    }
    let status = Asker::of(&sandbox).status();
    assert_eq!((status.tasks[0].state.as_str(), status.tasks[1].pid), ("down", Some(pid("executor"))));
    minion.stop().assert_code(0);
}

#[test]
fn a_helper_that_is_down_does_not_hold_up_the_end() {
    let up = Up::start(OBEDIENT, &[]);
    let mut watcher = up.asker().subscribe();
    up.asker().command("stop", "proxy");
    watcher.event("down");
    let mut last = up.asker();
    up.minion.stop().assert_code(0);
    let said = watcher.rest();
    assert!(said.contains("\"event\":\"stopping\""), "{said}");
    assert!(!up.sandbox.path("minion.sock").exists());
    assert!(!last.send(b"x\n") || last.rest().is_empty(), "the end closes every connection");
}

#[test]
fn start_ends_the_wait_of_a_helper_that_crashed() {
    let script = "echo $1 $$ >events\n[ $1 = proxy ] && [ ! -e crashed ] && { >crashed; exit 3; }\nexec sleep 300\n";
    let mut up = Up::start(script, &["--restart-delay=1h"]);
    let mut watcher = up.asker();
    // It may have crashed before anybody could subscribe.
    while up.asker().status().tasks[0].state != "backoff" {
        assert!(!watcher.status().tasks.is_empty());
    }
    let (code, screen, _) = up.cli(&["status"]);
    assert_eq!(code, 1);
    let starts = screen.split_once("proxy does not run, and starts again in ").unwrap_or_else(|| panic!("{screen}")).1;
    assert!(starts.starts_with("59m") || starts.starts_with("1h00m; "), "{screen}");
    assert!(starts.contains("; it exited with 3"), "{screen}");
    assert_eq!(up.cli(&["start", "proxy"]).1, "proxy was started\n");
    assert!(up.events.next().starts_with("proxy "));
    up.minion.stop().assert_code(0);
}

#[test]
fn the_executor_is_neither_stopped_nor_restarted_alone() {
    let up = Up::start(OBEDIENT, &[]);
    assert_eq!(up.cli(&["start", "executor"]), (0, "executor runs already\n".to_owned(), String::new()));
    for verb in ["stop", "restart"] {
        let (code, said, _) = up.cli(&[verb, "executor"]);
        assert_eq!(code, 1);
        let hint = format!("(hint: kill -TERM {} ends minion in order)\n", up.minion.pid());
        assert!(said.starts_with("minion refuses: ") && said.ends_with(&hint), "{said}");
    }
    assert_eq!(up.asker().status().tasks[1].pid, Some(up.executor));
    up.minion.stop().assert_code(0);
}

#[test]
fn a_signal_reaches_the_main_process_by_name_and_number() {
    let script = "trap 'echo hup >events' HUP\ntrap 'echo usr2 >events' USR2\necho $1 $$ >events\n\
                  while :; do sleep 300 & wait; done\n";
    let mut up = Up::start(script, &[]);
    let (code, said, _) = up.cli(&["signal", "executor", "hup"]);
    assert_eq!((code, said), (0, format!("sent SIGHUP to executor, pid {}\n", up.executor)));
    assert_eq!(up.events.next(), "hup");
    let number = libc::SIGUSR2.to_string();
    assert_eq!(up.cli(&["signal", "proxy", &number]).1, format!("sent SIGUSR2 to proxy, pid {}\n", up.proxy));
    assert_eq!(up.events.next(), "usr2");
    drop(up);
}

#[test]
fn an_unknown_task_or_signal_is_refused_with_what_there_is() {
    let up = Up::start(OBEDIENT, &[]);
    let (code, said, _) = up.cli(&["restart", "proxi"]);
    assert_eq!((code, said.as_str()), (1, "minion refuses: no such task: \"proxi\" (hint: proxy, executor)\n"));
    let (code, said, _) = up.cli(&["signal", "proxy", "HUPP"]);
    assert_eq!((code, said.as_str()), (1, "minion refuses: no such signal: \"HUPP\" (hint: HUP, USR1 or 10)\n"));
    up.minion.stop().assert_code(0);
}

#[test]
fn events_come_in_order_and_end_with_minion() {
    let up = Up::start(OBEDIENT, &[]);
    let mut asker = up.asker();
    let welcome = asker.ask(r#"{"minion":1,"request":"events"}"#);
    assert_eq!(welcome, r#"{"minion":1,"subscribed":2}"#);
    up.minion.stop().assert_code(0);
    let said = asker.rest();
    let events: Vec<serde_json::Value> = said.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let seqs: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (3..3 + events.len() as u64).collect::<Vec<_>>());
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["stopping", "exited", "exited"]);
}
