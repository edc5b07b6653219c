"""Base of the services: saves a person's action in one short transaction, once per delivery, and wakes the agent."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias, TypedDict, TypeVar

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.note import Notice, NoticeKind
from agent_core.model.origin import Origin
from agent_core.model.records.audit import AuditEntry
from agent_core.oversight.policy import OwnerDecides
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.engine import Waker
from agent_core.service.succession import Succession, let_anyone_decide

T = TypeVar("T")
Change: TypeAlias = Callable[[UnitOfWork, Agent], Awaitable[Agent]]


class SavingParts(TypedDict):
    """What every service is made with."""

    database: Database
    waker: Waker
    clock: Clock
    succession: Succession


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionalService:
    """The ports that every service needs, and methods that save with them."""

    database: Database
    waker: Waker
    clock: Clock
    succession: Succession = field(default_factory=Succession)

    async def change(self, agent_id: AgentId, origin: Origin, what: str, change: Change, detail: str = "") -> Agent:
        """Apply a change to the agent and append `what` and `detail` to the decision log.

        A repeated delivery changes nothing.
        """

        async def act(work: UnitOfWork) -> Agent:
            agent = await work.agents.get(origin.channel, agent_id)
            if await self.is_repeated(work, origin):
                return agent
            changed = await change(work, agent)
            self.audit(work, agent, origin, what, detail)
            work.agents.save(changed)
            self.waker.wake(work, agent_id)
            return changed

        return await self.save(act)

    async def save(self, act: Callable[[UnitOfWork], Awaitable[T]]) -> T:
        """Run a unit of work. If only the owner may do this and has left, first let anyone decide from now on."""
        try:
            return await in_one_unit(self.database, act)
        except OwnerDecides as refused:
            if not await self.succession.has_left(refused.agent):
                raise
            passed = partial(let_anyone_decide, refused=refused, at=self.clock.now())
        await in_one_unit(self.database, passed)
        return await in_one_unit(self.database, act)

    def announce(self, work: UnitOfWork, agent: Agent, kind: NoticeKind, text: str) -> None:
        work.notes.announce(Notice.to(agent, kind, text, self.clock.now()))

    def audit(self, work: UnitOfWork, agent: Agent, origin: Origin, act: str, detail: str = "") -> None:
        work.audit.append(AuditEntry.on(agent, act, by=origin.by, at=self.clock.now(), detail=detail))

    async def is_repeated(self, work: UnitOfWork, origin: Origin) -> bool:
        """Record the platform's delivery; return whether it was recorded before. False without a delivery."""
        if origin.delivery is None:
            return False
        return not await work.deliveries.first_time(origin.delivery, self.clock.now())
