"""Vector index on Pinecone: finds or makes it, a namespace for each agent, upserts in batches, errors as sentences."""

import asyncio
import hashlib
import json
import struct
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import quote, unquote

from agent_core.capabilities.models.endpoint_errors import redact_and_shorten
from agent_core.errors import MemoryAway
from agent_core.model.ids import MemoryId
from agent_core.model.records.memory import Memory, MemorySpace, Vector
from agent_core.ports.clock import Clock
from agent_core.providers.clock import SystemClock
from agent_core.providers.outbound_proxy import proxy_for

if TYPE_CHECKING:
    from pinecone import AsyncPinecone
    from pinecone.async_client.async_index import AsyncIndex
    from pinecone.models.indexes.index import IndexModel

# docs.pinecone.io/reference/api/database-limits: an upsert takes 1,000 records and 2 MB (100 are recommended), a
# delete 1,000 ids, a query 10,000 results, a record 40 KB of metadata; names are ASCII.
MAX_UPSERT_VECTORS, MAX_UPSERT_BYTES, MAX_DELETE_IDS, MAX_QUERY_RESULTS = 100, 1_900_000, 1000, 10_000
MAX_TEXT_BYTES, MAX_SOURCE_BYTES = 30_000, 4_000
MAX_FLOAT_BYTES = 24  # a float as JSON, with its comma
MAX_NAMESPACE_CHARACTERS = 200
CONTROLLER_URL = "https://api.pinecone.io"
REQUEST_TIMEOUT_SECONDS, TOTAL_TIMEOUT_SECONDS = 10.0, 30.0
POLL_SECONDS, MAX_POLLS = 1.0, 20
FAILED_STATES = ("InitializationFailed", "Terminating", "Disabled")
DEPLOYMENT = {"deployment_type": "managed", "cloud": "aws", "region": "us-east-1"}


