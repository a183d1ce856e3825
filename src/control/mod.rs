//! The control socket: what a running minion tells and what it can be told.
//!
//! `minion.sock` in the sandbox is a unix stream socket for root and for the user that minion runs as. Both sides speak
//! lines of JSON; each line has the member `minion`, the version of this protocol ([`protocol::VERSION`]).
//!
//! | request | reply |
//! |---|---|
//! | `{"minion":1,"request":"status"}` | one [`Status`](protocol::Status) |
//! | `{"minion":1,"request":"events"}` | a [`Welcome`](protocol::Welcome), then each [`Event`](protocol::Event) as it happens |
//! | `{"minion":1,"request":"restart","task":"proxy"}`, also `stop` and `start` | one [`Done`](protocol::Done) |
//! | `{"minion":1,"request":"signal","task":"proxy","signal":"HUP"}` | one [`Done`](protocol::Done) |
//!
//! Anything that cannot be done is one [`Failure`](protocol::Failure). After a line that is no request, one of another
//! version, or one of more than [`server::LINE`] bytes, the connection is closed; a refused command leaves it open.
//!
//! ```text
//! supervisor ─ server ─ protocol ─ client ─ find, screen, metrics
//! ```
//!
//! The server lives in the supervisor's loop. No client can make it wait: see [`server`].

pub mod client;
pub mod protocol;
pub mod server;

/// The name of the socket in the sandbox.
pub const SOCKET: &str = "minion.sock";

/// Now, as the protocol writes times.
pub(crate) fn time_now() -> String {
    chrono::Utc::now().format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
