//! A line of a client, read. Pure.

use crate::control::protocol::{Failure, Kind, Line, VERSION};

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Everything, once.
    Status,
    /// End the task and start it again.
    Restart(String),
    /// End the task and leave it down.
    Stop(String),
    /// Start the task.
    Start(String),
    /// Signal the task's main process.
    Signal {
        /// The task.
        task: String,
        /// The name or the number of the signal.
        signal: String,
    },
    /// Every event from now on. The server keeps these clients itself.
    Events,
}

impl Request {
    /// Reads a line without its newline.
    pub fn parse(line: &[u8]) -> Result<Self, Failure> {
        let malformed = |text: String| Failure::new(Kind::Malformed, text);
        // The words of the parser may quote the line: they go back to whom it came from, and nowhere else.
        let line: Line = serde_json::from_slice(line).map_err(|error| {
            malformed(format!("no request: {error} (hint: {{\"minion\":1,\"request\":\"status\"}})"))
        })?;
        if line.minion != VERSION {
            let text = format!("this minion speaks version {VERSION} of the protocol, not {}", line.minion);
            return Err(Failure::new(Kind::Version, text));
        }
        let task = || line.task.clone().ok_or_else(|| malformed(format!("{}: no task", line.request)));
        Ok(match line.request.as_str() {
            "status" => Self::Status,
            "events" => Self::Events,
            "restart" => Self::Restart(task()?),
            "stop" => Self::Stop(task()?),
            "start" => Self::Start(task()?),
            "signal" => {
                let signal = line.signal.clone().ok_or_else(|| malformed("signal: no signal".to_owned()))?;
                Self::Signal { task: task()?, signal }
            }
            other => return Err(malformed(format!("no such request: {other:?}"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(line: &str) -> Kind {
        Request::parse(line.as_bytes()).unwrap_err().error
    }

    #[test]
    fn each_request_is_read() {
        let parse = |line: &str| Request::parse(line.as_bytes()).unwrap();
        assert_eq!(parse(r#"{"minion":1,"request":"status"}"#), Request::Status);
        assert_eq!(parse(r#"{"request":"events","minion":1,"colour":"red"}"#), Request::Events);
        assert_eq!(parse(r#"{"minion":1,"request":"stop","task":"proxy"}"#), Request::Stop("proxy".into()));
        assert_eq!(
            parse(r#"{"minion":1,"request":"signal","task":"proxy","signal":"HUP"}"#),
            Request::Signal { task: "proxy".into(), signal: "HUP".into() }
        );
    }

    #[test]
    fn what_is_no_request_is_told_from_another_version() {
        for line in ["", "{", "[]", "null", "{}", r#"{"minion":1}"#, r#"{"minion":"1","request":"status"}"#] {
            assert_eq!(kind(line), Kind::Malformed, "{line}");
        }
        assert_eq!(kind(r#"{"minion":1,"request":"fly"}"#), Kind::Malformed);
        assert_eq!(kind(r#"{"minion":1,"request":"restart"}"#), Kind::Malformed);
        assert_eq!(kind(r#"{"minion":2,"request":"status"}"#), Kind::Version);
    }

    #[test]
    fn no_bytes_at_all_make_it_panic() {
        for seed in 0..2_000_u32 {
            let bytes: Vec<u8> =
                (0..seed % 97).map(|at| seed.wrapping_mul(2_654_435_761).rotate_left(at).to_le_bytes()[0]).collect();
            assert!(Request::parse(&bytes).is_err());
        }
    }
}
