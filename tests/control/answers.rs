//! What a client prints of a minion that is not honest, and when nobody reads it.

use super::common::control::{OBEDIENT, Up, cli};
use super::common::{DEADLINE, minion, wait_readable};
use rustix::pipe::{PipeFlags, pipe_with};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

/// ESC [ in its two forms, a bell, and a line that looks like a message.
const EVIL: &str = "a\u{1b}[31m\u{9b}31m\u{7}\nminion: fine";
/// The same inside a string of JSON: the eight-bit form needs no escape there.
const EVIL_JSON: &str = "a\\u001b[31m\u{9b}31m\\u0007\\nminion: fine";

/// Runs a command against a socket that answers each request with these lines.
fn answered(answer: &str, words: &[&str]) -> (i32, String, String) {
    let directory = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join("minion.sock")).unwrap();
    let answer = answer.to_owned();
    let server = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut request = String::new();
        BufReader::new(socket.try_clone().unwrap()).read_line(&mut request).unwrap();
        socket.write_all(answer.as_bytes()).unwrap();
    });
    let result = cli(&[words, &["--sandbox", directory.path().to_str().unwrap()]].concat());
    server.join().unwrap();
    result
}

fn status(text: &str) -> String {
    format!(
        r#"{{"minion":1,"version":"{text}","pid":1,"time":"{text}","uptime_seconds":1e308,"stopping":"{text}","sandbox":"{text}",
        "container":{{"id":"{text}","verdict":"disagreement","evidence":"{text}","layout":"{text}"}},
        "cgroups":[{{"hierarchy":"{text}","path":"{text}"}}],"private_mounts":false,"grace_seconds":-1.0,"budget_seconds":1.0,
        "tasks":[{{"name":"{text}","role":"{text}","state":"{text}","says":"{text}","restarts":18446744073709551615,
        "last_exit":{{"text":"{text}","code":255,"time":"{text}","up_seconds":1e300,"commanded":true}},"drift":["{text}"],
        "rss_bytes":18446744073709551615,"cpu_seconds":1e300,
        "logs":[{{"file":"{text}","bytes":18446744073709551615,"dropped":18446744073709551615,"degraded":"{text}"}},
        {{"file":"{text}.","bytes":18446744073709551615,"dropped":1}}]}}],
        "events":[{{"minion":1,"seq":18446744073709551615,"time":"{text}","event":"{text}","text":"{text}"}}]}}"#
    )
    .replace('\n', "\r")
        + "\n"
}

/// Nothing but text and line ends.
fn assert_harmless(what: &str, text: &str) {
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{what}: {text:?}");
    assert!(text.lines().skip(1).all(|line| !line.starts_with("minion:")), "{what}: {text:?}");
}

#[test]
fn nothing_that_a_minion_answers_reaches_the_terminal_as_a_command() {
    let done = format!("{{\"minion\":1,\"done\":\"{EVIL_JSON}\",\"task\":\"a\",\"state\":\"down\"}}\n");
    let refused = format!("{{\"minion\":1,\"error\":\"refused\",\"text\":\"{EVIL_JSON}\"}}\n");
    let status = status(EVIL_JSON);
    let event =
        "{\"minion\":1,\"subscribed\":1}\n{\"minion\":1,\"seq\":2,\"time\":\"\",\"event\":\"x\",\"text\":\"EVIL\"}\n"
            .replace("EVIL", EVIL_JSON);
    for (answer, words, code) in [
        (&done, &["stop", "proxy"][..], 0),
        (&done, &["stop", "proxy", "--json"], 0),
        (&refused, &["restart", "proxy"], 1),
        (&refused, &["restart", "proxy", "--json"], 1),
        (&refused, &["status"], 2),
        (&refused, &["events"], 2),
        (&status, &["status"], 1),
        (&status, &["status", "--json"], 1),
        (&status, &["metrics"], 0),
        (&status, &["metrics", "--format=prometheus"], 0),
        (&event, &["events"], 0),
        (&EVIL.to_owned(), &["status"], 2),
    ] {
        let (found, said, error) = answered(answer, words);
        assert_eq!(found, code, "{words:?}: {said}{error}");
        assert!(!(said.clone() + &error).is_empty());
        assert_harmless(&format!("{words:?}"), &said);
        assert_harmless(&format!("{words:?}"), &error);
    }
}

#[test]
fn the_json_of_an_answer_says_exactly_what_came() {
    let status = status(EVIL_JSON);
    let (_, said, _) = answered(&status, &["status", "--json"]);
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&said), value(&status));
    assert_eq!(value(&said)["sandbox"], EVIL);
}

#[test]
fn events_end_when_their_reader_is_gone_although_nothing_happens() {
    let up = Up::start(OBEDIENT, &[]);
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let mut reader = Command::new(minion());
    reader.args(["events", "--sandbox"]).arg(up.sandbox.path("")).stdout(Stdio::from(write)).stderr(Stdio::piped());
    let mut reader = reader.spawn().unwrap();
    // Its first event says that it is subscribed.
    let mut asker = up.asker();
    let mut lines = super::common::fifo::Lines::of(read);
    let asked = Instant::now();
    while lines.there().is_empty() {
        assert!(asked.elapsed() < DEADLINE);
        asker.ask(r#"{"minion":1,"request":"signal","task":"proxy","signal":"CONT"}"#);
    }
    // One more, behind which it has nothing to write.
    asker.ask(r#"{"minion":1,"request":"signal","task":"proxy","signal":"WINCH"}"#);
    lines.next_with("SIGWINCH");
    drop(lines);
    // The end of its stderr is its own end.
    if !wait_readable(reader.stderr.as_ref().unwrap(), Instant::now() + DEADLINE) {
        reader.kill().unwrap();
    }
    let output = reader.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    up.minion.stop().assert_code(0);
}
