"""An agent's long-term memory: rows of the database that an embedder places and an index finds again.

The rows are the truth. What could not be embedded or indexed stays a row and is placed later.
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
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.models import Embedder, MemoryIndex
from agent_core.spending.spending_tracker import SpendingTracker

EMBED_TIMEOUT_SECONDS = 15.0
BATCH = 64
BYTES_A_TOKEN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTermMemory:
    """Saves, finds and deletes memories. Callers check rights first; a spending tracker pays for each embedding.

    Raises MemoryAway while the embedder or the index cannot be used.
    """

    database: Database
    embedder: Embedder
    index: MemoryIndex

    @property
    def place(self) -> str:
        """The embedder and the index, by their names: what is in another place has to be placed anew."""
        return f"{self.embedder.name} in {self.index.name}"

    async def add(self, agent: Agent, memories: Sequence[Memory], tracker: SpendingTracker) -> bool:
        """Keep new memories; return whether they can be found by nearness already."""

        async def act(work: UnitOfWork) -> None:
            work.memories.add(agent, memories)

        await in_one_unit(self.database, act)
        try:
            await self._place(agent, memories, tracker)
        except MemoryAway:
            return False
        return True

    async def recall(self, agent: Agent, query: str, most: int, tracker: SpendingTracker) -> tuple[Recalled, ...]:
        """What is nearest to a text, nearest first."""
        (vector,) = await self.embed([query], tracker)
        return await self.nearest(agent, vector, most)

    async def nearest(self, agent: Agent, vector: Vector, most: int) -> tuple[Recalled, ...]:
        """What is nearest to a vector, nearest first."""
        async with _in_time():
            found = dict(await self.index.nearest(MemorySpace.of(agent), self.place, vector, most))
        if not found:
            return ()
        async with self.database.begin() as work:
            memories = await work.memories.some(agent, tuple(found))
        return tuple(Recalled(memory, found[memory.id]) for memory in memories)

    async def embed(self, texts: Sequence[str], tracker: SpendingTracker) -> tuple[Vector, ...]:
        """The vectors of texts, paid for."""
        guess = Usage(prompt=sum(len(text.encode(errors="replace")) // BYTES_A_TOKEN + 1 for text in texts))
        try:
            with tracker.call(self.embedder.price(guess), self.embedder.name):
                async with _in_time():
                    embedding = await self.embedder.embed(texts)
        except ModelError as error:
            raise MemoryAway(str(error)) from error
        cost = self.embedder.price(embedding.usage) or embedding.usage.cost
        tracker.pay("embedding", replace(embedding.usage, cost=cost))
        return embedding.vectors

    async def make_findable(self, agent: Agent, vectors: Mapping[Memory, Vector]) -> None:
        """Hand placed memories to the index; their rows are saved by the caller, before or after."""
        async with _in_time():
            await self.index.add(MemorySpace.of(agent), self.place, tuple(vectors.items()))

    async def catch_up(self, agent: Agent, tracker: SpendingTracker) -> int:
        """Place up to 64 memories that are in no place, or in another one; return how many."""
        async with self.database.begin() as work:
            behind = await work.memories.list_unindexed(agent, self.place, most=BATCH)
        if behind:
            await self._place(agent, behind, tracker)
        return len(behind)

    async def forget(self, agent: Agent, ids: Sequence[MemoryId]) -> None:
        """Remove memories, from the index first: one that only the index knew could never be removed."""
        async with _in_time():
            await self.index.forget(MemorySpace.of(agent), ids)

        async def act(work: UnitOfWork) -> None:
            work.memories.remove(agent, ids)

        await in_one_unit(self.database, act)

    async def clear(self, agent: Agent) -> None:
        """Remove all memories of the agent."""
        await self.empty_index(agent)

        async def act(work: UnitOfWork) -> None:
            work.memories.clear(agent)

        await in_one_unit(self.database, act)

    async def empty_index(self, agent: Agent) -> None:
        """Remove all that the index holds of the agent; the rows are left alone."""
        async with _in_time():
            await self.index.drop(MemorySpace.of(agent))

    async def _place(self, agent: Agent, memories: Sequence[Memory], tracker: SpendingTracker) -> None:
        vectors = await self.embed([memory.text for memory in memories], tracker)
        await self.make_findable(agent, dict(zip(memories, vectors, strict=True)))
        placed = {memory.id: vector for memory, vector in zip(memories, vectors, strict=True)}

        async def act(work: UnitOfWork) -> None:
            work.memories.put(agent, self.place, placed)

        await in_one_unit(self.database, act)


@asynccontextmanager
async def _in_time() -> AsyncIterator[None]:
    """Turn a long silence into MemoryAway."""
    try:
        async with asyncio.timeout(EMBED_TIMEOUT_SECONDS):
            yield
    except TimeoutError:
        raise MemoryAway("It did not answer in time.") from None
