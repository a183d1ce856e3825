//! The loop: events in, actions out.
