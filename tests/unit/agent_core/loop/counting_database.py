"""A database that counts its commits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent_core.testing.database import InMemoryDatabase, InMemoryUnitOfWork


class CountingDatabase(InMemoryDatabase):
    """Counts its commits."""

    commits = 0

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[InMemoryUnitOfWork]:
        async with super().begin() as work:
            commit = work.commit

            async def count() -> None:
                self.commits += 1
                await commit()

            work.commit = count  # type: ignore[method-assign]
            yield work
