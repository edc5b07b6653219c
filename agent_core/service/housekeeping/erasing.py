"""Removes what deleted agents leave outside the database: workspaces and entries in the vector index.

A row of `Deletions`, saved with the deletion itself, keeps what is left to remove through a crash or an outage.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from agent_core.errors import CommandError, Conflict, DatabaseAway, MemoryAway
from agent_core.memory.long_term import LongTermMemory
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.records.deletion import Deletion
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, queue_in_one_unit
from agent_core.ports.files import Workspaces
from agent_core.ports.surface import ChatSurface

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 60.0
PAGE_ROWS = 100
GRACE = timedelta(minutes=10)  # longer than any step that still runs elsewhere and may save a file or a memory
Place = Literal["files", "index"]


@dataclass(frozen=True, slots=True)
class Eraser:
    """Erases deleted agents at once, and again after ten minutes, when no step that was under way can add anything.

    Each process does it, because each may have files of its own, such as a cache of vectors. Twice is harmless.
    `surfaces`: where notifications of deleted agents are taken back.
    """

    database: Database
    workspaces: Workspaces
    memory: LongTermMemory
    clock: Clock
    surfaces: Sequence[ChatSurface] = ()
    erased: set[AgentId] = field(default_factory=set)

    def add(self, work: UnitOfWork, agent: Agent) -> Deletion:
        """Save with the unit of work what is to be erased of an agent that it deletes."""
        deletion = Deletion.of(agent, self.memory.index.name, self.clock.now())
        work.deletions.add(deletion)
        return deletion

    async def run(self) -> None:
        known = 0
        while True:
            try:
                left = await self.erase_all()
                if left != known:
                    known = left
                    logger.warning("deleted agents of which files or memories are left", extra={"number": left})
            except DatabaseAway:
                pass
            except Conflict as fault:
                logger.warning("deleted agents are not erased yet", extra={"why": str(fault)})
            await self.clock.sleep(INTERVAL_SECONDS)

    async def erase_all(self) -> int:
        """Erase what is left of all deleted agents; return of how many something is still left.

        The index is asked once if it is away.
        """
        left, after, is_index_away = 0, "", False
        while page := await self._page(after):
            erased = []
            for each in filter(self._is_due, page):
                places = await self.erase(each, with_index=not is_index_away)
                is_index_away |= "index" in places and self._may_hold(each)
                left += bool(places)
                erased += [] if places else [each]
            await self._finish([each for each in erased if self._is_over(each)])
            after = page[-1].agent_id
        return left

    async def erase(self, deletion: Deletion, *, with_index: bool = True) -> tuple[Place, ...]:
        """Remove workspace and index entries of a deleted agent; return where some are left."""
        left: list[Place] = []
        try:
            await self.workspaces.remove(deletion)
        except (CommandError, OSError) as fault:
            logger.info("files of a deleted agent are left", extra={"agent": deletion.agent_id, "why": str(fault)})
            left.append("files")
        if not with_index or not await self._empty_index(deletion):
            left.append("index")
        if not left:
            self.erased.add(deletion.agent_id)
        return tuple(left)

    async def empty_journal(self) -> None:
        """Remove the deleted rows from the database's journal, if that is possible now."""
        with suppress(DatabaseAway):
            async with self.database.begin() as work:
                await work.deletions.empty_journal()

    def _is_due(self, deletion: Deletion) -> bool:
        return deletion.agent_id not in self.erased or self._is_over(deletion)

    def _is_over(self, deletion: Deletion) -> bool:
        return self.clock.now() - deletion.at >= GRACE

    def _may_hold(self, deletion: Deletion) -> bool:
        """Whether the index of this process is the one that may have entries of the agent."""
        return deletion.index in ("", self.memory.index.name)

    async def _empty_index(self, deletion: Deletion) -> bool:
        if not self._may_hold(deletion):
            return False
        try:
            await self.memory.empty_index(deletion.space)
        except (MemoryAway, OSError) as fault:
            logger.info("memories of a deleted agent are left", extra={"agent": deletion.agent_id, "why": str(fault)})
            return False
        return True

    async def _finish(self, deletions: Sequence[Deletion]) -> None:
        """Delete the rows, unless the journal has deleted rows still."""
        if not deletions:
            return
        async with self.database.begin() as work:
            is_empty = await work.deletions.empty_journal()
        if is_empty:
            await queue_in_one_unit(self.database, lambda work: work.deletions.finish(deletions))
            self.erased.difference_update(each.agent_id for each in deletions)

    async def _page(self, after: str) -> tuple[Deletion, ...]:
        async with self.database.begin() as work:
            return await work.deletions.page(most=PAGE_ROWS, after=after)
