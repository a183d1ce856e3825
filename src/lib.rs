//! `minion`: the process supervisor that an Apache Mesos agent starts as the executor of a container.
//!
//! Two front ends say what to run: `minion run` ([`hyperkube`]: kube-proxy and the kubelet-executor) and `minion supervise`
//! ([`config`]: any executor, with sidecars). Behind them is one supervisor. The other commands ask it ([`control`]) or look at
//! what the kernel says ([`inspect`]). README.md is for those who use them.
//!
//! # Code map
//!
//! | module | what it does |
//! |---|---|
//! | `src/main.rs`, `src/main/` | parse, set up, dispatch, exit code: the only place that prints or exits |
//! | [`cli`] | a command line to a command; help, completions and manual pages from the same table |
//! | [`hyperkube`] | flags and environment to the two tasks: arguments, environment, API host. Pure |
//! | [`config`] | the file of `minion supervise` to the tasks, by a table of keys; plan, schema, printing. Pure |
//! | [`mesos`] | what the agent says: environment, durations, container ids, reading of cgroups. Pure |
//! | [`task`] | what to do next: the states of one task and of all. Pure, time is an argument |
//! | [`supervisor`] | the loop: readiness of fds to inputs of `task`, its outputs to system calls |
//! | [`process`] | fork and exec, pidfds, signals, reaping, trees: the only `unsafe` |
//! | [`cgroup`] | where the container's cgroups are, attaching, drift, lack of memory |
//! | [`namespace`] | the private mount namespace |
//! | [`log`] | one thread for all file I/O: relay, rotation, a full disk, minion's own lines |
//! | [`control`] | the control socket: protocol, the supervisor's side, the commands that ask it |
//! | [`trace`] | events to lines, as text or JSON |
//! | [`inspect`] | the commands that look: doctor, containers, inspect, why, attach, logs, enter |
//! | [`render`] | text for a person at a screen: tables, colour, width, units |
//! | [`rehearsal`] | a stand-in for the agent, for `minion demo` and the tests |
//! | [`near`] | what a mistyped name may have meant |
//! | [`error`] | the one error: operation, subject, cause, hint |
//!
//! Two files tell most: `task/state.rs`, what happens in the life of a task, and `supervisor/mod.rs`, how it is done.
//!
//! # Who uses whom
//!
//! ```text
//! error ─▶ mesos, task ─▶ hyperkube ─▶ config ─▶ cli ────────▶ main
//! error ─▶ process ─▶ cgroup, namespace, log ─▶ supervisor ────▶ main
//! error ─▶ process ─▶ control ─▶ supervisor, cli ──────────────▶ main
//! mesos, process, cgroup ─▶ rehearsal, inspect ────────────────▶ main
//! render ─▶ control, inspect ──────────────────────────────────▶ main
//! log ─▶ trace ────────────────────────────────────────────────▶ main
//! ```
//!
//! An arrow points to the user and never back; `supervisor` uses `task` as well, `cgroup` and `namespace` use `mesos`.
//! `cgroup`, `namespace` and `log` do not know one another. What is pure does no I/O, makes no process and logs nothing.
//! `tests/architecture.rs` holds the whole table and reads the sources for it.
//!
//! # Life of a child
//!
//! 1. `hyperkube` or `config` makes its [`task::TaskSpec`]: program, arguments, environment, whether it restarts.
//! 2. [`task::Core::step`] answers `Begin` with `Spawn`, for those that wait for others when they are ready;
//!    `supervisor/perform.rs` is what performs it.
//! 3. Pipes are made, every string is ready, then the main thread forks ([`process::spawn`]).
//! 4. The child leads a group, asks for SIGKILL at its parent's death, takes its stdio, empties its signal mask, and waits.
//! 5. The parent opens a pidfd, attaches the child to the container's cgroups, reads back that it is there ([`cgroup`]), and
//!    that it is in the private mount namespace ([`namespace`]). A child that is elsewhere ends here and has executed nothing.
//! 6. One byte opens the gate: the child execs. A step that failed comes back through a pipe, with its errno.
//! 7. Its output goes pipe, log thread, file ([`log`]); its membership is looked at again after 1, 10 and 60 s.
//!    It is ready when it says so or when a question to it is answered, and asked for its health from then on ([`task::watch`]).
//! 8. Its death makes the pidfd readable. It is reaped once, through that pidfd; its pipes are read to their end.
//! 9. What it left behind came to us, the subreaper: it is told to end, then stopped and killed, until nothing is left.
//! 10. Only then is its exit reported, and `step` says what follows: a restart after a delay, or the end of everything.

pub mod cgroup;
pub mod cli;
pub mod config;
pub mod control;
pub mod error;
pub mod hyperkube;
pub mod inspect;
pub mod log;
pub mod mesos;
pub mod namespace;
pub mod near;
pub mod process;
pub mod rehearsal;
pub mod render;
pub mod supervisor;
pub mod task;
pub mod trace;
