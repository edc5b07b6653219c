"""The client of language models behind endpoints: asks, learns from refusals, and reads replies within limits.

A refusal, or a reply that ignores a parameter, shows what the endpoint does not support for a model. That is kept until
the process ends, as the model's dialect. `openai_model` and `anthropic_model` build the requests and read the replies.
"""

import asyncio
import inspect
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar

import httpx2

from agent_core.capabilities.models.completion import BrokenOff, Completion, member
from agent_core.capabilities.models.dialect import Dialect
from agent_core.capabilities.models.endpoint_errors import (
    CHAT,
    PARAMETER_STATUSES,
    Ability,
    error_text,
    failed_generation,
    is_too_large,
    may_be_about_parameters,
    message_in,
    redact_and_shorten,
    refuses_images,
    shown_name,
    smaller_window,
)
from agent_core.capabilities.models.model_endpoint import ModelEndpoint
from agent_core.capabilities.models.model_facts import ModelFacts
from agent_core.capabilities.models.token_counters import EstimatedTokens
from agent_core.errors import ModelError, ModelRefused, PromptTooLong
from agent_core.model.model_calls import Message, Reply, Usage
from agent_core.ports.models import CallOptions, TokenCounter
from agent_core.providers.limited_replies import EVENT_STREAM, MAX_CHAT_BYTES

MAX_STREAM_SECONDS = 3_600
SILENCE_SECONDS = 600.0  # DeepSeek sends only comments while a request waits, Claude only pings while it thinks
LISTING_TIMEOUT_SECONDS = 10
NO_LIST_STATUSES = (404, 405, 501)


