"""An index of memories without a service: a cache of the vectors in the database, which are the truth.

Before every search it asks the database how many vectors came and went, and reads what it lacks. A space with few
vectors is held in memory; the vectors of a larger one are in a file. Nothing here knows what an embedder is.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from agent_core.errors import MemoryAway, NotFound
from agent_core.model.agent import Agent
from agent_core.model.ids import MemoryId
from agent_core.model.memory import Memory, MemoryChanges, MemorySpace, Vector
from agent_core.ports.database import Database

if TYPE_CHECKING:  # they import numpy, which a start has no time for
    from agent_core.providers.vector_index.nearest import Found, InMemoryVectors
    from agent_core.providers.vector_index.vector_file import VectorFile

VectorStore: TypeAlias = "InMemoryVectors | VectorFile"

FEW = 2_000
ROOM = 32 << 20  # bytes of memory for all spaces together
PAGE = 500
ATTEMPTS = 3
THREADS = 2  # each keeps some of the memory it used
T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class IndexKey:
    """One place of one space, and under what names its file is found."""

    space: MemorySpace
    place: str

    @property
    def digest(self) -> bytes:
        """What tells it from every other."""
        return sha256(f"{self.space.key}\0{self.place}".encode(errors="surrogatepass")).digest()

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{_prefix(self.space)}{self.digest.hex()[:32]}.vectors"


class EmbeddedIndex:
    """See `MemoryIndex` in the ports. `folder` is for files that may be deleted at any time.

    A space with more than `few` vectors gets a file; `room` is about how many bytes of memory all spaces may take.
    """

    name = "embedded"

    def __init__(self, database: Database, folder: Path, *, few: int = FEW, room: int = ROOM) -> None:
        self._database = database
        self._folder = folder
        self._few = few
        self._room = room
        self._shelves: dict[IndexKey, VectorStore] = {}  # the one used last is the last
        self._locks: WeakValueDictionary[IndexKey, asyncio.Lock] = WeakValueDictionary()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="memories")
        self._searches: set[asyncio.Task[Found]] = set()

    async def add(self, space: MemorySpace, place: str, memories: Sequence[tuple[Memory, Vector]]) -> None:
        """Do nothing: the vectors are in the database, where the next search finds that there are more."""

    async def nearest(
        self, space: MemorySpace, place: str, vector: Vector, most: int
    ) -> tuple[tuple[MemoryId, float], ...]:
        """What is nearest of all that is in the database.

        Whoever has no more patience leaves; what is read meanwhile is there for who asks next.
        """
        search = asyncio.ensure_future(self._search(IndexKey(space, place), vector, most))
        self._searches.add(search)
        search.add_done_callback(self._searched)
        return await asyncio.shield(search)

    async def forget(self, space: MemorySpace, ids: Sequence[MemoryId]) -> None:
        """Do nothing: the next search finds that the database has fewer."""

    async def drop(self, space: MemorySpace) -> None:
        """Let go of what is held, and delete the files."""
        for spot in [spot for spot in {*self._shelves, *self._locks} if spot.space == space]:
            async with self._lock(spot):
                self._let_go(spot)
        await self._run(_delete, self._folder, _prefix(space))

    def close(self) -> None:
        """Let go of everything, for good. The files stay, and are of use after a restart."""
        for spot in [*self._shelves]:
            self._let_go(spot)
        self._threads.shutdown()

    def _searched(self, search: "asyncio.Task[Found]") -> None:
        self._searches.discard(search)
        if not search.cancelled():
            search.exception()  # whoever asked has it, or has left

    async def _search(self, spot: IndexKey, vector: Vector, most: int) -> "Found":
        async with self._lock(spot):
            try:
                return await self._find(spot, vector, most)
            except NotFound:
                self._let_go(spot)
                return ()
            except OSError as fault:
                self._let_go(spot)
                raise MemoryAway(f"The files of the memory index cannot be used: {fault.strerror}.") from fault

    async def _find(self, spot: IndexKey, vector: Vector, most: int) -> "Found":
        shelf = await self._up_to_date(spot)
        found = await self._run(shelf.nearest, vector, most)
        if found is None:  # somebody else was at the file
            agent, changes = await self._query(spot)
            shelf = self._hold(spot, await self._anew(agent, spot, changes))
            found = await self._run(shelf.nearest, vector, most)
        return found or ()

    async def _up_to_date(self, spot: IndexKey) -> VectorStore:
        """What is held of it, once that is what the database has."""
        shelf = self._shelves.get(spot)
        agent, changes = await self._query(spot)
        if shelf is None:
            shelf = await self._open(agent, spot)
        for _ in range(ATTEMPTS):
            if shelf.changes == changes:
                break
            more = await self._catch_up_store(agent, spot, shelf, changes)
            if more is None:  # once: to read it all again would not help while others go on writing
                shelf = await self._anew(agent, spot, changes)
                break
            shelf = more
            agent, changes = await self._query(spot)
        return self._hold(spot, shelf)

    async def _query(self, spot: IndexKey) -> tuple[Agent, MemoryChanges]:
        async with self._database.begin() as work:
            agent = await work.agents.get(spot.space.channel, spot.space.agent_id)
            return agent, await work.memories.changes(agent)

    async def _open(self, agent: Agent, spot: IndexKey) -> VectorStore:
        """What an earlier run has left, unless the database has gone another way since."""
        shelf = await self._run(_open, self._folder / spot.file, spot.digest)
        if shelf.latest.last:
            rows = await self._rows(agent, spot, shelf.latest.before, 1)
            if [memory_id for memory_id, _ in rows] != [shelf.latest.last]:
                await self._run(shelf.clear)
        return shelf

    async def _catch_up_store(
        self, agent: Agent, spot: IndexKey, shelf: VectorStore, changes: MemoryChanges
    ) -> "VectorStore | None":
        """The same with what came since, or None when that is not just so many more at or near the end."""
        number = changes.added - shelf.changes.added
        if changes.removed != shelf.changes.removed or number <= 0:
            return None
        shelf, read = await self._read(agent, spot, shelf, number)
        if missing := number - read:
            rows = shelf.latest.lack(await self._rows(agent, spot, shelf.latest.first, PAGE))
            if len(rows) != missing:
                return None
            shelf = await self._run(self._added, spot, shelf, rows)
        await self._run(shelf.seal, changes)
        return shelf

    async def _anew(self, agent: Agent, spot: IndexKey, changes: MemoryChanges) -> VectorStore:
        """All of it; whatever comes while this reads is seen to by the next search."""
        self._let_go(spot)
        await self._run(_delete, self._folder, spot.file)
        shelf = await self._run(_open, self._folder / spot.file, spot.digest)
        shelf, _ = await self._read(agent, spot, shelf, sys.maxsize)
        await self._run(shelf.seal, changes)
        return shelf

    async def _read(self, agent: Agent, spot: IndexKey, shelf: VectorStore, most: int) -> tuple[VectorStore, int]:
        """Add what comes after the last, page by page; how many that were."""
        read, page = 0, min(PAGE, most)
        while page:
            rows = await self._rows(agent, spot, shelf.latest.last, page)
            shelf = await self._run(self._added, spot, shelf, rows)
            read += len(rows)
            page = min(PAGE, most - read) if len(rows) == page else 0
        return shelf, read

    async def _rows(
        self, agent: Agent, spot: IndexKey, after: MemoryId | None, most: int
    ) -> Sequence[tuple[MemoryId, Vector]]:
        async with self._database.begin() as work:
            return await work.memories.vectors(agent, spot.place, after=after, most=most)

    def _added(self, spot: IndexKey, shelf: VectorStore, rows: Sequence[tuple[MemoryId, Vector]]) -> VectorStore:
        from agent_core.providers.vector_index.nearest import InMemoryVectors
        from agent_core.providers.vector_index.vector_file import VectorFile

        shelf.add(rows)
        if not isinstance(shelf, InMemoryVectors) or shelf.count <= self._few:
            return shelf
        file = VectorFile(self._folder / spot.file, spot.digest)
        file.clear()
        file.add(shelf.rows())
        return file

    async def _run(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *given, **named))

    def _lock(self, spot: IndexKey) -> asyncio.Lock:
        return self._locks.setdefault(spot, asyncio.Lock())

    def _hold(self, spot: IndexKey, shelf: VectorStore) -> VectorStore:
        """Keep it as the one used last, and let go of those not used for longest while there is too little room."""
        self._shelves.pop(spot, None)
        self._shelves[spot] = shelf
        taken = sum(each.size for each in self._shelves.values())
        for other in [other for other in self._shelves if other not in self._locks]:
            if taken > self._room:
                taken -= self._shelves[other].size
                self._let_go(other)
        return shelf

    def _let_go(self, spot: IndexKey) -> None:
        shelf = self._shelves.pop(spot, None)
        if shelf is not None:
            shelf.close()


def _prefix(space: MemorySpace) -> str:
    return f"{sha256(space.key.encode(errors='surrogatepass')).hexdigest()[:32]}-"


def _open(path: Path, digest: bytes) -> VectorStore:
    from agent_core.providers.vector_index.nearest import InMemoryVectors
    from agent_core.providers.vector_index.vector_file import VectorFile

    return VectorFile(path, digest) if path.exists() else InMemoryVectors()


def _delete(folder: Path, start: str) -> None:
    """Delete the files whose names begin so."""
    for path in folder.glob(f"{start}*"):
        path.unlink(missing_ok=True)
