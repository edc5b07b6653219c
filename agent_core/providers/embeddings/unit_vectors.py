"""Truncation of texts and normalisation of vectors, shared by all embedders."""

import numpy as np
from numpy.typing import NDArray

from agent_core.model.memory import Vector

Rows = NDArray[np.float64]


def truncate(text: str, max_characters: int) -> str:
    """The first `max_characters` characters, with lone surrogates replaced by "?"."""
    return text[:max_characters].encode(errors="replace").decode()


def unit_vectors(rows: Rows) -> tuple[Vector, ...]:
    """The rows scaled to length 1; raise ValueError for a zero or infinite row."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ValueError
    return tuple(Vector(row.tobytes()) for row in (rows / lengths).astype("<f4"))


def or_first_axis(row: Rows) -> Rows:
    """The row, or the unit vector of the first axis for a row that is zero (a text without tokens) or not finite."""
    if np.isfinite(row).all() and row.any():
        return row
    axis = np.zeros_like(row)
    axis[0] = 1
    return axis
