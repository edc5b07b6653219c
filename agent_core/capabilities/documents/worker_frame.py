"""Runs a worker program inside limits that it cannot raise again; only the standard library.

    python -P worker_frame.py CPU_SECONDS PROGRAM ARGUMENTS…

A program that runs out of memory exits with EXIT_OUT_OF_MEMORY.
"""

import resource
import runpy
import sys
from contextlib import suppress

MAX_MEMORY_BYTES = 768 * 2**20
EXIT_OUT_OF_MEMORY = 3


def main() -> None:
    """Limit memory, CPU time, files and file size, where the system supports that, and run the program."""
    _, cpu_seconds, program, *arguments = sys.argv
    for kind, most in (
        (resource.RLIMIT_AS, MAX_MEMORY_BYTES),
        (resource.RLIMIT_CPU, int(cpu_seconds)),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))
    sys.argv = [program, *arguments]
    try:
        runpy.run_path(program, run_name="__main__")
    except MemoryError:
        sys.exit(EXIT_OUT_OF_MEMORY)


if __name__ == "__main__":
    main()
