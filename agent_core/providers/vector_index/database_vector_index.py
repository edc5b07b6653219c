"""A vector index in this process, without a service: a cache of the vectors in the database.

Before each search it compares its counters with the database's and reads the missing vectors. A memory space (the
memories of one agent) with few vectors is kept in memory, a larger one in a memory-mapped file.
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
from agent_core.model.memory import Memory, MemorySpace, MemoryVersion, Vector
from agent_core.ports.database import Database

if TYPE_CHECKING:  # not at run time: importing numpy is slow
    from agent_core.providers.vector_index.nearest import Found, InMemoryVectors
    from agent_core.providers.vector_index.vector_file import VectorFile

VectorStore: TypeAlias = "InMemoryVectors | VectorFile"

MAX_IN_MEMORY_VECTORS = 2_000
MAX_MEMORY_BYTES = 32 << 20  # bytes of memory for all spaces together
PAGE_ROWS = 500
MAX_ATTEMPTS = 3
MAX_THREADS = 2  # each thread keeps some of the memory it used
T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class StoreKey:
    """Identifies a store of vectors by its memory space (one agent's memories) and index key; names its file."""

    space: MemorySpace
    index_key: str

    @property
    def digest(self) -> bytes:
        """The SHA-256 of space and index key together."""
        return sha256(f"{self.space.key}\0{self.index_key}".encode(errors="surrogatepass")).digest()

    @property
    def file(self) -> str:
        return f"{_prefix(self.space)}{self.digest.hex()[:32]}.vectors"


class DatabaseVectorIndex:
    """Implements `MemoryIndex`. The files in `folder` are a cache and may be deleted at any time.

    A space with more than `max_in_memory` vectors gets a file. When all spaces together take more than about
    `max_bytes` of memory, the least recently used ones are evicted (LRU).
    """

    name = "embedded"

    def __init__(
        self,
        database: Database,
        folder: Path,
        *,
        max_in_memory: int = MAX_IN_MEMORY_VECTORS,
        max_bytes: int = MAX_MEMORY_BYTES,
    ) -> None:
        self._database = database
        self._folder = folder
        self._max_in_memory = max_in_memory
        self._max_bytes = max_bytes
        self._stores: dict[StoreKey, VectorStore] = {}  # ordered by last use
        self._locks: WeakValueDictionary[StoreKey, asyncio.Lock] = WeakValueDictionary()
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="memories")
        self._searches: set[asyncio.Task[Found]] = set()

    async def add(self, space: MemorySpace, index_key: str, memories: Sequence[tuple[Memory, Vector]]) -> None:
        """Do nothing: the next search reads the new vectors from the database."""

    async def nearest(
        self, space: MemorySpace, index_key: str, vector: Vector, most: int
    ) -> tuple[tuple[MemoryId, float], ...]:
        """Search the database's current vectors. Cancelling this call does not stop the loading that it began."""
        search = asyncio.ensure_future(self._search(StoreKey(space, index_key), vector, most))
        self._searches.add(search)
        search.add_done_callback(self._searched)
        return await asyncio.shield(search)

    async def forget(self, space: MemorySpace, ids: Sequence[MemoryId]) -> None:
        """Do nothing: the next search sees by the database's counters that vectors were removed."""

    async def drop(self, space: MemorySpace) -> None:
        for store_key in [store_key for store_key in {*self._stores, *self._locks} if store_key.space == space]:
            async with self._lock(store_key):
                self._evict(store_key)
        await self._run(_delete, self._folder, _prefix(space))

    def close(self) -> None:
        """Close all files and stop the threads. The files stay on disk for the next start."""
        for store_key in [*self._stores]:
            self._evict(store_key)
        self._threads.shutdown()

    def _searched(self, search: "asyncio.Task[Found]") -> None:
        self._searches.discard(search)
        if not search.cancelled():
            search.exception()  # retrieves the exception, or asyncio would log it

    async def _search(self, store_key: StoreKey, vector: Vector, most: int) -> "Found":
        async with self._lock(store_key):
            try:
                return await self._find(store_key, vector, most)
            except NotFound:
                self._evict(store_key)
                return ()
            except OSError as fault:
                self._evict(store_key)
                raise MemoryAway(f"The files of the memory index cannot be used: {fault.strerror}.") from fault

    async def _find(self, store_key: StoreKey, vector: Vector, most: int) -> "Found":
        store = await self._up_to_date(store_key)
        found = await self._run(store.nearest, vector, most)
        if found is None:  # another process changed the file
            agent, version = await self._query(store_key)
            store = self._hold(store_key, await self._rebuild(agent, store_key, version))
            found = await self._run(store.nearest, vector, most)
        return found or ()

    async def _up_to_date(self, store_key: StoreKey) -> VectorStore:
        """The cached vectors, brought up to date with the database."""
        store = self._stores.get(store_key)
        agent, version = await self._query(store_key)
        if store is None:
            store = await self._open(agent, store_key)
        for _ in range(MAX_ATTEMPTS):
            if store.version == version:
                break
            more = await self._append_new(agent, store_key, store, version)
            if more is None:  # only once: further rebuilds would not help while others write
                store = await self._rebuild(agent, store_key, version)
                break
            store = more
            agent, version = await self._query(store_key)
        return self._hold(store_key, store)

    async def _query(self, store_key: StoreKey) -> tuple[Agent, MemoryVersion]:
        async with self._database.begin() as work:
            agent = await work.agents.get(store_key.space.channel, store_key.space.agent_id)
            return agent, await work.memories.version(agent)

    async def _open(self, agent: Agent, store_key: StoreKey) -> VectorStore:
        """Open the store: the file of an earlier run, or an empty store if there is none.

        The file is emptied if its last vector is no longer in the database.
        """
        store = await self._run(_open, self._folder / store_key.file, store_key.digest)
        if store.latest.greatest:
            rows = await self._rows(agent, store_key, store.latest.second_greatest, 1)
            if [memory_id for memory_id, _ in rows] != [store.latest.greatest]:
                await self._run(store.clear)
        return store

    async def _append_new(
        self, agent: Agent, store_key: StoreKey, store: VectorStore, version: MemoryVersion
    ) -> "VectorStore | None":
        """Append the new vectors. Return None, for a rebuild, if vectors were removed or inserted out of order."""
        number = version.added - store.version.added
        if version.removed != store.version.removed or number <= 0:
            return None
        store, read = await self._read(agent, store_key, store, number)
        if missing := number - read:
            rows = store.latest.unknown(await self._rows(agent, store_key, store.latest.smallest, PAGE_ROWS))
            if len(rows) != missing:
                return None
            store = await self._run(self._added, store_key, store, rows)
        await self._run(store.record_version, version)
        return store

    async def _rebuild(self, agent: Agent, store_key: StoreKey, version: MemoryVersion) -> VectorStore:
        """Read all vectors again. Later additions are read by the next search."""
        self._evict(store_key)
        await self._run(_delete, self._folder, store_key.file)
        store = await self._run(_open, self._folder / store_key.file, store_key.digest)
        store, _ = await self._read(agent, store_key, store, sys.maxsize)
        await self._run(store.record_version, version)
        return store

    async def _read(self, agent: Agent, store_key: StoreKey, store: VectorStore, most: int) -> tuple[VectorStore, int]:
        """Append up to `most` vectors after the last known id, in pages; return the store and how many were read."""
        read, page = 0, min(PAGE_ROWS, most)
        while page:
            rows = await self._rows(agent, store_key, store.latest.greatest, page)
            store = await self._run(self._added, store_key, store, rows)
            read += len(rows)
            page = min(PAGE_ROWS, most - read) if len(rows) == page else 0
        return store, read

    async def _rows(
        self, agent: Agent, store_key: StoreKey, after: MemoryId | None, most: int
    ) -> Sequence[tuple[MemoryId, Vector]]:
        async with self._database.begin() as work:
            return await work.memories.vectors(agent, store_key.index_key, after=after, most=most)

    def _added(self, store_key: StoreKey, store: VectorStore, rows: Sequence[tuple[MemoryId, Vector]]) -> VectorStore:
        from agent_core.providers.vector_index.nearest import InMemoryVectors
        from agent_core.providers.vector_index.vector_file import VectorFile

        store.add(rows)
        if not isinstance(store, InMemoryVectors) or store.count <= self._max_in_memory:
            return store
        file = VectorFile(self._folder / store_key.file, store_key.digest)
        file.clear()
        file.add(store.rows())
        return file

    async def _run(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *given, **named))

    def _lock(self, store_key: StoreKey) -> asyncio.Lock:
        return self._locks.setdefault(store_key, asyncio.Lock())

    def _hold(self, store_key: StoreKey, store: VectorStore) -> VectorStore:
        """Mark the store as most recently used; evict the least recently used stores beyond the memory limit."""
        self._stores.pop(store_key, None)
        self._stores[store_key] = store
        taken = sum(each.size for each in self._stores.values())
        for other in [other for other in self._stores if other not in self._locks]:
            if taken > self._max_bytes:
                taken -= self._stores[other].size
                self._evict(other)
        return store

    def _evict(self, store_key: StoreKey) -> None:
        store = self._stores.pop(store_key, None)
        if store is not None:
            store.close()


def _prefix(space: MemorySpace) -> str:
    return f"{sha256(space.key.encode(errors='surrogatepass')).hexdigest()[:32]}-"


def _open(path: Path, digest: bytes) -> VectorStore:
    from agent_core.providers.vector_index.nearest import InMemoryVectors
    from agent_core.providers.vector_index.vector_file import VectorFile

    return VectorFile(path, digest) if path.exists() else InMemoryVectors()


def _delete(folder: Path, start: str) -> None:
    """Delete the files whose names begin with `start`."""
    for path in folder.glob(f"{start}*"):
        path.unlink(missing_ok=True)
