"""From a sentence to the filled-in form of a new agent, by one plain call to the model."""

import asyncio
import logging
from dataclasses import dataclass

from agent_core.errors import ModelError
from agent_core.model.draft import GOAL_LENGTH, AgentDraft
from agent_core.ports.minds import LanguageModel
from agent_core.prompt.drafting import SCHEMA, drafting_messages, parse_draft

logger = logging.getLogger(__name__)

PATIENCE = 25.0
MOST_REPLY = 1_000
AS_WRITTEN = "No model drafted this: the sentence stands as the goal."


@dataclass(frozen=True, slots=True)
class Drafted:
    """A draft to look over; `said` tells people where it is not a model's."""

    draft: AgentDraft
    said: str = ""


@dataclass(frozen=True, slots=True)
class AgentDrafting:
    """Drafts agents. A model that cannot be asked, or answers something else, costs the draft, never the sentence."""

    model: LanguageModel

    async def draft(self, sentence: str) -> Drafted:
        """Name, role and goals of an agent for what was asked, within 25 seconds."""
        said = " ".join(sentence.split())[:GOAL_LENGTH]
        try:
            async with asyncio.timeout(PATIENCE):
                reply = await self.model.complete(
                    drafting_messages(said), schema=SCHEMA, model="", max_tokens=MOST_REPLY
                )
            return Drafted(parse_draft(reply))
        except (ModelError, TimeoutError) as fault:
            logger.info("no draft by the model", extra={"fault": type(fault).__name__})
            return Drafted(AgentDraft(goals=(said,)), AS_WRITTEN)