class PineconeRow(TypedDict):
    """A vector in the SDK's format."""

    id: str
    values: tuple[float, ...]
    metadata: dict[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PineconeSettings:
    """Names of Pinecone's settings, for error messages."""

    key: str = "the key"
    host: str = "the host"
    index: str = "the index"


@dataclass(slots=True, kw_only=True)
class PineconeIndex:
    """Implements `MemoryIndex`. If the index does not exist, it is created with the dimension of the first vectors.

    `host`: if set, the index at this host is used without asking the control plane.
    `controller_host`: the control plane, which finds and creates indexes; if empty, Pinecone's own.
    The SDK retries a request three times and obeys Retry-After.
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
        """The index's part of the index key. With another index, all vectors are added again."""
        return f"Pinecone {self.host or self.index}"

    async def add(self, space: MemorySpace, index_key: str, memories: Sequence[tuple[Memory, Vector]]) -> None:
        """Upsert in batches. Zero vectors are skipped, because Pinecone rejects them."""
        rows = [row for memory, vector in memories if any((row := _row(memory, index_key, vector))["values"])]
        if not rows:
            return
        async with self._translate_errors():
            index = await self._open(len(rows[0]["values"]), make=True)
            for batch in batches(rows):
                if index:
                    await index.upsert(vectors=batch, namespace=namespace(space))

    async def nearest(
        self, space: MemorySpace, index_key: str, vector: Vector, most: int
    ) -> tuple[tuple[MemoryId, float], ...]:
        """Query the space's namespace, filtered by index key."""
        query = _coordinates(vector)
        if most < 1 or not any(query):
            return ()
        async with self._translate_errors():
            index = await self._open(len(query))
            if not index:
                return ()
            in_key, top_k = {"place": {"$eq": index_key}}, min(most, MAX_QUERY_RESULTS)
            found = await index.query(vector=query, top_k=top_k, namespace=namespace(space), filter=in_key)
            return tuple((MemoryId(unquote(match.id)), match.score) for match in found.matches)

    async def forget(self, space: MemorySpace, ids: Sequence[MemoryId]) -> None:
        """Delete by id, for every index key."""
        async with self._translate_errors():
            if ids and (index := await self._open()):
                for first in range(0, len(ids), MAX_DELETE_IDS):
                    await _delete(
                        index, namespace(space), [_ascii(each) for each in ids[first : first + MAX_DELETE_IDS]]
                    )

    async def drop(self, space: MemorySpace) -> None:
        """Delete the namespace."""
        async with self._translate_errors():
            if index := await self._open():
                await _delete(index, namespace(space), None)

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        index, client = self._index, self._client
        self._index = self._client = self._dimension = None
        for each in (index, client):
            if each:
                await each.close()

    async def _open(self, dimension: int = 0, *, make: bool = False) -> "AsyncIndex | None":
        """The index, or None if it does not exist and `make` is False; raise MemoryAway if its dimension differs."""
        async with self._lock:
            if not self._index:
                if not self._client:
                    self._client = await asyncio.to_thread(_new_client, self.api_key, self.controller_host)
                host = self.host or await self._find_or_create(self._client, dimension if make else 0)
                if not host:
                    return None
                index = await self._client.index(host=host)
                self._dimension = (await index.describe_index_stats()).dimension
                self._index = index
        if dimension and self._dimension not in (None, dimension):
            raise MemoryAway(
                f"{self.name} holds vectors of {self._dimension} numbers and the embedder makes {dimension}. "
                f"Set {self.settings.index} to another name."
            )
        return self._index

    async def _find_or_create(self, client: "AsyncPinecone", dimension: int) -> str:
        """The host of the index, once it is ready. If there is none, create it, or return "" if `dimension` is 0."""
        found = await _describe(client, self.index)
        if not found and dimension:
            await _make(client, self.index, dimension)
            found = await _describe(client, self.index)
        for _ in range(MAX_POLLS):
            if not found or found.status.ready:
                return (found.host or "") if found else ""
            if found.status.state in FAILED_STATES:
                raise MemoryAway(f"{self.name} cannot be used: its state is {found.status.state}.")
            await self.clock.sleep(POLL_SECONDS)
            found = await _describe(client, self.index)
        raise MemoryAway(f"{self.name} is still being made.")

    @asynccontextmanager
    async def _translate_errors(self) -> AsyncIterator[None]:
        """Turn errors of the SDK and timeouts into MemoryAway, whose text never contains the API key."""
        try:
            async with asyncio.timeout(TOTAL_TIMEOUT_SECONDS):
                yield
        except _sdk_errors() as error:
            raise MemoryAway(f"{self.name} {_explanation(error, self.api_key, self.settings)}") from None


def namespace(space: MemorySpace) -> str:
    """The Pinecone namespace of a memory space: its key in ASCII; a long key is cut and gets its SHA-256 appended."""
    name = _ascii(space.key)
    if len(name) <= MAX_NAMESPACE_CHARACTERS:
        return name
    return f"{name[: MAX_NAMESPACE_CHARACTERS - 65]}~{hashlib.sha256(name.encode()).hexdigest()}"


def batches(rows: Sequence[PineconeRow]) -> Iterator[list[PineconeRow]]:
    """Split the rows by the limits of one upsert."""
    batch: list[PineconeRow] = []
    size = 0
    for row in rows:
        bytes_of_row = MAX_FLOAT_BYTES * len(row["values"]) + len(
            json.dumps({**row, "values": []}, ensure_ascii=False).encode()
        )
        if batch and (len(batch) == MAX_UPSERT_VECTORS or size + bytes_of_row > MAX_UPSERT_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += bytes_of_row
    if batch:
        yield batch


def _row(memory: Memory, index_key: str, vector: Vector) -> PineconeRow:
    metadata: Mapping[str, str | int] = {
        "place": index_key,
        "source": _bounded(memory.source, MAX_SOURCE_BYTES),
        "turn": memory.turn,
        "at": memory.at.isoformat(),
        "text": _bounded(memory.text, MAX_TEXT_BYTES),
    }
    return PineconeRow(id=_ascii(memory.id), values=_coordinates(vector), metadata=dict(metadata))


def _bounded(text: str, most: int) -> str:
    """The text, truncated so that it takes at most `most` bytes as JSON."""
    kept = text.encode(errors="replace")[:most].decode(errors="ignore")
    if len(json.dumps(kept, ensure_ascii=False).encode()) > most + 2:
        # JSON escapes a control character in six bytes.
        kept = text.encode(errors="replace")[: most // 6].decode(errors="ignore")
    return kept


def _coordinates(vector: Vector) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def _ascii(name: str) -> str:
    return quote(name, safe="/", errors="replace")


async def _delete(index: "AsyncIndex", name: str, ids: Sequence[str] | None) -> None:
    """Delete these ids of a namespace, or all if `ids` is None; a missing namespace is no error."""
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
    """Create the index, unless another process has just created it."""
    from pinecone import ConflictError

    with suppress(ConflictError):
        await client.indexes.create(name=name, dimension=dimension, metric="cosine", deployment=DEPLOYMENT, timeout=-1)


def _new_client(api_key: str, controller_host: str) -> "AsyncPinecone":
    """Import the SDK and create the client; slow, so it runs in a thread."""
    from pinecone import AsyncPinecone

    proxy = proxy_for(controller_host or CONTROLLER_URL)
    return AsyncPinecone(
        api_key=api_key, host=controller_host or None, timeout=REQUEST_TIMEOUT_SECONDS, proxy_url=proxy
    )


def _sdk_errors() -> tuple[type[Exception], ...]:
    """Exceptions that a call through the SDK may raise."""
    from pinecone import PineconeError

    return PineconeError, TimeoutError, ValueError, OSError


def _explanation(error: Exception, secret: str, settings: PineconeSettings) -> str:
    """The end of an error message that begins with the name of the index: the fault and what to do."""
    import pinecone

    match error:
        case TimeoutError():
            return "did not answer in time."
        case pinecone.UnauthorizedError() | pinecone.ForbiddenError():
            return f"does not take the key. Check {settings.key}."
        case pinecone.NotFoundError():
            return f"is not there. Check {settings.host} and {settings.index}."
        case pinecone.RateLimitError():
            return "has too much to do and asks to be tried later."
        case pinecone.PineconeConnectionError() | OSError():
            return f"cannot be reached ({type(error.__cause__ or error).__name__})."
        case pinecone.ApiError():
            return f"refused with {error.status_code}: {redact_and_shorten(error.message, secret)}"
        case _:
            return f"cannot be used: {redact_and_shorten(str(error), secret)}"
