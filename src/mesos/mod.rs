//! What a Mesos agent says: container ids, durations, the environment of an executor, the layout of a sandbox. Pure.

mod id;

pub use id::{ContainerId, SEPARATOR};
