"""Finds the Python that plugins run on: whose standard library and packages the sandbox shows, read-only."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_core.providers.confinement.interpreter import PYTHON_ROOT, USR, Interpreter

OLDEST = (3, 10)
PROBE_SECONDS = 20.0
PACKAGES_ROOT = "/opt/packages"
# Python is asked without `site`, so that no .pth file of a package runs: what `site` finds is found here.
PROBE = """
import json, os, site, sys, sysconfig
library, prefixes = sysconfig.get_path("stdlib"), [sys.base_prefix]
place = os.path.dirname(os.path.dirname(os.path.abspath(sys.executable)))
if os.path.exists(os.path.join(place, "pyvenv.cfg")):
    with open(os.path.join(place, "pyvenv.cfg"), encoding="utf-8") as file:
        lines = "".join(file.read().lower().split(" ")).splitlines()
    prefixes = [place, *(prefixes if "include-system-site-packages=true" in lines else [])]
    sys.prefix = sys.exec_prefix = place
print(json.dumps({"version": sys.version_info[:2], "base": sys.base_prefix, "library": library,
    "program": getattr(sys, "_base_executable", sys.executable), "packages": site.getsitepackages(prefixes)}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginPython:
    """A Python for plugins. `program`: its path in the sandbox. `packages`: folders of packages, here."""

    program: str
    interpreter: Interpreter
    packages: tuple[Path, ...]

    @classmethod
    def of(cls, program: Path | None) -> "PluginPython":
        """The Python at this path; Signoff's own without one. Blocking; raise ValueError with why it cannot be used."""
        line = [str(program or sys.executable), "-I", "-S", "-c", PROBE]
        try:
            done = subprocess.run(  # noqa: S603 - the operator's own program
                line, check=True, capture_output=True, timeout=PROBE_SECONDS, stdin=subprocess.DEVNULL, env={}
            )
            told: dict[str, Any] = json.loads(done.stdout)
        except (OSError, subprocess.SubprocessError, ValueError) as fault:
            raise ValueError(f"{line[0]} is no Python that runs here ({type(fault).__name__})") from None
        major, minor = told["version"]
        if (major, minor) < OLDEST:
            raise ValueError(f"{line[0]} is Python {major}.{minor}; plugins need {OLDEST[0]}.{OLDEST[1]} or newer")
        packages = tuple(Path(each) for each in told["packages"] if Path(each).is_dir())
        own = Path(told["program"]).resolve()
        if own.is_relative_to(USR):
            return cls(program=str(own), interpreter=Interpreter(), packages=packages)
        return cls(program=f"{PYTHON_ROOT}/bin/python3", interpreter=_elsewhere(own, told), packages=packages)

    @property
    def shown_packages(self) -> tuple[str, ...]:
        """The folders of packages, as the worker sees them."""
        return tuple(f"{PACKAGES_ROOT}/{number}" for number in range(len(self.packages)))

    def mounts(self) -> Iterator[str]:
        """Options of bubblewrap that show the packages."""
        yield from ("--perms", "0755", "--dir", "/opt", "--perms", "0755", "--dir", PACKAGES_ROOT)
        for source, target in zip(self.packages, self.shown_packages, strict=True):
            yield from ("--ro-bind", str(source), target)


def _elsewhere(program: Path, told: dict[str, Any]) -> Interpreter:
    library, base = Path(told["library"]), Path(told["base"])
    mounts = [(program, f"{PYTHON_ROOT}/bin/python3"), (library, f"{PYTHON_ROOT}/lib/{library.name}")]
    libraries = sorted((base / "lib").glob("libpython3*.so*"))
    return Interpreter((*mounts, *((path.resolve(), f"{PYTHON_ROOT}/lib/{path.name}") for path in libraries)))
