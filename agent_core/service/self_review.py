"""Self-review: the model criticises its own proposal, for people and for the agent's next prompt."""

import asyncio
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from agent_core.errors import ModelError, NotPossible
from agent_core.model.agent import Agent
from agent_core.model.ids import TurnId
from agent_core.model.origin import Origin
from agent_core.model.records.audit import AuditEntry
from agent_core.model.turn import Turn
from agent_core.oversight.policy import require_may_decide
from agent_core.ports.database import UnitOfWork
from agent_core.prompt.model_client import MeteredModel, ModelRequest
from agent_core.prompt.self_review import MAX_REPLY_TOKENS, MAX_REVIEW_CHARACTERS, review_messages
from agent_core.service.transactional import TransactionalService
from agent_core.spending.budget_ledger import BudgetLedger

REVIEW_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfReview(TransactionalService):
    """Asks the model for a self-review. The agent pays for the call, and the proposal stays open."""

    metered_model: MeteredModel
    ledger: BudgetLedger
    under_way: WeakValueDictionary[TurnId, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def review(self, turn_id: TurnId, origin: Origin) -> tuple[Agent, Turn]:
        """Put a criticism on the card of an open proposal; raise NotAllowed or NotPossible.

        Two simultaneous requests get the same criticism.
        """
        async with self.under_way.setdefault(turn_id, asyncio.Lock()):
            return await self._save_review(turn_id, origin)

    async def _save_review(self, turn_id: TurnId, origin: Origin) -> tuple[Agent, Turn]:
        async with self.database.begin() as work:
            turn = await work.turns.get(origin.channel, turn_id)
            agent = await work.agents.get(origin.channel, turn.agent_id)
        require_may_decide(agent, origin.by, "ask for a self-review here")
        if turn.state != "proposed":
            raise NotPossible(f"Turn {turn.number} is {turn.state}: only an open proposal can be reviewed.")
        review = turn.review or await self._ask_model(agent, turn)

        async def act(work: UnitOfWork) -> tuple[Agent, Turn]:
            present = await work.turns.get(origin.channel, turn_id)
            reviewed = present.reviewed(review)
            if not present.review:
                work.turns.save(reviewed)
                entry = AuditEntry.on(agent, "self-review", by=origin.by, at=self.clock.now(), turn=present)
                work.audit.append(entry)
            self.waker.wake(work, agent.id)
            return await work.agents.get(origin.channel, present.agent_id), reviewed

        return await self.save(act)

    async def _ask_model(self, agent: Agent, turn: Turn) -> str:
        question = ModelRequest(kind="review", prompt=review_messages(agent, turn), max_tokens=MAX_REPLY_TOKENS)
        try:
            async with asyncio.timeout(REVIEW_TIMEOUT_SECONDS), self.ledger.open_tracker(agent) as tracker:
                reply = await self.metered_model.ask(question, agent.choice, tracker)
        except ModelError as error:
            raise NotPossible(f"No self-review: {error}") from error
        except TimeoutError:
            raise NotPossible("No self-review: the model did not answer in time.") from None
        if not reply.answer:
            raise NotPossible("No self-review: the model said nothing.")
        return reply.answer[:MAX_REVIEW_CHARACTERS]
