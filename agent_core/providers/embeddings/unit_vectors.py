"""What every embedder does with texts before it reads them and with vectors before it hands them on."""

import numpy as np
from numpy.typing import NDArray

from agent_core.model.memory import Vector

Rows = NDArray[np.float64]


def readable(text: str, most: int) -> str:
    """The beginning of a text, without the half characters that no encoding can carry."""
    return text[:most].encode(errors="replace").decode()


def unit_vectors(rows: Rows) -> tuple[Vector, ...]:
    """The rows at length 1; raise ValueError when one of them points nowhere."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ValueError
    return tuple(Vector(row.tobytes()) for row in (rows / lengths).astype("<f4"))


def somewhere(row: Rows) -> Rows:
    """The row, or the first axis for one that points nowhere: what a text without any token is given."""
    if np.isfinite(row).all() and row.any():
        return row
    axis = np.zeros_like(row)
    axis[0] = 1
    return axis
