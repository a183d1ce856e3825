"""qemu, busybox and kernels from Debian packages: resolved by apt, unpacked below target/vm, never installed.

apt works with a configuration, package lists and an archive of its own and with an empty status file, so it neither reads nor
writes anything of the host's packages, and what it resolves is complete: qemu brings its own C library and loader.
"""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = [
    ("debian", "bullseye"), ("debian-security", "bullseye-security"),          # 5.10
    ("debian", "bookworm"), ("debian-security", "bookworm-security"),          # 6.1
    ("debian", "trixie"), ("debian-security", "trixie-security"),              # 6.12, qemu, busybox
    ("debian", "trixie-backports"),                                            # the newest
]
TOOLS = ["qemu-system-x86", "busybox-static", "util-linux", "bsdutils", "dash", "bash", "procps", "strace"]
LIBRARIES = "usr/lib/x86_64-linux-gnu"
KEEP_FOR = 7 * 24 * 3600  # seconds until the mirror is asked again; versions rotate out of it, so none is pinned


class Packages:
    """Everything below one directory, `target/vm`."""

    def __init__(self, top, mirror):
        self.top, self.mirror = top, mirror
        self.apt = top / "apt"
        self.tools = top / "tools"
        self.kernels = top / "kernels"

    def fetch(self, series):
        """Makes tools and the newest kernel of each series available; gives series -> (version, vmlinuz)."""
        stamp = self.top / "fetched"
        fresh = stamp.exists() and time.time() - stamp.stat().st_mtime < KEEP_FOR
        wanted = [*series, *TOOLS]
        if fresh and stamp.read_text().split() == wanted and self._found(series):
            return self._found(series)
        self._configure()
        self._run("apt-get", "-qq", "update")
        self._fetch_tools()
        shutil.rmtree(self.kernels, ignore_errors=True)
        for one in series:
            self._fetch_kernel(one)
        shutil.rmtree(self.apt)
        stamp.write_text("\n".join(wanted))
        return self._found(series)

    def qemu(self):
        """The command that starts qemu with the loader and the libraries that were unpacked beside it."""
        libraries = [self.tools / "usr/lib/x86_64-linux-gnu", self.tools / "lib/x86_64-linux-gnu"]
        loader = next(self.tools.glob("usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"), None) \
            or self.tools / "lib64/ld-linux-x86-64.so.2"
        return [str(loader), "--library-path", ":".join(map(str, libraries)),
                str(self.tools / "usr/bin/qemu-system-x86_64"),
                "-L", str(self.tools / "usr/share/qemu"), "-L", str(self.tools / "usr/share/seabios")]

    def busybox(self):
        return next(path for path in (self.tools / "usr/bin/busybox", self.tools / "bin/busybox") if path.exists())

    def programs(self, *names):
        """Name in a machine -> file, for these programs, the libraries that they need and the loader."""
        loader = self.tools / "usr/lib64/ld-linux-x86-64.so.2"
        found = {"lib64/ld-linux-x86-64.so.2": loader.resolve()}
        for name in names:
            program = next(self.tools.glob(f"usr/*bin/{name}"))
            found[f"usr/bin/{name}"] = program.resolve()
            listed = subprocess.run([loader, "--library-path", self.tools / LIBRARIES, "--list", program],
                                    stdout=subprocess.PIPE, text=True, check=True).stdout
            for library, path in re.findall(r"(\S+) => (\S+)", listed):
                found[f"lib/x86_64-linux-gnu/{library}"] = Path(path).resolve()
        return found

    def _configure(self):
        for below in ("lists/partial", "archives/partial"):
            (self.apt / below).mkdir(parents=True, exist_ok=True)
        (self.apt / "status").write_text("")
        (self.apt / "sources.list").write_text("".join(
            f"deb [arch=amd64 signed-by={KEYRING}] {self.mirror}/{archive} {suite} main\n" for archive, suite in SUITES))
        settings = {
            "Dir::Etc::sourcelist": self.apt / "sources.list", "Dir::State": self.apt, "Dir::Cache": self.apt,
            "Dir::State::lists": self.apt / "lists", "Dir::State::status": self.apt / "status",
            "Dir::Cache::archives": self.apt / "archives", "Acquire::Languages": "none", "APT::Architecture": "amd64",
            "APT::Sandbox::User": "root",
        }
        for unused in ("main", "parts", "sourceparts", "preferences", "preferencesparts", "trusted", "trustedparts"):
            settings[f"Dir::Etc::{unused}"] = "/dev/null"
        (self.apt / "apt.conf").write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))

    def _run(self, *command):
        environment = dict(os.environ, APT_CONFIG=str(self.apt / "apt.conf"), LC_ALL="C")
        done = subprocess.run(command, cwd=self.apt / "archives", env=environment, text=True, capture_output=True)
        if done.returncode != 0:
            raise SystemExit(f"vm: {' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def _fetch_tools(self):
        self._run("apt-get", "-qq", "-y", "--no-install-recommends", "--download-only", "install", *TOOLS)
        shutil.rmtree(self.tools, ignore_errors=True)
        self.tools.mkdir()
        for package in sorted((self.apt / "archives").glob("*.deb")):
            unpack(package, self.tools)

    def _fetch_kernel(self, series):
        numbers = "[0-9]" if series == "newest" else re.escape(series) + "[.]"
        found = self._run("apt-cache", "search", "--names-only", f"^linux-(image|binary)-{numbers}.*[0-9]-cloud-amd64$")
        names = [line.split()[0] for line in found.splitlines()]
        versions = {name.split("-", 2)[2].removesuffix("-cloud-amd64") for name in names}
        if not versions:
            raise SystemExit(f"vm: {self.mirror} has no kernel of the series {series}")
        version = max(versions, key=lambda text: [int(number) for number in re.findall(r"\d+", text)])
        # From 6.19 on the image is an empty package and the kernel is in one called binary.
        kind = next(kind for kind in ("binary", "image") if f"linux-{kind}-{version}-cloud-amd64" in names)
        self._run("apt-get", "-qq", "download", f"linux-{kind}-{version}-cloud-amd64")
        package = next((self.apt / "archives").glob(f"linux-{kind}-*.deb"))
        unpack(package, self.apt / "archives/kernel", "*/vmlinuz*")
        package.unlink()
        self.kernels.mkdir(exist_ok=True)
        image = next(path for path in (self.apt / "archives/kernel").rglob("vmlinuz*"))
        (self.kernels / series).mkdir()
        image.rename(self.kernels / series / version)
        shutil.rmtree(self.apt / "archives/kernel")

    def _found(self, series):
        found = {one: next((self.kernels / one).glob("*"), None) for one in series}
        return {one: (path.name, path) for one, path in found.items()} if all(found.values()) else None


def unpack(package, into, *only):
    into.mkdir(exist_ok=True)
    content = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
    wanted = ["--wildcards", *only] if only else []
    done = subprocess.run(["tar", "-x", "-C", into, *wanted], stdin=content.stdout)
    if content.wait() != 0 or done.returncode != 0:
        raise SystemExit(f"vm: {package} does not unpack")
