//! Processes: fork and exec, pidfds, signals, reaping, trees. The only `unsafe`.
