"""Carry one agent on until people are asked, time must pass, or it stands still.

    thinking ─► proposal saved ─► card shown ─► awaiting … decided ─► started ─► command ─► result saved
        ▲                             └─ covered by a lease ───────────►┘                        │
        └────────────────────────────────────────────────────────────────────────────────────────┘

Any of these steps may be the last before the process dies: what is saved says where to go on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from agent_core.errors import CommandError, NotFound, Superseded, ThreadGone
from agent_core.loop.acting import Hands
from agent_core.loop.consequences import complain, conclude, delay, pause, propose
from agent_core.loop.hold import Hold
from agent_core.loop.thinking import Delayed, Mind, Proposed, Refused, Thought, Unusable
from agent_core.model.agent import Acting, Agent, AgentStatus, Awaiting, Thinking
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.note import Note
from agent_core.model.places import SurfaceName
from agent_core.model.result import Failed, Result
from agent_core.model.turn import Turn
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.surface import ChatSurface
from agent_core.ports.world import Clock

RECENT = 40
CHANGED = "What this stood on changed since it was shown. This is how it is now."


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLoop:
    """Advances agents. Holds nothing between two calls: the database knows where each of them is."""

    database: Database
    mind: Mind
    hands: Hands
    surfaces: Mapping[SurfaceName, ChatSurface]
    clock: Clock

    async def advance(self, agent_id: AgentId) -> None:
        """Carry the agent on. Harmless when it has nothing to do, was deleted, or another worker takes it."""
        try:
            await self._carry_on(await Hold.take(self.database, self._surface_of, agent_id))
        except (NotFound, Superseded):
            return
        except ThreadGone as gone:
            await self.pause(agent_id, f"{gone} Resume makes a new thread.", loses_thread=True)

    async def pause(self, agent_id: AgentId, reason: str, *, loses_thread: bool = False) -> None:
        """Let the agent stand still and say why, whatever it was doing."""

        async def act(work: UnitOfWork) -> None:
            agent = await work.agents.locate(agent_id)
            kept = replace(agent, thread=None) if loses_thread else agent
            work.agents.save(kept if agent.is_at_rest else pause(work, kept, reason, self.clock.now()))

        await in_one_unit(self.database, act)

    def _surface_of(self, agent: Agent) -> ChatSurface:
        return self.surfaces[agent.channel.surface]

    async def _carry_on(self, hold: Hold) -> None:
        while True:
            await hold.catch_up()
            agent, turns, notes = await self._look(hold)
            await hold.surface.status(agent)
            match agent.status:
                case Acting():
                    await self._act(hold, agent, turns[-1])
                case Thinking() if agent.wake_at is None or agent.wake_at <= self.clock.now():
                    await self._think(hold, agent, turns, notes)
                case _:
                    await hold.let_go()
                    return

    async def _look(self, hold: Hold) -> tuple[Agent, tuple[Turn, ...], tuple[Note, ...]]:
        async with self.database.begin() as work:
            agent = await work.agents.locate(hold.agent_id)
            turns = await work.turns.of(agent, last=RECENT)
            notes = await work.notes.of(agent, since=turns[0].proposed_at if turns else None)
            waiting = await work.notes.waiting(agent)
        return agent, turns, (*(note for note in notes if note.taken_into), *waiting)

    async def _think(self, hold: Hold, agent: Agent, turns: tuple[Turn, ...], notes: tuple[Note, ...]) -> None:
        thought = await self.mind.think(agent, turns, notes)

        async def act(work: UnitOfWork, present: Agent) -> None:
            paid = present.pay(thought.usage) if isinstance(thought, Proposed | Unusable) else present
            if isinstance(present.status, Thinking):
                paid = self._take_in(work, paid, thought, turns, notes)
            work.agents.save(paid)

        await hold.save(act)

    def _take_in(
        self, work: UnitOfWork, agent: Agent, thought: Thought, turns: tuple[Turn, ...], notes: tuple[Note, ...]
    ) -> Agent:
        now = self.clock.now()
        match thought:
            case Proposed():
                return propose(work, agent, thought, turns, notes, now)
            case Unusable(problem):
                return complain(work, agent, problem, now)
            case Delayed():
                return delay(agent, thought, now)
            case Refused(why):
                return pause(work, agent, why, now)

    async def _act(self, hold: Hold, agent: Agent, turn: Turn) -> None:
        match turn.state:
            case "approved":
                await self._start(hold, agent, turn)
            case "running" if turn.only_reads:
                await self._run(hold, agent, turn)
            case "running":
                await self._save(hold, turn.id, Turn.interrupt, Awaiting())
            case _:
                raise Superseded(agent.id)

    async def _start(self, hold: Hold, agent: Agent, turn: Turn) -> None:
        try:
            preview = await self.hands.foresee(agent, turn.call)
        except CommandError as error:
            await self._save_result(hold, turn.id, Failed(str(error)))
            return
        if not turn.proposal.still_holds(turn.call, preview):
            await self._save(hold, turn.id, lambda present: present.show_again(preview, CHANGED), Awaiting())
            return
        started = await self._save(hold, turn.id, lambda present: present.start(self.clock.now()), Acting())
        await hold.show(agent, started)
        await self._run(hold, agent, started)

    async def _run(self, hold: Hold, agent: Agent, turn: Turn) -> None:
        await self._save_result(hold, turn.id, await self.hands.run(agent, turn.call))

    async def _save(self, hold: Hold, turn_id: TurnId, change: Callable[[Turn], Turn], status: AgentStatus) -> Turn:
        async def act(work: UnitOfWork, agent: Agent) -> Turn:
            turn = await work.turns.get(agent.channel, turn_id)
            if turn.state not in ("approved", "running"):
                raise Superseded(agent.id)
            changed = change(turn)
            work.turns.save(changed)
            work.agents.save(agent if agent.status == status else agent.become(status, self.clock.now()))
            return changed

        return await hold.save(act)

    async def _save_result(self, hold: Hold, turn_id: TurnId, result: Result) -> None:
        async def act(work: UnitOfWork, agent: Agent) -> None:
            turn = await work.turns.get(agent.channel, turn_id)
            if turn.state not in ("approved", "running"):
                return
            earlier = await work.turns.of(agent, last=2)
            now = self.clock.now()
            finished = turn.finish(result, now)
            finishes = self.hands.commands.finishes(turn.call.name)
            work.turns.save(finished)
            work.agents.save(conclude(work, agent, finished, earlier, finishes=finishes, now=now))

        await hold.save(act)
