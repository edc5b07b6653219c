"""The measured part of the memory bench: the embedded index over a SQLite file, in a process of its own.

`python -m benchmarks.memory_searching FOLDER` searches what `memory_filling` made there, and prints figures as JSON.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from statistics import median

from agent_core.capabilities.memory.database_vector_index import DatabaseVectorIndex
from agent_core.model.ids import MemoryId
from agent_core.model.records.memory import Memory, MemorySpace, Vector
from agent_core.persistence.database import SqlDatabase
from agent_core.testing.examples import NOON, an_agent

PLACE, BEST = "bench", 10
ADA = an_agent()
SPACE = MemorySpace.of(ADA)
PAGE = 1000
APPENDED, WARMING = 50, 20


def main() -> None:
    sys.stdout.write(json.dumps(asyncio.run(measure(Path(sys.argv[1])))))


async def measure(folder: Path) -> dict[str, float]:
    """Seconds and bytes of everything."""
    database = SqlDatabase(f"sqlite:///{folder / 'signoff.db'}")
    ids = await _ids(database)
    asked, truth = _load_queries(folder, ids)
    idle = _memory()
    index = DatabaseVectorIndex(database)
    first = await _time_search(index, asked[:1])
    await _time_search(index, asked[:WARMING])
    seconds: list[float] = []
    hits = 0
    for vector, nearest in zip(asked, truth, strict=True):
        before = time.perf_counter()
        found = await index.nearest(SPACE, PLACE, vector, BEST)
        seconds.append(time.perf_counter() - before)
        hits += len(nearest & {memory_id for memory_id, _ in found})
    held = _memory()
    appends = [await _time_append(database, index, vector) for vector in asked[:APPENDED]]
    await database.close()
    return {
        "p50": median(seconds),
        "p99": sorted(seconds)[int(len(seconds) * 0.99)],
        "recall": hits / (BEST * len(asked)),
        "save": median(save for save, _ in appends),
        "search_after": median(search for _, search in appends),
        "first": first,
        "idle": idle,
        "held": held,
    }


async def _ids(database: SqlDatabase) -> Sequence[MemoryId]:
    ids: list[MemoryId] = []
    async with database.begin() as work:
        while page := await work.memories.of(ADA, most=PAGE, before=ids[-1] if ids else None):
            ids.extend(memory.id for memory in page)
    return ids[::-1]


def _load_queries(folder: Path, ids: Sequence[MemoryId]) -> tuple[list[Vector], list[set[MemoryId]]]:
    import numpy as np

    with np.load(folder / "asked.npz") as made:
        asked, nearest = made["asked"], made["nearest"]
    return [Vector(each.tobytes()) for each in asked], [{ids[at] for at in each} for each in nearest]


async def _time_search(index: DatabaseVectorIndex, vectors: Sequence[Vector]) -> float:
    before = time.perf_counter()
    for vector in vectors:
        await index.nearest(SPACE, PLACE, vector, BEST)
    return time.perf_counter() - before


async def _time_append(database: SqlDatabase, index: DatabaseVectorIndex, vector: Vector) -> tuple[float, float]:
    """Seconds to save one more, and of the next search, which has to find it."""
    memory = Memory.of("Another fact.", source="bench", at=NOON + timedelta(minutes=1))
    before = time.perf_counter()
    async with database.begin() as work:
        work.memories.add(ADA, [memory])
        work.memories.put(ADA, PLACE, {memory.id: vector})
        await work.commit()
    await index.add(SPACE, PLACE, [(memory, vector)])
    between = time.perf_counter()
    found = await index.nearest(SPACE, PLACE, vector, 1)
    if [memory_id for memory_id, _ in found] != [memory.id]:
        raise RuntimeError("What was added is not found.")
    return between - before, time.perf_counter() - between


def _memory() -> int:
    """Bytes of memory that the process holds, or 0 where the system does not tell in /proc."""
    with suppress(OSError):
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))
    return 0


if __name__ == "__main__":
    main()
