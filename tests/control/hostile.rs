//! Clients that are many, silent, wrong, slow or gone.

use super::common::control::{Asker, OBEDIENT, Up};
use super::common::{DEADLINE, wait_readable};
use minion::control::protocol::Event;
use minion::control::server::{CLIENTS, LINE, OUTPUT};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

const STATUS: &str = r#"{"minion":1,"request":"status"}"#;

/// User and system time of a process, in clock ticks.
fn ticks(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split(' ');
    fields.skip(12).take(2).map(|field| field.parse::<u64>().unwrap()).sum()
}

/// How often the supervisor's own thread has gone to sleep.
fn sleeps(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn what_is_no_request_gets_one_line_and_is_closed() {
    let up = Up::start(OBEDIENT, &[]);
    for (sent, kind) in [
        ("\n".to_owned(), "malformed"),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "malformed"),
        ("{\"minion\":1}\n".to_owned(), "malformed"),
        ("{\"minion\":2,\"request\":\"status\"}\n".to_owned(), "version"),
        ("\u{0}\u{1}\u{2}\n".to_owned(), "malformed"),
        (format!("{{\"minion\":1,\"request\":\"{}\"}}\n", "x".repeat(LINE)), "malformed"),
        ("x".repeat(LINE), "malformed"),
        ("[".repeat(LINE - 1) + "\n", "malformed"),
    ] {
        let mut asker = up.asker();
        asker.send(sent.as_bytes());
        let answer = asker.rest();
        assert_eq!(answer.lines().count(), 1, "{sent:.40}: {answer}");
        assert!(answer.contains(&format!("\"error\":\"{kind}\"")), "{sent:.40}: {answer}");
    }
    let mut asker = up.asker();
    assert!(asker.command("fly", "proxy").contains("malformed"), "an unknown verb");
    assert_eq!(up.cli(&["status"]).0, 0);
    up.minion.stop().assert_code(0);
}

#[test]
fn a_request_may_come_in_pieces_and_several_at_once() {
    let up = Up::start(OBEDIENT, &[]);
    let mut asker = up.asker();
    for byte in STATUS.bytes().chain([b'\n']) {
        assert!(asker.send(&[byte]));
    }
    assert!(asker.lines.next().contains("\"tasks\""));
    assert!(asker.send(format!("{STATUS}\n").repeat(100).as_bytes()));
    for _ in 0..100 {
        assert!(asker.lines.next().contains("\"tasks\""));
    }
    // A client that says all it has to say and then listens.
    assert!(asker.send(format!("{STATUS}\n").as_bytes()));
    asker.socket.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(asker.rest().lines().count(), 102);
    up.minion.stop().assert_code(0);
}

#[test]
fn readers_of_events_keep_their_places_and_more_clients_are_told_so_and_closed() {
    let up = Up::start(OBEDIENT, &[]);
    let mut readers: Vec<Asker> = (0..CLIENTS).map(|_| up.asker().subscribe()).collect();
    let answer = up.asker().rest();
    assert!(answer.contains("\"error\":\"busy\"") && answer.lines().count() == 1, "{answer}");
    let (code, _, said) = up.cli(&["status"]);
    assert!(code == 2 && said.contains("64 clients are connected"), "{code}: {said}");
    assert!(readers[1].ask(STATUS).contains("\"tasks\""));
    // One that is gone makes room; the reply to the other one comes after its end was seen.
    drop(readers.remove(0));
    while !up.asker().ask(STATUS).contains("\"tasks\"") {}
    up.minion.stop().assert_code(0);
}

#[test]
fn clients_that_are_silent_for_longest_make_room_for_new_ones_and_lock_nobody_out() {
    let up = Up::start(OBEDIENT, &[]);
    let mut reader = up.asker().subscribe();
    let mut silent: Vec<Asker> = (1..CLIENTS).map(|_| up.asker()).collect();
    // It came before the others and was the last to say something.
    assert!(silent[0].ask(STATUS).contains("\"tasks\""));
    for words in [&["status"][..], &["metrics"], &["status", "--json"], &["signal", "proxy", "CONT"]] {
        let (code, _, said) = up.cli(words);
        assert_eq!((code, said.as_str()), (0, ""), "{words:?}");
    }
    assert!(silent[0].ask(STATUS).contains("\"tasks\""), "the others are asked to go before it");
    let told = silent.swap_remove(1).rest();
    assert!(told.contains("\"error\":\"busy\"") && told.lines().count() == 1, "{told}");
    assert!(reader.event("command").text.starts_with("signal SIGCONT"), "who reads events stays");
    up.minion.stop().assert_code(0);
}