@dataclass(slots=True, kw_only=True)
class EndpointModel(ModelEndpoint):
    """Implements `LanguageModel`. `prepare` or the first call loads the SDK and sends the first request.

    `model`: the default model; "" is the only model that the endpoint lists, or `default` if that is not clear.
    `temperature`: the operator's, which goes before the caller's.
    `context`, `reply_limit`: the operator's context window and longest reply for every model, in tokens.
    `tokens`: counts tokens if the endpoint does not report them.
    `streams`: whether replies are streamed, if the endpoint supports it.
    `ability`: names of settings, for error messages.
    `vision`: whether every model takes pictures; None if the endpoint's list or the model's name tells.
    `silence_seconds`: how long a stream may send nothing of the reply.
    """

    model: str = ""
    temperature: float | None = None
    context: int | None = None
    reply_limit: int | None = None
    ability: Ability = CHAT
    tokens: TokenCounter = field(default_factory=EstimatedTokens)
    streams: bool = True
    vision: bool | None = None
    silence_seconds: float = SILENCE_SECONDS
    _learned: dict[str, Dialect] = field(default_factory=dict, init=False, repr=False)
    _facts: ModelFacts = field(init=False, repr=False)
    _has_listed_models: bool = field(default=False, init=False, repr=False)

    dialect: ClassVar[type[Dialect]]
    default: ClassVar[str]
    assumed_window: ClassVar[int | None] = None  # of models that the endpoint's list leaves out

    def __post_init__(self) -> None:
        self._facts = ModelFacts(
            base_url=self.base_url,
            context=self.context,
            vision=self.vision,
            reply_fields=self.dialect.reply_fields,
            assumed_window=self.assumed_window,
        )

    @abstractmethod
    def first_dialect(self) -> Dialect:
        """The dialect of a model of which nothing was learned."""

    @property
    def label(self) -> str:
        return f"{shown_name(self.model)} · {self.host}" if self.model else self.host

    @property
    def default_model(self) -> str:
        return self.model

    async def prepare(self) -> None:
        """Load the SDK, find the default model and what the models can do. Errors are left to the first call."""
        await self.client()
        with suppress(ModelError):
            await self._pick_model("")
            await self._learn_facts()

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        name = await self._pick_model(options.model)
        if self.temperature is not None:
            options = replace(options, temperature=self.temperature)
        try:
            answer, dialect = await self._request(name, messages, options)
        except self.sdk_errors as error:
            raise self._refusal(error, name, has_images=any(message.images for message in messages)) from None
        with suppress(ModelError):
            await self._learn_facts()
        self._has_listed_models = True  # a list that hangs costs one call, not every call
        is_known = self._dialect(name) == dialect  # another call may have learned meanwhile
        if is_known and dialect.is_ignored_by(answer, options):
            self._learned[name] = dialect.with_next_way()
        return answer.reply(self.tokens.count, messages, options.max_tokens)

    def window(self, model: str) -> int:
        """Context window in tokens, from the first of: the operator, the endpoint, the price list, a low default.

        A smaller one that the endpoint named when it refused a request counts before them.
        """
        name = self._known_name(model)
        window = self._facts.window(name)
        return min(window, self._dialect(name).window or window)

    def knows_window(self, model: str) -> bool:
        """Whether `window` has a source, or is assumed."""
        return self._facts.known_window(self._known_name(model)) is not None

    @property
    def is_listed(self) -> bool:
        """Whether what the models can do is known: from the endpoint's list, or because the endpoint is OpenAI's."""
        return self.is_openai or self._has_listed_models

    def max_reply(self, model: str) -> int | None:
        """The longest reply in tokens, from the first of: operator, learned dialect, endpoint, name."""
        name = self._known_name(model)
        return self.reply_limit or self._dialect(name).max_reply or self._facts.max_reply(name)

    def takes_images(self, model: str) -> bool:
        """Whether the model takes pictures, from the first of: a refusal, the operator, the endpoint, the name."""
        return self._facts.takes_images(self._known_name(model))

    def price(self, usage: Usage, model: str) -> Decimal | None:
        """Cost in US dollars, or None if no price is known."""
        return self.prices.of(usage, model or self.model or self.default)

    def _known_name(self, model: str) -> str:
        """The model that a call would use; "" if the endpoint has to be asked first."""
        return model or self.model or (self.default if self.is_openai else "")

    def _dialect(self, name: str) -> Dialect:
        return self._learned.get(name) or self.first_dialect()

    async def _request(
        self, name: str, messages: Sequence[Message], options: CallOptions
    ) -> tuple[Completion, Dialect]:
        """Ask in simpler ways until the endpoint accepts one, and remember it.

        A way that a status of 500 refused without naming it may have failed for another reason: the next call tries it
        again.
        """
        known = dialect = self._dialect(name)
        tried, is_learned = {dialect}, True
        while True:
            try:
                answer = await self._send(dialect, {"model": name, **dialect.request(messages, options)}, options)
            except self.sdk_errors as error:
                if text := failed_generation(error):
                    answer = Completion(finish_reason="stop")
                    answer.add(text=text)
                    return answer, dialect
                other, is_told = _next_dialect(error, dialect, options)
                if other is None or other in tried:
                    raise
                is_learned = is_learned and (is_told or getattr(error, "status_code", 0) < 500)
                dialect = other
                tried.add(dialect)
            else:
                if dialect != known and is_learned:
                    self._learned[name] = dialect
                return answer, dialect

    async def _send(self, dialect: Dialect, parameters: Mapping[str, Any], options: CallOptions) -> Completion:
        """Send one request. Raise the SDK's errors, BrokenOff, or ModelRefused if the response is no reply."""
        create = dialect.create(await self.client())
        async with asyncio.timeout(self.seconds):
            response = await create(**parameters)
        async with asyncio.timeout(MAX_STREAM_SECONDS):
            try:
                if EVENT_STREAM in response.headers.get("content-type", ""):
                    return await self._read_stream(dialect, response, options)
                answer = dialect.read(_parse(await response.http_response.aread()))
            except Exception as error:
                match error if isinstance(error, httpx2.TransportError) else error.__cause__:
                    case httpx2.TimeoutException():
                        raise TimeoutError from None
                    case httpx2.TransportError():
                        raise BrokenOff from None
                    case _:
                        raise
        if answer is None:
            hint = f"check {self.ability.address}{self.ability.address_hint}."
            raise ModelRefused(f"{self.host} did not answer as a model does: {hint}")
        return answer

    async def _read_stream(self, dialect: Dialect, response: Any, options: CallOptions) -> Completion:
        """Read a stream to its end, or until it is endless or too long. It is closed in any case."""
        parsed = response.parse()
        stream = await parsed if inspect.isawaitable(parsed) else parsed
        answer, loop = Completion(), asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.silence_seconds) as silence:
                async for event in stream:
                    silence.reschedule(loop.time() + self.silence_seconds)
                    dialect.add_event(answer, event)
                    if options.report is not None:
                        options.report(answer.progress())
                    if answer.is_endless or answer.size > MAX_CHAT_BYTES:
                        return answer
        finally:
            await stream.close()
        if not answer.is_whole:
            raise BrokenOff
        return answer

    def _refusal(self, error: Exception, name: str, *, has_images: bool) -> ModelError:
        """The error to raise. What it says of pictures and of the window is learned."""
        if has_images and refuses_images(error):
            self._facts.refusing.add(name)
            said = redact_and_shorten(message_in(getattr(error, "body", None)) or str(error), self.api_key)
            return ModelRefused(
                f"{shown_name(name)} takes no pictures, so none is sent to it again before the restart: {said}"
            )
        refused = self.model_error(error, name, self.ability, self.model)
        if not is_too_large(error):
            return refused
        smaller = smaller_window(error, self.window(name))
        if smaller is None:
            return ModelRefused(str(refused))
        self._learned[name] = replace(self._dialect(name), window=smaller)
        return PromptTooLong(str(refused))

    async def _pick_model(self, model: str) -> str:
        if not (model or self.model):
            listed = await self._list_models()
            self.model = listed[0] if len(listed) == 1 else self.default
        return model or self.model

    async def _learn_facts(self) -> None:
        if not self.is_listed:
            await self._list_models()

    async def _list_models(self) -> tuple[str, ...]:
        """The models that the endpoint lists, none if it has no list. What it says of them is learned."""
        client = await self.client()
        try:
            async with asyncio.timeout(min(self.seconds, LISTING_TIMEOUT_SECONDS)):
                response = await client.models.with_raw_response.list(**self.dialect.listing)
        except self.sdk_errors as error:
            if getattr(error, "status_code", 0) in NO_LIST_STATUSES:
                return ()
            raise self.model_error(error, "", self.ability) from None
        match _parse(response.http_response.content):
            case {"data": [*entries]}:
                listed = [(each["id"], each) for each in entries if isinstance(member(each, "id"), str)]
                self._has_listed_models = True
                self._facts.learn(listed)
                return tuple(name for name, _ in listed)
            case _:
                return ()


def _next_dialect(error: Exception, dialect: Dialect, options: CallOptions) -> tuple[Dialect | None, bool]:
    """The dialect to try after an error, if there is one, and whether the error named what it changes."""
    status = getattr(error, "status_code", 0)
    if status in PARAMETER_STATUSES and not is_too_large(error):
        told = dialect.adapt(error_text(error), options)
        if told is not None:
            return told, True
    is_unsaid = may_be_about_parameters(error)
    # A status of 500 may be an outage.
    return dialect.simplify(options, at_once=status >= 500) if is_unsaid else None, False


def _parse(body: bytes) -> Any:
    """The parsed JSON; None if it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
