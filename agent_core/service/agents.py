"""What people do: make an agent, decide, write, stop, resume. Each call is one short transaction and then a wake.

The rights of the person are checked here at every call, whatever a button showed. No model and no platform is called.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

from agent_core.commands.registry import Commands
from agent_core.errors import InvalidInput, MemoryAway, NotPossible
from agent_core.memory.longterm import LongTermMemory
from agent_core.model.agent import Acting, Agent, Awaiting, Stopped, Thinking
from agent_core.model.audit import AuditEntry
from agent_core.model.command import RISK_CLASSES
from agent_core.model.decision import Decision, Reject, Settlement
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.note import Note
from agent_core.model.people import Origin
from agent_core.model.turn import Turn
from agent_core.oversight.families import family_below, let_go_on, report
from agent_core.oversight.lease import grant
from agent_core.oversight.policy import may_decide, require_may_decide, require_may_speak
from agent_core.ports.database import UnitOfWork
from agent_core.ports.world import Workspaces
from agent_core.service.changing import Changing
from agent_core.service.decisions import checked, decided, settled
from agent_core.service.remembered import remember

MOST_NOTE = 20_000


@dataclass(frozen=True, slots=True)
class Rejected:
    """A reply that answered an open proposal."""

    agent: Agent
    turn: Turn


@dataclass(frozen=True, slots=True)
class Kept:
    """A reply kept as a note for the agent's next turn."""

    agent: Agent
    note: Note


