"""Deletes every hour what is kept too long: agents at rest, entries, forms, trashes, spending; has heads posted."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_core.errors import CommandError, Conflict, DatabaseAway
from agent_core.model.agent import Agent
from agent_core.model.origin import SIGNOFF
from agent_core.model.records.deletion import Retention
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, in_one_unit, queue_in_one_unit
from agent_core.ports.files import Workspaces
from agent_core.service.housekeeping.head_posting import HeadPosting
from agent_core.service.lifecycle import AgentLifecycle
from agent_core.toolset.trash import KEPT_FOR, empty_trash
from agent_core.toolset.versions import forget_versions

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 3600.0
PAGE_ROWS = 100
SPENDING_DAYS = 90  # three times what Operations draws


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionJob:
    """Runs every hour, in every process that advances agents; a second one at the same time is harmless.

    Each agent is deleted in a transaction of its own; the decision log loses up to 100 entries in one.
    """

    database: Database
    lifecycle: AgentLifecycle
    clock: Clock
    retention: Retention
    workspaces: Workspaces
    head_posting: HeadPosting

    async def run(self) -> None:
        """Post heads, apply the retention and delete expired forms, until cancelled."""
        while True:
            try:
                await self.head_posting.post_all()
                await self.apply()
                await self.empty_trashes()
            except DatabaseAway:
                pass
            except (Conflict, CommandError, OSError) as fault:
                logger.warning("the hourly housekeeping is not done yet", extra={"why": str(fault)})
            await self.clock.sleep(INTERVAL_SECONDS)

    async def apply(self) -> tuple[int, int]:
        """Delete what is older than the settings allow, and expired forms.

        Return the numbers of agents and of entries of the log.
        """
        agents, entries = 0, 0
        if self.retention.history_days is not None:
            agents = await self._delete_agents(self._before(self.retention.history_days))
        if self.retention.audit_days is not None:
            entries = await self._expire_entries(self._before(self.retention.audit_days))
        oldest = self._before(SPENDING_DAYS).date().isoformat()
        await queue_in_one_unit(self.database, lambda work: work.budgets.forget_days(oldest))
        if await in_one_unit(self.database, lambda work: work.form_drafts.expire(self.clock.now())):
            await self.lifecycle.eraser.empty_journal()
        if agents or entries:
            logger.info("retention applied", extra={"agents": agents, "log_entries": entries})
        return agents, entries

    async def empty_trashes(self) -> int:
        """Delete what trashes and versions hold for longer than people were told; return how many files of trashes."""
        before = self.clock.now() - KEPT_FOR
        for store in await self.workspaces.version_stores():
            await forget_versions(store, before)
        return sum([await empty_trash(trash, before) for trash in await self.workspaces.trashes()])

    def _before(self, days: int) -> datetime:
        return self.clock.now() - timedelta(days=days)

    async def _delete_agents(self, before: datetime) -> int:
        deleted, after = 0, ""
        while page := await self._page(before, after):
            for agent in page:
                if not agent.head:
                    deleted += await self.lifecycle.delete_at_rest(agent, before, SIGNOFF)
            after = page[-1].id
        return deleted

    async def _expire_entries(self, before: datetime) -> int:
        expired = 0
        while number := await in_one_unit(self.database, lambda work: work.audit.expire(before, most=PAGE_ROWS)):
            expired += number
        if expired:
            await self.lifecycle.eraser.empty_journal()
        return expired

    async def _page(self, before: datetime, after: str) -> tuple[Agent, ...]:
        async with self.database.begin() as work:
            return await work.agents.list_at_rest(before, most=PAGE_ROWS, after=after)
