"""Whose call a server's request to a model belongs to: servers that may ask are called one call after another."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agent_core.commands.time_limit import TimeLimit
from agent_core.errors import CommandError
from agent_core.model.messages import Message
from agent_core.ports.tool_servers import Sample
from agent_core.providers.mcp.people_calls import IS_READING

OUTSIDE = "A model can be asked only during a call of a tool."


@dataclass(slots=True)
class SamplingTurns:
    """The call in progress, and what asks the model for it. Its time limit stands still while a model answers."""

    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _sample: Sample | None = None
    _clock: TimeLimit | None = None

    @asynccontextmanager
    async def take(self, sample: Sample | None, clock: TimeLimit) -> AsyncIterator[None]:
        """Wait until no other call is in progress; inside, models are asked by `sample`, or not at all.

        `clock` stands still while a model answers.
        """
        async with self._lock:
            self._sample, self._clock = sample, clock
            try:
                yield
            finally:
                self._sample = self._clock = None

    async def ask(self, messages: Sequence[Message], max_tokens: int) -> str:
        """The model's answer for the call in progress; raise CommandError if there is none, or if it is refused."""
        sample, clock = self._sample, self._clock
        if sample is None or clock is None or IS_READING.get():
            raise CommandError(OUTSIDE)
        with clock.standing_still():
            return await sample(messages, max_tokens)
