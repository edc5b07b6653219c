"""One think step of an agent: recall, summarise if due, ask the model, save the outcome.

recall ─► summarise older turns, when they take too many tokens ─► ask ─► save the outcome
(memory)  (a model call and a save of its own, now and then)
"""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from agent_core.loop.claim import AgentClaim, Draining, Step
from agent_core.loop.live_progress import LiveThinking
from agent_core.loop.outcome import Outcome
from agent_core.loop.proposing import Delay, ProposedCommand, Proposer, Refusal, Thought, UnusableAnswer
from agent_core.loop.recall import Recall, recall_memories, summarise_if_due
from agent_core.loop.transitions import (
    complain,
    delay,
    expose_to_recalled,
    pause,
    propose,
    stop_circling,
    switch_model,
    with_recall,
)
from agent_core.loop.turn_context import TurnContext, look_up_granters
from agent_core.model.agent import Agent, Digest, Thinking
from agent_core.oversight.evaluation import Granters
from agent_core.oversight.policy import denied_classes
from agent_core.ports.clock import Clock
from agent_core.ports.database import UnitOfWork
from agent_core.prompt.packing import Situation
from agent_core.spending.spending_tracker import SpendingTracker


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkStep:
    """Runs one think step. All model calls are charged to the tracker; each save records what was spent so far."""

    proposer: Proposer
    clock: Clock
    claim: AgentClaim
    turn_context: TurnContext
    tracker: SpendingTracker
    draining: Draining

    async def think(self, agent: Agent) -> Agent:
        """Recall, summarise if due, ask the model, and save the outcome; return the agent as saved."""
        with self.draining.give_up_on_request():
            seen = await recall_memories(
                self.proposer.memory, agent, self.turn_context.turns, self.turn_context.notes, self.tracker
            )
            situation = self._situation(agent, seen)
            digest = await self._summarise(situation, seen)
        if digest:
            present = await self._save(partial(self._apply_summary, digest, seen))
            situation, seen = self._situation(present, seen), Recall()
        live = LiveThinking(claim=self.claim, clock=self.clock, redact=self.proposer.metered_model.secrets.redact)
        with self.draining.give_up_on_request():
            thought = await live.run(self.proposer.think(situation, self.tracker, live.report))
        command = thought.proposal.call.name if isinstance(thought, ProposedCommand) else ""
        granters = await look_up_granters(self.claim.surface, situation.agent, command)
        return await self._save(partial(self._save_thought, thought, seen, granters, situation.agent))

    def _situation(self, agent: Agent, seen: Recall) -> Situation:
        specs = self.proposer.commands.specs_for(agent.model, self.turn_context.switches)
        tools = self.proposer.choose_tools(agent, [spec for spec in specs if not denied_classes(agent, spec)])
        return Situation(
            agent=agent,
            commands=tools.listed,
            turns=[turn for turn in self.turn_context.turns if turn.number > agent.digest.upto],
            notes=(*self.turn_context.notes, *self.turn_context.waiting),
            now=self.clock.now(),
            recalled=seen.offered,
            circling=self.turn_context.circling,
            commands_setting=self.proposer.commands_setting,
            guidance=(*self.proposer.guidance, *tools.guidance),
        )

    async def _summarise(self, situation: Situation, seen: Recall) -> Digest | None:
        if not self.proposer.profile(situation.agent).folds:
            return None
        limit = self.proposer.history_tokens
        return await summarise_if_due(
            self.proposer.metered_model, situation, self.tracker, history_tokens=limit, hidden=seen.hidden
        )

    async def _save(self, step: Step) -> Agent:
        return (await self.claim.save_and_present(step)).agent

    async def _apply_summary(self, digest: Digest, seen: Recall, _work: UnitOfWork, agent: Agent) -> Outcome:
        changed = replace(agent.pay(self.tracker.spent), digest=digest, recalled=())
        exposed, notices = expose_to_recalled(changed, seen, digest, self.clock.now())
        return self._with_recall(Outcome(agent=exposed, notices=notices), seen)

    async def _save_thought(
        self, thought: Thought, seen: Recall, granters: Granters, asked: Agent, _work: UnitOfWork, agent: Agent
    ) -> Outcome:
        paid = agent.pay(self.tracker.spent)
        if not isinstance(paid.status, Thinking) or agent.since != asked.since:  # it was undone or stopped, and goes on
            return self._with_recall(Outcome(agent=paid), seen)
        now = self.clock.now()
        recalling, exposures = expose_to_recalled(paid, seen, None, now)
        first = self.proposer.metered_model.model.label
        # A model that was set during the call was not asked: the reply says nothing about it.
        switched, switches = (
            switch_model(recalling, thought, first, now) if agent.model == asked.model else (recalling, ())
        )
        checked, notices = stop_circling(switched, self.turn_context, now)
        outcome = self._outcome_of(thought, checked, granters, now)
        return self._with_recall(replace(outcome, notices=(*exposures, *switches, *notices, *outcome.notices)), seen)

    def _with_recall(self, outcome: Outcome, seen: Recall) -> Outcome:
        paid = replace(outcome, spent=dict(self.tracker.spent))
        return with_recall(paid, seen, self.clock.now())

    def _outcome_of(self, thought: Thought, agent: Agent, granters: Granters, now: datetime) -> Outcome:
        match thought:
            case ProposedCommand():
                return propose(agent, thought, self.turn_context, granters, now)
            case UnusableAnswer():
                return complain(agent, thought, now)
            case Delay():
                return delay(agent, thought, now)
            case Refusal(why):
                return pause(agent, why, now)
