"""One thought of an agent, from what it has before it to what is saved of it.

look back ─► fold older turns, when they take too much room ─► ask ─► save what follows
(memory)     (a call and a save of its own, now and then)
"""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from agent_core.loop.claim import Hold, Step
from agent_core.loop.granters import Granters, look_up_granters
from agent_core.loop.outcome import Outcome
from agent_core.loop.proposing import Delayed, Mind, Proposed, Refused, Thought, Unusable
from agent_core.loop.recall import LookBack, look_back
from agent_core.loop.summarising import folded
from agent_core.loop.transitions import complain, delay, pause, propose, recall, see, stop_circling
from agent_core.loop.turn_context import Sight
from agent_core.model.agent import Agent, Digest, Thinking
from agent_core.ports.database import UnitOfWork
from agent_core.ports.world import Clock
from agent_core.prompt.packing import Situation
from agent_core.spending.spending_tracker import Purse


@dataclass(frozen=True, slots=True, kw_only=True)
class Pondering:
    """Takes one thought; all calls are paid from the purse, and each save records what was spent until then."""

    mind: Mind
    clock: Clock
    hold: Hold
    sight: Sight
    purse: Purse

    async def think(self, agent: Agent) -> Agent:
        """The agent as it is afterwards."""
        seen = await look_back(self.mind.memory, agent, self.sight.turns, self.sight.notes, self.purse)
        situation = self._situation(agent, seen)
        if digest := await self._folded(situation, seen):
            present = await self._save(partial(self._digested, digest, seen))
            situation, seen = self._situation(present, seen), LookBack()
        thought = await self.mind.think(situation, self.purse)
        granters = await look_up_granters(self.hold.surface, situation.agent)
        return await self._save(partial(self._taken_in, thought, seen, granters))

    def _situation(self, agent: Agent, seen: LookBack) -> Situation:
        return Situation(
            agent=agent,
            commands=self.mind.commands.specs,
            turns=[turn for turn in self.sight.turns if turn.number > agent.digest.upto],
            notes=(*self.sight.notes, *self.sight.waiting),
            now=self.clock.now(),
            machine=self.mind.machine,
            recalled=seen.offered,
            circling=self.sight.circling,
        )

    async def _folded(self, situation: Situation, seen: LookBack) -> Digest | None:
        if not self.mind.profile(situation.agent).folds:
            return None
        limit = self.mind.history_tokens
        return await folded(self.mind.asker, situation, self.purse, history_tokens=limit, hidden=seen.hidden)

    async def _save(self, step: Step) -> Agent:
        outcome = await self.hold.save(step)
        self.purse.settle()
        return outcome.agent

    async def _digested(self, digest: Digest, seen: LookBack, _work: UnitOfWork, agent: Agent) -> Outcome:
        changed = replace(agent.pay(self.purse.spent), digest=digest, recalled=())
        exposed, notices = recall(changed, seen, digest, self.clock.now())
        return self._seen(Outcome(agent=exposed, notices=notices), seen)

    async def _taken_in(
        self, thought: Thought, seen: LookBack, granters: Granters, _work: UnitOfWork, agent: Agent
    ) -> Outcome:
        paid = agent.pay(self.purse.spent)
        if not isinstance(paid.status, Thinking):
            return self._seen(Outcome(agent=paid), seen)
        now = self.clock.now()
        recalling, told = recall(paid, seen, None, now)
        asked, notices = stop_circling(recalling, self.sight, now)
        outcome = self._following(thought, asked, granters, now)
        return self._seen(replace(outcome, notices=(*told, *notices, *outcome.notices)), seen)

    def _seen(self, outcome: Outcome, seen: LookBack) -> Outcome:
        paid = replace(outcome, spent=dict(self.purse.spent))
        return see(paid, seen, self.mind.memory.place, self.clock.now())

    def _following(self, thought: Thought, agent: Agent, granters: Granters, now: datetime) -> Outcome:
        match thought:
            case Proposed():
                return propose(agent, thought, self.sight, granters, now)
            case Unusable():
                return complain(agent, thought, now)
            case Delayed():
                return delay(agent, thought, now)
            case Refused(why):
                return pause(agent, why, now)
