"""From a sentence to the filled-in form of a new agent, by one plain call to the model."""

import asyncio
import logging
from dataclasses import dataclass

from agent_core.errors import ModelError
from agent_core.model.draft import GOAL_LENGTH, AgentDraft
from agent_core.model.places import ChannelScope
from agent_core.oversight.treasury import Treasury
from agent_core.prompt.asking import Asker, Question
from agent_core.prompt.drafting import SCHEMA, drafting_messages, parse_draft

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

    asker: Asker
    treasury: Treasury

    async def draft(self, sentence: str, channel: ChannelScope) -> Drafted:
        """Name, role and goals of an agent for what was asked, within 25 seconds."""
        said = " ".join(sentence.split())[:GOAL_LENGTH]
        question = Question(kind="draft", prompt=drafting_messages(said), schema=SCHEMA, most=MOST_REPLY)
        try:
            async with asyncio.timeout(PATIENCE), self.treasury.spending_in(channel) as purse:
                reply = await self.asker.ask(question, "", purse)
            return Drafted(parse_draft(reply))
        except (ModelError, TimeoutError) as fault:
            logger.info("no draft by the model", extra={"fault": type(fault).__name__})
            return Drafted(AgentDraft(goals=(said,)), AS_WRITTEN)
