"""A memory-mapped, append-only file with the vectors of one memory space; only their sign codes are kept in memory.

The file is a cache of the database and is not trusted: each record has a checksum, and after a restart only records up
to the last commit record (one with the database's counters) are used. The header has a hash of space and index key, and
the dimension. The process that uses a file holds a lock on it; another process then uses a temporary file.
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
from agent_core.model.memory import MemoryVersion, Vector
from agent_core.providers.vector_index.nearest import FLOAT, Floats, Found, LatestIds, SignCodes, floats, nearest

HEADER = struct.Struct("<8sQ32s16x")  # magic bytes, dimension, digest of space and index key
MAGIC = b"signoff1"
TAIL = struct.Struct("<40s?3xQQ")  # after each vector: id, is it a commit record, counters of added and removed vectors
CHECK = struct.Struct("<I")  # CRC-32 of vector and tail
ID_LENGTH = 40
MAX_DIMENSION = 1 << 16
MAX_IO_BYTES = 1 << 20  # per read or write; the memory of larger buffers is seldom returned to the system
# Candidates by sign code that are compared exactly, the largest of three:
MIN_RERANKED_BYTES = 4 << 20  # bytes of vectors,
RERANKED_SHARE = 8  # this share of all divided by the dimension (short codes are less precise),
MIN_RERANKED_PER_RESULT = 20  # vectors for each result
FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class VectorFile:
    """The vectors of one memory space and index key. Not thread-safe."""

    def __init__(self, path: Path, digest: bytes) -> None:
        self.version = MemoryVersion()
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
        """Bytes of memory that the sign codes take."""
        return self._codes.size

    def add(self, rows: Sequence[tuple[MemoryId, Vector]]) -> None:
        """Append vectors; skip those whose dimension differs from the first vector's."""
        if not rows:
            return
        if not self._count:
            self._dimension = len(rows[0][1]) // FLOAT.itemsize
            self._write(HEADER.pack(MAGIC, self._dimension, self._digest), 0)
        fit = [row for row in rows if len(row[1]) == self._dimension * FLOAT.itemsize]
        for start in range(0, len(fit), self._io_records):
            records = [_record(memory_id, vector) for memory_id, vector in fit[start : start + self._io_records]]
            self._write(b"".join(records), self._end)
            self._hold(records)
            self._count += len(records)
        self.latest.add(memory_id for memory_id, _ in rows)

    def record_version(self, version: MemoryVersion) -> None:
        """Write the database's counters into the last record, which makes it a commit record."""
        self.version = version
        if self._count:
            (record,) = self._read(self._count - 1, self._count)
            self._write(_record(_id_of(record), _vector_of(record), version), self._end - self._length)

    def nearest(self, vector: Vector, most: int) -> Found | None:
        """Up to `most` ids with cosines, nearest first; None if another process changed or truncated the file."""
        if not self._count or len(vector) != self._dimension * FLOAT.itemsize:
            return ()
        query = floats(vector)
        candidate_count = max(
            MIN_RERANKED_BYTES // self._length,
            RERANKED_SHARE * self._count // self._dimension,
            MIN_RERANKED_PER_RESULT * most,
        )
        candidates = self._codes.nearest(query, candidate_count)
        # Reading a mapped page beyond the end of the file raises SIGBUS, which kills the process.
        if self._file_bytes < self._end:
            return None
        records = self._mapped().take(candidates, axis=0)
        best, cosines = nearest(records[:, : self._dimension], query, most)
        found = [records[at].tobytes() for at in best]
        if not all(_is_valid(record) for record in found):
            return None
        return tuple(zip(map(_id_of, found), cosines.tolist(), strict=True))

    def clear(self) -> None:
        self.version, self.latest = MemoryVersion(), LatestIds()
        self._dimension = self._count = 0
        self._codes = SignCodes()
        self._map = None
        self._file.truncate(0)

    def close(self) -> None:
        """Close the file; it stays on disk."""
        self._map = None
        self._file.close()

    @property
    def _length(self) -> int:
        return self._dimension * FLOAT.itemsize + TAIL.size + CHECK.size

    @property
    def _io_records(self) -> int:
        return max(1, MAX_IO_BYTES // self._length)

    @property
    def _end(self) -> int:
        return HEADER.size + self._count * self._length

    @property
    def _file_bytes(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _load(self) -> None:
        header = os.pread(self._file.fileno(), HEADER.size, 0)
        if len(header) == HEADER.size:
            mark, dimension, digest = HEADER.unpack(header)
            if (mark, digest) == (MAGIC, self._digest) and 0 < dimension <= MAX_DIMENSION:
                self._dimension = dimension
                self._take()
        if not self._count:
            self.clear()
        elif self._file_bytes > self._end:
            self._file.truncate(self._end)

    def _take(self) -> None:
        """Load the records up to the last commit record before the first record with a wrong checksum."""
        whole, taken, committed = (self._file_bytes - HEADER.size) // self._length, 0, 0
        ids: list[MemoryId] = []
        while records := self._read(taken, min(taken + self._io_records, whole)):
            self._hold(records)
            for number, record in enumerate(records, taken + 1):
                ids.append(_id_of(record))
                _, is_commit, added, removed = TAIL.unpack_from(record, len(record) - TAIL.size - CHECK.size)
                if is_commit:
                    committed, self.version = number, MemoryVersion(added, removed)
            taken += len(records)
        self.latest.add(ids[:committed])
        self._codes.truncate(committed)
        self._count = committed

    def _hold(self, records: Sequence[bytes]) -> None:
        vectors = floats(b"".join(map(_vector_of, records)))
        self._codes.add(vectors.reshape(len(records), self._dimension))

    def _read(self, first: int, end: int) -> list[bytes]:
        """The records from number `first` up to, not including, `end` or the first damaged one."""
        read = os.pread(self._file.fileno(), (end - first) * self._length, HEADER.size + first * self._length)
        records = (read[start : start + self._length] for start in range(0, len(read), self._length))
        return list(takewhile(_is_valid, records))

    def _write(self, data: bytes, at: int) -> None:
        self._file.seek(at)
        self._file.write(data)
        self._file.flush()

    def _mapped(self) -> Floats:
        if self._map is None:
            # Write access, so that it can be resized.
            self._map = mmap.mmap(self._file.fileno(), self._end, access=mmap.ACCESS_WRITE)
            self._map.madvise(mmap.MADV_RANDOM)
        elif len(self._map) != self._end:
            self._map.resize(self._end)  # keeps the present pages
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


def _record(memory_id: MemoryId, vector: Vector, version: MemoryVersion | None = None) -> bytes:
    name = memory_id.encode()
    if len(name) > ID_LENGTH:
        raise ValueError(f"The id {memory_id!r} is too long.")
    counts = version or MemoryVersion()
    body = vector + TAIL.pack(name, version is not None, counts.added, counts.removed)
    return body + CHECK.pack(zlib.crc32(body))


def _is_valid(record: bytes) -> bool:
    body, check = record[: -CHECK.size], record[-CHECK.size :]
    return len(check) == CHECK.size and CHECK.pack(zlib.crc32(body)) == check


def _id_of(record: bytes) -> MemoryId:
    name: bytes = TAIL.unpack_from(record, len(record) - CHECK.size - TAIL.size)[0]
    return MemoryId(name.rstrip(b"\0").decode())


def _vector_of(record: bytes) -> Vector:
    return Vector(record[: -TAIL.size - CHECK.size])
