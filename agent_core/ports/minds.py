"""What thinks and remembers: language models, token counters, embedders, memory indexes."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Protocol

from agent_core.model.memory import Memory, MemorySpace
from agent_core.model.messages import Message, Reply
from agent_core.model.usage import Usage


class LanguageModel(Protocol):
    """An endpoint that completes prompts. `label` is the badge people see; a scripted one says so there."""

    @property
    def label(self) -> str:
        """What people are told they talk to."""
        ...

    @property
    def default_model(self) -> str:
        """The model used when an agent names none; empty while it is not known."""
        ...

    async def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, object] | None, model: str, max_tokens: int
    ) -> Reply:
        """Answer, in the shape of the JSON Schema where the endpoint can.

        Raise ModelUnavailable when asking again may help, ModelRefused when it will not.
        """
        ...

    def price(self, usage: Usage, model: str) -> Decimal | None:
        """US dollars for these tokens, or None when no price is known."""
        ...


class TokenCounter(Protocol):
    """Counts tokens without blocking the loop. `is_exact` says whether it counts or estimates."""

    @property
    def is_exact(self) -> bool:
        """Whether the numbers are those of the model's own tokenizer."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text, never less than 0; an estimate errs upwards."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors. `dimension` is their length; `is_semantic` is False for mere word hashing."""

    dimension: int
    is_semantic: bool

    async def embed(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        """One vector of unit length for each text, in the order given."""
        ...


class MemoryIndex(Protocol):
    """Long-term memory: nearest first, and never across spaces."""

    async def add(self, space: MemorySpace, memories: Sequence[Memory]) -> None:
        """Keep memories; one with a known id replaces the one before."""
        ...

    async def nearest(self, space: MemorySpace, vector: Sequence[float], most: int) -> tuple[tuple[Memory, float], ...]:
        """Up to `most` memories with their cosine similarity, nearest first."""
        ...

    async def forget(self, space: MemorySpace, memory_id: str) -> None:
        """Remove one memory; nothing happens when it is not there."""
        ...

    async def drop(self, space: MemorySpace) -> None:
        """Remove the space with all its memories."""
        ...
