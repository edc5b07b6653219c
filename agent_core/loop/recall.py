"""Long-term memory in one think step: embeds new turns and notes, and recalls similar ones that left the prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent_core.errors import MemoryAway
from agent_core.memory.chunking import chunk_note, chunk_turn
from agent_core.memory.long_term import Embedded, LongTermMemory
from agent_core.model.agent import Agent
from agent_core.model.note import Note
from agent_core.model.records.memory import Memory, Recalled, Vector
from agent_core.model.turn import Turn
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
