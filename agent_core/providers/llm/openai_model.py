"""Language models behind OpenAI-compatible endpoints (chat completions).

An endpoint's error, or a reply that ignores a parameter, shows which parameters it does not support (JSON Schema,
`max_completion_tokens`, temperature, streaming). This is remembered for each model, and with a file across restarts.
"""

import asyncio
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from agent_core.errors import ModelError, ModelRefused, PromptTooLong
from agent_core.model.messages import Message, Reply
from agent_core.model.usage import Usage
from agent_core.ports.models import CallOptions, TokenCounter
from agent_core.providers.limited_replies import MAX_CHAT_BYTES
from agent_core.providers.llm.context_windows import ContextWindows
from agent_core.providers.llm.endpoint_errors import (
    CHAT,
    Ability,
    error_text,
    failed_generation,
    shown_name,
)
from agent_core.providers.llm.learned_dialects import LearnedDialects
from agent_core.providers.llm.model_list import receive_model_list
from agent_core.providers.llm.openai_client import OpenAIEndpoint
from agent_core.providers.llm.openai_completion import Completion, CompressedStream, read_completion
from agent_core.providers.llm.openai_dialect import Dialect
from agent_core.providers.llm.openai_stream import receive_reply
from agent_core.providers.llm.refused_requests import (
    PARAMETER_STATUSES,
    is_too_large,
    may_be_about_parameters,
    smaller_window,
)
from agent_core.providers.llm.token_estimates import EstimatedTokens
from agent_core.providers.llm.vision_models import VisionModels

DEFAULT_MODEL = "gpt-5.4-mini"
MAX_STREAM_SECONDS = 3_600
SYSTEM_AS: Mapping[str, Literal["user", "assistant"]] = {"system": "user", "user": "user", "assistant": "assistant"}
OPENAI = Dialect(limit="max_completion_tokens", cache_key=True)


