"""Which boots there are and what must come back from each. Whatever differs is a failure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Boot:
    """A kernel, by its series in Debian, and how its cgroups are mounted."""

    series: str
    layout: str

    @property
    def name(self):
        return f"{self.series}-{self.layout}"


# Debian's kernels from 6.12 on have no v1 memory and cpuset, so v1 is shown on the older two.
BOOTS = [
    *(Boot(series, layout) for series in ("5.10", "6.1") for layout in ("legacy", "hybrid", "unified")),
    Boot("6.12", "unified"), Boot("newest", "unified"),
]

# Tests with a grace period of seconds, which the one processor makes short when others want it too.
ONE_AT_A_TIME = {"root_lifecycle"}

# What the test of five hundred processes starts here, instead of 500 that stay and 4 that keep forking: its grace is too short
# for one processor to end more.
CROWD = "forkloop=50,hop=1"

# The usual programs that tests start, from Debian's packages. What else they start is busybox's.
HOST_TOOLS = ["bash", "chrt", "flock", "prlimit", "ps", "script", "setpriv", "setsid", "strace", "unshare"]

# What a layout does not have: a test that needs it skips there, and says so. It may skip for nothing else, and what the
# layout has (tests/vm/init names it) it may not miss.
# What no boot has; what needs it runs on the host. Of Debian's kernels the loop device and ext4 are modules, and real-time
# processes have no budget (CONFIG_RT_GROUP_SCHED).
NOWHERE = {"fsfreeze", "python3", "mkfs.ext4", "prometheus_client", "rt", "perl"}
ABSENT = {"legacy": {"v2", "v2memory", "v2enabled"}, "hybrid": {"v2memory", "v2enabled"}, "unified": {"v1"}}


class Expected:
    """The tests that the programs have, by their own list."""

    def __init__(self, tests):
        self.tests = {(program, test) for program, names in tests.items() for test in names}
        self.programs = {*tests, "demo"}

    def differences(self, boot, report):
        problems = [*report.complaints]
        if not report.ended:
            problems.append("the machine did not reach its end")
        for program in sorted(self.programs):
            code, _ = report.programs.get(program, (None, 0))
            if code != 0:
                problems.append(f"{program}: " + ("did not run" if code is None else f"exit {code}"))
        for key in sorted(self.tests | report.results.keys()):
            result = report.results.get(key, "missing")
            if result != "ok" or key not in self.tests:
                problems.append(f"{'::'.join(key)}: {result if key in self.tests else 'unknown'}")
        for test, why in report.skipped:
            if why.split(" ")[0] not in ABSENT[boot.layout] | NOWHERE:
                problems.append(f"{test}: skipped for {why}")
        return problems

    def ran_nowhere(self, reports):
        """A test that every boot skips shows nothing, unless it is for lack of what no boot has."""
        skips = [{test for test, why in report.skipped if why.split(" ")[0] not in NOWHERE} for report in reports]
        return [f"{test}: skipped in every boot" for test in sorted(set.intersection(*skips))]
