"""From a sentence to the filled-in form of a new agent, by one plain call to the model."""

import asyncio
import logging
from dataclasses import dataclass

from agent_core.errors import ModelError
from agent_core.model.actors import Origin
from agent_core.model.draft import GOAL_LENGTH, AgentDraft
from agent_core.oversight.policy import require_may_create
from agent_core.prompt.agent_drafting import SCHEMA, drafting_messages, parse_draft
from agent_core.prompt.model_client import MeteredModel, ModelRequest
from agent_core.service.creation_limits import DEFAULT_LIMITS, CreationLimits
from agent_core.spending.budget_ledger import BudgetLedger

logger = logging.getLogger(__name__)

PATIENCE = 25.0
MOST_REPLY = 2_000
AS_WRITTEN = "No model drafted this: the sentence stands as the goal."


@dataclass(frozen=True, slots=True)
class Drafted:
    """A draft to look over; `said` tells people where it is not a model's."""

    draft: AgentDraft
    said: str = ""


@dataclass(frozen=True, slots=True)
class AgentDrafting:
    """Drafts agents, at the channel's cost. A model that cannot be asked costs the draft, never the sentence."""

    metered_model: MeteredModel
    ledger: BudgetLedger
    limits: CreationLimits = DEFAULT_LIMITS

    async def draft(self, sentence: str, origin: Origin) -> Drafted:
        """Name, role and goals of an agent for what was asked, within 25 seconds.

        Raise NotAllowed for somebody who may not make agents here: the draft costs money.
        """
        require_may_create(origin.by, guests_may=self.limits.guests_may_create)
        said = " ".join(sentence.split())[:GOAL_LENGTH]
        question = ModelRequest(kind="draft", prompt=drafting_messages(said), schema=SCHEMA, most=MOST_REPLY)
        try:
            async with asyncio.timeout(PATIENCE), self.ledger.open_channel_tracker(origin.channel) as tracker:
                reply = await self.metered_model.ask(question, "", tracker)
            return Drafted(parse_draft(reply))
        except (ModelError, TimeoutError) as fault:
            logger.info("no draft by the model", extra={"fault": type(fault).__name__})
            return Drafted(AgentDraft(goals=(said,)), AS_WRITTEN)
