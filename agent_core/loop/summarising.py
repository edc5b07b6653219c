"""Compaction: replaces an agent's older turns by a summary when its history takes too much of the prompt."""

from dataclasses import replace

from agent_core.errors import ModelRefused, ModelUnavailable, OverBudget
from agent_core.model.agent import Digest
from agent_core.model.records.memory import Recalled
from agent_core.prompt.compaction import (
    MAX_REPLY_TOKENS,
    Fold,
    fold_due,
    parse_summary,
    summarise_without_model,
    summary_messages,
)
from agent_core.prompt.model_client import MeteredModel, ModelRequest
from agent_core.prompt.packing import Situation
from agent_core.spending.spending_tracker import SpendingTracker

MAX_HISTORY_TOKENS = 1_440
WINDOW_SHARE = 4  # history takes at most a fourth of the prompt
MAX_RECALLED = 1
MAX_RECALLED_CHARACTERS = 200


async def summarise_if_due(
    metered_model: MeteredModel,
    situation: Situation,
    tracker: SpendingTracker,
    *,
    history_tokens: int,
    hidden: tuple[Recalled, ...] = (),
) -> Digest | None:
    """If the history is too long, ask the model for a summary of older turns; otherwise return None.

    If the model is busy or too expensive now, return None, and the next turn tries again. If the model refuses, make
    the summary from the turns without a model.
    """
    room = metered_model.in_use(situation.agent.model).room
    fold = fold_due(situation, room, min(history_tokens, room.tokens // WINDOW_SHARE))
    if fold is None:
        return None
    digest = await _request_summary(metered_model, situation, fold, tracker)
    return digest and replace(digest, recalled=tuple(_line(one) for one in hidden[:MAX_RECALLED]))


async def _request_summary(
    metered_model: MeteredModel, situation: Situation, fold: Fold, tracker: SpendingTracker
) -> Digest | None:
    agent, prompt = situation.agent, summary_messages(situation, fold)
    room = metered_model.in_use(agent.model, "summary").room
    if room.taken_by(prompt) > room.tokens:
        return summarise_without_model(agent.digest, fold.folded)
    try:
        reply = await metered_model.ask(
            ModelRequest(kind="summary", prompt=prompt, max_tokens=MAX_REPLY_TOKENS), agent.choice, tracker
        )
    except (ModelUnavailable, OverBudget):
        return None
    except ModelRefused:
        return summarise_without_model(agent.digest, fold.folded)
    return parse_summary(reply, agent.digest, fold)


def _line(recalled: Recalled) -> str:
    text = " ".join(recalled.memory.text.split())
    return f"{recalled.memory.source}: {text[:MAX_RECALLED_CHARACTERS]}"
