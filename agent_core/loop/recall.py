"""Adds the past to a think step: embeds turns and recalls memories, and has older turns summarised if due."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent_core.errors import MemoryAway, ModelRefused, ModelUnavailable, OverBudget
from agent_core.memory.chunking import chunk_note, chunk_turn
from agent_core.memory.long_term import Embedded, LongTermMemory
from agent_core.model.agent import Agent, Digest
from agent_core.model.note import Note
from agent_core.model.records.memory import Memory, Recalled, Vector
from agent_core.model.turn import Turn
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

TURNS_PER_EMBEDDING_CALL = 3  # the prompt shows the newest turns, so their vectors can wait
SEARCH_RESULTS = 8
MAX_RECALLED = 1
MAX_RECALLED_BETWEEN_SUMMARIES = 3  # each recalled memory makes the prompt longer
MIN_SIMILARITY_MARGIN = 0.1
MIN_SIMILARITY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What long-term memory contributes to one think step.

    `upto`: the last turn that is now in long-term memory.
    `fresh`, `placed`: new memories and their vectors, to be saved with the outcome under `index_key`.
    `hidden`: memories similar to the newest turn, most similar first. Turns that the prompt shows are left out.
    `offered`: the hidden memories that go into the prompt: those that are more similar than the turns shown there.
    `away`: why long-term memory could not be reached, or "".
    """

    upto: int = 0
    fresh: tuple[Memory, ...] = ()
    placed: Mapping[Memory, Vector] = field(default_factory=dict)
    index_key: str = ""
    hidden: tuple[Recalled, ...] = ()
    offered: tuple[Recalled, ...] = ()
    away: str = ""


async def recall_memories(
    memory: LongTermMemory, agent: Agent, turns: Sequence[Turn], notes: Sequence[Note], tracker: SpendingTracker
) -> Recall:
    """Every third turn, embed the new turns and notes, and search for memories similar to the newest turn.

    If the embedder or the index cannot be reached, the new memories are returned without vectors and embedded later.
    """
    upto = turns[-1].number if turns else 0
    if upto - agent.remembered < TURNS_PER_EMBEDDING_CALL:
        return Recall()
    fresh = _fresh(agent, turns, notes)
    if not fresh:
        return Recall(upto=upto)
    try:
        embedded = await memory.embed_for(agent, [each.text for each in fresh], tracker)
        placed, key = dict(zip(fresh, embedded.vectors, strict=True)), embedded.index_key
        await memory.add_to_index(agent, key, placed)
        is_useful, newest = _is_search_useful(embedded, agent), placed[_newest(fresh)]
        found = await memory.nearest(agent, key, newest, SEARCH_RESULTS) if is_useful else ()
    except MemoryAway as away:
        return Recall(upto=upto, fresh=fresh, away=str(away))
    hidden, offered = _hidden_and_offered(found, agent)
    return Recall(upto=upto, fresh=fresh, placed=placed, index_key=key, hidden=hidden, offered=offered)


def _is_search_useful(embedded: Embedded, agent: Agent) -> bool:
    """Whether a search helps: turns were summarised, the embedder is semantic, and the prompt may get more memories.

    Between two summaries, MAX_RECALLED_BETWEEN_SUMMARIES memories may be offered.
    """
    has_room = len(agent.recalled) < MAX_RECALLED_BETWEEN_SUMMARIES
    return agent.digest.upto > 0 and embedded.is_semantic and has_room


def _fresh(agent: Agent, turns: Sequence[Turn], notes: Sequence[Note]) -> tuple[Memory, ...]:
    """Memories of the notes that are not saved yet, then of the turns, each oldest first."""
    new = [turn for turn in turns if turn.number > agent.remembered]
    read = {turn.id for turn in new}
    of_notes = [each for note in notes if note.taken_into in read for each in chunk_note(note)]
    of_turns = [each for turn in new for each in chunk_turn(turn, turn.ended_at or turn.proposed_at)]
    return (*of_notes, *of_turns)


def _newest(fresh: Sequence[Memory]) -> Memory:
    """The first memory of the newest turn: its thoughts and command."""
    return next(each for each in fresh if each.turn == fresh[-1].turn)


def _hidden_and_offered(found: Sequence[Recalled], agent: Agent) -> tuple[tuple[Recalled, ...], tuple[Recalled, ...]]:
    """The values of `Recall.hidden` and `Recall.offered`. A memory is offered once between two summaries."""
    in_sight = [one.likeness for one in found if one.memory.turn > agent.digest.upto]
    hidden = tuple(one for one in found if one.memory.turn <= agent.digest.upto)
    least = max(MIN_SIMILARITY, max(in_sight, default=0.0) + MIN_SIMILARITY_MARGIN)
    offered = [one for one in hidden if one.likeness >= least and one.memory.id not in agent.recalled]
    return hidden, tuple(offered[: min(MAX_RECALLED, max(0, MAX_RECALLED_BETWEEN_SUMMARIES - len(agent.recalled)))])


MAX_HISTORY_TOKENS = 1_440
WINDOW_SHARE = 4  # history takes at most a fourth of the prompt
MAX_RECALLED_IN_SUMMARY = 1
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
    return digest and replace(digest, recalled=tuple(_line(one) for one in hidden[:MAX_RECALLED_IN_SUMMARY]))


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
