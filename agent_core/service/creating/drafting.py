"""Drafts a new agent from a sentence, by one model call, and words why there is no draft."""

import asyncio
import logging
from dataclasses import dataclass

from agent_core.errors import ModelError, NotPossible, OverBudget
from agent_core.model.agent import ModelChoice
from agent_core.model.draft import MAX_GOAL_CHARACTERS, AgentDraft
from agent_core.model.origin import Origin
from agent_core.oversight.policy import require_may_create
from agent_core.ports.models import Rehearsal
from agent_core.prompt.agent_drafting import SCHEMA, drafting_messages, parse_draft
from agent_core.prompt.model_client import MeteredModel, ModelRequest
from agent_core.service.creating.creation import DEFAULT_LIMITS, CreationLimits
from agent_core.spending.budget_ledger import BudgetLedger

logger = logging.getLogger(__name__)

DRAFT_TIMEOUT_SECONDS = 25.0
MAX_REPLY_TOKENS = 2_000
NO_MODEL_DRAFT = "No model drafted this: your sentence is the goal."
NOT_IN_DEMO = "Demo mode has no model that could draft an agent. Fill in the form, or start from a template."
NOT_AFFORDABLE = "The budget of this channel does not allow a draft. Raise it, or fill in the form yourself."
NO_ANSWER = "The model gave no draft. Try again, or fill in the form yourself."


@dataclass(frozen=True, slots=True)
class Drafted:
    """A draft for a person to review. If the model failed, `said` tells people so."""

    draft: AgentDraft
    said: str = ""


@dataclass(frozen=True, slots=True)
class AgentDrafting:
    """Drafts agents at the channel's cost.

    `rehearsal`: the script of demo mode, which drafts nothing; None if a model is connected.
    """

    metered_model: MeteredModel
    ledger: BudgetLedger
    limits: CreationLimits = DEFAULT_LIMITS
    rehearsal: Rehearsal | None = None

    async def draft(self, sentence: str, origin: Origin) -> Drafted:
        """As `draft_by_model`; if that is not possible, the sentence itself becomes the goal."""
        try:
            return Drafted(await self.draft_by_model(sentence, origin))
        except NotPossible:
            draft = AgentDraft(goals=(_request_of(sentence),))
            return Drafted(draft, self.rehearsal.goals_problem(draft.goals) if self.rehearsal else NO_MODEL_DRAFT)

    async def draft_by_model(self, sentence: str, origin: Origin) -> AgentDraft:
        """Draft name, role and goals within 25 seconds.

        Raise NotAllowed if the person may not create agents; NotPossible in demo mode, if the channel's budget does not
        afford the call, and if the model gives no draft.
        """
        require_may_create(origin.by, guests_may=self.limits.guests_may_create)
        if self.rehearsal is not None:
            raise NotPossible(NOT_IN_DEMO)
        request = _request_of(sentence)
        question = ModelRequest(
            kind="draft", prompt=drafting_messages(request), schema=SCHEMA, max_tokens=MAX_REPLY_TOKENS
        )
        try:
            spending = self.ledger.open_channel_tracker(origin.channel)
            async with asyncio.timeout(DRAFT_TIMEOUT_SECONDS), spending as tracker:
                reply = await self.metered_model.ask(question, ModelChoice(), tracker)
            return parse_draft(reply)
        except (ModelError, TimeoutError) as error:
            logger.info("no draft by the model", extra={"fault": type(error).__name__})
            raise NotPossible(NOT_AFFORDABLE if isinstance(error, OverBudget) else NO_ANSWER) from error


def _request_of(sentence: str) -> str:
    return " ".join(sentence.split())[:MAX_GOAL_CHARACTERS]
