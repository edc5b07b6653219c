"""What thinks and remembers: language models, token counters, embedders, memory indexes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from agent_core.model.ids import MemoryId
from agent_core.model.memory import Memory, MemorySpace, Vector
from agent_core.model.messages import Message, Reply
from agent_core.model.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A model server on this machine that lists models the way OpenAI does. `name` is a guess from its port."""

    name: str
    base_url: str
    models: tuple[str, ...]


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
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None,
        model: str,
        max_tokens: int,
        temperature: float | None = None,
    ) -> Reply:
        """Answer, in the shape of the JSON Schema where the endpoint can.

        `temperature` holds where the operator set none. Raise ModelUnavailable when asking again may help,
        ModelRefused when it will not.
        """
        ...

    def window(self, model: str) -> int:
        """Tokens that the model takes in one call, prompt and reply together; a cautious guess where nobody says."""
        ...

    def price(self, usage: Usage, model: str) -> Decimal | None:
        """US dollars for these tokens, or None when no price is known."""
        ...


class TokenCounter(Protocol):
    """Counts the tokens of one model, without blocking the loop. `is_exact` says whether it counts or estimates."""

    @property
    def is_exact(self) -> bool:
        """Whether the numbers are those of the model's own tokenizer."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text, never less than 0; an estimate errs upwards."""
        ...


class TokenCounters(Protocol):
    """The counter of each model."""

    def of(self, model: str) -> TokenCounter:
        """The model's own tokenizer once it is loaded, until then and for unknown models another one or an estimate."""
        ...


@dataclass(frozen=True, slots=True)
class Embedding:
    """The vectors of texts in their order, and what they took: `usage.prompt` is their tokens."""

    vectors: tuple[Vector, ...]
    usage: Usage


class Embedder(Protocol):
    """Turns texts into vectors of unit length."""

    @property
    def name(self) -> str:
        """Which embedder this is: vectors of different names are never compared."""
        ...

    @property
    def is_semantic(self) -> bool:
        """Whether likeness is one of meaning; False for mere hashing of words."""
        ...

    async def embed(self, texts: Sequence[str]) -> Embedding:
        """One vector for each text, all of the same length; what is too long for it is embedded by its beginning.

        Raise ModelUnavailable when asking again may help, ModelRefused when it will not.
        """
        ...

    def price(self, usage: Usage) -> Decimal | None:
        """US dollars for these tokens, or None when no price is known."""
        ...


class MemoryIndex(Protocol):
    """Finds memories by nearness, never across spaces.

    The database's `Memories` are the truth: what is saved there with its vector is then added here, and all of it can
    be added anew. Every call raises MemoryAway when the index cannot be reached or refuses.
    """

    @property
    def name(self) -> str:
        """Which index this is; another name means that everything has to be added anew."""
        ...

    async def add(self, space: MemorySpace, place: str, memories: Sequence[tuple[Memory, Vector]]) -> None:
        """Make them findable in `place`; one with a known id replaces the one before."""
        ...

    async def nearest(
        self, space: MemorySpace, place: str, vector: Vector, most: int
    ) -> tuple[tuple[MemoryId, float], ...]:
        """Up to `most` ids in `place` with their cosine, nearest first."""
        ...

    async def forget(self, space: MemorySpace, ids: Sequence[MemoryId]) -> None:
        """Remove these; nothing happens for one that is not there."""
        ...

    async def drop(self, space: MemorySpace) -> None:
        """Remove the space with all its memories, in every place."""
        ...
