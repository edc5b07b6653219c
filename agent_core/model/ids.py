"""Names of records: short texts that sort in the order they were made."""

import secrets
from datetime import datetime
from typing import NewType

AgentId = NewType("AgentId", str)
TurnId = NewType("TurnId", str)
NoteId = NewType("NoteId", str)
NoticeId = NewType("NoticeId", str)

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
LENGTH = 24


def new_id(at: datetime) -> str:
    """Return 24 characters: 48 bits of milliseconds, then 72 random bits, in Crockford's base 32."""
    number = (int(at.timestamp() * 1000) << 72) | secrets.randbits(72)
    return "".join(ALPHABET[(number >> shift) & 31] for shift in range(5 * (LENGTH - 1), -1, -5))
