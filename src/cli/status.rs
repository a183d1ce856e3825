//! What exit codes mean: a heading with its lines, for help and manual.

/// Of the commands that supervise.
pub(super) const EXIT_CODES: (&str, &[&str]) = (
    "Exit codes",
    &[
        "0: minion was told to stop, and everything has stopped.",
        "The executor's own: it ended first; 128+n when signal n killed it.",
        "100: the command line, or the file of minion supervise, is wrong. Nothing was touched.",
        "111: set-up failed. Nothing was started, or what was started was ended again.",
        "112: a task's readiness, health or start limit ended the run (minion supervise).",
        "113: minion was told to stop, and something could not be ended in time.",
    ],
);

/// Of all others.
pub(super) const OTHER_EXIT_CODES: (&str, &[&str]) = (
    "Exit codes of the other commands",
    &[
        "0: done, and nothing wants attention.",
        "1: something wants attention, minion refuses, or the demo did not see all it should.",
        "2: nobody can tell: no minion answers, what was asked for is not there, or not everything could be seen.",
        "100: the command line is wrong.",
        "minion enter: the command's own; 125 when the task could not be entered, 126 and 127 when the command could not be \
         executed or found.",
    ],
);
