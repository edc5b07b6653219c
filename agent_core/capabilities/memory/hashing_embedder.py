"""Embedder without a model: it hashes words and their trigrams. Near vectors mean similar spelling, not meaning."""

import asyncio
import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from agent_core.capabilities.memory.unit_vectors import Row, or_first_axis, truncate, unit_vectors
from agent_core.capabilities.models.token_counters import EstimatedTokens
from agent_core.model.model_calls import FREE, Usage
from agent_core.ports.models import Embedding

DIMENSION = 256
MAX_CHARACTERS = 32_000
TRIGRAM_WEIGHT = 0.5  # a word has several trigrams, so each is less significant
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class HashingEmbedder:
    """Implements `Embedder`. Texts that share words or parts of words have near vectors. 256 dimensions."""

    name = "hashing-256"
    is_semantic = False

    async def embed(self, texts: Sequence[str]) -> Embedding:
        return await asyncio.to_thread(_embed, tuple(texts))

    def price(self, usage: Usage) -> Decimal | None:
        return FREE


def _embed(texts: Sequence[str]) -> Embedding:
    read = [truncate(text, MAX_CHARACTERS) for text in texts]
    rows = [or_first_axis(_row(text)) for text in read]
    count = EstimatedTokens().count
    return Embedding(unit_vectors(rows), Usage(prompt=sum(count(text) for text in read)))


def _row(text: str) -> Row:
    row = [0.0] * DIMENSION
    for feature, frequency in Counter(_features(unicodedata.normalize("NFKC", text).casefold())).items():
        hashed = zlib.crc32(feature.encode())
        weight = (1 + math.log(frequency)) * (TRIGRAM_WEIGHT if feature.startswith("#") else 1)
        row[hashed % DIMENSION] += weight if hashed & 0x8000_0000 else -weight
    return row


def _features(text: str) -> Iterator[str]:
    """Each word, and "#" with each trigram of the word between two spaces: "ab" gives "ab", "# ab", "#ab "."""
    for word in WORD.findall(text):
        yield word
        edged = f" {word} "
        yield from (f"#{edged[at : at + 3]}" for at in range(len(edged) - 2))
