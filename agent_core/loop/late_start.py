"""The start of a command that only reads: saved with its result, or earlier if the command does not end at once.

Such a command may run twice, so nothing is lost if the process ends before its start is saved. This spares a commit.
If its agent was stopped or deleted meanwhile, what ran is saved afterwards, so that the decision log has every run.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from agent_core.commands.registry import Commands
from agent_core.errors import Conflict, DatabaseAway, NotFound, Superseded, SurfaceError
from agent_core.loop.claim import AgentClaim
from agent_core.loop.outcome import Outcome
from agent_core.model.agent import Agent
from agent_core.model.audit import AuditEntry
from agent_core.model.turn import Turn
from agent_core.ports.clock import Clock
from agent_core.ports.database import UnitOfWork, queue_in_one_unit

BRIEF_SECONDS = 0.25  # people see "running" on the card before the command starts, so only pages of the log change


@dataclass(slots=True, kw_only=True)
class LateStart:
    """Saves a start at most once: after BRIEF_SECONDS, or when the command has something to show.

    `save`: saves it; None for a command whose start is saved already.
    """

    save: Callable[[], Awaitable[object]] | None
    _saving: asyncio.Task[None] | None = field(default=None, repr=False)

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[None]:
        """Run the command in the with-block. At its end the start is saved or will not be saved any more."""
        if self.save is None:
            yield
            return
        timer = asyncio.get_running_loop().call_later(BRIEF_SECONDS, self._begin, self.save)
        try:
            yield
        finally:
            timer.cancel()
            if self._saving:
                await asyncio.wait([self._saving])

    async def ensure_saved(self) -> None:
        """Save the start now, unless it was; return when that has ended."""
        if self.save is not None:
            await asyncio.wait([self._begin(self.save)])

    def _begin(self, save: Callable[[], Awaitable[object]]) -> asyncio.Task[None]:
        if self._saving is None:
            self._saving = asyncio.create_task(_save(save))
        return self._saving


async def _save(save: Callable[[], Awaitable[object]]) -> None:
    with suppress(Superseded, NotFound, DatabaseAway, Conflict, SurfaceError):  # the save of the result meets the same
        await save()


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedEarly:
    """Saves that a command had begun whose agent was stopped or deleted before its start was saved.

    `started`: the turn as its start was to be saved. `output`: what the command had printed.
    """

    claim: AgentClaim
    commands: Commands
    clock: Clock
    started: Turn
    output: str = ""

    async def save(self) -> None:
        """Save it, unless the start was saved, the agent is another worker's, or the command will run again."""
        with suppress(Superseded):
            try:
                await self.claim.save_and_present(self._stop)
            except NotFound:
                await self._log_of_deleted()

    async def _stop(self, work: UnitOfWork, agent: Agent) -> Outcome:
        turn = await work.turns.get(agent.channel, self.started.id)
        if turn.state != "withdrawn":
            raise Superseded(agent.id)
        outside = self.commands.may_return_untrusted(turn.call.name, agent)
        ended = turn.stop_late(self.started, self.output, outside=outside)
        exposed = self.commands.expose_after_interruption(turn.call.name, agent)
        return Outcome(agent=exposed, changed=ended, audit=self._entries(agent, ended))

    async def _log_of_deleted(self) -> None:
        entries = self._entries(self.claim.agent, self.started.interrupt())

        def append(work: UnitOfWork) -> None:
            for entry in entries:
                work.audit.append(entry)

        with suppress(DatabaseAway):
            await queue_in_one_unit(self.claim.database, append)

    def _entries(self, agent: Agent, ended: Turn) -> tuple[AuditEntry, AuditEntry]:
        now = self.clock.now()
        began = self.started.started_at or now
        return AuditEntry.of_run(agent, self.started, began, ended.source), AuditEntry.of_end(agent, ended, now)
