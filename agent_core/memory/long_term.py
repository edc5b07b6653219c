"""Long-term memory: saves rows in the database, has them embedded, and finds and removes them in a vector index.

The rows are the source of truth. A memory that could not be embedded or indexed stays a row and is indexed later.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from agent_core.errors import MemoryAway, ModelError
from agent_core.model.agent import Agent
from agent_core.model.ids import MemoryId
from agent_core.model.model_calls import Usage
from agent_core.model.records.memory import Memory, MemorySpace, Recalled, Vector
from agent_core.ports.database import Database, queue_in_one_unit
from agent_core.ports.models import AgentEmbedders, Embedder, MemoryIndex
from agent_core.spending.spending_tracker import SpendingTracker

EMBED_TIMEOUT_SECONDS = 15.0
OWN_EMBEDDER_SECONDS = 60.0  # for all texts together; each request of a plugin has a limit of its own
INDEX_BATCH = 64
BYTES_PER_TOKEN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Vectors of texts, in their order, and the key under which they are stored. `is_semantic`: as of an embedder."""

    vectors: tuple[Vector, ...]
    index_key: str
    is_semantic: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTermMemory:
    """Saves, retrieves and deletes memories. Callers check permissions; a spending tracker records each embedding.

    While the embedder or the index cannot be used, `add` returns False and the other methods raise MemoryAway.
    `own`: embedders that some agents have in place of the common one.
    """

    database: Database
    embedder: Embedder
    index: MemoryIndex
    own: AgentEmbedders | None = None

    @property
    def index_key(self) -> str:
        """The names of the common embedder and the index."""
        return self._key(self.embedder.name)

    @property
    def index_keys(self) -> tuple[str, ...]:
        """The index key, and those of agents' own embedders."""
        return (self.index_key, *map(self._key, self.own.names if self.own else ()))

    async def find_key(self, agent: Agent) -> str:
        """The key of an agent's memories. Those with another key must be embedded and indexed again."""
        name = await self.own.find_name(agent) if self.own else ""
        return self._key(name) if name else self.index_key

    async def add(self, agent: Agent, memories: Sequence[Memory], tracker: SpendingTracker) -> bool:
        """Save new memories; return False if they could not be indexed yet."""
        await queue_in_one_unit(self.database, lambda work: work.memories.add(agent, memories))
        try:
            await self._index_memories(agent, memories, tracker)
        except MemoryAway:
            return False
        return True

    async def recall(self, agent: Agent, query: str, limit: int, tracker: SpendingTracker) -> tuple[Recalled, ...]:
        """Up to `limit` memories nearest to a text, nearest first."""
        embedded = await self.embed_for(agent, [query], tracker)
        return await self.nearest(agent, embedded.index_key, embedded.vectors[0], limit)

    async def nearest(self, agent: Agent, index_key: str, vector: Vector, limit: int) -> tuple[Recalled, ...]:
        """Up to `limit` memories with this index key that are nearest to a vector, nearest first."""
        async with _timeout():
            found = dict(await self.index.nearest(MemorySpace.of(agent), index_key, vector, limit))
        if not found:
            return ()
        async with self.database.begin() as work:
            memories = await work.memories.get_many(agent, tuple(found))
        return tuple(Recalled(memory, found[memory.id]) for memory in memories)

    async def embed_for(self, agent: Agent, texts: Sequence[str], tracker: SpendingTracker) -> Embedded:
        """The vectors of an agent's texts, by its own embedder if it has one; the cost is recorded in the tracker."""
        async with _timeout(OWN_EMBEDDER_SECONDS):
            own = await self.own.embed(agent, texts) if self.own else None
        if own:
            return Embedded(vectors=own[1], index_key=self._key(own[0]))
        vectors = await self.embed(texts, tracker)
        return Embedded(vectors=vectors, index_key=self.index_key, is_semantic=self.embedder.is_semantic)

    async def embed(self, texts: Sequence[str], tracker: SpendingTracker) -> tuple[Vector, ...]:
        """The vectors of the texts by the common embedder; the cost is recorded in the tracker."""
        guess = Usage(prompt=sum(len(text.encode(errors="replace")) // BYTES_PER_TOKEN + 1 for text in texts))
        try:
            async with tracker.reserve(self.embedder.price(guess), self.embedder.name, "embedding"), _timeout():
                embedding = await self.embedder.embed(texts)
        except ModelError as error:
            raise MemoryAway(str(error)) from error
        cost = self.embedder.price(embedding.usage) or embedding.usage.cost
        tracker.record("embedding", replace(embedding.usage, cost=cost))
        return embedding.vectors

    async def add_to_index(self, agent: Agent, index_key: str, vectors: Mapping[Memory, Vector]) -> None:
        """Add memories with their vectors to the index. The caller saves the rows, before or after."""
        async with _timeout():
            await self.index.add(MemorySpace.of(agent), index_key, tuple(vectors.items()))

    async def index_batch(self, agent: Agent, tracker: SpendingTracker) -> int:
        """Index up to 64 memories that have no vector for the agent's present index key; return how many."""
        index_key = await self.find_key(agent)
        async with self.database.begin() as work:
            unindexed = await work.memories.list_unindexed(agent, index_key, most=INDEX_BATCH)
        if unindexed:
            await self._index_memories(agent, unindexed, tracker)
        return len(unindexed)

    async def forget(self, agent: Agent, ids: Sequence[MemoryId]) -> None:
        """Remove memories from the index, then from the database, so that the index keeps no deleted ones."""
        async with _timeout():
            await self.index.forget(MemorySpace.of(agent), ids)
        await queue_in_one_unit(self.database, lambda work: work.memories.remove(agent, ids))

    async def clear(self, agent: Agent) -> None:
        await self.empty_index(MemorySpace.of(agent))
        await queue_in_one_unit(self.database, lambda work: work.memories.clear(agent))

    async def empty_index(self, space: MemorySpace) -> None:
        """Remove an agent's memories from the index; the rows stay."""
        async with _timeout():
            await self.index.drop(space)

    async def _index_memories(self, agent: Agent, memories: Sequence[Memory], tracker: SpendingTracker) -> None:
        embedded = await self.embed_for(agent, [memory.text for memory in memories], tracker)
        vectors = dict(zip(memories, embedded.vectors, strict=True))
        await self.add_to_index(agent, embedded.index_key, vectors)
        placed = {memory.id: vector for memory, vector in vectors.items()}
        await queue_in_one_unit(self.database, lambda work: work.memories.put(agent, embedded.index_key, placed))

    def _key(self, embedder: str) -> str:
        return f"{embedder} in {self.index.name}"


@asynccontextmanager
async def _timeout(seconds: float = EMBED_TIMEOUT_SECONDS) -> AsyncIterator[None]:
    """Turn a timeout into MemoryAway."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise MemoryAway("It did not answer in time.") from None
