"""Base of the services: saves a person's action once per delivery; lets others decide once an owner has left."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TypeAlias, TypedDict, TypeVar

from agent_core.errors import ChangedSinceShown, Conflict, NotAllowed, NotFound, PersonError, SurfaceError
from agent_core.model.agent import Agent
from agent_core.model.decision import PolicyChange
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.note import Notice, NoticeKind
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.model.records.audit import REFUSED, AuditEntry
from agent_core.oversight.policy import OwnerDecides
from agent_core.oversight.policy_change import change_policy, follow_policy
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.engine import Waker
from agent_core.ports.surface import ChatSurface
from agent_core.ports.telemetry import NOT_WATCHED, Telemetry
from agent_core.spending.helper_tree import list_helpers_below

LOOKUP_TIMEOUT_SECONDS = 2.0
ANYONE = PolicyChange(approvers="anyone")
NEVER_DEMOTES = ("discord",)  # a timeout of a minute makes a guest there


@dataclass(frozen=True, slots=True)
class Succession:
    """Asks the surfaces about owners; without surfaces nobody has left."""

    surfaces: Sequence[ChatSurface] = ()

    async def has_left(self, agent: Agent) -> bool:
        """Whether the platform says that the agent's owner left, or is no full member any more."""
        return await self.is_gone(agent.channel, agent.owner)

    async def is_gone(self, channel: ChannelScope, person: Actor) -> bool:
        """Whether the platform says that the person left, or is no full member any more."""
        surface = next((each for each in self.surfaces if each.name == channel.surface), None)
        if surface is None:
            return False
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT_SECONDS):
                owner = await surface.actor(channel, person)
                return owner.kind != "member" and surface.name not in NEVER_DEMOTES
        except NotFound as gone:
            return gone.kind == "person"
        except (PersonError, SurfaceError, TimeoutError):
            return False


async def let_anyone_decide(work: UnitOfWork, refused: OwnerDecides, at: datetime) -> None:
    """Change the policy of the agent and its helpers, say so in the thread, and log it for the person who acted."""
    agent = await work.agents.get(refused.agent.channel, refused.agent.home)
    changed = change_policy(agent, ANYONE, refused.actor, at)
    said = f"{agent.owner} is no longer a full member here; who may approve: anyone here"
    work.audit.append(AuditEntry.on(agent, "took over", by=refused.actor, at=at, detail=said))
    work.notes.announce(Notice.to(agent, "changed", f"{refused.actor} took over: {said}.", at))
    work.agents.save(changed)
    for helper in await list_helpers_below(work, changed):
        work.agents.save(follow_policy(helper, changed))


T = TypeVar("T")
Change: TypeAlias = Callable[[UnitOfWork, Agent], Awaitable[Agent]]


class SavingParts(TypedDict):
    """What every service is made with."""

    database: Database
    waker: Waker
    clock: Clock
    succession: Succession
    telemetry: Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What somebody tried to do to an agent, to one of its turns, or else to the channel.

    The decision log records if it is refused.
    """

    origin: Origin
    what: str
    agent_id: AgentId | None = None
    turn_id: TurnId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionalService:
    """The ports that every service needs, and methods that save with them."""

    database: Database
    waker: Waker
    clock: Clock
    succession: Succession = field(default_factory=Succession)
    telemetry: Telemetry = NOT_WATCHED

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

        return await self.save(act, Attempt(origin=origin, what=what, agent_id=agent_id))

    async def save(self, act: Callable[[UnitOfWork], Awaitable[T]], attempt: Attempt | None = None) -> T:
        """Run a unit of work. If only the owner may do this and has left, first let anyone decide from now on.

        If the person has no right to the `attempt`, or saw another state, append that to the decision log.
        """
        try:
            return await self._save(act)
        except (NotAllowed, ChangedSinceShown) as refused:
            if attempt:
                with suppress(NotFound, Conflict):
                    await in_one_unit(self.database, partial(self._record_refusal, attempt, str(refused)))
            raise

    async def _save(self, act: Callable[[UnitOfWork], Awaitable[T]]) -> T:
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

    def audit_channel(self, work: UnitOfWork, origin: Origin, act: str, detail: str) -> None:
        """Append an entry about the channel to the decision log."""
        at = self.clock.now()
        work.audit.append(AuditEntry.in_channel(origin.channel, act, by=origin.by, at=at, detail=detail))

    async def _record_refusal(self, attempt: Attempt, why: str, work: UnitOfWork) -> None:
        origin, now = attempt.origin, self.clock.now()
        if origin.delivery and not await work.deliveries.first_time(f"{origin.delivery} refused", now):
            return
        turn = await work.turns.get(origin.channel, attempt.turn_id) if attempt.turn_id else None
        agent_id, detail = turn.agent_id if turn else attempt.agent_id, f"{attempt.what}: {why}"
        if agent_id is None:
            entry = AuditEntry.in_channel(origin.channel, REFUSED, by=origin.by, at=now, detail=detail)
        else:
            agent = await work.agents.get(origin.channel, agent_id)
            entry = AuditEntry.on(agent, REFUSED, by=origin.by, at=now, detail=detail, turn=turn)
        work.audit.append(entry)

    async def is_repeated(self, work: UnitOfWork, origin: Origin) -> bool:
        """Record the platform's delivery; return whether it was recorded before. False without a delivery."""
        if origin.delivery is None:
            return False
        return not await work.deliveries.first_time(origin.delivery, self.clock.now())
