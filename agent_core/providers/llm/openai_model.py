"""Language models behind OpenAI-compatible endpoints (chat completions).

Unsupported parameters (JSON Schema, `max_completion_tokens`, temperature) are detected by the endpoint's error and
remembered for each model.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, Self, cast

from agent_core.errors import ModelError, ModelRefused
from agent_core.model.messages import Message, Reply
from agent_core.model.usage import Usage
from agent_core.ports.clock import Clock
from agent_core.ports.models import TokenCounter
from agent_core.providers.clock import SystemClock
from agent_core.providers.llm.context_windows import ContextWindows, models_with_metadata
from agent_core.providers.llm.openai_client import OPENAI_URL, OpenAIConnection
from agent_core.providers.llm.openai_errors import CHAT, Ability, error_text, sdk_errors, to_model_error
from agent_core.providers.llm.prices import Prices
from agent_core.providers.llm.token_estimates import EstimatedTokens

DEFAULT_MODEL = "gpt-5.4-mini"
LISTING_TIMEOUT_SECONDS = 10

Format = Literal["json_schema", "json_object", "none"]
FALLBACK_FORMAT: Mapping[Format, Format] = {"json_schema": "json_object", "json_object": "none"}
FORMAT_WORDS = ("response_format", "json_schema", "json_object", "json mode", "structured output", "grammar")
TOO_LONG_WORDS = ("context", "too large", "too long")
DIALECT_STATUSES = (400, 422, 500, 501)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """Parameters of a call besides model and messages."""

    schema: Mapping[str, object] | None
    max_tokens: int
    temperature: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Which parameters an endpoint supports for a model."""

    format: Format = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True

    def adapt(self, complaint: str) -> Self | None:
        """The dialect to try next; None if the error is not about a parameter."""
        if self.format != "none" and any(word in complaint for word in FORMAT_WORDS):
            return replace(self, format=FALLBACK_FORMAT[self.format])
        if self.limit in complaint and not any(word in complaint for word in TOO_LONG_WORDS):
            other: Literal["max_tokens", "max_completion_tokens"] = (
                "max_tokens" if self.limit == "max_completion_tokens" else "max_completion_tokens"
            )
            return replace(self, limit=other)
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        return None

    def options(self, call_options: CallOptions) -> dict[str, object]:
        """The request parameters besides model and messages."""
        options: dict[str, object] = {self.limit: call_options.max_tokens}
        if call_options.temperature is not None and self.temperature:
            options["temperature"] = call_options.temperature
        if call_options.schema is not None and self.format == "json_schema":
            named_schema = {"name": "turn", "schema": call_options.schema, "strict": False}
            options["response_format"] = {"type": "json_schema", "json_schema": named_schema}
        elif call_options.schema is not None and self.format == "json_object":
            options["response_format"] = {"type": "json_object"}
        return options


