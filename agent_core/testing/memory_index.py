"""A brute-force vector index in memory, and vectors for tests."""

import math
import struct
from collections.abc import Sequence
from hashlib import shake_256

from agent_core.errors import MemoryAway
from agent_core.model.ids import MemoryId
from agent_core.model.records.memory import Memory, MemorySpace, Vector


def a_vector(*coordinates: float) -> Vector:
    length = math.hypot(*coordinates)
    return Vector(struct.pack(f"<{len(coordinates)}f", *(each / length for each in coordinates)))


def some_vector(seed: object, dimension: int = 8) -> Vector:
    """A pseudorandom unit vector; equal seeds give equal vectors."""
    chance = shake_256(repr(seed).encode(errors="surrogatepass")).digest(2 * dimension)
    return a_vector(*struct.unpack(f"<{dimension}h", chance))


def likeness(one: Vector, other: Vector) -> float:
    return math.fsum(a * b for a, b in zip(_coordinates(one), _coordinates(other), strict=True))


class InMemoryIndex:
    """See `MemoryIndex` in the ports. Indexes made with the same `spaces` share it, like clients of one service.

    While `is_away` is True every call raises MemoryAway.
    """

    name = "in memory"

    def __init__(self, spaces: dict[tuple[MemorySpace, str], dict[MemoryId, Vector]] | None = None) -> None:
        self.is_away = False
        self._spaces = {} if spaces is None else spaces

    async def add(self, space: MemorySpace, index_key: str, memories: Sequence[tuple[Memory, Vector]]) -> None:
        self._require_reachable()
        self._spaces.setdefault((space, index_key), {}).update({memory.id: vector for memory, vector in memories})

    async def nearest(
        self, space: MemorySpace, index_key: str, vector: Vector, most: int
    ) -> tuple[tuple[MemoryId, float], ...]:
        self._require_reachable()
        held = self._spaces.get((space, index_key), {})
        found = sorted(((likeness(each, vector), key) for key, each in held.items()), reverse=True)
        return tuple((key, cosine) for cosine, key in found[:most])

    async def forget(self, space: MemorySpace, ids: Sequence[MemoryId]) -> None:
        self._require_reachable()
        for (each, _), held in self._spaces.items():
            for memory_id in ids if each == space else ():
                held.pop(memory_id, None)

    async def drop(self, space: MemorySpace) -> None:
        self._require_reachable()
        for key in [key for key in self._spaces if key[0] == space]:
            del self._spaces[key]

    def _require_reachable(self) -> None:
        if self.is_away:
            raise MemoryAway("The index in memory is away.")


def _coordinates(vector: Vector) -> Sequence[float]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)
