"""Claude by Anthropic's own Messages API: prompt caching, thinking, a tool for the reply.

Consecutive prompts of an agent begin with the same text. A request marks two places up to which the API caches the
prompt: the end of the system prompt, and the message before the last one. Cached text costs a tenth of the price.
"""

import asyncio
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from agent_core.errors import ModelError, ModelRefused, PromptTooLong
from agent_core.model.messages import Image, Message, Reply
from agent_core.model.usage import Usage
from agent_core.ports.models import CallOptions, TokenCounter
from agent_core.providers.limited_replies import MAX_CHAT_BYTES
from agent_core.providers.llm.anthropic_completion import MessageEvents, read_message
from agent_core.providers.llm.anthropic_dialect import ClaudeDialect
from agent_core.providers.llm.context_windows import plausible_size
from agent_core.providers.llm.endpoint_errors import Ability, error_text, shown_name
from agent_core.providers.llm.learned_dialects import LearnedDialects
from agent_core.providers.llm.model_endpoint import ModelEndpoint
from agent_core.providers.llm.model_list import receive_model_list
from agent_core.providers.llm.openai_completion import Completion, CompressedStream
from agent_core.providers.llm.openai_model import MAX_STREAM_SECONDS
from agent_core.providers.llm.openai_stream import receive_reply
from agent_core.providers.llm.refused_requests import PARAMETER_STATUSES, is_too_large, smaller_window
from agent_core.providers.llm.reply_limits import listed_max_reply
from agent_core.providers.llm.token_estimates import EstimatedTokens
from agent_core.providers.llm.vision_models import VisionModels

ANTHROPIC_URL = "https://api.anthropic.com"
DEFAULT_CLAUDE_MODEL = "claude-sonnet-5-5"  # in the SDK's list of models, November 2026
CLAUDE_WINDOW_TOKENS = 200_000  # the smallest window of a current Claude model
CLAUDE = Ability(name="messages", address_hint="; Anthropic's own is https://api.anthropic.com")
CLAUDE_V1 = replace(
    CLAUDE, address_hint=", which ends in /v1: Anthropic's API does not have that at the end of an address"
)
MIN_LEARNED_REPLY = 1_024  # a lower limit may be about one request only
EPHEMERAL: Mapping[str, str] = {"type": "ephemeral"}
MIN_SHARED_MESSAGES = 3  # fewer have no history


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """What the endpoint's list of models reports: the window and the longest reply in tokens, and the dialect."""

    window: int | None
    max_reply: int | None
    dialect: ClaudeDialect


