"""Base of the providers on OpenAI-compatible endpoints: creates the SDK's client at first use, translates errors."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent_core.errors import ModelError
from agent_core.ports.clock import Clock
from agent_core.providers.clock import SystemClock
from agent_core.providers.limited_replies import MAX_CHAT_BYTES
from agent_core.providers.llm.openai_errors import Ability, to_model_error
from agent_core.providers.llm.prices import Prices, is_loopback

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"
STALL_SECONDS = 60.0


@dataclass(slots=True, kw_only=True)
class OpenAIEndpoint:
    """One endpoint with its key and prices; base class of language models, embedders and media on it.

    `seconds`: the timeout of a request; of a streamed one, until the response begins.
    `stall_seconds`: how long a streamed response may be silent; None means 60, or `seconds` for loopback.
    `max_reply_bytes`: the size limit of a response that is not streamed.
    """

    base_url: str = OPENAI_URL
    api_key: str = field(default="", repr=False)
    prices: Prices = field(default_factory=lambda: Prices({}))
    seconds: float = 120
    max_reply_bytes: int = MAX_CHAT_BYTES
    stall_seconds: float | None = None
    clock: Clock = field(default_factory=SystemClock)
    _client: "AsyncOpenAI | None" = field(default=None, init=False, repr=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    @property
    def host(self) -> str:
        """Host and port, as shown to people."""
        address = urlsplit(self.base_url)
        return f"{address.hostname}:{address.port}" if address.port else address.hostname or self.base_url

    @property
    def is_openai(self) -> bool:
        return urlsplit(self.base_url).hostname == urlsplit(OPENAI_URL).hostname

    async def client(self) -> "AsyncOpenAI":
        """The SDK's client; create it in a thread at first use, because importing the SDK is slow."""
        async with self._lock:
            if self._client is None:
                self._client = await asyncio.to_thread(self._new_client)
            return self._client

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        client, self._client = self._client, None
        if client:
            await client.close()

    def model_error(self, error: Exception, model: str, ability: Ability) -> ModelError:
        """Translate an error of the SDK or a timeout to a ModelError, whose text never contains the API key."""
        now = self.clock.now()
        return to_model_error(error, host=self.host, model=model, secret=self.api_key, now=now, ability=ability)

    def _new_client(self) -> "AsyncOpenAI":
        """Import the SDK, which takes most of a second, and create its client without retries."""
        from openai import AsyncOpenAI

        from agent_core.providers.llm.openai_http import LimitedClient

        is_proxied = not is_loopback(self.base_url)
        # A model on this machine may read a long prompt for minutes before its first word.
        stall_seconds = self.stall_seconds or (STALL_SECONDS if is_proxied else self.seconds)
        client = AsyncOpenAI(
            api_key=self.api_key or "none",
            base_url=self.base_url,
            max_retries=0,
            timeout=self.seconds,
            http_client=LimitedClient(self.max_reply_bytes, stall_seconds, trust_env=is_proxied),
        )
        _ = client.chat.completions, client.models, client.embeddings  # lazily imported submodules
        return client
