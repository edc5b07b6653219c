"""Memories in a Pinecone index: a namespace for each agent, found by cosine. The SDK is imported when first needed."""

import asyncio
import hashlib
import json
import struct
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import quote, unquote

from agent_core.errors import MemoryAway
from agent_core.model.ids import MemoryId
from agent_core.model.memory import Memory, MemorySpace, Vector
from agent_core.ports.world import Clock
from agent_core.providers.clock import SystemClock
from agent_core.providers.llm.openai_errors import tidied
from agent_core.providers.outbound_proxy import proxy_for

if TYPE_CHECKING:
    from pinecone import AsyncPinecone
    from pinecone.async_client.async_index import AsyncIndex
    from pinecone.models.indexes.index import IndexModel

# docs.pinecone.io/reference/api/database-limits: an upsert takes 1,000 records and 2 MB (100 are recommended), a
# delete 1,000 ids, a query 10,000 results, a record 40 KB of metadata; names are ASCII.
MOST_VECTORS, MOST_BYTES, MOST_IDS, MOST_FOUND = 100, 1_900_000, 1000, 10_000
MOST_TEXT, MOST_SOURCE = 30_000, 4_000
A_FLOAT = 24  # bytes of JSON at most, with its comma
LONGEST_NAME = 200
CONTROLLER_URL = "https://api.pinecone.io"
REQUEST, ALTOGETHER = 10.0, 30.0
PAUSE, PAUSES = 1.0, 20
NEVER = ("InitializationFailed", "Terminating", "Disabled")
DEPLOYMENT = {"deployment_type": "managed", "cloud": "aws", "region": "us-east-1"}


class PineconeRow(TypedDict):
    """A vector as the SDK takes it."""

    id: str
    values: tuple[float, ...]
    metadata: dict[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PineconeSettings:
    """How people know what they set: the key, the index's host and its name."""

    key: str = "the key"
    host: str = "the host"
    index: str = "the index"


@dataclass(slots=True, kw_only=True)
class PineconeIndex:
    """See `MemoryIndex` in the ports. The index `index` is made with the dimension of the first vectors if need be.

    With a `host` that index is used and nothing else is asked; `controller_host` is where indexes are looked up and
    made, Pinecone's own if it is empty. A request is tried again by the SDK, three times, as Retry-After says.
    """

    api_key: str = field(repr=False)
    index: str
    host: str = ""
    controller_host: str = ""
    settings: PineconeSettings = field(default_factory=PineconeSettings, repr=False)
    clock: Clock = field(default_factory=SystemClock, repr=False)
    _client: "AsyncPinecone | None" = field(default=None, init=False, repr=False)
    _index: "AsyncIndex | None" = field(default=None, init=False, repr=False)
    _dimension: int | None = field(default=None, init=False, repr=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    @property
    def name(self) -> str:
        """The index: vectors in another one have to be added anew."""
        return f"Pinecone {self.host or self.index}"

    async def add(self, space: MemorySpace, place: str, memories: Sequence[tuple[Memory, Vector]]) -> None:
        """Upsert in batches. A vector of zeros, which Pinecone refuses and nothing is near to, is left out."""
        rows = [row for memory, vector in memories if any((row := _row(memory, place, vector))["values"])]
        if not rows:
            return
        async with self._translate_errors():
            index = await self._open(len(rows[0]["values"]), make=True)
            for batch in batches(rows):
                if index:
                    await index.upsert(vectors=batch, namespace=namespace(space))

    async def nearest(
        self, space: MemorySpace, place: str, vector: Vector, most: int
    ) -> tuple[tuple[MemoryId, float], ...]:
        """Ask the space's namespace for what is in the place."""
        asked = _coordinates(vector)
        if most < 1 or not any(asked):
            return ()
        async with self._translate_errors():
            index = await self._open(len(asked))
            if not index:
                return ()
            found = await index.query(
                vector=asked, top_k=min(most, MOST_FOUND), namespace=namespace(space), filter={"place": {"$eq": place}}
            )
            return tuple((MemoryId(unquote(match.id)), match.score) for match in found.matches)

    async def forget(self, space: MemorySpace, ids: Sequence[MemoryId]) -> None:
        """Delete these, whichever place they are in."""
        async with self._translate_errors():
            if ids and (index := await self._open()):
                for first in range(0, len(ids), MOST_IDS):
                    await _delete(index, namespace(space), [_ascii(each) for each in ids[first : first + MOST_IDS]])

    async def drop(self, space: MemorySpace) -> None:
        """Delete the namespace."""
        async with self._translate_errors():
            if index := await self._open():
                await _delete(index, namespace(space), None)

    async def close(self) -> None:
        """Let go of the connections; a later call opens new ones."""
        index, client = self._index, self._client
        self._index = self._client = self._dimension = None
        for each in (index, client):
            if each:
                await each.close()

    async def _open(self, dimension: int = 0, *, make: bool = False) -> "AsyncIndex | None":
        """The index, made if asked to; None when there is none. Raise MemoryAway for one of another dimension."""
        async with self._lock:
            if not self._index:
                client = await self._connect()
                host = self.host or await self._look_up(client, dimension if make else 0)
                if not host:
                    return None
                index = await client.index(host=host)
                self._dimension = (await index.describe_index_stats()).dimension
                self._index = index
        if dimension and self._dimension not in (None, dimension):
            raise MemoryAway(
                f"{self.name} holds vectors of {self._dimension} numbers and the embedder makes {dimension}. "
                f"Set {self.settings.index} to another name."
            )
        return self._index

    async def _connect(self) -> "AsyncPinecone":
        if not self._client:
            self._client = await asyncio.to_thread(_new_client, self.api_key, self.controller_host)
        return self._client

    async def _look_up(self, client: "AsyncPinecone", dimension: int) -> str:
        """The host of the index once it is ready, made with that dimension if it is not 0; empty for none."""
        found = await _describe(client, self.index)
        if not found and dimension:
            await _make(client, self.index, dimension)
            found = await _describe(client, self.index)
        for _ in range(PAUSES):
            if not found or found.status.ready:
                return (found.host or "") if found else ""
            if found.status.state in NEVER:
                raise MemoryAway(f"{self.name} cannot be used: its state is {found.status.state}.")
            await self.clock.sleep(PAUSE)
            found = await _describe(client, self.index)
        raise MemoryAway(f"{self.name} is still being made.")

    @asynccontextmanager
    async def _translate_errors(self) -> AsyncIterator[None]:
        """Turn whatever the SDK raises, and a long silence, into MemoryAway without the key."""
        try:
            async with asyncio.timeout(ALTOGETHER):
                yield
        except _expected() as error:
            raise MemoryAway(f"{self.name} {_told(error, self.api_key, self.settings)}") from None


def namespace(space: MemorySpace) -> str:
    """The space's name at Pinecone: its key in ASCII, the end of a very long one as a digest."""
    name = _ascii(space.key)
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 65]}~{hashlib.sha256(name.encode()).hexdigest()}"


