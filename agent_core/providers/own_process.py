"""Identifies this process (boot, namespace, pid, start), and tells whether another one of the machine has ended.

Linux only. Elsewhere the answer is "unknown", and what a process left is kept.
"""

import os
from pathlib import Path

PROC = Path("/proc")
STATE_FIELD, START_FIELD = 0, 19  # in /proc/PID/stat, after the name: proc_pid_stat(5)
DEAD_STATES = ("Z", "X")


def own_process() -> str:
    """Return BOOT/NAMESPACE/PID/START for this process, "" if the system does not tell.

    BOOT differs for each start of the machine, NAMESPACE for each container, and START for each use of a process id.
    """
    try:
        return f"{_place()}/{os.getpid()}/{_start_of(os.getpid())}"
    except OSError:
        return ""


def is_gone(process: str) -> bool:
    """Whether the process of this text has ended. False if that is unknown, as of another machine or container."""
    place, _, identity = process.rpartition("/")
    place, _, number = place.rpartition("/")
    try:
        if not place or place != _place():
            return False
        return _start_of(int(number)) != identity
    except FileNotFoundError:
        return (PROC / "1").exists()  # else /proc is mounted with hidepid, and hides the processes of other accounts
    except OSError:
        return False


def _place() -> str:
    boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot}/{(PROC / 'self/ns/pid').stat().st_ino}"


def _start_of(number: int) -> str:
    """When the process started, in clock ticks since the boot; "" for one that has ended and was not waited for."""
    fields = (PROC / str(number) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return "" if fields[STATE_FIELD] in DEAD_STATES else fields[START_FIELD]