@dataclass(slots=True, kw_only=True)
class ClaudeModel(ModelEndpoint):
    """Implements `LanguageModel` by the `anthropic` SDK, an optional dependency.

    `model`, `context`, `reply_limit`, `learned`, `ability`, `streams`, `vision`: as in `OpenAIModel`, but `model` is
    never "". `stall_seconds`: how long a stream may be silent; five times that with pings alone.
    `tokens`: counts tokens if the API does not report them. There is no temperature.
    """

    base_url: str = ANTHROPIC_URL
    model: str = DEFAULT_CLAUDE_MODEL
    context: int | None = None
    reply_limit: int | None = None
    ability: Ability = CLAUDE
    tokens: TokenCounter = field(default_factory=EstimatedTokens)
    learned: Path | None = None
    streams: bool = True
    vision: bool | None = None
    _dialects: LearnedDialects[ClaudeDialect] = field(init=False, repr=False)
    _listed: dict[str, ListedModel] = field(default_factory=dict, init=False, repr=False)
    _seeing: VisionModels = field(init=False, repr=False)
    _has_listed_models: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self._dialects = LearnedDialects(self.learned, self.base_url, ClaudeDialect, self.clock)
        self._seeing = VisionModels(self.vision)

    @staticmethod
    def is_installed() -> bool:
        """Whether the `anthropic` SDK is installed."""
        from importlib.util import find_spec

        return find_spec("anthropic") is not None

    @property
    def label(self) -> str:
        return f"{shown_name(self.model)} · {self.host}"

    @property
    def default_model(self) -> str:
        return self.model

    async def prepare(self) -> None:
        """Load the SDK, and learn what the models can do; errors are raised by the first call."""
        await self._open_client()
        with suppress(ModelError):
            await self._list_models()

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        name = options.model or self.model
        try:
            answer, dialect = await self._request(name, messages, options)
        except self.sdk_errors as error:
            self._seeing.check_refusal(messages, name, error, self.api_key)
            refused = self.model_error(error, name, self.ability, self.model)
            if is_too_large(error):
                raise await self._shrink_window(name, error, str(refused)) from None
            raise refused from None
        if options.schema is not None and dialect.is_ignored_by(answer, options) and self._dialect(name) == dialect:
            await self._dialects.learn(name, dialect.with_next_choice())
        if not self._has_listed_models:
            self._has_listed_models = True  # a list that hangs costs one call, not every call
            with suppress(ModelError):
                await self._list_models()
        return answer.reply(self.tokens.count, messages)

    def window(self, model: str) -> int:
        """Context window in tokens, from the first of: operator, endpoint, CLAUDE_WINDOW_TOKENS.

        A smaller one that the API named when it refused a request counts before them.
        """
        name = model or self.model
        listed = self._listed.get(name)
        window = self.context or (listed and listed.window) or CLAUDE_WINDOW_TOKENS
        return min(window, self._dialect(name).window or window)

    def knows_window(self, model: str) -> bool:
        """Whether `window` has a source, or is assumed."""
        listed = self._listed.get(model or self.model)
        return bool(self.context or (listed and listed.window))

    @property
    def is_listed(self) -> bool:
        """Whether the endpoint has listed its models, and so what they can do."""
        return self._has_listed_models

    def max_reply(self, model: str) -> int | None:
        """The longest reply in tokens, from the first of: operator, learned dialect, endpoint, `listed_max_reply`."""
        name = model or self.model
        listed = self._listed.get(name)
        reported = listed.max_reply if listed else None
        return self.reply_limit or self._dialect(name).max_reply or reported or listed_max_reply(name)

    def takes_images(self, model: str) -> bool:
        """Whether the model takes pictures, from the first of: a refusal, the operator, the endpoint, the name."""
        return self._seeing.includes(model or self.model)

    def price(self, usage: Usage, model: str) -> Decimal | None:
        """US dollars, or None if no price is known."""
        return self.prices.of(usage, model or self.model)

    def _dialect(self, name: str) -> ClaudeDialect:
        listed = self._listed.get(name)
        return self._dialects.of(name) or replace(listed.dialect if listed else ClaudeDialect(), stream=self.streams)

    async def _request(
        self, name: str, messages: Sequence[Message], options: CallOptions
    ) -> tuple[Completion, ClaudeDialect]:
        known = dialect = self._dialect(name)
        tried = {dialect}
        while True:
            try:
                prompt = prompt_parameters(messages, is_cached=dialect.cache)
                answer = await self._send({"model": name, **prompt, **dialect.parameters(options)}, options)
            except self.sdk_errors as error:
                other = self._next_dialect(error, dialect, options)
                if other is None or other in tried:
                    raise
            else:
                is_lasting = dialect.max_reply is None or dialect.max_reply >= MIN_LEARNED_REPLY
                lasting = dialect if is_lasting else replace(dialect, max_reply=known.max_reply)
                if lasting != known:
                    await self._dialects.learn(name, lasting)
                return answer, dialect
            dialect = other
            tried.add(dialect)

    async def _send(self, parameters: Mapping[str, Any], options: CallOptions) -> Completion:
        """Send one request. Raise the SDK's errors, BrokenOff, or ModelRefused if the response is not a message."""
        client = await self._open_client()
        async with asyncio.timeout(self.seconds):
            response = await client.messages.with_raw_response.create(**parameters)
        async with asyncio.timeout(MAX_STREAM_SECONDS):
            answer = await receive_reply(
                response,
                MAX_CHAT_BYTES,
                report=options.report,
                add_event=MessageEvents().add_event,
                read_whole=read_message,
            )
        if answer is None:
            hint = f"check {self.ability.address}{self.ability.address_hint}."
            raise ModelRefused(f"{self.host} did not answer as Claude does: {hint}")
        return answer

    def _next_dialect(self, error: Exception, dialect: ClaudeDialect, options: CallOptions) -> ClaudeDialect | None:
        if isinstance(error, CompressedStream):
            return replace(dialect, stream=False)
        if getattr(error, "status_code", 0) not in PARAMETER_STATUSES or is_too_large(error):
            return None
        return dialect.adapt(error_text(error), options)

    async def _shrink_window(self, name: str, error: Exception, why: str) -> ModelRefused:
        """Learn a smaller window; the error to raise, which says whether there is one."""
        smaller = smaller_window(error, self.window(name))
        if smaller is None:
            return ModelRefused(why)
        window, lasts = smaller
        await self._dialects.learn(name, replace(self._dialect(name), window=window), lasts=lasts)
        return PromptTooLong(why)

    async def _list_models(self) -> None:
        """Learn windows, longest replies and capabilities from the endpoint's list of models; raise ModelError."""
        try:
            client = await self._open_client()
            models = await receive_model_list(client.models.with_raw_response.list(limit=1_000), self.seconds)
        except self.sdk_errors as error:
            raise self.model_error(error, "", self.ability) from None
        if models is None:
            return
        self._has_listed_models = True
        self._listed = {name: _listed_model(model) for name, model in models}
        self._seeing.learn(models)

    def _sdk(self) -> Any:
        import anthropic

        return anthropic

    def _sdk_error(self) -> type[Exception]:
        error: type[Exception] = self._sdk().AnthropicError
        return error

    def _new_client(self) -> Any:
        client = self._sdk().AsyncAnthropic(**self._client_options(needs_events=True))
        _ = client.messages, client.models  # lazily imported submodules
        return client


