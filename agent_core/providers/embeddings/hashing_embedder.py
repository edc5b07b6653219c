"""Vectors of hashed words and letters: likeness of spelling, not of meaning, for when nothing better is installed."""

import asyncio
import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from agent_core.model.usage import FREE, Usage
from agent_core.ports.models import Embedding
from agent_core.providers.embeddings.unit_vectors import Rows, readable, somewhere, unit_vectors
from agent_core.providers.llm.token_estimates import EstimatedTokens

DIMENSION = 256
MOST_CHARACTERS = 32_000
TRIGRAM_SHARE = 0.5  # a word has several, so that each tells less
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class HashingEmbedder:
    """Texts are near when they share words or parts of words. It needs no model and never fails."""

    @property
    def name(self) -> str:
        """The way of hashing and the number of coordinates."""
        return "hashing-256"

    @property
    def is_semantic(self) -> bool:
        """False: two words for the same thing are as far apart as any."""
        return False

    async def embed(self, texts: Sequence[str]) -> Embedding:
        """One vector for each text; of a long one the first 32,000 characters count."""
        return await asyncio.to_thread(_embedded, tuple(texts))

    def price(self, usage: Usage) -> Decimal | None:
        """Nothing."""
        return FREE


def _embedded(texts: Sequence[str]) -> Embedding:
    read = [readable(text, MOST_CHARACTERS) for text in texts]
    rows = [somewhere(_row(text)) for text in read]
    count = EstimatedTokens().count
    vectors = unit_vectors(np.stack(rows)) if rows else ()
    return Embedding(vectors, Usage(prompt=sum(count(text) for text in read)))


def _row(text: str) -> Rows:
    row = np.zeros(DIMENSION, np.float64)
    for feature, often in Counter(_features(unicodedata.normalize("NFKC", text).casefold())).items():
        spread = zlib.crc32(feature.encode())
        weight = (1 + math.log(often)) * (TRIGRAM_SHARE if feature.startswith("#") else 1)
        row[spread % DIMENSION] += weight if spread & 0x8000_0000 else -weight
    return row


def _features(text: str) -> Iterator[str]:
    """Words, and marked with # the three-letter parts of each with its edges."""
    for word in WORD.findall(text):
        yield word
        edged = f" {word} "
        yield from (f"#{edged[at : at + 3]}" for at in range(len(edged) - 2))
