"""Which vectors are nearest to one: exactly among few, by the signs of their coordinates among many.

Importing this imports numpy, which takes time and memory: whoever may do without it imports it late.
"""

from bisect import insort
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from agent_core.model.ids import MemoryId
from agent_core.model.memory import MemoryChanges, Vector

Floats: TypeAlias = NDArray[np.float32]
Places: TypeAlias = NDArray[np.intp]
Found: TypeAlias = tuple[tuple[MemoryId, float], ...]

FLOAT = np.dtype("<f4")
WORD = 64
LATEST = 256
BLOCK = 4096  # a word of each of so many codes, with what is computed from it, stays in a core's own cache


def floats(vector: bytes) -> Floats:
    """The coordinates of a vector."""
    return np.frombuffer(vector, FLOAT)


def nearest(vectors: Floats, asked: Floats, most: int) -> tuple[Places, Floats]:
    """The rows nearest to `asked`, nearest first, with their cosines; all vectors are of length 1."""
    cosines = np.einsum("ij,j->i", vectors, asked)  # `@` has threads of its own, which wait for one another
    if most < len(cosines):
        best = np.argpartition(-cosines, most)[:most]
        best = best[np.argsort(-cosines[best], kind="stable")]
    else:
        best = np.argsort(-cosines, kind="stable")
    return best, cosines[best]


class LatestIds:
    """The greatest ids of many, for what was made earlier may come later, but seldom much later."""

    def __init__(self) -> None:
        self._ids: list[MemoryId] = []

    def add(self, ids: Iterable[MemoryId]) -> None:
        """Take these into account."""
        for each in ids:
            insort(self._ids, each)
            del self._ids[:-LATEST]

    @property
    def last(self) -> MemoryId | None:
        """The greatest."""
        return self._ids[-1] if self._ids else None

    @property
    def before(self) -> MemoryId | None:
        """The one before the greatest."""
        return self._ids[-2] if len(self._ids) > 1 else None

    @property
    def first(self) -> MemoryId | None:
        """One after which all are known here; None where that is all there are."""
        return self._ids[0] if len(self._ids) == LATEST else None

    def lack(self, rows: Sequence[tuple[MemoryId, Vector]]) -> list[tuple[MemoryId, Vector]]:
        """Those that are not among them."""
        known = set(self._ids)
        return [row for row in rows if row[0] not in known]


class InMemoryVectors:
    """Vectors of one space, held as they are. `changes` is what of the database they stand for."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.changes = MemoryChanges()
        self.latest = LatestIds()
        self._ids: list[MemoryId] = []
        self._vectors: Floats = np.empty((0, 0), FLOAT)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._ids)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self._vectors.nbytes

    def add(self, rows: Sequence[tuple[MemoryId, Vector]]) -> None:
        """Hold these too; those of another length than the first are left out."""
        self.latest.add(memory_id for memory_id, _ in rows)
        if rows and not self._ids:
            self._vectors = np.empty((len(rows), len(rows[0][1]) // FLOAT.itemsize), FLOAT)
        dimension = self._vectors.shape[1]
        fit = [row for row in rows if len(row[1]) == dimension * FLOAT.itemsize]
        self._make_room(len(self._ids) + len(fit))
        for memory_id, vector in fit:
            self._vectors[len(self._ids)] = floats(vector)
            self._ids.append(memory_id)

    def seal(self, changes: MemoryChanges) -> None:
        """Say what they stand for now."""
        self.changes = changes

    def nearest(self, vector: Vector, most: int) -> Found | None:
        """Ids and cosines, nearest first."""
        if len(vector) != self._vectors.shape[1] * FLOAT.itemsize:
            return ()
        best, cosines = nearest(self._vectors[: len(self._ids)], floats(vector), most)
        return tuple((self._ids[at], float(cosine)) for at, cosine in zip(best, cosines, strict=True))

    def rows(self) -> list[tuple[MemoryId, Vector]]:
        """What is held."""
        return [(each, Vector(self._vectors[at].tobytes())) for at, each in enumerate(self._ids)]

    def close(self) -> None:
        """Do nothing: there is no file."""

    def _make_room(self, number: int) -> None:
        room, dimension = self._vectors.shape
        if number > room:
            larger = np.empty((max(number, 2 * room), dimension), FLOAT)
            larger[:room] = self._vectors
            self._vectors = larger


class SignCodes:
    """One bit for each coordinate of many vectors: on which side of the middle it is.

    Vectors near to one another differ in few bits. The middle is that of the vectors added first, for the vectors of
    some models lie all on one side of the origin. A block holds the first words of all its codes, then the second
    words, and so on: so many at once are compared in one go.
    """

    def __init__(self) -> None:
        self._middle: Floats = np.empty(0, FLOAT)
        self._blocks: list[NDArray[np.uint64]] = []
        self._count = 0

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(block.nbytes for block in self._blocks)

    def add(self, vectors: Floats) -> None:
        """Hold the codes of these too."""
        if not len(vectors):
            return
        if not self._count:
            self._middle = vectors.mean(axis=0)
        codes = self._coded(vectors)
        while len(codes):
            free = -self._count % BLOCK
            if not free:
                self._blocks.append(np.zeros((codes.shape[1], BLOCK), np.uint64))
                free = BLOCK
            taken = codes[:free]
            self._blocks[-1][:, BLOCK - free : BLOCK - free + len(taken)] = taken.T
            self._count += len(taken)
            codes = codes[free:]

    def keep(self, count: int) -> None:
        """Let go of all but the first so many."""
        self._count = count
        del self._blocks[-(-count // BLOCK) :]

    def nearest(self, asked: Floats, most: int) -> Places:
        """The vectors with the most like codes, in the order they were added."""
        if most >= self._count:
            return np.arange(self._count)
        unlike = self._unlike(self._coded(asked[np.newaxis])[0])
        best: Places = np.argpartition(unlike, most)[:most]
        best.sort()
        return best

    def _unlike(self, code: NDArray[np.uint64]) -> NDArray[np.uint16]:
        unlike = np.zeros(len(self._blocks) * BLOCK, np.uint16)
        differing, bits = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint8)
        for start, block in enumerate(self._blocks):
            counted = unlike[start * BLOCK : (start + 1) * BLOCK]
            for words, word in zip(block, code, strict=True):
                np.bitwise_xor(words, word, out=differing)
                np.bitwise_count(differing, out=bits)
                np.add(counted, bits, out=counted)
        return unlike[: self._count]

    def _coded(self, vectors: Floats) -> NDArray[np.uint64]:
        bits = np.packbits(vectors > self._middle, axis=1)
        codes = np.zeros((len(bits), -(-vectors.shape[1] // WORD) * (WORD // 8)), np.uint8)
        codes[:, : bits.shape[1]] = bits
        return codes.view(np.uint64)
