"""Vectors of one space in a file that only grows, mapped into memory; in memory itself are only their codes.

The file is derived from the database and never trusted: each record carries a checksum, and only records up to one
that says what of the database they stand for are taken from a file found at the start. A header tells which space,
which place and how many coordinates. Whoever uses a file has it locked; another process then uses one of its own.
"""

import fcntl
import mmap
import os
import struct
import zlib
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from weakref import finalize

import numpy as np

from agent_core.model.ids import MemoryId
from agent_core.model.memory import MemoryChanges, Vector
from agent_core.providers.vector_index.nearest import FLOAT, Floats, Found, LatestIds, SignCodes, floats, nearest

HEADER = struct.Struct("<8sQ32s16x")  # a mark, the number of coordinates, the digest of space and place
MARK = b"signoff1"
TAIL = struct.Struct("<40s?3xQQ")  # after each vector: its id, whether this record seals, what was added and removed
CHECK = struct.Struct("<I")  # and a checksum of all that
ID_LENGTH = 40
MOST_COORDINATES = 1 << 16
AT_ONCE = 1 << 20  # bytes that are read or written in one go: what is freed is seldom given back to the system
WEIGHED = 4 << 20  # bytes of vectors that are weighed exactly for one question,
SHARE = 8  # at least this share of all, divided by the number of coordinates, for the fewer the less a code tells,
FOR_EACH = 20  # and at least so many for each answer
FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class VectorFile:
    """The vectors of one space and place. Not to be used by two threads at once."""

    def __init__(self, path: Path, digest: bytes) -> None:
        self.changes = MemoryChanges()
        self.latest = LatestIds()
        self._digest = digest
        self._dimension = 0
        self._count = 0
        self._codes = SignCodes()
        self._map: mmap.mmap | None = None
        self._file = _locked(path)
        finalize(self, self._file.close)
        self._load()

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self._codes.size

    def add(self, rows: Sequence[tuple[MemoryId, Vector]]) -> None:
        """Append these; those of another length than the first are left out."""
        if not rows:
            return
        if not self._count:
            self._dimension = len(rows[0][1]) // FLOAT.itemsize
            self._write(HEADER.pack(MARK, self._dimension, self._digest), 0)
        fit = [row for row in rows if len(row[1]) == self._dimension * FLOAT.itemsize]
        for start in range(0, len(fit), self._at_once):
            records = [_record(memory_id, vector) for memory_id, vector in fit[start : start + self._at_once]]
            self._write(b"".join(records), self._end)
            self._hold(records)
            self._count += len(records)
        self.latest.add(memory_id for memory_id, _ in rows)

    def seal(self, changes: MemoryChanges) -> None:
        """Say what they stand for now: it is written into the last record."""
        self.changes = changes
        if self._count:
            (record,) = self._read(self._count - 1, self._count)
            self._write(_record(_id_of(record), _vector_of(record), changes), self._end - self._length)

    def nearest(self, vector: Vector, most: int) -> Found | None:
        """Ids and cosines, nearest first; None when somebody else has changed or cut the file."""
        if not self._count or len(vector) != self._dimension * FLOAT.itemsize:
            return ()
        asked = floats(vector)
        weighed = max(WEIGHED // self._length, SHARE * self._count // self._dimension, FOR_EACH * most)
        likely = self._codes.nearest(asked, weighed)
        # A page of a map that lies beyond the end of its file ends the process that reads it.
        if self._on_disk < self._end:
            return None
        records = self._mapped().take(likely, axis=0)
        best, cosines = nearest(records[:, : self._dimension], asked, most)
        found = [records[at].tobytes() for at in best]
        if not all(_is_whole(record) for record in found):
            return None
        return tuple(zip(map(_id_of, found), cosines.tolist(), strict=True))

    def clear(self) -> None:
        """Begin anew."""
        self.changes, self.latest = MemoryChanges(), LatestIds()
        self._dimension = self._count = 0
        self._codes = SignCodes()
        self._map = None
        self._file.truncate(0)

    def close(self) -> None:
        """Let go of the file, which stays."""
        self._map = None
        self._file.close()

    @property
    def _length(self) -> int:
        return self._dimension * FLOAT.itemsize + TAIL.size + CHECK.size

    @property
    def _at_once(self) -> int:
        return max(1, AT_ONCE // self._length)

    @property
    def _end(self) -> int:
        return HEADER.size + self._count * self._length

    @property
    def _on_disk(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _load(self) -> None:
        header = os.pread(self._file.fileno(), HEADER.size, 0)
        if len(header) == HEADER.size:
            mark, dimension, digest = HEADER.unpack(header)
            if (mark, digest) == (MARK, self._digest) and 0 < dimension <= MOST_COORDINATES:
                self._dimension = dimension
                self._take()
        if not self._count:
            self.clear()
        elif self._on_disk > self._end:
            self._file.truncate(self._end)

    def _take(self) -> None:
        """Take all up to the last record that seals, as far as the checksums are right."""
        whole, taken, sealed = (self._on_disk - HEADER.size) // self._length, 0, 0
        ids: list[MemoryId] = []
        while records := self._read(taken, min(taken + self._at_once, whole)):
            self._hold(records)
            for number, record in enumerate(records, taken + 1):
                ids.append(_id_of(record))
                _, seals, added, removed = TAIL.unpack_from(record, len(record) - TAIL.size - CHECK.size)
                if seals:
                    sealed, self.changes = number, MemoryChanges(added, removed)
            taken += len(records)
        self.latest.add(ids[:sealed])
        self._codes.keep(sealed)
        self._count = sealed

    def _hold(self, records: Sequence[bytes]) -> None:
        vectors = floats(b"".join(map(_vector_of, records)))
        self._codes.add(vectors.reshape(len(records), self._dimension))

    def _read(self, first: int, end: int) -> list[bytes]:
        """These records, up to one that is damaged."""
        read = os.pread(self._file.fileno(), (end - first) * self._length, HEADER.size + first * self._length)
        records = (read[start : start + self._length] for start in range(0, len(read), self._length))
        return list(takewhile(_is_whole, records))

    def _write(self, data: bytes, at: int) -> None:
        self._file.seek(at)
        self._file.write(data)
        self._file.flush()

    def _mapped(self) -> Floats:
        if self._map is None:
            self._map = mmap.mmap(self._file.fileno(), self._end, access=mmap.ACCESS_WRITE)  # or it could not grow
            self._map.madvise(mmap.MADV_RANDOM)
        elif len(self._map) != self._end:
            self._map.resize(self._end)  # what is mapped already stays so
        return np.frombuffer(self._map, FLOAT, offset=HEADER.size).reshape(self._count, -1)


def _locked(path: Path) -> IO[bytes]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.fdopen(os.open(path, FLAGS, 0o600), "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return TemporaryFile(dir=path.parent)
    return file


def _record(memory_id: MemoryId, vector: Vector, changes: MemoryChanges | None = None) -> bytes:
    name = memory_id.encode()
    if len(name) > ID_LENGTH:
        raise ValueError(f"The id {memory_id!r} is too long.")
    counts = changes or MemoryChanges()
    body = vector + TAIL.pack(name, changes is not None, counts.added, counts.removed)
    return body + CHECK.pack(zlib.crc32(body))


def _is_whole(record: bytes) -> bool:
    body, check = record[: -CHECK.size], record[-CHECK.size :]
    return len(check) == CHECK.size and CHECK.pack(zlib.crc32(body)) == check


def _id_of(record: bytes) -> MemoryId:
    name: bytes = TAIL.unpack_from(record, len(record) - CHECK.size - TAIL.size)[0]
    return MemoryId(name.rstrip(b"\0").decode())


def _vector_of(record: bytes) -> Vector:
    return Vector(record[: -TAIL.size - CHECK.size])
