"""Whose call a server's request to a model belongs to: servers that may ask are called one call after another."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from agent_core.errors import CommandError
from agent_core.model.messages import Message
from agent_core.ports.tool_servers import Sample

OUTSIDE = "A model can be asked only during a call of a tool."


@dataclass(slots=True)
class SamplingTurns:
    """The call in progress, and what asks the model for it. Its time limit stands still while a model answers."""

    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _sample: Sample | None = None
    _limit: asyncio.Timeout | None = None
    _asking: int = 0
    _left: float = 0.0

    @asynccontextmanager
    async def take(self, sample: Sample | None) -> AsyncIterator[None]:
        """Wait until no other call is in progress; inside, models are asked by `sample`, or not at all."""
        async with self._lock:
            self._sample = sample
            try:
                yield
            finally:
                self._sample = self._limit = None

    def limited_by(self, limit: asyncio.Timeout) -> None:
        """Let this time limit stand still while a model answers."""
        self._limit = limit

    async def ask(self, messages: Sequence[Message], max_tokens: int) -> str:
        """The model's answer for the call in progress; raise CommandError if there is none, or if it is refused."""
        sample, limit = self._sample, self._limit
        if sample is None:
            raise CommandError(OUTSIDE)
        self._pause(limit)
        try:
            return await sample(messages, max_tokens)
        finally:
            self._go_on(limit)

    def _pause(self, limit: asyncio.Timeout | None) -> None:
        if limit and not self._asking and (when := limit.when()) is not None:
            self._left = when - asyncio.get_running_loop().time()
            with suppress(RuntimeError):  # the call has just ended
                limit.reschedule(None)
        self._asking += 1

    def _go_on(self, limit: asyncio.Timeout | None) -> None:
        self._asking -= 1
        if limit and not self._asking:
            with suppress(RuntimeError):
                limit.reschedule(asyncio.get_running_loop().time() + self._left)
