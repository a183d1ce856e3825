//! `minion`: parse, trace, dispatch, exit code.

fn main() {}
