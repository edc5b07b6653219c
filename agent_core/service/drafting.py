"""Drafts a new agent from a sentence, by one model call."""

import asyncio
import logging
from dataclasses import dataclass

from agent_core.errors import ModelError
from agent_core.model.actors import Origin
from agent_core.model.agent import ModelChoice
from agent_core.model.draft import MAX_GOAL_CHARACTERS, AgentDraft
from agent_core.oversight.policy import require_may_create
from agent_core.ports.rehearsal import Rehearsal
from agent_core.prompt.agent_drafting import SCHEMA, drafting_messages, parse_draft
from agent_core.prompt.model_client import MeteredModel, ModelRequest
from agent_core.service.creation_limits import DEFAULT_LIMITS, CreationLimits
from agent_core.spending.budget_ledger import BudgetLedger

logger = logging.getLogger(__name__)

DRAFT_TIMEOUT_SECONDS = 25.0
MAX_REPLY_TOKENS = 2_000
NO_MODEL_DRAFT = "No model drafted this: your sentence is the goal."


@dataclass(frozen=True, slots=True)
class Drafted:
    """A draft for a person to review. If the model failed, `said` tells people so."""

    draft: AgentDraft
    said: str = ""


@dataclass(frozen=True, slots=True)
class AgentDrafting:
    """Drafts agents at the channel's cost. If the model fails, the sentence itself becomes the goal.

    `rehearsal`: the script of demo mode, which drafts nothing; None if a model is connected.
    """

    metered_model: MeteredModel
    ledger: BudgetLedger
    limits: CreationLimits = DEFAULT_LIMITS
    rehearsal: Rehearsal | None = None

    async def draft(self, sentence: str, origin: Origin) -> Drafted:
        """Draft name, role and goals within 25 seconds; raise NotAllowed if the person may not create agents."""
        require_may_create(origin.by, guests_may=self.limits.guests_may_create)
        request = " ".join(sentence.split())[:MAX_GOAL_CHARACTERS]
        if self.rehearsal is not None:
            return Drafted(AgentDraft(goals=(request,)), self.rehearsal.goals_problem((request,)))
        question = ModelRequest(
            kind="draft", prompt=drafting_messages(request), schema=SCHEMA, max_tokens=MAX_REPLY_TOKENS
        )
        try:
            spending = self.ledger.open_channel_tracker(origin.channel)
            async with asyncio.timeout(DRAFT_TIMEOUT_SECONDS), spending as tracker:
                reply = await self.metered_model.ask(question, ModelChoice(), tracker)
            return Drafted(parse_draft(reply))
        except (ModelError, TimeoutError) as error:
            logger.info("no draft by the model", extra={"fault": type(error).__name__})
            return Drafted(AgentDraft(goals=(request,)), NO_MODEL_DRAFT)
