"""Splits turns, notes and texts into overlapping chunks for long-term memory. Pure functions."""

import json
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from agent_core.model.command import Succeeded
from agent_core.model.note import Note
from agent_core.model.records.memory import Memory
from agent_core.model.turn import Turn, text_of

CHUNK_CHARACTERS, OVERLAP_CHARACTERS = 240, 60
MAX_CHUNKS = 16
MAX_THOUGHT_CHARACTERS, MAX_ARGUMENTS_CHARACTERS, MAX_RESULT_CHARACTERS = 300, 600, 300
BREAKS = ("\n\n", "\n", ". ", " ")


def chunk_turn(turn: Turn, at: datetime) -> tuple[Memory, ...]:
    """The memories of a finished turn: thought, call and start of the result, then a long result in chunks.

    Small chunks are retrieved better: the embedding of a long text is near to no query.
    """
    if turn.state not in ("done", "rejected"):
        return ()
    outcome = _outcome(turn)
    call = json.dumps(dict(turn.call.arguments), ensure_ascii=False)[:MAX_ARGUMENTS_CHARACTERS]
    thought = turn.proposal.thoughts.text[:MAX_THOUGHT_CHARACTERS]
    lead = f"{thought}\n{turn.call.name} {call}\n{outcome[:MAX_RESULT_CHARACTERS]}"
    rest = islice(chunk_text(outcome), MAX_CHUNKS) if len(outcome) > MAX_RESULT_CHARACTERS else ()
    source = f"turn {turn.number}"
    return tuple(Memory.of(text, source=source, at=at, turn=turn.number) for text in (lead, *rest))


def chunk_note(note: Note) -> tuple[Memory, ...]:
    """The memories of a note: the text in chunks, each with its author."""
    return tuple(
        Memory.of(f"{note.by} wrote: {piece}", source=str(note.by), at=note.at)
        for piece in islice(chunk_text(note.text), MAX_CHUNKS)
    )


def chunk_text(text: str, size: int = CHUNK_CHARACTERS, overlap: int = OVERLAP_CHARACTERS) -> Iterator[str]:
    """Overlapping chunks of at most `size` characters, split at paragraphs, sentences or words."""
    start = 0
    while start < len(text):
        end = _end(text, start, size)
        if piece := text[start:end].strip():
            yield piece
        if end >= len(text):
            return
        start = max(_start(text, end, overlap), start + 1)


def _start(text: str, end: int, overlap: int) -> int:
    """Where the next chunk begins: after the first break inside the overlap."""
    shared = text[end - overlap : end]
    found = (shared.find(mark) + len(mark) for mark in BREAKS[:-1] if mark in shared.rstrip())
    return end - overlap + next(found, shared.find(" ") + 1)


def _end(text: str, start: int, size: int) -> int:
    if start + size >= len(text):
        return len(text)
    for mark in BREAKS:
        at = text.rfind(mark, start + size // 2, start + size)
        if at >= 0:
            return at + len(mark)
    return start + size


def _outcome(turn: Turn) -> str:
    if turn.result is not None:
        return turn.result.output if isinstance(turn.result, Succeeded) else text_of(turn.result)
    reason = getattr(turn.approvals[-1].decision, "reason", "") if turn.approvals else ""
    return f"Rejected by {turn.ended_by}: {reason}"
