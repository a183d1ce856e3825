//! What a Mesos agent says: container ids, durations, the environment of an executor, what its recovery makes of a cgroup.
//! Pure.

pub mod duration;
mod environment;
mod id;
pub mod recovery;

pub use environment::{Environment, is_secret};
pub use id::{ContainerId, SEPARATOR};
