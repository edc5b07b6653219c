"""A database that a test takes away and gives back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agent_core.errors import DatabaseAway
from agent_core.persistence.database import SqlDatabase, SqlUnitOfWork


@dataclass(slots=True)
class DatabaseSwitch:
    """Opens databases that begin no unit of work while it is off."""

    is_off: bool = False

    def open(self, url: str) -> SqlDatabase:
        return InterruptedDatabase(url, self)


class InterruptedDatabase(SqlDatabase):
    """See `DatabaseSwitch`."""

    def __init__(self, url: str, switch: DatabaseSwitch) -> None:
        super().__init__(url)
        self._switch = switch

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[SqlUnitOfWork]:
        if self._switch.is_off:
            raise DatabaseAway("The database is away.")
        async with super().begin() as work:
            yield work
