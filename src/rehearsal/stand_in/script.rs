//! What a stand-in is told to do: a line of verbs in an environment variable.

use crate::error::{Error, Result};
use std::time::Duration;

/// The behaviour of one stand-in. The default says hello, waits, and says goodbye when it is told to stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// `record=FILE`: what it was given, as JSON; `%p` in the name becomes the pid.
    pub(super) record: Option<String>,
    /// `lines=N`: so many numbered lines, one each `every`.
    pub(super) lines: u64,
    /// `every=D`: the time between two lines; without it they come at once.
    pub(super) every: Duration,
    /// `burst=BYTES`: so many bytes of numbered lines at the start; the last line may be shorter, all end in a newline.
    pub(super) burst: u64,
    /// `line-bytes=N`: the length of a numbered line, newline included; 100 without it.
    pub(super) line_bytes: usize,
    /// `quiet`: numbered lines only: no hello, no goodbye.
    pub(super) quiet: bool,
    /// How it ends by itself.
    pub(super) end: Option<(Duration, End)>,
    /// `once`: ends by itself in the first run in this sandbox only.
    pub(super) once: bool,
    /// `ignore-term`: SIGTERM, SIGINT and SIGHUP have no effect.
    pub(super) ignore_term: bool,
    /// `ignore-shutdown`: the agent's message has no effect.
    pub(super) ignore_shutdown: bool,
    /// `linger=D`: so long from being told to stop to the end.
    pub(super) linger: Duration,
    /// `stop-self`: SIGSTOP to itself, once everything else has begun.
    pub(super) stop_self: bool,
    /// `daemonise`: a grandchild in a session of its own, its parent gone.
    pub(super) daemonise: bool,
    /// `forkloop=N`: N children, every other one in a session of its own.
    pub(super) forkloop: u64,
    /// `hop=N`: N processes that each start their successor and end, for ever.
    pub(super) hop: u64,
    /// `hold-stderr`: a grandchild in a session of its own that keeps stderr open.
    pub(super) hold_stderr: bool,
    /// `stubborn`: the children ignore SIGTERM too.
    pub(super) stubborn: bool,
}

/// How a stand-in ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// `crash-after=D:CODE`: it exits.
    Exit(u8),
    /// `die-after=D:SIGNAL`: it sends itself a signal, by number.
    Signal(i32),
}

impl Script {
    /// Reads `verb,verb=value,…`. An unknown verb is an error: a test that misspells one must not pass.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut script = Self { line_bytes: 100, ..Self::default() };
        for verb in text.split(',').map(str::trim).filter(|verb| !verb.is_empty()) {
            let (name, value) = verb.split_once('=').unwrap_or((verb, ""));
            script.set(name, value).ok_or_else(|| Error::new("read stand-in script", verb, "no such verb or value"))?;
        }
        Ok(script)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "record" => self.record = Some(value.to_owned()),
            "lines" => self.lines = value.parse().ok()?,
            "every" => self.every = duration(value)?,
            "burst" => self.burst = value.parse().ok()?,
            "line-bytes" => self.line_bytes = value.parse().ok().filter(|bytes| *bytes > 0)?,
            "crash-after" => self.end = Some(after(value, |code| code.parse().ok().map(End::Exit))?),
            "die-after" => self.end = Some(after(value, |signal| signal.parse().ok().map(End::Signal))?),
            "linger" => self.linger = duration(value)?,
            "forkloop" => self.forkloop = value.parse().ok()?,
            "hop" => self.hop = value.parse().ok()?,
            flag => *self.flag(flag).filter(|_| value.is_empty())? = true,
        }
        Some(())
    }

    fn flag(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "quiet" => &mut self.quiet,
            "once" => &mut self.once,
            "ignore-term" => &mut self.ignore_term,
            "ignore-shutdown" => &mut self.ignore_shutdown,
            "stop-self" => &mut self.stop_self,
            "daemonise" => &mut self.daemonise,
            "hold-stderr" => &mut self.hold_stderr,
            "stubborn" => &mut self.stubborn,
            _ => return None,
        })
    }
}

fn after(value: &str, end: impl Fn(&str) -> Option<End>) -> Option<(Duration, End)> {
    let (time, rest) = value.split_once(':')?;
    Some((duration(time)?, end(rest)?))
}

/// `250ms`, `2s`, `50us`.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number = number.parse().ok()?;
    match unit {
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_read_and_unknown_ones_refused() {
        let script = Script::parse("lines=5, every=100ms,crash-after=1s:3,ignore-term").unwrap();
        assert_eq!(script.lines, 5);
        assert_eq!(script.every, Duration::from_millis(100));
        assert_eq!(script.end, Some((Duration::from_secs(1), End::Exit(3))));
        assert!(script.ignore_term && !script.once);
        assert_eq!(Script::parse("die-after=0ms:9").unwrap().end, Some((Duration::ZERO, End::Signal(9))));
        for bad in ["ignoreterm", "lines", "lines=x", "quiet=1", "crash-after=1s", "every=1", "line-bytes=0"] {
            assert!(Script::parse(bad).is_err(), "{bad}");
        }
    }
}