def _listed_model(metadata: Mapping[str, object]) -> ListedModel:
    return ListedModel(
        window=plausible_size(metadata.get("max_input_tokens")),
        max_reply=plausible_size(metadata.get("max_tokens")),
        dialect=ClaudeDialect.of(metadata.get("capabilities")),
    )


def prompt_parameters(messages: Sequence[Message], *, is_cached: bool) -> dict[str, object]:
    """System prompt and messages of a request.

    If `is_cached` and there is a history, the end of the system prompt and the message before the last are marked as
    ends of text to cache.
    """
    is_shared = is_cached and len(messages) >= MIN_SHARED_MESSAGES
    last_shared = len(messages) - 2 if is_shared else None
    blocks = [
        (message.role, block)
        for index, message in enumerate(messages)
        for block in _blocks(message, is_breakpoint=index == last_shared)
    ]
    system = [block for role, block in blocks if role == "system"]
    if system and is_shared:
        system[-1]["cache_control"] = EPHEMERAL
    return {"system": system, "messages": _turns((role, block) for role, block in blocks if role != "system")}


def _blocks(message: Message, *, is_breakpoint: bool) -> list[dict[str, object]]:
    """The images of a message, then its text: Claude reads them best in this order."""
    blocks = [_image_block(image) for image in message.images]
    if message.content.strip():
        blocks.append({"type": "text", "text": message.content})
    if blocks and is_breakpoint:
        blocks[-1]["cache_control"] = EPHEMERAL
    return blocks


def _image_block(image: Image) -> dict[str, object]:
    source = {"type": "base64", "media_type": image.media_type, "data": b64encode(image.data).decode()}
    return {"type": "image", "source": source}


def _turns(blocks: Iterable[tuple[str, dict[str, object]]]) -> list[dict[str, Any]]:
    """The messages: consecutive blocks of one role are merged into one message."""
    turns: list[dict[str, Any]] = []
    for role, block in blocks:
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].append(block)
        else:
            turns.append({"role": role, "content": [block]})
    return turns
