//! The log thread: relay, rotation, retention.
