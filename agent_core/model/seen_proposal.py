"""Which state of a proposal a person had seen when they wrote a reply."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from agent_core.model.turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenProposal:
    """What is known of the proposals that the writer of a reply had seen.

    `hashes`: those of all proposals on the page or card of the reply; None if unknown, as in a chat thread.
    `written_at`: the time of the reply. If `hashes` is None, it is compared with the time of the proposal or card.
    """

    hashes: Collection[str] | None = None
    written_at: datetime | None = None

    def follows(self, turn: Turn) -> bool:
        """Whether the reply may refer to the turn as it is now: enough to reject the turn, not to approve it."""
        if self.hashes is not None or self.written_at is None:
            return self.hashes is None or turn.control_hash in self.hashes
        return self.written_at >= (turn.asked_at or turn.proposed_at)

    def covers(self, turn: Turn) -> bool:
        """Whether the writer surely saw the turn as it is now, on a card shown before the reply."""
        if self.hashes is not None:
            return turn.control_hash in self.hashes
        if self.written_at is None or turn.shown_at is None:
            return False
        return turn.shown_hash_on_card == turn.control_hash and turn.shown_at <= self.written_at


UNKNOWN_PROPOSAL = SeenProposal()
