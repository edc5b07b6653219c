"""System packages that some tests need. Without its packages a test does not run, and the suite's last line says so.

    need("git")

stands in the helper that starts the program, so that every test with this helper is left out where git is missing and
no other test is. With `CI` in the environment such a test fails.
"""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from functools import cache

from agent_core.providers.system_packages import install_command
from agent_core.providers.web.browser_confinement import is_needed as is_confined
from agent_core.providers.web.browser_pages import chromium

# What each package is known by. Chromium has several names, and Playwright may have fetched one.
PROGRAMS = {
    "bubblewrap": ("bwrap",),
    "git": ("git",),
    "iproute2": ("ip",),
    "util-linux": ("prlimit", "setpriv", "unshare"),
}
SANDBOX = ("bubblewrap", "util-linux")


class NotInstalled(Exception):
    """The machine lacks packages that the test needs."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        """Say which, and how to install them."""
        super().__init__(f"This test needs {', '.join(packages)}. Install: {install_command(*packages)}")
        self.packages = packages


def need(*packages: str) -> None:
    """Let the test go on where all of these are installed; raise NotInstalled elsewhere."""
    if missing := tuple(package for package in packages if not is_installed(package)):
        raise NotInstalled(missing)


def need_drawing() -> None:
    """Let the test go on where pages can be drawn: root's Chromium is confined by bubblewrap."""
    need("chromium", *(SANDBOX if is_confined() else ()))


def is_installed(package: str) -> bool:
    """Whether this machine has all programs of a package."""
    if package == "chromium":
        return _starts(chromium())
    return all(map(shutil.which, PROGRAMS[package]))


@cache
def _starts(browser: str) -> bool:
    """Whether there is this browser and it finds its libraries: the one that Playwright fetches comes without them."""
    asked = (browser, "--version")
    return bool(browser) and subprocess.run(asked, capture_output=True, check=False).returncode == 0


def is_required() -> bool:
    """Whether a missing package is an error."""
    return bool(os.environ.get("CI"))


def summary(left_out: Iterable[tuple[str, ...]]) -> str:
    """One line on the tests that did not run: `left_out` has the missing packages of each."""
    every = list(left_out)
    counted = Counter(package for packages in every for package in packages)
    reasons = ", ".join(f"{package} ({count})" for package, count in sorted(counted.items()))
    tests = "1 test" if len(every) == 1 else f"{len(every):,} tests"
    error = ", which is an error as CI is set" if is_required() else ""
    return f"{tests} did not run{error}. Not installed: {reasons}. Install: {install_command(*sorted(counted))}"
