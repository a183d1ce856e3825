//! What each command prints as JSON, object by object: for the manual, and for the tests that read the real thing.

/// The JSON of a command.
pub enum Json {
    /// `--json` prints it.
    Asked(&'static Schema),
    /// It prints nothing else.
    Always(&'static Schema),
    /// It has none, for this reason.
    Never(&'static str),
}

/// What is printed: members may be added to a version, not changed or removed.
pub struct Schema {
    /// The member that says the version.
    pub member: &'static str,
    /// What it says, as JSON.
    pub version: &'static str,
    /// The path of each object, empty for the whole, and its members: a word, or a word with its meaning in brackets.
    pub objects: &'static [(&'static str, &'static str)],
}

impl Json {
    /// A paragraph for the help.
    pub(super) fn told(&self, command: &str) -> String {
        let told = |what: &str, schema: &Schema| {
            let Schema { member, version, .. } = schema;
            format!("{what}, \"{member}\":{version}; minion man {command} lists the members.")
        };
        match self {
            Self::Asked(schema) => told("--json prints one object on one line", schema),
            Self::Always(schema) => told("Each line is an object", schema),
            Self::Never(why) => format!("None: {why}."),
        }
    }

    /// The schema, where there is one.
    pub fn schema(&self) -> Option<&'static Schema> {
        match self {
            Self::Asked(schema) | Self::Always(schema) => Some(schema),
            Self::Never(_) => None,
        }
    }
}

const EVENT_MEMBERS: &str = "minion, seq (from 1, without gaps; 0 for lost), time (UTC), event (started, start-failed, \
                             start-limit, ready, not-ready, unhealthy, hook-failed, exited, backoff, down, command, \
                             cgroup-hazard, cgroup-drift, cgroup-reattach, oom, log-degraded, log-recovered, log-sacrificed, stopping, \
                             killing, lost), task, pid, code (of exited: 128+n after signal n), count (of lost), text";

pub(super) static STATUS: Schema = Schema {
    member: "minion",
    version: "1",
    objects: &[
        (
            "",
            "minion, version (of the program), pid, time (UTC), uptime_seconds, stopping (why, once it is), sandbox, container, \
             cgroups (where children are put), private_mounts, oom_kills, grace_seconds, budget_seconds (in which everything \
             ends), tasks (in the order of starting), events (the last 32). A member that does not apply is left out",
        ),
        (
            "container",
            "id, verdict (agreement, disagreement, absence), evidence, layout (legacy, hybrid, unified, none)",
        ),
        ("cgroups[]", "hierarchy, path"),
        (
            "tasks[]",
            "name, role (executor, helper), state (idle, starting, running, stopping, clearing, backoff, down, ended), hook \
             (before-start, after-stop), ready, says, pid, uptime_seconds, starts_in_seconds, restarts, last_exit, rss_bytes, \
             cpu_seconds, drift (a sentence a hierarchy), logs",
        ),
        ("tasks[].last_exit", "text, pid, code (128+n after signal n), time (UTC), up_seconds, commanded"),
        ("tasks[].logs[]", "file, bytes (written in all), dropped (bytes), degraded (why it cannot be written)"),
        ("events[]", EVENT_MEMBERS),
    ],
};

pub(super) static EVENTS: Schema = Schema { member: "minion", version: "1", objects: &[("", EVENT_MEMBERS)] };

pub(super) static DONE: Schema = Schema {
    member: "minion",
    version: "1",
    objects: &[(
        "",
        "minion, done (in words), task, state (after it); or, when minion refuses, minion, error (unknown, refused, busy, \
         forbidden, malformed, version), text",
    )],
};

pub(super) static DOCTOR: Schema = Schema {
    member: "schema",
    version: "\"minion.doctor/1\"",
    objects: &[
        ("", "schema, counts, checks"),
        ("counts", "ok, warn, fail, unknown"),
        ("checks[]", "name, health (ok, warn, fail, unknown), evidence, remedy"),
    ],
};

const FINDINGS: (&str, &str) = (
    "processes[].findings[]",
    "kind (a stable word), level (note, warning, problem), expected, actual, cause, remedy, commands (to paste)",
);
const LOOKED_AT: (&str, &str) =
    ("", "schema, asked (the word), container (where one was asked for), processes, task (where one does not run)");
const ABSENT: (&str, &str) = ("task", "name, minion (its pid), state, findings (as those of a process)");
const ITS_CONTAINER: (&str, &str) = ("container", "id, members (pids), cgroups");
const ITS_CGROUPS: (&str, &str) = ("container.cgroups[]", "hierarchy, directory, pids (how many)");

pub(super) static WHY: Schema = Schema {
    member: "schema",
    version: "\"minion.inspect/1\"",
    objects: &[LOOKED_AT, ABSENT, ITS_CONTAINER, ITS_CGROUPS, ("processes[]", "pid, name, findings"), FINDINGS],
};

pub(super) static INSPECT: Schema = Schema {
    member: "schema",
    version: "\"minion.inspect/1\"",
    objects: &[
        LOOKED_AT,
        ABSENT,
        ITS_CONTAINER,
        ITS_CGROUPS,
        ("processes[]", "pid, name, findings, view"),
        FINDINGS,
        (
            "processes[].view",
            "pid, name, arguments, state (a letter, as in /proc), group, session, scheduling, age_seconds, executable, \
             directory, oom_score_adj, parent, minion, agent, task, descendants, container, layout, cgroups, namespaces, \
             mounts, status, limits, resources, unseen (what this user may not see). In the place of a value that was not \
             seen: unknown (why)",
        ),
        ("processes[].view.parent", "pid, name, state, session; the same of minion, agent and descendants"),
        ("processes[].view.minion", "pid, name, state, session"),
        ("processes[].view.agent", "pid, name, state, session"),
        ("processes[].view.descendants[]", "pid, name, state, session"),
        ("processes[].view.task", "name, minion (its pid), run (its number)"),
        ("processes[].view.container", "id, evidence"),
        (
            "processes[].view.cgroups[]",
            "hierarchy, expected, actual, verdict (inside, below, inner, outside, none), why, other_container (the one that it is \
             inside of there)",
        ),
        ("processes[].view.namespaces[]", "kind, own, host, minion, agent (inode numbers)"),
        ("processes[].view.mounts", "own, differences (from the host, in words)"),
        ("processes[].view.mounts.own[]", "point, type, propagation"),
        (
            "processes[].view.status",
            "uid, threads, tracer (pid), resident_bytes, effective, permitted, bounding (capabilities), seccomp (mode), \
             no_new_privs, blocked, ignored, caught, pending (signals)",
        ),
        ("processes[].view.limits[]", "name, soft, hard (null is unlimited)"),
        ("processes[].view.resources", "memory, oom_victims, oom_unreported, pids, frozen (the cgroup that is)"),
        ("processes[].view.resources.memory", "cgroup, limit_bytes, usage_bytes, peak_bytes, oom_kills"),
        ("processes[].view.resources.oom_victims[]", "pid, name, limiter, microseconds (since boot)"),
        (
            "processes[].view.resources.oom_unreported[]",
            "pid, name, microseconds (since boot): killed here or elsewhere, the kernel left its report out",
        ),
        ("processes[].view.resources.pids", "cgroup, current, max"),
    ],
};

pub(super) static ATTACH: Schema = Schema {
    member: "schema",
    version: "\"minion.attach/1\"",
    objects: &[
        ("", "schema, pid, container, outcomes"),
        (
            "outcomes[]",
            "hierarchy, cgroup, result (moved, there, failed, left: it stays in another container's cgroup), errno, error",
        ),
    ],
};

pub(super) static CONTAINERS: Schema = Schema {
    member: "schema",
    version: "\"minion.containers/1\"",
    objects: &[
        (
            "",
            "schema, layout (legacy, hybrid, unified), roots, containers, findings, unseen (processes that this user may not \
             ask), took",
        ),
        (
            "containers[]",
            "id, root (the cgroup that it is below), parent, framework, executor, sandbox, minion (its pid), pids (how many), memory_bytes, memory_limit_bytes, \
             cpu_ns, oom_kills, cpu_pressure, memory_pressure (per cent of 10 s), hierarchies",
        ),
        (
            "findings[]",
            "kind (drift, escaped, orphan, minion-gone, empty, recovery-hazard, leftover, foreign-cgroup), severity (note, \
             warning, problem), container, pids, cgroup, text, remedy, commands (to paste)",
        ),
        ("took", "trees_us, proc_us (microseconds)"),
    ],
};
