//! The private mount namespace.
