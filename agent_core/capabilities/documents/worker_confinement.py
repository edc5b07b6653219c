"""Confines the workers that parse untrusted bytes by bubblewrap: no network, no environment, no files but Python's.

As root a worker also becomes another user. Where bubblewrap is missing or not allowed, workers run without it.
"""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from agent_core.providers.confinement.bwrap_options import (
    NAMESPACES,
    PROCESS_OPTIONS,
    USER_SWITCH_CAPABILITIES,
    find_program,
    missing_tools,
    switch_user,
    system_view,
)
from agent_core.providers.confinement.bwrap_process import ADVICE
from agent_core.providers.confinement.interpreter import USR
from agent_core.providers.confinement.limits import BROWSER_USER

PROBE_TIMEOUT_SECONDS, MAX_ERROR_CHARACTERS = 20.0, 300
OWN_USER = ("--unshare-user", "--disable-userns", "--cap-drop", "ALL")
FINAL_OPTIONS = ("--remount-ro", "/", "--chdir", "/")


def is_root() -> bool:
    """Whether Signoff runs as root, so that workers without confinement would too."""
    return os.geteuid() == 0


@cache
def confinement_fault() -> str:
    """Why workers cannot be confined, and what to do; "" if they can. Blocking; it is found out once."""
    if fault := missing_tools(("bwrap", "setpriv") if is_root() else ("bwrap",)):
        return fault
    try:
        subprocess.run(  # noqa: S603 - a fixed line
            [*confinement(Path(__file__)), sys.executable, "-I", "-c", ""],
            check=True,
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as fault:
        said = " ".join((getattr(fault, "stderr", None) or str(fault).encode()).decode(errors="replace").split())
        advice = next((advice for sign, advice in ADVICE if sign in said), "")
        return f"bubblewrap could not confine a worker: {said[:MAX_ERROR_CHARACTERS]}. {advice}".strip()
    return ""


def unconfined_root_fault() -> str:
    """Why documents are refused where Signoff runs as root: their readers cannot be confined; "" if they are read."""
    return confinement_fault() if is_root() else ""


def confinement_of(*programs: Path) -> list[str]:
    """The command prefix that confines these programs, or nothing where that cannot be done. Blocking."""
    return [] if confinement_fault() else confinement(*programs)


def confinement(*programs: Path) -> list[str]:
    """The command prefix that confines programs of Python, which see themselves, Python and its packages, read-only."""
    own = USER_SWITCH_CAPABILITIES if is_root() else OWN_USER
    options = [*NAMESPACES, *own, *PROCESS_OPTIONS, *system_view(), *_python_view(programs), *FINAL_OPTIONS]
    return [find_program("bwrap"), *options, "--", *(switch_user(BROWSER_USER) if is_root() else ())]


def _python_view(programs: Sequence[Path]) -> Iterator[str]:
    """Options that mount the running Python with its packages, and the programs, at their own places."""
    packages = (sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    places = {sys.base_prefix, sys.prefix, *packages, *map(str, programs)}
    shown = [path for path in sorted(map(Path, places)) if not path.is_relative_to(USR)]
    for folder in sorted({parent for path in shown for parent in path.parents}):
        if folder != Path("/"):
            yield from ("--perms", "0755", "--dir", str(folder))
    for path in shown:
        yield from ("--ro-bind", str(path), str(path))
    yield from ("--setenv", "LANG", "C.UTF-8")
