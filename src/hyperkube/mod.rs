//! The profile of the original (`km minion`): flags and environment to the two tasks, kube-proxy and the executor. Pure.
//!
//! ```text
//! cli ── Flags ──┐
//! environment ───┼─ profile() ─ Profile { tasks, notices }
//! Host ──────────┘
//! ```
//!
//! Nothing here touches the machine. What has to be read (kubeconfig, auth file) is read through [`Host::read`], which is
//! the caller's.

mod api;
mod endpoint;
mod environment;
mod flags;
mod kubeconfig;
mod locate;
mod profile;

pub mod duration;
pub mod executor;
pub mod quantity;
pub mod value;

pub use flags::{Flags, ProxyFlags};
pub use locate::{in_path, locate_km};
pub use profile::{CgroupRoot, Host, Notice, Profile, profile};
