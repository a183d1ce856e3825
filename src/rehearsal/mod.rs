//! The rehearsal agent: a small stand-in for a Mesos 1.11 agent with `MesosContainerizer` and `LinuxLauncher`.
//!
//! It is not Mesos and never says so. It gives a program what an agent gives an executor, and takes it away the same way:
//!
//! ```text
//! Agent::launch ─ sandbox tree, environment from empty, cgroups before the fork
//!    └ rehearsal-init (init.rs): own session, waits for the agent, forwards signals, writes the status file
//!         └ the command, in all of the container's cgroups before its first instruction
//! Container::shutdown ─ message to the executor, grace, then destroy (freeze, kill, thaw, remove)
//! Container::recovery_check ─ what the agent's next restart would make of the cgroups that it finds
//! ```
//!
//! `minion demo` ([`demo`]) and the tests use the same one. The executor's children are played by [`stand_in`].

mod agent;
mod cgroups;
mod container;
pub mod demo;
mod destroy;
mod environment;
pub mod init;
mod proc;
mod recovery;
mod sandbox;
pub mod stand_in;
mod unified;
mod wait;

pub use agent::{Agent, Builder};
pub use cgroups::Layout;
pub use container::{Container, Ending, Status};
pub use destroy::DestroyReport;
pub use proc::Process;
pub use recovery::Orphan;

/// One line on the own stderr, for the two hidden commands: there it is a file in a sandbox, or the log of a child.
fn tell(line: std::fmt::Arguments<'_>) {
    // Nobody is left to tell when this fails.
    let _ = rustix::io::write(rustix::stdio::stderr(), format!("{line}\n").as_bytes());
}
