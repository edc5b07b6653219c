"""Record ids: makes short texts that sort by creation time, and reads that time."""

import itertools
import secrets
from datetime import UTC, datetime
from random import Random
from typing import NewType

AgentId = NewType("AgentId", str)
TurnId = NewType("TurnId", str)
NoteId = NewType("NoteId", str)
NoticeId = NewType("NoticeId", str)
MemoryId = NewType("MemoryId", str)
ReservationId = NewType("ReservationId", str)

CROCKFORD_BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
PAIRS = tuple(first + second for first in CROCKFORD_BASE32 for second in CROCKFORD_BASE32)
PAIR_SHIFTS = tuple(range(110, -1, -10))  # 24 characters in pairs of ten bits
COUNTER = itertools.count()
RANDOM: Random = secrets.SystemRandom()


def new_id(at: datetime) -> str:
    """24 characters of Crockford's base 32: 48 bits of milliseconds, 24 of a counter, 48 random.

    The counter orders ids that one process creates within a millisecond.
    """
    number = (int(at.timestamp() * 1000) << 72) | ((next(COUNTER) & 0xFFFFFF) << 48) | RANDOM.getrandbits(48)
    return "".join([PAIRS[(number >> shift) & 1023] for shift in PAIR_SHIFTS])


def time_of(record_id: str) -> datetime:
    """When the id was made, to the millisecond; raise ValueError for a text that `new_id` does not make."""
    number = 0
    for character in record_id:
        number = (number << 5) | CROCKFORD_BASE32.index(character)
    return datetime.fromtimestamp((number >> 72) / 1000, UTC)
