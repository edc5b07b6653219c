"""Truncation of texts and normalisation of vectors, shared by all embedders."""

import math
import struct
from collections.abc import Sequence
from typing import TypeAlias

from agent_core.model.records.memory import Vector

Row: TypeAlias = Sequence[float]


def truncate(text: str, max_characters: int) -> str:
    """The first `max_characters` characters, with lone surrogates replaced by "?"."""
    return text[:max_characters].encode(errors="replace").decode()


def unit_vectors(rows: Sequence[Row]) -> tuple[Vector, ...]:
    """The rows scaled to length 1; raise ValueError for a zero or infinite row, or rows of different lengths."""
    if len({len(row) for row in rows}) > 1:
        raise ValueError
    return tuple(map(_unit_vector, rows))


def or_first_axis(row: Row) -> Row:
    """The row, or the unit vector of the first axis for a row that is zero (a text without tokens) or not finite."""
    return row if 0 < math.hypot(*row) < math.inf else [1.0, *(0.0,) * (len(row) - 1)]


def _unit_vector(row: Row) -> Vector:
    length = math.hypot(*row)
    if not 0 < length < math.inf:
        raise ValueError
    return Vector(struct.pack(f"<{len(row)}f", *(each / length for each in row)))
