"""Base of the providers on model endpoints: creates the SDK's client at first use, and translates its errors."""

import asyncio
from dataclasses import dataclass, field
from importlib import import_module
from operator import attrgetter
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from agent_core.capabilities.models.endpoint_errors import OTHER_ERRORS, Ability, FailedCall, shown_name, to_model_error
from agent_core.capabilities.models.prices import Prices
from agent_core.errors import ModelError
from agent_core.ports.clock import Clock
from agent_core.providers.clock import SystemClock
from agent_core.providers.limited_replies import MAX_CHAT_BYTES
from agent_core.providers.outbound_proxy import is_loopback

OPENAI_URL = "https://api.openai.com/v1"
# Submodules that the SDKs import when they are first used.
RESOURCES = {"OpenAI": ("chat.completions", "models", "embeddings"), "Anthropic": ("messages", "models")}


@dataclass(slots=True, kw_only=True)
class ModelEndpoint:
    """One endpoint with its key and prices; base class of language models, embedders and media on it.

    `seconds`: the timeout of a request, and of a silence in its response; of a streamed one, until it begins.
    `max_reply_bytes`: the size limit of a response that is not streamed.
    """

    base_url: str = OPENAI_URL
    api_key: str = field(default="", repr=False)
    prices: Prices = field(default_factory=lambda: Prices({}))
    seconds: float = 120
    max_reply_bytes: int = MAX_CHAT_BYTES
    clock: Clock = field(default_factory=SystemClock)
    _client: Any = field(default=None, init=False, repr=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    vendor: ClassVar[Literal["OpenAI", "Anthropic"]] = "OpenAI"  # of the SDK

    @property
    def host(self) -> str:
        """Host and port, as shown to people."""
        address = urlsplit(self.base_url)
        return f"{address.hostname}:{address.port}" if address.port else address.hostname or self.base_url

    @property
    def is_openai(self) -> bool:
        return urlsplit(self.base_url).hostname == urlsplit(OPENAI_URL).hostname

    @property
    def sdk_errors(self) -> tuple[type[Exception], ...]:
        """Exceptions that a call through the SDK may raise."""
        return getattr(self._sdk(), f"{self.vendor}Error"), *OTHER_ERRORS

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

    async def client(self) -> Any:
        """The SDK's client; created in a thread at first use, because importing the SDK takes most of a second."""
        async with self._lock:
            if self._client is None:
                self._client = await asyncio.to_thread(self._new_client)
            return self._client

    def _sdk(self) -> Any:
        return import_module(self.vendor.lower())

    def _new_client(self) -> Any:
        from agent_core.capabilities.models.limited_http_client import limited_client

        client = getattr(self._sdk(), f"Async{self.vendor}")(
            api_key=self.api_key or "none",
            base_url=self.base_url,
            max_retries=0,
            timeout=self.seconds,
            http_client=limited_client(self.max_reply_bytes, trust_env=not is_loopback(self.base_url)),
        )
        attrgetter(*RESOURCES[self.vendor])(client)
        return client
