"""Long-term memory: rows in the database, vectors from an embedder, retrieval by a vector index.

The rows are the source of truth. A memory that could not be embedded or indexed stays a row and is indexed later.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from agent_core.errors import MemoryAway, ModelError
from agent_core.model.agent import Agent
from agent_core.model.ids import MemoryId
from agent_core.model.memory import Memory, MemorySpace, Recalled, Vector
from agent_core.model.usage import Usage
from agent_core.ports.database import Database, queue_in_one_unit
from agent_core.ports.models import Embedder, MemoryIndex
from agent_core.spending.spending_tracker import SpendingTracker

EMBED_TIMEOUT_SECONDS = 15.0
INDEX_BATCH = 64
BYTES_PER_TOKEN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTermMemory:
    """Saves, retrieves and deletes memories. Callers check permissions; a spending tracker records each embedding.

    While the embedder or the index cannot be used, `add` returns False and the other methods raise MemoryAway.
    """

    database: Database
    embedder: Embedder
    index: MemoryIndex

    @property
    def index_key(self) -> str:
        """The names of embedder and index. Memories with another key must be embedded and indexed again."""
        return f"{self.embedder.name} in {self.index.name}"

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
        (vector,) = await self.embed([query], tracker)
        return await self.nearest(agent, vector, limit)

    async def nearest(self, agent: Agent, vector: Vector, limit: int) -> tuple[Recalled, ...]:
        """Up to `limit` memories nearest to a vector, nearest first."""
        async with _timeout():
            found = dict(await self.index.nearest(MemorySpace.of(agent), self.index_key, vector, limit))
        if not found:
            return ()
        async with self.database.begin() as work:
            memories = await work.memories.get_many(agent, tuple(found))
        return tuple(Recalled(memory, found[memory.id]) for memory in memories)

    async def embed(self, texts: Sequence[str], tracker: SpendingTracker) -> tuple[Vector, ...]:
        """The vectors of the texts; the cost is recorded in the tracker."""
        guess = Usage(prompt=sum(len(text.encode(errors="replace")) // BYTES_PER_TOKEN + 1 for text in texts))
        try:
            async with tracker.reserve(self.embedder.price(guess), self.embedder.name, "embedding"), _timeout():
                embedding = await self.embedder.embed(texts)
        except ModelError as error:
            raise MemoryAway(str(error)) from error
        cost = self.embedder.price(embedding.usage) or embedding.usage.cost
        tracker.record("embedding", replace(embedding.usage, cost=cost))
        return embedding.vectors

    async def add_to_index(self, agent: Agent, vectors: Mapping[Memory, Vector]) -> None:
        """Add memories with their vectors to the index. The caller saves the rows, before or after."""
        async with _timeout():
            await self.index.add(MemorySpace.of(agent), self.index_key, tuple(vectors.items()))

    async def index_batch(self, agent: Agent, tracker: SpendingTracker) -> int:
        """Index up to 64 memories that have no vector for the current index key; return how many."""
        async with self.database.begin() as work:
            unindexed = await work.memories.list_unindexed(agent, self.index_key, most=INDEX_BATCH)
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
        vectors = await self.embed([memory.text for memory in memories], tracker)
        await self.add_to_index(agent, dict(zip(memories, vectors, strict=True)))
        placed = {memory.id: vector for memory, vector in zip(memories, vectors, strict=True)}
        await queue_in_one_unit(self.database, lambda work: work.memories.put(agent, self.index_key, placed))


@asynccontextmanager
async def _timeout() -> AsyncIterator[None]:
    """Turn a timeout into MemoryAway."""
    try:
        async with asyncio.timeout(EMBED_TIMEOUT_SECONDS):
            yield
    except TimeoutError:
        raise MemoryAway("It did not answer in time.") from None
