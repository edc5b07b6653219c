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
from agent_core.ports.models import CallOptions, TokenCounter
from agent_core.providers.llm.context_windows import ContextWindows, models_with_metadata
from agent_core.providers.llm.openai_client import OpenAIEndpoint
from agent_core.providers.llm.openai_errors import CHAT, Ability, error_text, sdk_errors
from agent_core.providers.llm.token_estimates import EstimatedTokens

DEFAULT_MODEL = "gpt-5.4-mini"
LISTING_TIMEOUT_SECONDS = 10

Format = Literal["json_schema", "json_object", "none"]
FALLBACK_FORMAT: Mapping[Format, Format] = {"json_schema": "json_object", "json_object": "none"}
FORMAT_WORDS = ("response_format", "json_schema", "json_object", "json mode", "structured output", "grammar")
TOO_LONG_WORDS = ("context", "too large", "too long")
DIALECT_STATUSES = (400, 422, 500, 501)


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

    def parameters(self, options: CallOptions, temperature: float | None) -> dict[str, object]:
        """The request parameters besides model and messages."""
        parameters: dict[str, object] = {self.limit: options.max_tokens}
        if temperature is not None and self.temperature:
            parameters["temperature"] = temperature
        if options.schema is not None and self.format == "json_schema":
            named_schema = {"name": "turn", "schema": options.schema, "strict": False}
            parameters["response_format"] = {"type": "json_schema", "json_schema": named_schema}
        elif options.schema is not None and self.format == "json_object":
            parameters["response_format"] = {"type": "json_object"}
        return parameters


@dataclass(slots=True, kw_only=True)
class OpenAIModel(OpenAIEndpoint):
    """Implements `LanguageModel`. `prepare` or the first call loads the SDK and sends the first request.

    `model`: the default model; if "", the model that the endpoint lists if it lists exactly one, else DEFAULT_MODEL.
    `context`: the operator's context window for every model.
    `seconds`: the timeout of a call.
    `ability`: names of settings, for error messages.
    """

    model: str = ""
    temperature: float | None = None
    context: int | None = None
    ability: Ability = CHAT
    tokens: TokenCounter = field(default_factory=EstimatedTokens)
    _dialects: dict[str, Dialect] = field(default_factory=dict, init=False, repr=False)
    _windows: ContextWindows = field(init=False, repr=False)
    _has_listed_models: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self._windows = ContextWindows(base_url=self.base_url, configured=self.context)

    @property
    def label(self) -> str:
        return f"{self.model} · {self.host}" if self.model else self.host

    @property
    def default_model(self) -> str:
        return self.model

    async def prepare(self) -> None:
        """Load the SDK, find the default model and context windows; errors are raised by the first call."""
        await self.client()
        with suppress(ModelError):
            await self._pick_model("")
            await self._learn_windows()

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        name = await self._pick_model(options.model)
        chat_messages = [{"role": message.role, "content": message.content} for message in merge_same_role(messages)]
        answer = await self._request({"model": name, "messages": chat_messages}, options)
        with suppress(ModelError):
            await self._learn_windows()
        self._has_listed_models = True
        return self._read(answer, messages)

    def window(self, model: str) -> int:
        """Context window: the operator's, the endpoint's, the price list's, or a low default."""
        default = DEFAULT_MODEL if self.is_openai else ""
        return self._windows.of(model or self.model or default)

    def price(self, usage: Usage, model: str) -> Decimal | None:
        return self.prices.of(usage, model or self.model or DEFAULT_MODEL)

    async def _request(self, request: dict[str, object], options: CallOptions) -> object:
        name, temperature = str(request["model"]), options.temperature if self.temperature is None else self.temperature
        dialect = self._dialects.get(name) or self._first_dialect()
        client, tried = await self.client(), {dialect}
        while True:
            parameters: Any = request | dialect.parameters(options, temperature)
            try:
                async with asyncio.timeout(self.seconds):
                    answer = await client.chat.completions.create(**parameters)
            except sdk_errors() as error:
                other = self._next_dialect(error, dialect)
                if other is None or other in tried:
                    raise self.model_error(error, name, self.ability) from None
            else:
                self._dialects[name] = dialect
                return answer
            dialect = other
            tried.add(dialect)

    def _next_dialect(self, error: Exception, dialect: Dialect) -> Dialect | None:
        status = getattr(error, "status_code", 0)
        return dialect.adapt(error_text(error)) if status in DIALECT_STATUSES else None

    def _first_dialect(self) -> Dialect:
        return Dialect(limit="max_completion_tokens" if self.is_openai else "max_tokens")

    async def _pick_model(self, model: str) -> str:
        if not (model or self.model):
            listed = await self._list_models()
            self.model = listed[0] if len(listed) == 1 else DEFAULT_MODEL
        return model or self.model

    async def _learn_windows(self) -> None:
        if not (self._has_listed_models or self.is_openai):
            await self._list_models()

    async def _list_models(self) -> tuple[str, ...]:
        client = await self.client()
        try:
            async with asyncio.timeout(min(self.seconds, LISTING_TIMEOUT_SECONDS)):
                page = await client.models.list()
        except AttributeError:
            return ()  # the SDK raises AttributeError for a page that is not JSON
        except sdk_errors() as error:
            if getattr(error, "status_code", 0) in (404, 405, 501):
                return ()
            raise self.model_error(error, "", self.ability) from None
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
