"""What of a turn or a note goes into long-term memory, and in which pieces. Pure functions from values to memories."""

import json
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from agent_core.model.memory import Memory
from agent_core.model.note import Note
from agent_core.model.result import Succeeded
from agent_core.model.turn import Turn, text_of

PIECE, OVERLAP = 240, 60
MOST_PIECES = 16
LONG_THOUGHT, LONG_ARGUMENTS, SHORT_RESULT = 300, 600, 300
BREAKS = ("\n\n", "\n", ". ", " ")


def memories_of(turn: Turn, at: datetime) -> tuple[Memory, ...]:
    """A turn that is over: what was thought and done with the beginning of its result, then a long result in pieces.

    Small pieces are found again by what they say; a long one is like everything and near to nothing.
    """
    if turn.state not in ("done", "rejected"):
        return ()
    came = _outcome(turn)
    call = json.dumps(dict(turn.call.arguments), ensure_ascii=False)[:LONG_ARGUMENTS]
    lead = f"{turn.proposal.thoughts.text[:LONG_THOUGHT]}\n{turn.call.name} {call}\n{came[:SHORT_RESULT]}"
    rest = islice(pieces(came), MOST_PIECES) if len(came) > SHORT_RESULT else ()
    source = f"turn {turn.number}"
    return tuple(Memory.of(text, source=source, at=at, turn=turn.number) for text in (lead, *rest))


def memories_of_note(note: Note) -> tuple[Memory, ...]:
    """What a person wrote."""
    return tuple(
        Memory.of(f"{note.by} wrote: {piece}", source=str(note.by), at=note.at)
        for piece in islice(pieces(note.text), MOST_PIECES)
    )


def pieces(text: str, size: int = PIECE, overlap: int = OVERLAP) -> Iterator[str]:
    """The text in overlapping pieces of at most `size` characters, cut between paragraphs, sentences or words."""
    start = 0
    while start < len(text):
        end = _end(text, start, size)
        if piece := text[start:end].strip():
            yield piece
        if end >= len(text):
            return
        start = max(_start(text, end, overlap), start + 1)


def _start(text: str, end: int, overlap: int) -> int:
    """Where the next piece begins: after the first break that the overlap has."""
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