@dataclass(slots=True, kw_only=True)
class OpenAIModel:
    """Implements `LanguageModel`. `prepare` or the first call loads the SDK and sends the first request.

    `model`: the default model; "" is the only model that the endpoint lists.
    `context`: the operator's context window for every model.
    `seconds`: the timeout of a call.
    `ability`: names of settings, for error messages.
    """

    base_url: str = OPENAI_URL
    api_key: str = field(default="", repr=False)
    model: str = ""
    temperature: float | None = None
    context: int | None = None
    prices: Prices = field(default_factory=lambda: Prices({}))
    seconds: float = 120
    ability: Ability = CHAT
    clock: Clock = field(default_factory=SystemClock)
    tokens: TokenCounter = field(default_factory=EstimatedTokens)
    _connection: OpenAIConnection = field(init=False, repr=False)
    _dialects: dict[str, Dialect] = field(default_factory=dict, init=False, repr=False)
    _windows: ContextWindows = field(init=False, repr=False)
    _has_listed_models: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self._connection = OpenAIConnection(base_url=self.base_url, api_key=self.api_key, seconds=self.seconds)
        self._windows = ContextWindows(base_url=self.base_url, configured=self.context)

    @property
    def host(self) -> str:
        return self._connection.host

    @property
    def label(self) -> str:
        return f"{self.model} · {self.host}" if self.model else self.host

    @property
    def default_model(self) -> str:
        return self.model

    async def prepare(self) -> None:
        """Load the SDK, find the default model and context windows; errors are raised by the first call."""
        await self._connection.client()
        with suppress(ModelError):
            await self._pick_model("")
            await self._learn_windows()

    async def close(self) -> None:
        await self._connection.close()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None,
        model: str,
        max_tokens: int,
        temperature: float | None = None,
    ) -> Reply:
        name = await self._pick_model(model)
        chat_messages = [{"role": message.role, "content": message.content} for message in merge_same_role(messages)]
        chosen = temperature if self.temperature is None else self.temperature
        call_options = CallOptions(schema=schema, max_tokens=max_tokens, temperature=chosen)
        answer = await self._request({"model": name, "messages": chat_messages}, call_options)
        with suppress(ModelError):
            await self._learn_windows()
        self._has_listed_models = True
        return self._read(answer, messages)

    def window(self, model: str) -> int:
        """Context window: the operator's, the endpoint's, the price list's, or a low default."""
        default = DEFAULT_MODEL if self._connection.is_openai else ""
        return self._windows.of(model or self.model or default)

    def price(self, usage: Usage, model: str) -> Decimal | None:
        return self.prices.of(usage, model or self.model or DEFAULT_MODEL)

    async def _request(self, request: dict[str, object], call_options: CallOptions) -> object:
        name = str(request["model"])
        dialect = self._dialects.get(name) or self._first_dialect()
        client, tried = await self._connection.client(), {dialect}
        while True:
            options: Any = request | dialect.options(call_options)
            try:
                async with asyncio.timeout(self.seconds):
                    answer = await client.chat.completions.create(**options)
            except sdk_errors() as error:
                other = self._next_dialect(error, dialect)
                if other is None or other in tried:
                    raise self._model_error(error, name) from None
            else:
                self._dialects[name] = dialect
                return answer
            dialect = other
            tried.add(dialect)

    def _next_dialect(self, error: Exception, dialect: Dialect) -> Dialect | None:
        status = getattr(error, "status_code", 0)
        return dialect.adapt(error_text(error)) if status in DIALECT_STATUSES else None

    def _model_error(self, error: Exception, model: str) -> ModelError:
        now = self.clock.now()
        return to_model_error(error, host=self.host, model=model, secret=self.api_key, now=now, ability=self.ability)

    def _first_dialect(self) -> Dialect:
        return Dialect(limit="max_completion_tokens" if self._connection.is_openai else "max_tokens")

    async def _pick_model(self, model: str) -> str:
        if not (model or self.model):
            listed = await self._list_models()
            self.model = listed[0] if len(listed) == 1 else DEFAULT_MODEL
        return model or self.model

    async def _learn_windows(self) -> None:
        if not (self._has_listed_models or self._connection.is_openai):
            await self._list_models()

    async def _list_models(self) -> tuple[str, ...]:
        client = await self._connection.client()
        try:
            async with asyncio.timeout(min(self.seconds, LISTING_TIMEOUT_SECONDS)):
                page = await client.models.list()
        except AttributeError:
            return ()  # the SDK raises AttributeError for a page that is not JSON
        except sdk_errors() as error:
            if getattr(error, "status_code", 0) in (404, 405, 501):
                return ()
            raise self._model_error(error, "") from None
        self._has_listed_models = True
        listed = tuple(models_with_metadata(getattr(page, "data", None)))
        self._windows.learn(listed)
        return tuple(name for name, _ in listed)

    def _read(self, answer: object, messages: Sequence[Message]) -> Reply:
        if not hasattr(answer, "choices"):
            address = self.ability.address
            raise ModelRefused(f"{self.host} did not answer as a model does: check {address}, usually …/v1.")
        choices = cast("Any", answer).choices
        text, reason = _text_and_reason(choices[0]) if choices else ("", "stop")
        return Reply(text=text, usage=self._used(answer, messages, text), finish_reason=reason)

    def _used(self, answer: object, messages: Sequence[Message], text: str) -> Usage:
        usage = getattr(answer, "usage", None)
        prompt, completion = _token_count(usage, "prompt_tokens"), _token_count(usage, "completion_tokens")
        if prompt is None:
            prompt = sum(self.tokens.count(each.content) for each in messages)
        cached = _token_count(getattr(usage, "prompt_tokens_details", None), "cached_tokens") or 0
        return Usage(
            prompt=prompt,
            cached=min(cached, prompt),
            completion=self.tokens.count(text) if completion is None else completion,
        )


def _token_count(usage: object, name: str) -> int | None:
    """A token count; None if the endpoint reports none or an invalid one."""
    count = getattr(usage, name, None)
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None


def _text_and_reason(choice: Any) -> tuple[str, str]:
    content = getattr(getattr(choice, "message", None), "content", None)
    reason = getattr(choice, "finish_reason", None)
    return content if isinstance(content, str) else "", reason if isinstance(reason, str) else "stop"


def merge_same_role(messages: Sequence[Message]) -> list[Message]:
    """Merge consecutive messages of one role: chat templates of some open models require alternation."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            joined[-1] = Message(message.role, f"{joined[-1].content}\n\n{message.content}")
        else:
            joined.append(message)
    return joined
