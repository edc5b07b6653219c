"""Base of all clients of model endpoints: makes the SDK's client at first use, translates errors, bounds responses."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from importlib import import_module
from operator import attrgetter
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from httpx2 import AsyncByteStream, AsyncClient, Limits, Response

from agent_core.capabilities.models.endpoint_errors import (
    OTHER_ERRORS,
    Ability,
    CompressedReply,
    FailedCall,
    RedirectedElsewhere,
    shown_name,
    to_model_error,
)
from agent_core.capabilities.models.prices import Prices
from agent_core.capabilities.models.settings import OPENAI_URL
from agent_core.errors import ModelError
from agent_core.ports.clock import Clock
from agent_core.providers.clock import SystemClock
from agent_core.providers.limited_replies import EVENT_STREAM, MAX_CHAT_BYTES, ReplyTooLong
from agent_core.providers.outbound_proxy import is_loopback

MAX_STREAM_BYTES = 128_000_000  # 128,000 tokens in events of 400 bytes come to 51 MB
MAX_LIST_BYTES = 4_000_000  # of a list of models; OpenRouter's, with hundreds of models, has less than 1 MB
MAX_EVENT_BYTES = 1_000_000  # Anthropic's SDK copies an event for each of its lines
EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
CONNECTIONS = Limits(max_connections=1_000, max_keepalive_connections=100)  # as the SDKs' own clients


class LimitedStream(AsyncByteStream):
    """The body of a response, which raises ReplyTooLong as soon as it has more than `max_bytes`.

    So does an event of a stream of more than MAX_EVENT_BYTES.
    """

    def __init__(self, body: AsyncByteStream, max_bytes: int, unit: str, *, has_events: bool) -> None:
        self._body, self._max_bytes, self._unit, self._has_events = body, max_bytes, unit, has_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = event = 0
        async for part in self._body:
            size += len(part)
            if size > self._max_bytes:
                raise ReplyTooLong(self._max_bytes, self._unit)
            event = 0 if any(end in part for end in EVENT_ENDS) else event + len(part)
            if self._has_events and event > MAX_EVENT_BYTES:
                raise ReplyTooLong(MAX_EVENT_BYTES, "event")
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


def limited_client(max_reply_bytes: int, *, trust_env: bool) -> AsyncClient:
    """A client whose responses have at most `max_reply_bytes`; MAX_STREAM_BYTES for a stream of events.

    A list of models may have MAX_LIST_BYTES. Reading more raises ReplyTooLong. A compressed response raises
    CompressedReply: a short one could unpack to any size. Redirects are followed within the same host only, else they
    raise RedirectedElsewhere: prompts are sent to no other host.
    """

    async def limit(response: Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise CompressedReply
        request = response.request
        has_events = EVENT_STREAM in response.headers.get("content-type", "")
        if has_events:
            most, unit = MAX_STREAM_BYTES, "reply"
        elif request.method == "GET" and request.url.path.endswith("/models"):
            most, unit = MAX_LIST_BYTES, "list of models"
        else:
            most, unit = max_reply_bytes, "reply"
        if isinstance(response.stream, AsyncByteStream):
            response.stream = LimitedStream(response.stream, most, unit, has_events=has_events)

    return AsyncClient(
        headers={"Accept-Encoding": "identity"},
        follow_redirects=True,
        limits=CONNECTIONS,
        event_hooks={"response": [check_redirect, limit]},
        trust_env=trust_env,
    )


async def check_redirect(response: Response) -> None:
    """Raise RedirectedElsewhere if the response redirects to another host, or from https to http."""
    if not response.has_redirect_location:
        return
    source = response.request.url
    target = source.join(response.headers["location"])
    is_same = (target.scheme, target.host, target.port) == (source.scheme, source.host, source.port)
    is_made_secure = (source.scheme, target.scheme, target.host, target.port) == ("http", "https", source.host, None)
    if not (is_same or is_made_secure):
        raise RedirectedElsewhere(f"{target.scheme}://{target.netloc.decode(errors='replace')}")


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

        client = getattr(self._sdk(), f"Async{self.vendor}")(
            api_key=self.api_key or "none",
            base_url=self.base_url,
            max_retries=0,
            timeout=self.seconds,
            http_client=limited_client(self.max_reply_bytes, trust_env=not is_loopback(self.base_url)),
        )
        attrgetter(*RESOURCES[self.vendor])(client)
        return client