def batches(rows: Sequence[PineconeRow]) -> Iterator[list[PineconeRow]]:
    """The rows in the portions that one request takes."""
    batch: list[PineconeRow] = []
    size = 0
    for row in rows:
        bytes_of_row = A_FLOAT * len(row["values"]) + len(
            json.dumps({**row, "values": []}, ensure_ascii=False).encode()
        )
        if batch and (len(batch) == MOST_VECTORS or size + bytes_of_row > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += bytes_of_row
    if batch:
        yield batch


def _row(memory: Memory, place: str, vector: Vector) -> PineconeRow:
    metadata: Mapping[str, str | int] = {
        "place": place,
        "source": _bounded(memory.source, MOST_SOURCE),
        "turn": memory.turn,
        "at": memory.at.isoformat(),
        "text": _bounded(memory.text, MOST_TEXT),
    }
    return PineconeRow(id=_ascii(memory.id), values=_coordinates(vector), metadata=dict(metadata))


def _bounded(text: str, most: int) -> str:
    """The beginning of a text that takes no more than so many bytes as JSON."""
    kept = text.encode(errors="replace")[:most].decode(errors="ignore")
    if len(json.dumps(kept, ensure_ascii=False).encode()) > most + 2:
        kept = text.encode(errors="replace")[: most // 6].decode(errors="ignore")  # six bytes spell a control character
    return kept


def _coordinates(vector: Vector) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def _ascii(name: str) -> str:
    return quote(name, safe="/", errors="replace")


async def _delete(index: "AsyncIndex", name: str, ids: Sequence[str] | None) -> None:
    """Delete these of a namespace, or all of it; one that is not there is no error."""
    from pinecone import NotFoundError

    with suppress(NotFoundError):
        await index.delete(ids=ids, delete_all=ids is None, namespace=name)


async def _describe(client: "AsyncPinecone", name: str) -> "IndexModel | None":
    from pinecone import NotFoundError

    try:
        return await client.indexes.describe(name)
    except NotFoundError:
        return None


async def _make(client: "AsyncPinecone", name: str, dimension: int) -> None:
    """Make the index; that another process was faster is as good."""
    from pinecone import ConflictError

    with suppress(ConflictError):
        await client.indexes.create(name=name, dimension=dimension, metric="cosine", deployment=DEPLOYMENT, timeout=-1)


def _new_client(api_key: str, controller_host: str) -> "AsyncPinecone":
    """Import the SDK, which takes a moment: in a thread."""
    from pinecone import AsyncPinecone

    proxy = proxy_for(controller_host or CONTROLLER_URL)
    return AsyncPinecone(api_key=api_key, host=controller_host or None, timeout=REQUEST, proxy_url=proxy)


def _expected() -> tuple[type[Exception], ...]:
    """What a call through the SDK may raise. Asked for when there is an error."""
    from pinecone import PineconeError

    return PineconeError, TimeoutError, ValueError, OSError


def _told(error: Exception, secret: str, settings: PineconeSettings) -> str:
    """What went wrong, to complete a sentence that begins with the index."""
    from pinecone import (
        ApiError,
        ForbiddenError,
        NotFoundError,
        PineconeConnectionError,
        RateLimitError,
        UnauthorizedError,
    )

    match error:
        case TimeoutError():
            return "did not answer in time."
        case UnauthorizedError() | ForbiddenError():
            return f"does not take the key. Check {settings.key}."
        case NotFoundError():
            return f"is not there. Check {settings.host} and {settings.index}."
        case RateLimitError():
            return "has too much to do and asks to be tried later."
        case PineconeConnectionError() | OSError():
            return f"cannot be reached ({type(error.__cause__ or error).__name__})."
        case ApiError():
            return f"refused with {error.status_code}: {tidied(error.message, secret)}"
        case _:
            return f"cannot be used: {tidied(str(error), secret)}"
