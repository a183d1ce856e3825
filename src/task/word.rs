//! What a task says, in bytes that may hold anything: a line of `sd_notify(3)`, the head of an HTTP reply.

/// The longest status that is kept, in characters.
const LONGEST_STATUS: usize = 256;

/// What a line of a notification says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// `READY=1`.
    Ready,
    /// `WATCHDOG=1`.
    Alive,
    /// `STATUS=…`, without control characters and not longer than is kept.
    Status(String),
    /// `MAINPID=…`; `None` where that is no number.
    MainPid(Option<i32>),
    /// What has no meaning here.
    Other,
}

impl Word {
    /// Reads a line.
    pub fn of(line: &str) -> Self {
        match line.split_once('=') {
            Some(("READY", "1")) => Self::Ready,
            Some(("WATCHDOG", "1")) => Self::Alive,
            Some(("STATUS", status)) => {
                Self::Status(status.chars().filter(|c| !c.is_control()).take(LONGEST_STATUS).collect())
            }
            Some(("MAINPID", pid)) => Self::MainPid(pid.parse().ok()),
            Some(_) | None => Self::Other,
        }
    }
}

/// The status of `HTTP/1.1 200 OK`. `None` while the reply is torn before it, and where it is none.
pub fn http_status(reply: &[u8]) -> Option<u16> {
    let words = reply.strip_prefix(b"HTTP/")?;
    let mut words = words.split(u8::is_ascii_whitespace).skip(1);
    let status = words.next()?;
    // Three digits and what ends them: a torn status is none yet.
    words.next()?;
    std::str::from_utf8(status).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_reply() {
        assert_eq!(http_status(b"HTTP/1.1 200 OK\r\n"), Some(200));
        assert_eq!(http_status(b"HTTP/1.0 503 "), Some(503));
        assert_eq!(http_status(b"HTTP/1.0 50"), None);
        assert_eq!(http_status(b"SSH-2.0-x y z"), None);
    }

    #[test]
    fn the_words_of_a_notification() {
        assert_eq!(Word::of("READY=1"), Word::Ready);
        assert_eq!(Word::of("READY=0"), Word::Other);
        assert_eq!(Word::of("WATCHDOG=1"), Word::Alive);
        assert_eq!(Word::of("STATUS=a=\x1b[31mb"), Word::Status("a=[31mb".to_owned()));
        assert_eq!(Word::of("MAINPID=7"), Word::MainPid(Some(7)));
        assert_eq!(Word::of("MAINPID=self"), Word::MainPid(None));
        assert_eq!(Word::of("="), Word::Other);
    }
}
