"""Base of the providers on model endpoints: creates the SDK's client at first use, and translates its errors."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from agent_core.errors import ModelError
from agent_core.ports.clock import Clock
from agent_core.providers.clock import SystemClock
from agent_core.providers.limited_replies import MAX_CHAT_BYTES
from agent_core.providers.llm.endpoint_errors import OTHER_ERRORS, Ability, FailedCall, shown_name, to_model_error
from agent_core.providers.llm.prices import Prices, is_loopback

STALL_SECONDS = 60.0


@dataclass(slots=True, kw_only=True)
class ModelEndpoint(ABC):
    """One endpoint with its key and prices; base class of language models, embedders and media on it.

    `seconds`: the timeout of a request; of a streamed one, until the response begins.
    `stall_seconds`: how long a streamed response may be silent; None means 60, or `seconds` for loopback.
    `max_reply_bytes`: the size limit of a response that is not streamed.
    """

    base_url: str
    api_key: str = field(default="", repr=False)
    prices: Prices = field(default_factory=lambda: Prices({}))
    seconds: float = 120
    max_reply_bytes: int = MAX_CHAT_BYTES
    stall_seconds: float | None = None
    clock: Clock = field(default_factory=SystemClock)
    _client: Any = field(default=None, init=False, repr=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    @property
    def host(self) -> str:
        """Host and port, as shown to people."""
        address = urlsplit(self.base_url)
        return f"{address.hostname}:{address.port}" if address.port else address.hostname or self.base_url

    @property
    def sdk_errors(self) -> tuple[type[Exception], ...]:
        """Exceptions that a call through the SDK may raise."""
        return self._sdk_error(), *OTHER_ERRORS

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        client, self._client = self._client, None
        if client:
            await client.close()

    def model_error(self, error: Exception, model: str, ability: Ability, default: str | None = None) -> ModelError:
        """Translate an error of the SDK or a timeout to a ModelError, whose text never contains the API key.

        `default`: the model that the ability's setting names; None if that is `model`.
        """
        call = FailedCall(
            host=self.host,
            model=shown_name(model),
            advice=ability.model_advice(model, model if default is None else default),
            secret=self.api_key,
            now=self.clock.now(),
            ability=ability,
        )
        return to_model_error(error, self._sdk(), call)

    async def _open_client(self) -> Any:
        """The client, created in a thread at first use."""
        async with self._lock:
            if self._client is None:
                self._client = await asyncio.to_thread(self._new_client)
            return self._client

    @abstractmethod
    def _sdk(self) -> Any:
        """The SDK's module, imported at first use: that takes most of a second."""

    @abstractmethod
    def _sdk_error(self) -> type[Exception]:
        """The base of the SDK's exceptions."""

    @abstractmethod
    def _new_client(self) -> Any:
        """A client of the SDK with `_client_options`."""

    def _client_options(self, *, needs_events: bool = False) -> dict[str, Any]:
        """Options of both SDKs' clients. With `needs_events`, pings and comments in a stream count as silence."""
        from agent_core.providers.llm.limited_http_client import LimitedClient

        is_proxied = not is_loopback(self.base_url)
        # A model on this machine may read a long prompt for minutes before its first word.
        stall_seconds = self.stall_seconds or (STALL_SECONDS if is_proxied else self.seconds)
        return {
            "api_key": self.api_key or "none",
            "base_url": self.base_url,
            "max_retries": 0,
            "timeout": self.seconds,
            "http_client": LimitedClient(
                self.max_reply_bytes, stall_seconds, needs_events=needs_events, trust_env=is_proxied
            ),
        }
