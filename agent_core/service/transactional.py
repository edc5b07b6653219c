"""How what people do is saved: in one short transaction, once however often it is delivered, and then a wake."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from agent_core.model.actors import Origin
from agent_core.model.agent import Agent
from agent_core.model.audit import AuditEntry
from agent_core.model.ids import AgentId
from agent_core.model.note import Notice, NoticeKind
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.engine import Waker
from agent_core.ports.world import Clock
from agent_core.ports.write_priority import WritePriority

T = TypeVar("T")
Change: TypeAlias = Callable[[UnitOfWork, Agent], Awaitable[Agent]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionalService:
    """Where it is saved, and who is woken."""

    database: Database
    waker: Waker
    clock: Clock
    write_priority: WritePriority = field(default_factory=WritePriority)

    async def change(self, agent_id: AgentId, origin: Origin, what: str, change: Change, detail: str = "") -> Agent:
        """Save what a change makes of the agent, with `what` and `detail` in the decision log.

        A second delivery changes nothing.
        """

        async def act(work: UnitOfWork) -> Agent:
            agent = await work.agents.get(origin.channel, agent_id)
            if await self.is_repeated(work, origin):
                return agent
            changed = await change(work, agent)
            self.audit(work, agent, origin, what, detail)
            work.agents.save(changed)
            return changed

        agent = await self.save(act)
        self.waker.wake(agent.id)
        return agent

    async def save(self, act: Callable[[UnitOfWork], Awaitable[T]]) -> T:
        """Save it before any work of agents: somebody waits for it."""
        with self.write_priority.foreground():
            return await in_one_unit(self.database, act)

    def announce(self, work: UnitOfWork, agent: Agent, kind: NoticeKind, text: str) -> None:
        """Have the thread told."""
        work.notes.announce(Notice.to(agent, kind, text, self.clock.now()))

    def audit(self, work: UnitOfWork, agent: Agent, origin: Origin, act: str, detail: str = "") -> None:
        """Record who did it."""
        work.audit.append(AuditEntry.on(agent, act, by=origin.by, at=self.clock.now(), detail=detail))

    async def is_repeated(self, work: UnitOfWork, origin: Origin) -> bool:
        """Claim the platform's delivery; True when it has taken effect before."""
        if origin.delivery is None:
            return False
        return not await work.deliveries.first_time(origin.delivery, self.clock.now())
