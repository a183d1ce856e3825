//! The private mount namespace.

mod mounts;

pub use mounts::{PrivateMounts, enter_private_mounts};
