"""Language models behind any endpoint that speaks OpenAI's chat completions.

What an endpoint does not take (a JSON Schema, a parameter's name) is found out by being refused, once for each model.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, Self, cast
from urllib.parse import urlsplit

from agent_core.errors import ModelError, ModelRefused
from agent_core.model.messages import Message, Reply
from agent_core.model.usage import Usage
from agent_core.ports.minds import TokenCounter
from agent_core.ports.world import Clock
from agent_core.providers.clock import SystemClock
from agent_core.providers.openai_errors import complaint_of, expected, told
from agent_core.providers.prices import Prices, is_loopback
from agent_core.providers.tokens import EstimatedTokens

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"
DEFAULT_MODEL = "gpt-5.4-mini"
MOST_MODELS_LISTED = 200

Format = Literal["json_schema", "json_object", "none"]
LOWER: Mapping[Format, Format] = {"json_schema": "json_object", "json_object": "none"}
FORMAT_WORDS = ("response_format", "json_schema", "json_object", "json mode", "structured output", "grammar")
TOO_LONG = ("context", "too large", "too long")
MAY_BE_DIALECT = (400, 422, 500, 501)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How an endpoint wants to be asked for one model."""

    format: Format = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True

    def after(self, complaint: str) -> Self | None:
        """The dialect to try next, or None when the complaint is not about the way of asking."""
        if self.format != "none" and any(word in complaint for word in FORMAT_WORDS):
            return replace(self, format=LOWER[self.format])
        if self.limit in complaint and not any(word in complaint for word in TOO_LONG):
            other: Literal["max_tokens", "max_completion_tokens"] = (
                "max_tokens" if self.limit == "max_completion_tokens" else "max_completion_tokens"
            )
            return replace(self, limit=other)
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        return None

    def options(
        self, schema: Mapping[str, object] | None, max_tokens: int, temperature: float | None
    ) -> dict[str, object]:
        """The parameters of a request beside its model and messages."""
        options: dict[str, object] = {self.limit: max_tokens}
        if temperature is not None and self.temperature:
            options["temperature"] = temperature
        if schema is not None and self.format == "json_schema":
            named = {"name": "turn", "schema": schema, "strict": False}
            options["response_format"] = {"type": "json_schema", "json_schema": named}
        elif schema is not None and self.format == "json_object":
            options["response_format"] = {"type": "json_object"}
        return options


