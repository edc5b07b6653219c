"""Where tests keep their files: in memory if there is room, because none of them needs to outlive the machine."""

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")  # Linux keeps a file system in memory there
ENOUGH_BYTES = 2_000_000_000  # four times what the default suite holds at once


def keep_in_memory() -> None:
    """Let this process and those that it starts make temporary files in memory, unless TMPDIR says where."""
    if "TMPDIR" not in os.environ and _has_room():
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # it is cached


def _has_room() -> bool:
    if not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK):
        return False
    runs_programs = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC  # tests make programs of their own
    return runs_programs and shutil.disk_usage(MEMORY).free >= ENOUGH_BYTES
