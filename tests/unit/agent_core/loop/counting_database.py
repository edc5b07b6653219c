"""A database that counts its commits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent_core.persistence.database import SqlUnitOfWork
from agent_core.testing.database import TemporaryDatabase


class CountingDatabase(TemporaryDatabase):
    """Counts its commits."""

    commits = 0

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[SqlUnitOfWork]:
        async with super().begin() as work:
            commit = work.commit

            async def count() -> None:
                self.commits += 1
                await commit()

            work.commit = count  # type: ignore[method-assign]
            yield work
