//! What tasks, agents and other programs say: notifications, replies, environments, cgroup paths, names of backups.

use super::words;
use minion::log::Stamp;
use minion::mesos::Environment;
use minion::mesos::recovery::{self, Reading};
use minion::mesos::secret::{self, is_secret};
use minion::task::word::{Word, http_status};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// A datagram of `sd_notify(3)`.
pub fn notification(data: &[u8]) {
    for line in String::from_utf8_lossy(data).lines() {
        match Word::of(line) {
            Word::Status(status) => {
                assert!(status.chars().count() <= 256 && !status.contains(char::is_control), "{status:?}");
            }
            Word::MainPid(Some(pid)) => assert!(line.contains(&pid.unsigned_abs().to_string()), "{line}"),
            Word::Ready | Word::Alive | Word::MainPid(None) | Word::Other => {}
        }
    }
}

/// The head of a reply, as it comes in pieces: a status that is there once is not another one later.
pub fn reply(data: &[u8]) {
    let mut before = None;
    for end in 0..=data.len().min(64) {
        let status = http_status(&data[..end]);
        assert!(before.is_none() || status == before, "{before:?}, then {status:?}");
        before = status;
    }
}

/// `NAME=VALUE` words with NUL bytes between them, as in `/proc/<pid>/environ`; shown as the arguments that they may be.
pub fn environment(data: &[u8]) {
    let split = |word: OsString| {
        let bytes = word.into_vec();
        let at = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
        let value = bytes.get(at + 1..).unwrap_or_default();
        (OsString::from_vec(bytes[..at].to_vec()), OsString::from_vec(value.to_vec()))
    };
    let variables: Vec<(OsString, OsString)> = words(data).into_iter().map(split).collect();
    let environment = Environment::from_vars(&variables);
    if let Some(Err(error)) = &environment.grace {
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
    for (name, _) in &variables {
        let upper = name.as_bytes().to_ascii_uppercase();
        assert_eq!(is_secret(name), is_secret(OsStr::from_bytes(&upper)), "{name:?}");
    }
    let (given, shown) = (words(data), secret::shown(&words(data)));
    assert_eq!((shown.len(), &secret::shown(&shown)), (given.len(), &shown), "what is shown stays so");
}

/// A path below an agent's root.
pub fn cgroup_path(data: &[u8]) {
    let path = Path::new(OsStr::from_bytes(data));
    for reading in [recovery::v1(path), recovery::v2(path)] {
        if let Reading::Container(id) = reading {
            assert!(!id.to_string().contains(['/', '\n']), "{id}");
        }
    }
    if let Some((id, _)) = recovery::enclosing(path) {
        assert!(!id.own().is_empty());
    }
}

/// A time, by a person or in the name of a file that anybody made.
pub fn time(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(stamp) = Stamp::parse_utc(&text) {
        assert_eq!(Stamp::parse_utc(&stamp.to_string()), Some(stamp), "{text}");
    }
}
