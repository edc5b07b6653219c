"""The connection to one OpenAI-compatible endpoint, opened when first needed."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent_core.providers.limited_replies import MAX_CHAT_BYTES
from agent_core.providers.llm.prices import is_loopback

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"


@dataclass(slots=True, kw_only=True)
class OpenAIConnection:
    """The SDK's client for an address. `seconds` bounds each request, `max_reply_bytes` what is read of its reply."""

    base_url: str
    api_key: str = field(repr=False)
    seconds: float
    max_reply_bytes: int = MAX_CHAT_BYTES
    _client: "AsyncOpenAI | None" = field(default=None, init=False, repr=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    @property
    def host(self) -> str:
        """The endpoint as people know it; no path, no credentials."""
        address = urlsplit(self.base_url)
        return f"{address.hostname}:{address.port}" if address.port else address.hostname or self.base_url

    @property
    def is_openai(self) -> bool:
        """Whether it is OpenAI's own."""
        return urlsplit(self.base_url).hostname == urlsplit(OPENAI_URL).hostname

    async def client(self) -> "AsyncOpenAI":
        """The client, made in a thread if there is none."""
        async with self._lock:
            if self._client is None:
                self._client = await asyncio.to_thread(self._new_client)
            return self._client

    async def close(self) -> None:
        """Let go of the connections; a later call opens new ones."""
        client, self._client = self._client, None
        if client:
            await client.close()

    def _new_client(self) -> "AsyncOpenAI":
        """Import the SDK, which takes most of a second: in a thread."""
        from openai import AsyncOpenAI

        from agent_core.providers.llm.openai_http import LimitedClient

        is_proxied = not is_loopback(self.base_url)
        client = AsyncOpenAI(
            api_key=self.api_key or "none",
            base_url=self.base_url,
            max_retries=0,
            timeout=self.seconds,
            http_client=LimitedClient(self.max_reply_bytes, trust_env=is_proxied),
        )
        _ = client.chat.completions, client.models, client.embeddings  # these are imported when first touched
        return client
