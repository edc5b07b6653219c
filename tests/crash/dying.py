"""A database whose process dies at the n-th save, just before or just after it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, cast

from agent_core.ports.database import Database, UnitOfWork

Moment = Literal["before", "after"]


class Died(BaseException):
    """The process is gone: nothing of it runs any more, no handler, no cleanup."""


@dataclass(slots=True)
class DyingUnit:
    """A unit of work that counts its commit."""

    work: UnitOfWork
    database: "DyingDatabase"

    def __getattr__(self, name: str) -> object:
        return getattr(self.work, name)

    async def commit(self) -> None:
        """Commit, unless this is the save at which the process dies."""
        self.database.saves += 1
        if self.database.is_due("before"):
            raise Died
        await self.work.commit()
        if self.database.is_due("after"):
            raise Died


@dataclass(slots=True)
class DyingDatabase:
    """Wraps another database; once dead it answers nothing."""

    database: Database
    at: int = 0
    moment: Moment = "before"
    saves: int = 0
    is_dead: bool = field(default=False)

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[UnitOfWork]:
        """Open a unit of work."""
        if self.is_dead:
            raise Died
        async with self.database.begin() as work:
            yield cast("UnitOfWork", DyingUnit(work, self))

    def is_due(self, moment: Moment) -> bool:
        """Whether the process dies now; it does only once."""
        self.is_dead = self.is_dead or (self.saves == self.at and self.moment == moment)
        return self.is_dead