#[test]
fn two_hundred_clients_of_every_kind_change_nothing_for_the_children() {
    let script = "echo $1 $$ >events\n[ $1 = executor ] || exec sleep 300\nn=0\n\
                  while :; do n=$((n + 1)); echo line $n; echo beat >beats; sleep 0.02; done\n";
    let sandbox = super::common::minion::Sandbox::with_km(script);
    let mut beats = sandbox.events("beats");
    let mut up = Up::in_sandbox(sandbox, &["--restart-delay=1h"]);
    let mut crowd: Vec<Asker> = Vec::new();
    for nth in 0..200 {
        let mut asker = up.asker();
        match nth % 5 {
            0 => {}
            1 => drop(asker.send(b"\xff\xfe garbage \x00\n{}\n\n\n")),
            // Asks and asks, and never reads.
            2 => drop(asker.send(format!("{STATUS}\n").repeat(30).as_bytes())),
            3 => drop(asker.send(br#"{"minion":1,"requ"#)),
            _ => drop(asker.send(b"{\"minion\":1,\"request\":\"events\"}\n")),
        }
        crowd.push(asker);
    }
    (0..10).for_each(|_| drop(beats.next()));
    let mut window = || {
        let before = sleeps(up.minion.pid());
        (0..25).for_each(|_| drop(beats.next()));
        sleeps(up.minion.pid()) - before
    };
    // A search over the whole host, by another test, connects to every minion.
    let woken = (0..4).map(|_| window()).find(|woken| *woken <= 5);
    assert!(woken.is_some(), "nobody said anything, and the supervisor woke again and again");
    // Both children are as they were, and a crash is noticed and a signal obeyed at once.
    kill_process(Pid::from_raw(up.proxy).unwrap(), Signal::KILL).unwrap();
    up.minion.says("killed by signal 9 (SIGKILL)");
    let asked = Instant::now();
    up.minion.signal(Signal::TERM);
    let ended = up.minion.wait();
    assert!(asked.elapsed() < DEADLINE);
    ended.assert_code(0);
    let log = up.sandbox.read("executor.log");
    for (nth, line) in log.lines().enumerate() {
        assert_eq!(line, format!("line {}", nth + 1));
    }
    assert!(log.lines().count() > 30);
    drop(crowd);
}

#[test]
fn a_flood_of_requests_delays_neither_a_restart_nor_the_end() {
    let mut up = Up::start(OBEDIENT, &["--restart-delay=0"]);
    let floods: Vec<_> = (0..8)
        .map(|_| {
            let socket = UnixStream::connect(up.sandbox.path("minion.sock")).unwrap();
            std::thread::spawn(move || {
                let mut answers = BufReader::new(&socket).lines();
                // Whatever the end of minion does to the connection, it ends this.
                let ask = |_: &u32| (&socket).write_all(format!("{STATUS}\n").as_bytes()).is_ok();
                (0..1_000_000).take_while(ask).take_while(|_| answers.next().is_some_and(|line| line.is_ok())).count()
            })
        })
        .collect();
    for _ in 0..20 {
        kill_process(Pid::from_raw(up.proxy).unwrap(), Signal::KILL).unwrap();
        up.proxy = up.events.next().strip_prefix("proxy ").unwrap().parse().unwrap();
    }
    let asked = Instant::now();
    up.minion.stop().assert_code(0);
    assert!(asked.elapsed() < DEADLINE);
    for flood in floods {
        assert!(flood.join().unwrap() > 0, "everybody was served");
    }
}

#[test]
fn a_slow_reader_loses_events_and_is_told_how_many() {
    let up = Up::start(OBEDIENT, &[]);
    let slow = up.asker().subscribe();
    let mut busy = up.asker();
    // More than its buffers here and in the kernel hold.
    let signals = OUTPUT / 40;
    for _ in 0..signals {
        busy.ask(r#"{"minion":1,"request":"signal","task":"proxy","signal":"CONT"}"#);
    }
    let last = busy.status().events.last().unwrap().seq;
    let mut slow = slow;
    let (mut seen, mut lost, mut next) = (0, 0, 3);
    while seen + lost < signals as u64 {
        let event: Event = serde_json::from_str(&slow.lines.next()).unwrap();
        if event.event == "lost" {
            assert_eq!(event.seq, 0);
            lost += event.count.unwrap();
            next += event.count.unwrap();
        } else {
            assert_eq!(event.seq, next, "what is missing is told in its place");
            seen += 1;
            next += 1;
        }
    }
    assert_eq!(next, last + 1);
    assert!(lost > 0 && seen > 500, "{seen} seen, {lost} lost");
    up.minion.stop().assert_code(0);
}

#[test]
fn a_minion_without_file_descriptors_is_deaf_and_does_not_spin() {
    let up = Up::start(OBEDIENT, &[]);
    let pid = Pid::from_raw(up.minion.pid());
    let mut first = up.asker();
    first.status();
    let is_free = |fd: &u64| fs::symlink_metadata(format!("/proc/{}/fd/{fd}", up.minion.pid())).is_err();
    let free = (0..1024).find(is_free);
    let before = getrlimit(Resource::Nofile);
    prlimit(pid, Resource::Nofile, Rlimit { current: free, maximum: before.maximum }).unwrap();
    let mut waiting = up.asker();
    first.status();
    let (slept, used) = (sleeps(up.minion.pid()), ticks(up.minion.pid()));
    assert!(!wait_readable(&up.minion.pidfd, Instant::now() + Duration::from_millis(300)));
    let (slept, used) = (sleeps(up.minion.pid()) - slept, ticks(up.minion.pid()) - used);
    assert!(slept < 5 && used < 10, "it spins: {slept} sleeps, {used} ticks");
    assert!(waiting.lines.there().is_empty());
    prlimit(pid, Resource::Nofile, before).unwrap();
    drop(first);
    assert!(waiting.ask(STATUS).contains("\"tasks\""), "it hears again when a client has gone");
    up.minion.stop().assert_code(0);
}
