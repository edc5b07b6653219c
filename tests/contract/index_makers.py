"""Every index of memories that must keep the contract.

A maker is given a database and an empty folder, and gives back what opens an index over them: opened a second time, it
is what another process has, or the same one after a restart.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from agent_core.capabilities.memory.database_vector_index import MAX_BYTES, DatabaseVectorIndex
from agent_core.capabilities.memory.pinecone_index import PineconeIndex
from agent_core.ports.database import Database
from agent_core.ports.models import MemoryIndex
from agent_core.testing.memory_index import InMemoryIndex
from tests.standins.pinecone import KEY, new_name, pinecone_standin

Opener: TypeAlias = Callable[[], AbstractAsyncContextManager[MemoryIndex]]
Maker: TypeAlias = Callable[[Database, Path], Opener]


def in_memory(_database: Database, _folder: Path) -> Opener:
    """The double."""
    index = InMemoryIndex({})

    @asynccontextmanager
    async def opened() -> AsyncIterator[MemoryIndex]:
        yield index

    return opened


def embedded(max_bytes: int) -> Maker:
    """The one without a service, with so much memory for vectors."""

    def maker(database: Database, _folder: Path) -> Opener:
        @asynccontextmanager
        async def opened() -> AsyncIterator[MemoryIndex]:
            yield DatabaseVectorIndex(database, max_bytes=max_bytes)

        return opened

    return maker


def pinecone(_database: Database, _folder: Path) -> Opener:
    """The service, by its SDK."""
    name = new_name()

    @asynccontextmanager
    async def opened() -> AsyncIterator[MemoryIndex]:
        async with pinecone_standin() as standin:
            index = PineconeIndex(api_key=KEY, index=name, controller_host=standin.url)
            yield index
            await index.close()

    return opened


MAKERS: dict[str, Maker] = {
    "in memory": in_memory,
    "embedded": embedded(MAX_BYTES),
    "embedded, in pages": embedded(0),
    "pinecone": pinecone,
}
ANY_LENGTH = tuple(name for name in MAKERS if name != "pinecone")  # whose index has vectors of one length
