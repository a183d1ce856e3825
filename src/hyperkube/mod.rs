//! The profile of the original: flags and environment to task specifications. Pure.
