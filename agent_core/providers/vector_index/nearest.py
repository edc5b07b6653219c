"""Nearest-neighbour search: exact for few vectors, by sign codes (binary quantisation) for many.

Importing this module imports numpy, which is slow: import it late.
"""

from bisect import insort
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from agent_core.model.ids import MemoryId
from agent_core.model.memory import MemoryVersion, Vector

Floats: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.intp]
Found: TypeAlias = tuple[tuple[MemoryId, float], ...]

FLOAT = np.dtype("<f4")
WORD_BITS = 64
MAX_LATEST_IDS = 256
BLOCK_VECTORS = 4096  # one word of each code and the partial distances fit into a core's L2 cache


def floats(vector: bytes) -> Floats:
    return np.frombuffer(vector, FLOAT)


def nearest(vectors: Floats, query: Floats, most: int) -> tuple[Indices, Floats]:
    """Indices of the `most` rows nearest to `query`, nearest first, with cosines. All vectors have length 1."""
    cosines = np.einsum("ij,j->i", vectors, query)  # not `@`: BLAS threads would contend
    if most < len(cosines):
        best = np.argpartition(-cosines, most)[:most]
        best = best[np.argsort(-cosines[best], kind="stable")]
    else:
        best = np.argsort(-cosines, kind="stable")
    return best, cosines[best]


class LatestIds:
    """Remembers the 256 greatest ids of a store. Ids sort by time, but may arrive slightly out of order."""

    def __init__(self) -> None:
        self._ids: list[MemoryId] = []

    def add(self, ids: Iterable[MemoryId]) -> None:
        for each in ids:
            insort(self._ids, each)
            del self._ids[:-MAX_LATEST_IDS]

    @property
    def greatest(self) -> MemoryId | None:
        return self._ids[-1] if self._ids else None

    @property
    def second_greatest(self) -> MemoryId | None:
        return self._ids[-2] if len(self._ids) > 1 else None

    @property
    def smallest(self) -> MemoryId | None:
        """The smallest remembered id; None if there are so few ids that all are remembered."""
        return self._ids[0] if len(self._ids) == MAX_LATEST_IDS else None

    def unknown(self, rows: Sequence[tuple[MemoryId, Vector]]) -> list[tuple[MemoryId, Vector]]:
        """The rows whose ids are not remembered."""
        known = set(self._ids)
        return [row for row in rows if row[0] not in known]


class InMemoryVectors:
    """All vectors of one memory space, in memory. `version`: the database's counters at the last update."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.version = MemoryVersion()
        self.latest = LatestIds()
        self._ids: list[MemoryId] = []
        self._vectors: Floats = np.empty((0, 0), FLOAT)

    @property
    def count(self) -> int:
        return len(self._ids)

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return self._vectors.nbytes

    def add(self, rows: Sequence[tuple[MemoryId, Vector]]) -> None:
        """Append vectors; skip those whose dimension differs from the first vector's."""
        self.latest.add(memory_id for memory_id, _ in rows)
        if rows and not self._ids:
            self._vectors = np.empty((len(rows), len(rows[0][1]) // FLOAT.itemsize), FLOAT)
        dimension = self._vectors.shape[1]
        fit = [row for row in rows if len(row[1]) == dimension * FLOAT.itemsize]
        self._make_room(len(self._ids) + len(fit))
        for memory_id, vector in fit:
            self._vectors[len(self._ids)] = floats(vector)
            self._ids.append(memory_id)

    def record_version(self, version: MemoryVersion) -> None:
        """Record the database counters that the vectors correspond to."""
        self.version = version

    def nearest(self, vector: Vector, most: int) -> Found | None:
        """Up to `most` ids with cosines, nearest first."""
        if len(vector) != self._vectors.shape[1] * FLOAT.itemsize:
            return ()
        best, cosines = nearest(self._vectors[: len(self._ids)], floats(vector), most)
        return tuple((self._ids[at], float(cosine)) for at, cosine in zip(best, cosines, strict=True))

    def rows(self) -> list[tuple[MemoryId, Vector]]:
        return [(each, Vector(self._vectors[at].tobytes())) for at, each in enumerate(self._ids)]

    def close(self) -> None:
        """Nothing to close: there is no file."""

    def _make_room(self, number: int) -> None:
        room, dimension = self._vectors.shape
        if number > room:
            larger = np.empty((max(number, 2 * room), dimension), FLOAT)
            larger[:room] = self._vectors
            self._vectors = larger


class SignCodes:
    """Binary quantisation: one bit for each coordinate, set if it is above that coordinate's mean in the first `add`.

    Near vectors have a small Hamming distance. The threshold is the mean and not 0, because the vectors of some models
    lie on one side of the origin. A block stores the first 64-bit words of all its codes, then the second words, and so
    on, so that numpy compares a whole block at once.
    """

    def __init__(self) -> None:
        self._threshold: Floats = np.empty(0, FLOAT)
        self._blocks: list[NDArray[np.uint64]] = []
        self._count = 0

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return sum(block.nbytes for block in self._blocks)

    def add(self, vectors: Floats) -> None:
        if not len(vectors):
            return
        if not self._count:
            self._threshold = vectors.mean(axis=0)
        codes = self._encode(vectors)
        while len(codes):
            free = -self._count % BLOCK_VECTORS
            if not free:
                self._blocks.append(np.zeros((codes.shape[1], BLOCK_VECTORS), np.uint64))
                free = BLOCK_VECTORS
            taken = codes[:free]
            self._blocks[-1][:, BLOCK_VECTORS - free : BLOCK_VECTORS - free + len(taken)] = taken.T
            self._count += len(taken)
            codes = codes[free:]

    def truncate(self, count: int) -> None:
        self._count = count
        del self._blocks[-(-count // BLOCK_VECTORS) :]

    def nearest(self, query: Floats, most: int) -> Indices:
        """Indices of the `most` vectors with the smallest Hamming distance, in ascending order."""
        if most >= self._count:
            return np.arange(self._count)
        distances = self._distances(self._encode(query[np.newaxis])[0])
        best: Indices = np.argpartition(distances, most)[:most]
        best.sort()
        return best

    def _distances(self, code: NDArray[np.uint64]) -> NDArray[np.uint16]:
        distances = np.zeros(len(self._blocks) * BLOCK_VECTORS, np.uint16)
        differing, bits = np.empty(BLOCK_VECTORS, np.uint64), np.empty(BLOCK_VECTORS, np.uint8)
        for start, block in enumerate(self._blocks):
            counted = distances[start * BLOCK_VECTORS : (start + 1) * BLOCK_VECTORS]
            for words, word in zip(block, code, strict=True):
                np.bitwise_xor(words, word, out=differing)
                np.bitwise_count(differing, out=bits)
                np.add(counted, bits, out=counted)
        return distances[: self._count]

    def _encode(self, vectors: Floats) -> NDArray[np.uint64]:
        bits = np.packbits(vectors > self._threshold, axis=1)
        codes = np.zeros((len(bits), -(-vectors.shape[1] // WORD_BITS) * (WORD_BITS // 8)), np.uint8)
        codes[:, : bits.shape[1]] = bits
        return codes.view(np.uint64)
