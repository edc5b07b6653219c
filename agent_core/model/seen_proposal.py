"""Which state of a proposal somebody had before them when they wrote a line."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from agent_core.model.turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenProposal:
    """`hashes` are those of all proposals on the page or card where a line was written, where that is known.

    Where it is not, as in a thread of a chat, `written_at` tells whether the card had been shown before.
    """

    hashes: Collection[str] | None = None
    written_at: datetime | None = None

    def follows(self, turn: Turn) -> bool:
        """Whether the line may be meant for the turn as it is now: enough to reject it, not to approve it."""
        if self.hashes is not None or self.written_at is None:
            return self.hashes is None or turn.control_hash in self.hashes
        return self.written_at >= (turn.asked_at or turn.proposed_at)

    def covers(self, turn: Turn) -> bool:
        """Whether the turn stood before the writer as it is now, on a card that was there before the line."""
        if self.hashes is not None:
            return turn.control_hash in self.hashes
        if self.written_at is None or turn.shown_at is None:
            return False
        return turn.shown_hash_on_card == turn.control_hash and turn.shown_at <= self.written_at


UNKNOWN = SeenProposal()
