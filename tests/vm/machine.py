"""One boot: qemu, and what comes back over its serial line."""

import re
import subprocess
import time
from dataclasses import dataclass, field

LIMIT = 100       # seconds that a program in the machine may take, by its clock
WALL = 230        # seconds that a boot may take, by the host's


@dataclass
class Report:
    """What a boot said, and how long it took by the host's clock."""

    kernel: str = "?"
    layout: str = "?"
    seconds: float = 0
    ended: bool = False
    results: dict = field(default_factory=dict)   # (program, test) -> ok, FAILED
    skipped: list = field(default_factory=list)   # (program::test, need and reason)
    programs: dict = field(default_factory=dict)  # program -> (exit code, seconds)
    complaints: list = field(default_factory=list)

    @property
    def passed(self):
        skipped = {test for test, _ in self.skipped}
        tests = [key for key, result in self.results.items() if result == "ok" and "::".join(key) not in skipped]
        return len(tests) + (self.programs.get("demo", (1, 0))[0] == 0)


def boot(qemu, kernel, initramfs, boot, log, crowd):
    # Its clock counts instructions, a nanosecond each, and jumps ahead when nothing is to do: a grace of seconds passes at once,
    # and a busy host makes none shorter.
    command = [
        *qemu, "-machine", "q35,accel=tcg", "-icount", "shift=0,sleep=off", "-rtc", "clock=vm", "-smp", "1", "-m", "512",
        "-nodefaults", "-display", "none", "-serial", "stdio",
        "-no-reboot", "-kernel", kernel, "-initrd", initramfs,
        "-append", f"console=ttyS0 loglevel=1 panic=-1 layout={boot.layout} limit={LIMIT} crowd={crowd}",
    ]
    began = time.monotonic()
    with open(log, "wb") as serial:
        try:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=serial, stderr=serial, timeout=WALL)
        except subprocess.TimeoutExpired:
            serial.write(f"\nvm: stopped after {WALL} s\n".encode())
    report = read(log.read_text(errors="replace"))
    report.seconds = time.monotonic() - began
    return report


def read(serial):
    report = Report()
    # The kernel and the firmware write to the same line: a result may stand behind their words.
    for kind, words in re.findall(r"@@ (\w+) ([^\r\n]*)", serial):
        match kind, words.split(" "):
            case "boot", [kernel, layout, *_]: report.kernel, report.layout = kernel, layout
            case "test", [_, _, "ignored"]: pass  # inner halves, which others run
            case "test", [program, test, result]: report.results[program, test] = result
            case "skip", [program, test, *why]: report.skipped.append((f"{program}::{test}", " ".join(why)))
            case "program", [program, code, seconds]: report.programs[program] = int(code), int(seconds)
            case "end", _: report.ended = True
            case _: report.complaints.append(f"{kind} {words}")
    return report
