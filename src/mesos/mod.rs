//! What a Mesos agent says: container ids, durations, the environment of an executor, what its recovery makes of a cgroup,
//! and what of all that may be shown. Pure.

pub mod duration;
mod environment;
mod id;
mod prefix;
pub mod recovery;
pub mod secret;

pub use environment::{DEFAULT_PATH, Environment};
pub use id::{ContainerId, SEPARATOR};
pub use prefix::clean_prefix;
