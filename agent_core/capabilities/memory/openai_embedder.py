"""Embedder on OpenAI-compatible endpoints: sends texts in batches, reads and checks the vectors."""

import asyncio
import base64
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agent_core.capabilities.memory.unit_vectors import Row, truncate, unit_vectors
from agent_core.capabilities.models.endpoint_errors import Ability, error_text
from agent_core.capabilities.models.model_endpoint import ModelEndpoint
from agent_core.capabilities.models.token_counters import EstimatedTokens
from agent_core.errors import ModelRefused
from agent_core.model.model_calls import Usage
from agent_core.model.records.memory import Vector
from agent_core.ports.models import Embedding, TokenCounter
from agent_core.providers.limited_replies import MAX_EMBEDDINGS_BYTES

# OpenAI's limits: 8,192 tokens per text, 2,048 texts and 300,000 tokens per request.
MAX_TEXT_TOKENS, MAX_BATCH_TEXTS, MAX_BATCH_TOKENS = 8_000, 256, 100_000
MAX_TEXT_CHARACTERS = 100_000
MAX_DIMENSION = 16_384
NO_TEXT = "(no text)"  # empty texts are rejected
EMBEDDINGS = Ability(name="embeddings")
BASE64_WORDS = ("encoding_format", "base64")
BASE64_REFUSAL_STATUSES = (400, 422, 500, 501)


@dataclass(slots=True, kw_only=True)
class OpenAIEmbedder(ModelEndpoint):
    """Implements `Embedder` with one model. `seconds` is the timeout of a request.

    `ability`: the names of the settings for key, URL and model, for error messages.
    """

    model: str
    seconds: float = 60
    max_reply_bytes: int = MAX_EMBEDDINGS_BYTES
    ability: Ability = EMBEDDINGS
    tokens: TokenCounter = field(default_factory=EstimatedTokens)
    _uses_base64: bool = field(default=True, init=False, repr=False)
    _dimension: int = field(default=0, init=False, repr=False)
    is_semantic = True

    @property
    def name(self) -> str:
        return self.model

    async def embed(self, texts: Sequence[str]) -> Embedding:
        vectors: list[Vector] = []
        used = Usage()
        for batch in self._batches([self._truncate(text) for text in texts]):
            answer = await self._request(batch)
            vectors += self._read(answer, len(batch))
            used += self._usage(answer, batch)
        return Embedding(tuple(vectors), used)

    def price(self, usage: Usage) -> Decimal | None:
        return self.prices.of(usage, self.model)

    def _truncate(self, text: str) -> str:
        truncated = truncate(text, MAX_TEXT_CHARACTERS)
        while (count := self.tokens.count(truncated)) > MAX_TEXT_TOKENS:
            truncated = truncated[: len(truncated) * MAX_TEXT_TOKENS // count - 1]
        return truncated if truncated.strip() else NO_TEXT

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        batch_tokens = 0
        for text in texts:
            count = self.tokens.count(text)
            if batch and (len(batch) == MAX_BATCH_TEXTS or batch_tokens + count > MAX_BATCH_TOKENS):
                yield batch
                batch, batch_tokens = [], 0
            batch.append(text)
            batch_tokens += count
        if batch:
            yield batch

    async def _request(self, batch: Sequence[str]) -> object:
        client = await self.client()
        while True:
            options: Any = {"encoding_format": "base64" if self._uses_base64 else "float"}
            try:
                async with asyncio.timeout(self.seconds):
                    return await client.embeddings.create(model=self.model, input=list(batch), **options)
            except self.sdk_errors as error:
                if not (self._uses_base64 and _refuses_base64(error)):
                    raise self.model_error(error, self.model, self.ability) from None
            self._uses_base64 = False

    def _read(self, answer: object, count: int) -> tuple[Vector, ...]:
        try:
            rows = [_row(item) for item in _in_order(getattr(answer, "data", None), count)]
            vectors = unit_vectors(rows)
        except (TypeError, ValueError, OverflowError):
            raise self._bad_answer() from None
        self._dimension = self._dimension or len(rows[0])
        if len(rows[0]) != self._dimension:
            raise self._bad_answer()
        return vectors

    def _bad_answer(self) -> ModelRefused:
        return ModelRefused(
            f"{self.host} did not answer as an embedding model does: "
            f"check {self.ability.model} and {self.ability.address}."
        )

    def _usage(self, answer: object, batch: Sequence[str]) -> Usage:
        prompt = getattr(getattr(answer, "usage", None), "prompt_tokens", None)
        if isinstance(prompt, int) and not isinstance(prompt, bool) and prompt >= 0:
            return Usage(prompt=prompt)
        return Usage(prompt=sum(self.tokens.count(text) for text in batch))


def _refuses_base64(error: Exception) -> bool:
    status, complaint = getattr(error, "status_code", 0), error_text(error)
    return status in BASE64_REFUSAL_STATUSES and any(word in complaint for word in BASE64_WORDS)


def _in_order(items: object, count: int) -> list[object]:
    """The items sorted by their index, or as listed if no item has an index; raise ValueError if any is missing."""
    if not isinstance(items, list) or len(items) != count:
        raise ValueError
    by_index = {getattr(item, "index", None): item for item in items}
    if set(by_index) == {None}:
        return items
    if set(by_index) != set(range(count)):
        raise ValueError
    return [by_index[index] for index in range(count)]


def _row(item: object) -> Row:
    """The coordinates of one vector, from base64 or a list; raise ValueError or TypeError if they are invalid."""
    given: Any = getattr(item, "embedding", None)
    if isinstance(given, str):
        data = base64.b64decode(given, validate=True)
        given = [number for (number,) in struct.iter_unpack("<f", data)] if len(data) % 4 == 0 else ()
    if not 0 < len(given) <= MAX_DIMENSION:
        raise ValueError
    return [float(each) for each in given]
