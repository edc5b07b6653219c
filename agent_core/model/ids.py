"""Names of records: short texts that sort in the order they were made."""

import itertools
import secrets
from datetime import datetime
from typing import NewType

AgentId = NewType("AgentId", str)
TurnId = NewType("TurnId", str)
NoteId = NewType("NoteId", str)
NoticeId = NewType("NoticeId", str)
MemoryId = NewType("MemoryId", str)

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
LENGTH = 24
COUNT = itertools.count()


def new_id(at: datetime) -> str:
    """Return 24 characters in Crockford's base 32: 48 bits of milliseconds, 24 of a count, 48 of chance.

    The count keeps what one process makes within one millisecond in order.
    """
    number = (int(at.timestamp() * 1000) << 72) | ((next(COUNT) & 0xFFFFFF) << 48) | secrets.randbits(48)
    return "".join(ALPHABET[(number >> shift) & 31] for shift in range(5 * (LENGTH - 1), -1, -5))
