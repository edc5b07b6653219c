"""The feature of long-term memory: makes its embedder and its index by the settings; offers commands and findings."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from agent_core.capabilities.capability import Capability, CommandParts, Finding
from agent_core.capabilities.memory.commands import MemoryCommands
from agent_core.capabilities.memory.local_embedder import LocalEmbedder
from agent_core.capabilities.memory.settings import MemorySettings
from agent_core.capabilities.models.prices import Prices
from agent_core.ports.database import Database
from agent_core.ports.documents import Documents
from agent_core.ports.models import Embedder, MemoryIndex
from agent_core.text.own_commands import install_text
from agent_core.toolset.registry import Command


@dataclass(frozen=True, kw_only=True)
class MemoryCapability(Capability):
    """`has_word_vectors`: returns whether embeddings can be made on this machine."""

    name = "memory"
    settings: MemorySettings
    documents: Documents
    has_word_vectors: Callable[[], bool] = LocalEmbedder.is_installed

    def commands(self, parts: CommandParts) -> Iterable[Command]:
        return MemoryCommands(parts.memory, parts.clock, self.documents).commands

    async def findings(self) -> Iterable[Finding]:
        return self._index(), self._embeddings()

    def _index(self) -> Finding:
        if not self.settings.pinecone_api_key:
            return Finding(name="memory", state="on", why="in the database", variable="PINECONE_API_KEY")
        where = f" at {self.settings.pinecone_host}" if self.settings.pinecone_host else ""
        why = f"Pinecone, index {self.settings.pinecone_index}{where}"
        return Finding(name="memory", state="on", why=why, variable="PINECONE_API_KEY, PINECONE_INDEX")

    def _embeddings(self) -> Finding:
        if endpoint := self.settings.embedding_endpoint:
            why = f"{self.settings.embedding_name} · {endpoint.host}"
            return Finding(name="embeddings", state="on", why=why, variable="EMBEDDING_MODEL, EMBEDDING_BASE_URL")
        if self.has_word_vectors():
            why = "local, English only"
            return Finding(name="embeddings", state="on", why=why, variable="EMBEDDING_MODEL")
        why = f"memories are found by words, not by meaning; for English, {install_text('embeddings')}"
        return Finding(name="embeddings", state="off", why=why, variable="EMBEDDING_MODEL")


def make_embedder(settings: MemorySettings) -> Embedder:
    """The embedding endpoint if there is one, else local word vectors, or hashed words if those are not installed."""
    endpoint = settings.embedding_endpoint
    if endpoint is None:
        from agent_core.capabilities.memory.hashing_embedder import HashingEmbedder

        return LocalEmbedder() if LocalEmbedder.is_installed() else HashingEmbedder()
    from agent_core.capabilities.memory.openai_embedder import EMBEDDINGS, OpenAIEmbedder

    return OpenAIEmbedder(
        model=settings.embedding_name,
        base_url=endpoint.url,
        api_key=endpoint.key,
        prices=Prices.at(endpoint.url, settings.model_prices),
        ability=EMBEDDINGS.with_variables(endpoint, "EMBEDDING_MODEL"),
    )


def make_index(settings: MemorySettings, database: Database, home: Path) -> MemoryIndex:
    """Pinecone if its key is set, else an index of this process on the database. `home` is the data folder."""
    if key := settings.pinecone_api_key.get_secret_value():
        from agent_core.capabilities.memory.pinecone_index import PineconeIndex, PineconeSettings

        names = PineconeSettings(key="PINECONE_API_KEY", host="PINECONE_HOST", index="PINECONE_INDEX")
        return PineconeIndex(
            api_key=key,
            index=settings.pinecone_index,
            host=settings.pinecone_host,
            controller_host=settings.pinecone_controller_host,
            settings=names,
        )
    from agent_core.capabilities.memory.database_vector_index import DatabaseVectorIndex

    shutil.rmtree(home / "vectors", ignore_errors=True)  # an earlier release kept vectors in files
    return DatabaseVectorIndex(database)
