"""Where tests keep their files: in memory if there is room, because none of them needs to outlive the machine."""

import os
import re
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")  # Linux keeps a file system in memory there
ENOUGH_BYTES = 3_000_000_000  # beside the tests themselves, ten times what the default suite holds at once


def keep_in_memory() -> None:
    """Let this process and those that it starts make temporary files in memory, unless TMPDIR says where."""
    if "TMPDIR" not in os.environ and _has_room():
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # it is cached


def _has_room() -> bool:
    if not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK):
        return False
    runs_programs = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC  # tests make programs of their own
    return runs_programs and min(shutil.disk_usage(MEMORY).free, _unused_memory()) >= ENOUGH_BYTES


def _unused_memory() -> int:
    """The bytes that programs can still have: a file system in memory may be larger than that."""
    found = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    return int(found[1]) * 1024 if found else 0
