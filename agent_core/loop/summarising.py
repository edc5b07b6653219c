"""Compaction: an agent's older turns are folded into a summary, by one call on the prompt as it stands."""

from dataclasses import replace

from agent_core.errors import ModelRefused, ModelUnavailable, OverBudget
from agent_core.model.agent import Digest
from agent_core.model.memory import Recalled
from agent_core.prompt.compaction import MOST_REPLY, Fold, digest_of, fold_due, plain_digest, summary_messages
from agent_core.prompt.model_client import MeteredModel, ModelRequest
from agent_core.prompt.packing import Situation
from agent_core.spending.spending_tracker import SpendingTracker

HISTORY_TOKENS = 1_400
WINDOW_SHARE = 4  # history takes no more than a fourth of what a prompt may have
MOST_RECALLED = 1
LONG_RECALLED = 200


async def summarise_if_due(
    metered_model: MeteredModel,
    situation: Situation,
    tracker: SpendingTracker,
    *,
    history_tokens: int,
    hidden: tuple[Recalled, ...] = (),
) -> Digest | None:
    """The digest that should stand for older turns from now on, or None while there is no need.

    A model that is busy or unaffordable now is asked at the next turn; one that refuses is done without.
    """
    agent = situation.agent
    room = metered_model.room(metered_model.name_for(agent.model))
    fold = fold_due(situation, room, min(history_tokens, room.tokens // WINDOW_SHARE))
    if fold is None:
        return None
    digest = await _request_summary(metered_model, situation, fold, tracker)
    if digest is None:
        return None
    return replace(digest, recalled=tuple(_line(one) for one in hidden[:MOST_RECALLED]))


async def _request_summary(
    metered_model: MeteredModel, situation: Situation, fold: Fold, tracker: SpendingTracker
) -> Digest | None:
    agent, prompt = situation.agent, summary_messages(situation, fold)
    room = metered_model.room(metered_model.name_for(agent.model, "summary"))
    if room.taken_by(prompt) > room.tokens:
        return plain_digest(agent.digest, fold.folded)
    try:
        reply = await metered_model.ask(
            ModelRequest(kind="summary", prompt=prompt, most=MOST_REPLY), agent.model, tracker
        )
    except (ModelUnavailable, OverBudget):
        return None
    except ModelRefused:
        return plain_digest(agent.digest, fold.folded)
    return digest_of(reply, agent.digest, fold)


def _line(recalled: Recalled) -> str:
    text = " ".join(recalled.memory.text.split())
    return f"{recalled.memory.source}: {text[:LONG_RECALLED]}"
