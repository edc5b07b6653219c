"""Embeddings by any endpoint that speaks OpenAI's: batches out, vectors of one length back in the texts' order."""

import asyncio
import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from agent_core.errors import ModelRefused
from agent_core.model.memory import Vector
from agent_core.model.usage import Usage
from agent_core.ports.models import Embedding, TokenCounter
from agent_core.ports.world import Clock
from agent_core.providers.clock import SystemClock
from agent_core.providers.embeddings.unit_vectors import Rows, readable, unit_vectors
from agent_core.providers.limited_replies import MAX_EMBEDDINGS_BYTES
from agent_core.providers.llm.openai_client import OPENAI_URL, OpenAIConnection
from agent_core.providers.llm.openai_errors import EMBEDDINGS, complaint_of, sdk_errors, to_model_error
from agent_core.providers.llm.prices import Prices
from agent_core.providers.llm.token_estimates import EstimatedTokens

# OpenAI takes 8,192 tokens a text, 2,048 texts and 300,000 tokens a request.
MOST_TOKENS, MOST_TEXTS, MOST_TOGETHER = 8_000, 256, 100_000
MOST_CHARACTERS = 100_000
LONGEST_VECTOR = 16_384
NO_TEXT = "(no text)"  # an empty one is refused
UNPACKED = ("encoding_format", "base64")
MAY_BE_PACKING = (400, 422, 500, 501)


@dataclass(slots=True, kw_only=True)
class OpenAIEmbedder:
    """One model of an endpoint. `seconds` bounds each request; nothing is loaded before the first."""

    model: str
    base_url: str = OPENAI_URL
    api_key: str = field(default="", repr=False)
    prices: Prices = field(default_factory=lambda: Prices({}))
    seconds: float = 60
    clock: Clock = field(default_factory=SystemClock)
    tokens: TokenCounter = field(default_factory=EstimatedTokens)
    _connection: OpenAIConnection = field(init=False, repr=False)
    _packs: bool = field(default=True, init=False, repr=False)
    _length: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        self._connection = OpenAIConnection(
            base_url=self.base_url,
            api_key=self.api_key,
            seconds=self.seconds,
            max_reply_bytes=MAX_EMBEDDINGS_BYTES,
        )

    @property
    def name(self) -> str:
        """The model's."""
        return self.model

    @property
    def is_semantic(self) -> bool:
        """True: that is what these models are for."""
        return True

    async def close(self) -> None:
        """Let go of the connections; a later call opens new ones."""
        await self._connection.close()

    async def embed(self, texts: Sequence[str]) -> Embedding:
        """One vector for each text, in several requests where one would be too long."""
        vectors: list[Vector] = []
        used = Usage()
        for batch in self._batches([self._fitting(text) for text in texts]):
            answer = await self._request(batch)
            vectors += self._read(answer, len(batch))
            used += self._used(answer, batch)
        return Embedding(tuple(vectors), used)

    def price(self, usage: Usage) -> Decimal | None:
        """US dollars for these tokens, or None when no price is known."""
        return self.prices.of(usage, self.model)

    def _fitting(self, text: str) -> str:
        fitting = readable(text, MOST_CHARACTERS)
        while (count := self.tokens.count(fitting)) > MOST_TOKENS:
            fitting = fitting[: len(fitting) * MOST_TOKENS // count - 1]
        return fitting if fitting.strip() else NO_TEXT

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        together = 0
        for text in texts:
            count = self.tokens.count(text)
            if batch and (len(batch) == MOST_TEXTS or together + count > MOST_TOGETHER):
                yield batch
                batch, together = [], 0
            batch.append(text)
            together += count
        if batch:
            yield batch

    async def _request(self, batch: Sequence[str]) -> object:
        client = await self._connection.client()
        while True:
            options: Any = {"encoding_format": "base64" if self._packs else "float"}
            try:
                async with asyncio.timeout(self.seconds):
                    return await client.embeddings.create(model=self.model, input=list(batch), **options)
            except sdk_errors() as error:
                if not (self._packs and _is_about_packing(error)):
                    now, host = self.clock.now(), self._connection.host
                    raise to_model_error(
                        error, host=host, model=self.model, secret=self.api_key, now=now, ability=EMBEDDINGS
                    ) from None
            self._packs = False

    def _read(self, answer: object, count: int) -> tuple[Vector, ...]:
        try:
            rows = [_row(item) for item in _in_order(getattr(answer, "data", None), count)]
            vectors = unit_vectors(np.stack(rows))
        except (TypeError, ValueError, OverflowError):
            raise self._unlike() from None
        self._length = self._length or len(rows[0])
        if len(rows[0]) != self._length:
            raise self._unlike()
        return vectors

    def _unlike(self) -> ModelRefused:
        return ModelRefused(
            f"{self._connection.host} did not answer as an embedding model does: "
            f"check {EMBEDDINGS.model} and {EMBEDDINGS.address}."
        )

    def _used(self, answer: object, batch: Sequence[str]) -> Usage:
        prompt = getattr(getattr(answer, "usage", None), "prompt_tokens", None)
        if isinstance(prompt, int) and not isinstance(prompt, bool) and prompt >= 0:
            return Usage(prompt=prompt)
        return Usage(prompt=sum(self.tokens.count(text) for text in batch))


def _is_about_packing(error: Exception) -> bool:
    status, complaint = getattr(error, "status_code", 0), complaint_of(error)
    return status in MAY_BE_PACKING and any(word in complaint for word in UNPACKED)


def _in_order(items: object, count: int) -> list[object]:
    """The items by their index, or as they come where none has one; raise ValueError when they are not as many."""
    if not isinstance(items, list) or len(items) != count:
        raise ValueError
    by_index = {getattr(item, "index", None): item for item in items}
    if set(by_index) == {None}:
        return items
    if set(by_index) != set(range(count)):
        raise ValueError
    return [by_index[index] for index in range(count)]


def _row(item: object) -> Rows:
    """The numbers of a vector, packed or not; raise ValueError or TypeError when they are none."""
    given = getattr(item, "embedding", None)
    if isinstance(given, str):
        row = np.frombuffer(base64.b64decode(given, validate=True), "<f4").astype(np.float64)
    else:
        row = np.array(given, np.float64)
    if row.ndim != 1 or not 0 < len(row) <= LONGEST_VECTOR:
        raise ValueError
    return row