ReplyOutcome: TypeAlias = Rejected | Kept


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentService(Changing):
    """Everything people can do to agents. A platform event delivered twice takes effect once."""

    commands: Commands
    workspaces: Workspaces
    memory: LongTermMemory
    default_budget: Decimal | None = None

    async def create(self, draft: AgentDraft, origin: Origin) -> Agent:
        """Make an agent and let it think; raise InvalidInput with every field at fault, the name taken among them."""
        tidy = draft.tidied()
        if tidy.budget is None:
            tidy = replace(tidy, budget=self.default_budget)
        require_may_speak(origin.by, "make agents here")

        async def act(work: UnitOfWork) -> Agent:
            if taken := await work.agents.named(origin.channel, tidy.name):
                if await self.is_repeated(work, origin):
                    return taken
                raise InvalidInput({"name": f"Name: {taken.name} is taken in this channel. Choose another."})
            await self.is_repeated(work, origin)
            agent = tidy.made(origin, self.clock.now())
            work.agents.add(agent)
            remember(work, origin.channel, tidy)
            self.audit(work, agent, origin, "created", f"{agent.role} · {'; '.join(agent.goals)}")
            return agent

        agent = await self.saved(act)
        self.waker.wake(agent.id)
        return agent

    async def decide(self, turn_id: TurnId, decision: Decision, origin: Origin) -> tuple[Agent, Turn]:
        """Approve, edit or reject an open proposal.

        Raise NotAllowed, AlreadyDecided, or InvalidInput for edited arguments or a number that cannot be used.
        """

        async def act(work: UnitOfWork) -> tuple[Agent, Turn]:
            turn, is_repeated = await asyncio.gather(
                work.turns.get(origin.channel, turn_id), self.is_repeated(work, origin)
            )
            agent = await work.agents.get(origin.channel, turn.agent_id)
            if is_repeated:
                return agent, turn
            return decided(work, agent, turn, checked(decision, turn, self.commands), by=origin.by, at=self.clock.now())

        agent, turn = await self.saved(act)
        self.waker.wake(agent.id)
        return agent, turn

    async def reply(self, agent_id: AgentId, text: str, origin: Origin) -> ReplyOutcome:
        """Say something to the agent: the rejection of an open proposal from someone who may decide, else a note.

        A word from somebody who may not decide is an objection: it ends a lease.
        """
        said = text.strip()
        if not said or len(said) > MOST_NOTE:
            raise InvalidInput({"text": f"Reply: between 1 and {MOST_NOTE:,} characters, this one has {len(said):,}."})
        require_may_speak(origin.by, "reply here")

        async def act(work: UnitOfWork) -> ReplyOutcome:
            agent = await work.agents.get(origin.channel, agent_id)
            turn = await newest_turn(work, agent)
            repeated = await self.is_repeated(work, origin)
            if turn and turn.state == "proposed" and may_decide(agent, origin.by) and not repeated:
                return Rejected(*decided(work, agent, turn, Reject(said), by=origin.by, at=self.clock.now()))
            note = Note.to(agent, said, by=origin.by, at=self.clock.now())
            if repeated:
                return Kept(agent, note)
            work.notes.add(note)
            heard = let_go_on(self._objected(work, agent, origin), self.clock.now())
            if heard != agent:
                work.agents.save(heard)
            return Kept(heard, note)

        outcome = await self.saved(act)
        self.waker.wake(agent_id)
        return outcome

    async def stop(self, agent_id: AgentId, origin: Origin) -> Agent:
        """Withdraw an open proposal, end a running command, void the lease: it stands still until `resume`."""
        require_may_speak(origin.by, "stop agents here")

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            if isinstance(agent.status, Stopped):
                raise NotPossible(f"already stopped by {agent.status.by}, {agent.since:%H:%M} UTC")
            ended[:] = [helper.id for helper in await self._stop_helpers(work, agent, origin)]
            self.announce(work, agent, "stopped", f"stopped by {origin.by}. Resume to let it think anew.")
            stopped = await self._stopped(work, agent, origin)
            await report(work, stopped, self.clock.now())
            return stopped

        ended: list[AgentId] = []
        agent = await self.change(agent_id, origin, "stopped", change)
        for each in (agent.id, *ended):
            self.waker.interrupt(each)
        if agent.parent:
            self.waker.wake(agent.parent)
        return agent

    async def resume(self, agent_id: AgentId, origin: Origin) -> Agent:
        """Let an agent that stands still think anew; raise NotPossible when it does not stand still."""

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            require_may_decide(agent, origin.by, "resume agents here")
            if not agent.is_at_rest:
                raise NotPossible(f"{agent.name} is at work already.")
            turn = await newest_turn(work, agent)
            status = _status_for(turn)
            self.announce(work, agent, "resumed", f"resumed by {origin.by}.")
            return replace(agent.become(status, self.clock.now()), unusable=0, complaint="")

        return await self.change(agent_id, origin, "resumed", change)

    async def settle(self, turn_id: TurnId, settlement: Settlement, origin: Origin) -> tuple[Agent, Turn]:
        """Say what became of a command that may have run when the process died."""

        async def act(work: UnitOfWork) -> tuple[Agent, Turn]:
            turn = await work.turns.get(origin.channel, turn_id)
            agent = await work.agents.get(origin.channel, turn.agent_id)
            if await self.is_repeated(work, origin):
                return agent, turn
            require_may_decide(agent, origin.by)
            answered = settled(turn, settlement, by=origin.by, at=self.clock.now())
            changed = agent.become(Acting() if answered.state == "approved" else Thinking(), self.clock.now())
            work.audit.append(AuditEntry.on(agent, settlement, by=origin.by, at=self.clock.now(), turn=turn))
            work.turns.save(answered)
            work.agents.save(changed)
            return changed, answered

        agent, turn = await self.saved(act)
        self.waker.wake(agent.id)
        return agent, turn

    async def lend(self, agent_id: AgentId, times: int, origin: Origin) -> Agent:
        """Grant a lease over every class for the next `times` commands; raise NotAllowed, InvalidInput."""

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            require_may_decide(agent, origin.by)
            lease = grant(times, RISK_CLASSES, by=origin.by, at=self.clock.now())
            self.announce(work, agent, "changed", f"{origin.by} lets it run {times} commands unasked, of every class.")
            return replace(agent, lease=lease)

        return await self.change(agent_id, origin, f"lent ×{times}", change)

    async def revoke(self, agent_id: AgentId, origin: Origin) -> Agent:
        """End the agent's lease; raise NotPossible when it holds none."""

        async def change(work: UnitOfWork, agent: Agent) -> Agent:
            if agent.lease is None:
                raise NotPossible(f"{agent.name} holds no approval for more commands.")
            if agent.lease.granted_by.id != origin.by.id:
                require_may_decide(agent, origin.by, "revoke approvals here")
            self.announce(work, agent, "lease ended", f"{origin.by} revoked the approval of {agent.lease.granted_by}.")
            return replace(agent, lease=None)

        return await self.change(agent_id, origin, "revoked", change)

    async def delete(self, agent_id: AgentId, origin: Origin) -> Agent:
        """Remove the agent with its helpers, history, memory and files; what it runs is ended.

        Raise NotPossible while its long-term memory cannot be reached: nothing of it may be left there.
        """
        async with self.database.begin() as work:
            found = await work.agents.get(origin.channel, agent_id)
            gone = (found, *await family_below(work, found))
        require_may_decide(found, origin.by, "delete agents here")
        try:
            await self._forget(gone)
        except MemoryAway as away:
            raise NotPossible(f"Nothing was deleted: long-term memory cannot be reached. {away} Try later.") from away

        async def act(work: UnitOfWork) -> tuple[Agent, ...]:
            agent = await work.agents.get(origin.channel, agent_id)
            require_may_decide(agent, origin.by, "delete agents here")
            family = (agent, *await family_below(work, agent))
            for each in family:
                work.agents.remove(each)
            return family

        family = await self.saved(act)
        for each in family:
            self.waker.interrupt(each.id)
        await self.workspaces.remove(family[0])
        with suppress(MemoryAway):
            await self._forget(family)  # what they may have remembered meanwhile
        return family[0]

    async def _forget(self, agents: Sequence[Agent]) -> None:
        for each in agents:
            await self.memory.empty_index(each)

    async def _stop_helpers(self, work: UnitOfWork, agent: Agent, origin: Origin) -> list[Agent]:
        """Stop all that work for the agent, in the same transaction."""
        at_work = [helper for helper in await family_below(work, agent) if not helper.is_at_rest]
        for helper in at_work:
            work.agents.save(await self._stopped(work, helper, origin))
            self.audit(work, helper, origin, "stopped")
        return at_work

    async def _stopped(self, work: UnitOfWork, agent: Agent, origin: Origin) -> Agent:
        now = self.clock.now()
        turn = await newest_turn(work, agent)
        if turn and turn.state in ("proposed", "approved", "running", "interrupted"):
            work.turns.save(turn.stop(origin.by, now))
        return agent.become(Stopped(origin.by), now)

    def _objected(self, work: UnitOfWork, agent: Agent, origin: Origin) -> Agent:
        if agent.lease is None or may_decide(agent, origin.by):
            return agent
        text = f"{origin.by} objected, so the approval of {agent.lease.granted_by} ended."
        self.announce(work, agent, "lease ended", text)
        return replace(agent, lease=None)


def _status_for(turn: Turn | None) -> Awaiting | Acting | Thinking:
    """Where an agent goes on: what people were asked is asked, and what they approved is carried out."""
    match turn.state if turn else "":
        case "proposed" | "interrupted":
            return Awaiting()
        case "approved" | "running":
            return Acting()
        case _:
            return Thinking()


async def newest_turn(work: UnitOfWork, agent: Agent) -> Turn | None:
    """The agent's last turn, or None before its first."""
    turns = await work.turns.of(agent, last=1)
    return turns[-1] if turns else None