@dataclass(slots=True, kw_only=True)
class OpenAIModel:
    """An endpoint by its address. `model` is used where an agent names none; empty takes what the endpoint offers.

    `seconds` bounds a whole call. Nothing is loaded and nobody is asked before `prepare` or the first call.
    """

    base_url: str = OPENAI_URL
    api_key: str = field(default="", repr=False)
    model: str = ""
    temperature: float | None = None
    prices: Prices = field(default_factory=lambda: Prices({}))
    seconds: float = 120
    clock: Clock = field(default_factory=SystemClock)
    tokens: TokenCounter = field(default_factory=EstimatedTokens)
    _client: "AsyncOpenAI | None" = field(default=None, init=False, repr=False)
    _dialects: dict[str, Dialect] = field(default_factory=dict, init=False, repr=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    @property
    def host(self) -> str:
        """The endpoint as people know it; no path, no credentials."""
        address = urlsplit(self.base_url)
        return f"{address.hostname}:{address.port}" if address.port else address.hostname or self.base_url

    @property
    def label(self) -> str:
        """The model used by default and where it runs."""
        return f"{self.model} · {self.host}" if self.model else self.host

    @property
    def default_model(self) -> str:
        """The model given or found; empty until the endpoint was asked."""
        return self.model

    async def prepare(self) -> None:
        """Load the SDK and find the default model; what goes wrong is met again at the first call."""
        await self._connected()
        with suppress(ModelError):
            await self._named("")

    async def close(self) -> None:
        """Let go of the connections; a later call opens new ones."""
        client, self._client = self._client, None
        if client:
            await client.close()

    async def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, object] | None, model: str, max_tokens: int
    ) -> Reply:
        """Ask in the way that this model is known to take, and learn from a refusal of the way."""
        name = await self._named(model)
        dialect = self._dialects.get(name) or self._first_dialect()
        sent = [{"role": message.role, "content": message.content} for message in messages]
        answer, heard = await self._asked({"model": name, "messages": sent}, dialect, schema, max_tokens)
        self._dialects[name] = heard
        return self._read(answer, messages)

    def price(self, usage: Usage, model: str) -> Decimal | None:
        """US dollars, or None when no price is known; before the default model is found, those of the usual one."""
        return self.prices.of(usage, model or self.model or DEFAULT_MODEL)

    async def _asked(
        self, request: dict[str, object], dialect: Dialect, schema: Mapping[str, object] | None, max_tokens: int
    ) -> tuple[object, Dialect]:
        client, tried = await self._connected(), {dialect}
        while True:
            options: Any = request | dialect.options(schema, max_tokens, self.temperature)
            try:
                async with asyncio.timeout(self.seconds):
                    return await client.chat.completions.create(**options), dialect
            except expected() as error:
                other = self._other_way(error, dialect)
                if other is None or other in tried:
                    raise self._told(error, str(request["model"])) from None
            dialect = other
            tried.add(dialect)

    def _other_way(self, error: Exception, dialect: Dialect) -> Dialect | None:
        status = getattr(error, "status_code", 0)
        return dialect.after(complaint_of(error)) if status in MAY_BE_DIALECT else None

    def _told(self, error: Exception, model: str) -> ModelError:
        return told(error, host=self.host, model=model, secret=self.api_key, now=self.clock.now())

    def _first_dialect(self) -> Dialect:
        own = urlsplit(self.base_url).hostname == urlsplit(OPENAI_URL).hostname
        return Dialect(limit="max_completion_tokens" if own else "max_tokens")

    async def _named(self, model: str) -> str:
        if not (model or self.model):
            offered = await self._offered()
            self.model = offered[0] if len(offered) == 1 else DEFAULT_MODEL
        return model or self.model

    async def _offered(self) -> tuple[str, ...]:
        client = await self._connected()
        try:
            async with asyncio.timeout(self.seconds):
                page = await client.models.list()
        except expected() as error:
            if getattr(error, "status_code", 0) in (404, 405, 501):
                return ()
            raise self._told(error, "") from None
        listed = getattr(page, "data", None) or ()
        return tuple(model.id for model in listed[:MOST_MODELS_LISTED] if isinstance(model.id, str))

    async def _connected(self) -> "AsyncOpenAI":
        async with self._lock:
            if self._client is None:
                self._client = await asyncio.to_thread(self._new_client)
            return self._client

    def _new_client(self) -> "AsyncOpenAI":
        """Import the SDK, which takes most of a second: in a thread."""
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        client = AsyncOpenAI(
            api_key=self.api_key or "none",
            base_url=self.base_url,
            max_retries=0,
            timeout=self.seconds,
            http_client=DefaultAsyncHttpxClient(trust_env=False) if is_loopback(self.base_url) else None,
        )
        _ = client.chat.completions, client.models  # these are imported when first touched
        return client

    def _read(self, answer: object, messages: Sequence[Message]) -> Reply:
        if not hasattr(answer, "choices"):
            raise ModelRefused(f"{self.host} did not answer as a model does: check OPENAI_BASE_URL, usually …/v1.")
        choices = cast("Any", answer).choices
        text, reason = _said(choices[0]) if choices else ("", "stop")
        return Reply(text=text, usage=self._used(answer, messages, text), finish_reason=reason)

    def _used(self, answer: object, messages: Sequence[Message], text: str) -> Usage:
        usage = getattr(answer, "usage", None)
        prompt, completion = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
        cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
        return Usage(
            prompt=prompt if isinstance(prompt, int) else sum(self.tokens.count(each.content) for each in messages),
            cached=cached if isinstance(cached, int) else 0,
            completion=completion if isinstance(completion, int) else self.tokens.count(text),
        )


def _said(choice: Any) -> tuple[str, str]:
    content = getattr(getattr(choice, "message", None), "content", None)
    reason = getattr(choice, "finish_reason", None)
    return content if isinstance(content, str) else "", reason if isinstance(reason, str) else "stop"