@dataclass(slots=True, kw_only=True)
class OpenAIModel(OpenAIEndpoint):
    """Implements `LanguageModel`. `prepare` or the first call loads the SDK and sends the first request.

    `model`: the default model; "" is the only model that the endpoint lists, or DEFAULT_MODEL if that is not clear.
    `context`, `reply_limit`: the operator's context window and longest reply for every model.
    `learned`: the file that keeps the dialect of each model.
    `streams`: whether replies are streamed, if the endpoint supports it.
    `ability`: names of settings, for error messages.
    `vision`: whether every model takes pictures; None if the endpoint's list or the model's name tells.
    """

    model: str = ""
    temperature: float | None = None
    context: int | None = None
    ability: Ability = CHAT
    tokens: TokenCounter = field(default_factory=EstimatedTokens)
    learned: Path | None = None
    streams: bool = True
    reply_limit: int | None = None
    vision: bool | None = None
    _dialects: LearnedDialects[Dialect] = field(init=False, repr=False)
    _windows: ContextWindows = field(init=False, repr=False)
    _seeing: VisionModels = field(init=False, repr=False)
    _has_listed_models: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self._windows = ContextWindows(base_url=self.base_url, configured=self.context)
        self._seeing = VisionModels(self.vision)
        self._dialects = LearnedDialects(self.learned, self.base_url, Dialect, self.clock)

    @property
    def label(self) -> str:
        return f"{shown_name(self.model)} · {self.host}" if self.model else self.host

    @property
    def default_model(self) -> str:
        return self.model

    async def prepare(self) -> None:
        """Load the SDK and find the default model and context windows. Errors are left to the first call."""
        await self.client()
        with suppress(ModelError):
            await self._pick_model("")
            await self._learn_windows()

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        name = await self._pick_model(options.model)
        if self.temperature is not None:
            options = replace(options, temperature=self.temperature)
        try:
            answer, dialect = await self._request(name, messages, options)
        except self.sdk_errors as error:
            self._seeing.check_refusal(messages, name, error, self.api_key)
            refused = self.model_error(error, name, self.ability, self.model)
            if is_too_large(error):
                raise await self._shrink_window(name, error, str(refused)) from None
            raise refused from None
        with suppress(ModelError):
            await self._learn_windows()
        self._has_listed_models = True
        reply = answer.reply(self.tokens.count, messages, options.max_tokens)
        is_known = self._dialect(name) == dialect  # another call may have learned meanwhile
        if options.schema is not None and is_known and answer.ignores(dialect.format):
            await self._dialects.learn(name, dialect.with_next_format())
        return reply

    def window(self, model: str) -> int:
        """Context window in tokens, from the first of: the operator, the endpoint, the price list, a low default.

        A smaller one that the endpoint named when it refused a request counts before them.
        """
        name = self._known_name(model)
        window = self._windows.of(name)
        return min(window, self._dialect(name).window or window)

    def knows_window(self, model: str) -> bool:
        """Whether `window` has a source, or is assumed."""
        return self._windows.known(self._known_name(model)) is not None

    @property
    def is_listed(self) -> bool:
        """Whether what the models can do is known: from the endpoint's list, or because the endpoint is OpenAI's."""
        return self.is_openai or self._has_listed_models

    def max_reply(self, model: str) -> int | None:
        """The longest reply in tokens, from the first of: operator, learned dialect, endpoint, `reply_limits`."""
        name = self._known_name(model)
        return self.reply_limit or self._dialect(name).max_reply or self._windows.max_reply(name)

    def takes_images(self, model: str) -> bool:
        """Whether the model takes pictures, from the first of: a refusal, the operator, the endpoint, the name."""
        return self._seeing.includes(self._known_name(model))

    def price(self, usage: Usage, model: str) -> Decimal | None:
        """Cost in US dollars, or None if no price is known."""
        return self.prices.of(usage, model or self.model or DEFAULT_MODEL)

    def _known_name(self, model: str) -> str:
        """The model that a call would use; "" if the endpoint has to be asked first."""
        return model or self.model or (DEFAULT_MODEL if self.is_openai else "")

    def _dialect(self, name: str) -> Dialect:
        first = OPENAI if self.is_openai else Dialect()
        return self._dialects.of(name) or replace(first, stream=self.streams)

    async def _request(
        self, name: str, messages: Sequence[Message], options: CallOptions
    ) -> tuple[Completion, Dialect]:
        """Ask in simpler ways until the endpoint accepts one, and remember it.

        A way that an error refused without naming it, or with a status of 500, may have failed for another reason: it
        is tried again after a restart, and after a 500 that did not name it by the next call.
        """
        known = dialect = self._dialect(name)
        tried, is_learned, lasts = {dialect}, True, True
        while True:
            request = {"model": name, "messages": chat_messages(messages, has_system=dialect.system)}
            try:
                answer = await self._send(request | dialect.parameters(options), options)
            except self.sdk_errors as error:
                if text := failed_generation(error):
                    return Completion.of_text(text), dialect
                told = self._next_dialect(error, dialect, options)
                other = told or simpler_dialect(error, dialect, options)
                if other is None or other in tried:
                    raise
                has_failed = getattr(error, "status_code", 0) >= 500
                lasts = lasts and told is not None and not has_failed
                is_learned = is_learned and (told is not None or not has_failed)
            else:
                if dialect != known and is_learned:
                    await self._dialects.learn(name, dialect, lasts=lasts)
                return answer, dialect
            dialect = other
            tried.add(dialect)

    async def _shrink_window(self, name: str, error: Exception, why: str) -> ModelRefused:
        """Learn a smaller window; the error to raise, which says whether there is one."""
        smaller = smaller_window(error, self.window(name))
        if smaller is None:
            return ModelRefused(why)
        window, lasts = smaller
        await self._dialects.learn(name, replace(self._dialect(name), window=window), lasts=lasts)
        return PromptTooLong(why)

    async def _send(self, parameters: Mapping[str, Any], options: CallOptions) -> Completion:
        """Send one request. Raise the SDK's errors, BrokenOff, or ModelRefused if the response is no completion."""
        client = await self.client()
        if not parameters.get("stream"):
            async with asyncio.timeout(self.seconds):
                completion = await client.chat.completions.create(**parameters)
            answer = read_completion(completion)
        else:
            async with asyncio.timeout(self.seconds):
                response = await client.chat.completions.with_raw_response.create(**parameters)
            async with asyncio.timeout(MAX_STREAM_SECONDS):
                answer = await receive_reply(
                    response,
                    MAX_CHAT_BYTES,
                    report=options.report,
                    add_event=Completion.add_chunk,
                    read_whole=read_completion,
                )
        if answer is None:
            address = self.ability.address
            raise ModelRefused(f"{self.host} did not answer as a model does: check {address}, usually …/v1.")
        return answer

    def _next_dialect(self, error: Exception, dialect: Dialect, options: CallOptions) -> Dialect | None:
        if isinstance(error, CompressedStream):
            return replace(dialect, stream=False)
        if getattr(error, "status_code", 0) not in PARAMETER_STATUSES or is_too_large(error):
            return None
        return dialect.adapt(error_text(error), options)

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
            listed = await receive_model_list(client.models.with_raw_response.list(), self.seconds)
        except self.sdk_errors as error:
            if getattr(error, "status_code", 0) in (404, 405, 501):
                return ()
            raise self.model_error(error, "", self.ability) from None
        if listed is None:
            return ()
        self._has_listed_models = True
        self._windows.learn(listed)
        self._seeing.learn(listed)
        return tuple(name for name, _ in listed)


def simpler_dialect(error: Exception, dialect: Dialect, options: CallOptions) -> Dialect | None:
    """The dialect to try after a refusal that names no parameter but may mean the schema; None if it cannot.

    After a status of 500, which an outage has as well, it is the simplest one, so that one more request is sent.
    """
    if options.schema is None or dialect.format == "none" or not may_be_about_parameters(error):
        return None
    has_failed = getattr(error, "status_code", 0) >= 500
    return replace(dialect, format="none") if has_failed else dialect.with_next_format()


def chat_messages(messages: Sequence[Message], *, has_system: bool) -> list[dict[str, object]]:
    """The messages as the API takes them. Without system messages, users say what those would."""
    given = messages if has_system else [replace(message, role=SYSTEM_AS[message.role]) for message in messages]
    return [{"role": message.role, "content": content_of(message)} for message in merge_same_role(given)]


def merge_same_role(messages: Sequence[Message]) -> list[Message]:
    """Merge consecutive messages of one role: chat templates of some open models require that roles alternate."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            last = joined[-1]
            joined[-1] = Message(message.role, f"{last.content}\n\n{message.content}", last.images + message.images)
        else:
            joined.append(message)
    return joined


def content_of(message: Message) -> str | list[dict[str, object]]:
    """The content of a message: its text, or parts for text and images where it has images."""
    if not message.images:
        return message.content
    parts: list[dict[str, object]] = [{"type": "text", "text": message.content}]
    for image in message.images:
        url = f"data:{image.media_type};base64,{b64encode(image.data).decode()}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts
