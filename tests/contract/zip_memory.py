"""Program that makes a zip of a folder, and prints its size and by how many bytes the process's peak memory grew."""

import asyncio
import resource
import sys
from pathlib import Path

from agent_core.capabilities.files.folder_workspace import FolderFiles
from agent_core.service.reading.zips import zip_stream

KIBIBYTE = 1024


async def measure(folder: Path) -> tuple[int, int]:
    files = FolderFiles(folder)
    entries = await files.list_files()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = 0
    async for piece in zip_stream(entries, files.read):
        size += len(piece)
    return size, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * KIBIBYTE


if __name__ == "__main__":
    sys.stdout.write("{} {}".format(*asyncio.run(measure(Path(sys.argv[1])))))
