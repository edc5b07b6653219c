"""System packages that some tests need. Tests whose packages are missing are skipped and counted at the end.

    need("git")

belongs into the helper that starts the program, so that exactly the tests with this helper are skipped without git.
With `CI` in the environment such a test fails.
"""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from functools import cache

from agent_core.capabilities.web.browser_confinement import is_needed as is_confined
from agent_core.capabilities.web.browser_pages import chromium
from agent_core.providers.system_packages import install_command

# The programs of each package. Chromium has several names, and Playwright may have downloaded one.
PROGRAMS = {
    "bubblewrap": ("bwrap",),
    "git": ("git",),
    "iproute2": ("ip",),
    "npm": ("node", "npm"),
    "systemd": ("systemd-analyze",),
    "util-linux": ("prlimit", "setpriv", "unshare"),
}
SANDBOX = ("bubblewrap", "util-linux")
REGISTRIES = ("PyPI",)


class NotInstalled(Exception):
    """The machine lacks system packages that the test needs."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        super().__init__(f"This test needs {', '.join(packages)}. Install: {install_command(*packages)}")
        self.packages = packages


class NotReachable(NotInstalled):
    """The registry from which the test takes published packages does not answer."""

    def __init__(self, registry: str) -> None:
        Exception.__init__(self, f"This test needs {registry}, which cannot be reached.")
        self.packages = (registry,)


def need(*packages: str) -> None:
    """Raise NotInstalled unless all of these packages are installed."""
    if missing := tuple(package for package in packages if not is_installed(package)):
        raise NotInstalled(missing)


def need_drawing() -> None:
    """Raise NotInstalled unless Chromium can run here: as root it also needs the sandbox's packages."""
    need("chromium", *(SANDBOX if is_confined() else ()))


def is_installed(package: str) -> bool:
    """Whether this machine has all programs of a package, and can start them.

    Playwright downloads Chromium without its system libraries, and containers may forbid bubblewrap's namespaces.
    """
    if package == "chromium":
        return _starts(chromium(), "--version")
    if not all(map(shutil.which, PROGRAMS[package])):
        return False
    return package != "bubblewrap" or _starts(str(shutil.which("bwrap")), "--ro-bind", "/", "/", "true")


@cache
def _starts(*command: str) -> bool:
    return bool(command[0]) and subprocess.run(command, capture_output=True, check=False).returncode == 0


def is_required() -> bool:
    """Whether a missing package is an error."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")


def summary(left_out: Iterable[tuple[str, ...]]) -> str:
    """One line on the tests that did not run; `left_out` has the missing packages of each."""
    every = list(left_out)
    counted = Counter(package for packages in every for package in packages)
    reasons = ", ".join(f"{package} ({count})" for package, count in sorted(counted.items()))
    tests = "1 test" if len(every) == 1 else f"{len(every):,} tests"
    error = ", which is an error as CI is set" if is_required() else ""
    missing = f"Not installed, or not working here: {reasons}"
    installable = sorted(package for package in counted if package not in REGISTRIES)
    how = f" Install: {install_command(*installable)}" if installable else ""
    return f"{tests} did not run{error}. {missing}.{how}"
