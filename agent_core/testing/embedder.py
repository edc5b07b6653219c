"""A fast, deterministic embedder for tests: texts that share words get near vectors."""

import hashlib
import re
from collections.abc import Sequence
from decimal import Decimal

from agent_core.capabilities.models.token_counters import EstimatedTokens
from agent_core.model.model_calls import FREE, Usage
from agent_core.model.records.memory import Vector
from agent_core.ports.models import Embedding
from agent_core.testing.memory_index import a_vector

VECTOR_DIMENSION = 64


class WordEmbedder:
    """Texts that share words get near vectors. Records its inputs. Raises the next of `faults` until none is left."""

    def __init__(self, *, name: str = "words", is_semantic: bool = True, price: Decimal | None = FREE) -> None:
        self.name, self.is_semantic, self._price = name, is_semantic, price
        self.calls: list[tuple[str, ...]] = []
        self.faults: list[Exception] = []

    async def embed(self, texts: Sequence[str]) -> Embedding:
        if self.faults:
            raise self.faults.pop(0)
        self.calls.append(tuple(texts))
        tokens = sum(EstimatedTokens().count(text) for text in texts)
        return Embedding(tuple(map(vector_of, texts)), Usage(prompt=tokens))

    def price(self, usage: Usage) -> Decimal | None:
        """A fixed price per thousand tokens."""
        return None if self._price is None else self._price * usage.prompt / 1000


def vector_of(text: str) -> Vector:
    numbers = [0.0] * VECTOR_DIMENSION
    for word in re.findall(r"\w+", text.casefold()) or [""]:
        digest = hashlib.sha256(word.encode(errors="replace")).digest()
        numbers[digest[0] % VECTOR_DIMENSION] += 1.0 if digest[1] & 1 else -1.0
    return a_vector(*(numbers if any(numbers) else [1.0, *numbers[1:]]))
