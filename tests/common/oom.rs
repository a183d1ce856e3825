//! Who is killed for memory.
//!
//! What was killed still holds its memory for a while, and then the next process of the cgroup goes too. [KF-100]

/// A script's words: it is the first to be killed.
pub const FIRST: &str = "echo 1000 > /proc/$$/oom_score_adj";

/// A script's words: starts three that are killed before whoever started them. Not in the run that eats: they end with it.
pub const SPARE: &str = "for spare in 1 2 3; do \
     sh -c 'echo 1000 > /proc/$$/oom_score_adj; echo >> spares; exec sleep 300 < /dev/null > /dev/null 2>&1' & done";

/// A script's words, in the same directory: waits for them.
pub const AFTER_SPARE: &str = "until [ -e spares ] && [ $(wc -l < spares) = 3 ]; do :; done";
