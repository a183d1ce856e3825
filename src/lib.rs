//! `minion`: the process supervisor that an Apache Mesos agent starts as the executor of a container.

pub mod cgroup;
pub mod cli;
pub mod config;
pub mod error;
pub mod hyperkube;
pub mod inspect;
pub mod log;
pub mod mesos;
pub mod namespace;
pub mod near;
pub mod process;
pub mod rehearsal;
pub mod supervisor;
pub mod task;
pub mod trace;
