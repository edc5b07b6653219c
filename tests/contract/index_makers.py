"""Every index of memories that must keep the contract.

A maker is given a database and an empty folder, and gives back what opens an index over them: opened a second time, it
is what another process has, or the same one after a restart.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from agent_core.ports.database import Database
from agent_core.ports.minds import MemoryIndex
from agent_core.providers.embedded_index import FEW, EmbeddedIndex
from agent_core.testing.index import InMemoryIndex

Opener: TypeAlias = Callable[[], AbstractAsyncContextManager[MemoryIndex]]
Maker: TypeAlias = Callable[[Database, Path], Opener]


def in_memory(_database: Database, _folder: Path) -> Opener:
    """The double."""
    index = InMemoryIndex({})

    @asynccontextmanager
    async def opened() -> AsyncIterator[MemoryIndex]:
        yield index

    return opened


def embedded(few: int) -> Maker:
    """The one without a service; spaces with more vectors than `few` are in files."""

    def maker(database: Database, folder: Path) -> Opener:
        @asynccontextmanager
        async def opened() -> AsyncIterator[MemoryIndex]:
            index = EmbeddedIndex(database, folder, few=few)
            yield index
            index.close()

        return opened

    return maker


MAKERS: dict[str, Maker] = {
    "in memory": in_memory,
    "embedded": embedded(few=FEW),
    "embedded in files": embedded(few=0),
}
