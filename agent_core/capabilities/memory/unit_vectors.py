"""Truncation of texts and normalisation of vectors, shared by all embedders.

Embedders import numpy at first use: it takes 100 ms and 11 MB, and many processes never embed a text.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from agent_core.model.records.memory import Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Row: TypeAlias = "NDArray[np.float64]"


def truncate(text: str, max_characters: int) -> str:
    """The first `max_characters` characters, with lone surrogates replaced by "?"."""
    return text[:max_characters].encode(errors="replace").decode()


def unit_vectors(rows: Sequence[Row]) -> tuple[Vector, ...]:
    """The rows scaled to length 1; raise ValueError for a zero or infinite row, or rows of different lengths."""
    import numpy as np

    if not rows:
        return ()
    stacked = np.stack(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(stacked, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ValueError
    return tuple(Vector(row.tobytes()) for row in (stacked / lengths).astype("<f4"))


def or_first_axis(row: Row) -> Row:
    """The row, or the unit vector of the first axis for a row that is zero (a text without tokens) or not finite."""
    import numpy as np

    if np.isfinite(row).all() and row.any():
        return row
    axis = np.zeros_like(row)
    axis[0] = 1
    return axis
