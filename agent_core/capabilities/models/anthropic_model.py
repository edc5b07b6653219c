"""Claude by Anthropic's own Messages API: how requests are written and replies are read.

Consecutive prompts of an agent begin with the same text. A request marks two places up to which the API caches the
prompt: the end of the system prompt, and the message before the last one. Cached text costs a tenth of the price.
The reply is asked for as the arguments of a tool, which the model must call, may call, or is not given:

    tool ─► auto ─► none
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from operator import attrgetter
from typing import Any, ClassVar, Literal, Self, TypeAlias

from agent_core.capabilities.models.completion import Completion, check_error, member, text_in, token_count
from agent_core.capabilities.models.dialect import STREAM_WORD, TOOL_DESCRIPTION, Dialect
from agent_core.capabilities.models.endpoint_errors import Ability
from agent_core.capabilities.models.endpoint_model import EndpointModel
from agent_core.capabilities.models.settings import ANTHROPIC_URL
from agent_core.model.model_calls import TURN_TOOL, Image, Message
from agent_core.ports.models import CallOptions

Thinking: TypeAlias = Literal["adaptive", "budget", "none"]
Choice: TypeAlias = Literal["tool", "auto", "none"]

DEFAULT_CLAUDE_MODEL = "claude-sonnet-5-5"  # in the SDK's list of models, November 2026
CLAUDE_WINDOW_TOKENS = 200_000  # the smallest window of a current Claude model
CLAUDE = Ability(name="messages", address_hint="; Anthropic's own is https://api.anthropic.com")
CLAUDE_V1 = replace(
    CLAUDE, address_hint=", which ends in /v1: Anthropic's API does not have that at the end of an address"
)
EPHEMERAL: Mapping[str, str] = {"type": "ephemeral"}
MIN_SHARED_MESSAGES = 3  # fewer have no history
NEXT_CHOICE: Mapping[Choice, Choice] = {"tool": "auto", "auto": "none", "none": "none"}
NEXT_THINKING: Mapping[Thinking, Thinking] = {"adaptive": "budget", "budget": "none", "none": "none"}
MIN_BUDGET_TOKENS = 1_024  # the API's own
BUDGET_TOKENS = {"minimal": MIN_BUDGET_TOKENS, "low": 2_048, "medium": 8_192, "high": 16_000, "xhigh": 32_000}
# The API names the parameter first ("tools: Extra inputs are not permitted"); gateways say what is not supported.
ABOUT_TOOLS = re.compile(
    r"\btool_choice\b|\btools(?:\.[\w.]+)?: "
    r"|\b(?:tools|tool use|tool calling|function calling) (?:is|are) not supported"
    r"|\bnot support (?:tools|tool use|tool calling|function calling)\b"
)
ABOUT_THINKING = re.compile(
    r"\bthinking\.(?:type|display)\b|\bthinking(?:\.\w+)*: "
    r"|\bthinking is not supported|\bnot support (?:\w+ )?thinking\b"
)
FINISH_REASONS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "tool_use": "tool_calls",
}
PROMPT_COUNTS = {
    "prompt": "input_tokens",
    "cached": "cache_read_input_tokens",
    "cache_written": "cache_creation_input_tokens",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeDialect(Dialect):
    """The parameters that the API accepts for a model.

    `choice`: how the reply is asked for: by a forced tool call, by a tool that the model may call, or as plain text.
    `thinking`: how thinking is switched on; `can_disable`: whether it can be switched off.
    `cache`: whether it accepts marks for its cache.
    """

    efforts: tuple[str, ...] = ("low", "medium", "high", "xhigh")
    choice: Choice = "tool"
    thinking: Thinking = "adaptive"
    can_disable: bool = True
    cache: bool = True

    create = attrgetter("messages.with_raw_response.create")
    listing: ClassVar[Mapping[str, object]] = {"limit": 1_000}
    reply_fields = frozenset({"max_tokens"})

    def request(self, messages: Sequence[Message], options: CallOptions) -> dict[str, object]:
        thinking = self._thinking(options)
        given: dict[str, object] = prompt_parameters(messages, is_cached=self.cache)
        given |= {"max_tokens": self.max_tokens(options), "stream": self.stream}
        if thinking:
            given["thinking"] = thinking
        if word := self._effort_word(options):
            given["output_config"] = {"effort": word}
        if options.schema is None or self.choice == "none":
            return given
        # The API forbids to force a tool while the model thinks.
        is_forced = self.choice == "tool" and not _is_thinking(thinking)
        choice = {"type": "tool", "name": TURN_TOOL} if is_forced else {"type": "auto"}
        tool = {"name": TURN_TOOL, "description": TOOL_DESCRIPTION, "input_schema": options.schema}
        return given | {"tools": [tool], "tool_choice": {**choice, "disable_parallel_tool_use": True}}

    def adapt(self, complaint: str, options: CallOptions) -> Self | None:
        if options.schema is not None and ABOUT_TOOLS.search(complaint):
            return self.with_next_way()
        if ABOUT_THINKING.search(complaint):
            if options.effort == "none":
                return replace(self, can_disable=False)
            return replace(self, thinking=NEXT_THINKING[self.thinking]) if options.effort in BUDGET_TOKENS else None
        if "max_tokens" in complaint:
            accepted = self.accepted_limit(complaint, options)
            return replace(self, max_reply=accepted) if accepted else None
        if (word := self._effort_word(options)) and ("effort" in complaint or "output_config" in complaint):
            return self.without_effort(complaint, word)
        if self.cache and "cache_control" in complaint:
            return replace(self, cache=False)
        return replace(self, stream=False) if self.stream and STREAM_WORD.search(complaint) else None

    def simplify(self, options: CallOptions, *, at_once: bool) -> Self | None:
        return None

    def with_next_way(self) -> Self:
        return replace(self, choice=NEXT_CHOICE[self.choice])

    def is_ignored_by(self, answer: Completion, options: CallOptions) -> bool:
        is_forced = options.schema is not None and self.choice == "tool" and not _is_thinking(self._thinking(options))
        return is_forced and bool(answer.text) and not (answer.calls or answer.refusal or answer.is_cut_off)

    @staticmethod
    def read(body: object) -> Completion | None:
        blocks = member(body, "content")
        if not isinstance(blocks, list):
            check_error(body)
            return None
        answer = Completion()
        for index, block in enumerate(blocks):
            _begin_block(answer, block, index, json.dumps(member(block, "input")))
            answer.add(text=text_in(block, "text"), reasoning=text_in(block, "thinking"))
        _end(answer, body, member(body, "usage"))
        return answer

    @staticmethod
    def add_event(answer: Completion, event: object) -> None:
        index = member(event, "index")
        match member(event, "type"):
            case "message_start":  # its output tokens are a placeholder
                _report(answer, member(member(event, "message"), "usage"), PROMPT_COUNTS)
            case "content_block_start":
                _begin_block(answer, member(event, "content_block"), index, "")
            case "content_block_delta":
                delta = member(event, "delta")
                answer.add(text=text_in(delta, "text"), reasoning=text_in(delta, "thinking"))
                if arguments := text_in(delta, "partial_json"):
                    answer.add_to_call(index, "", "", arguments)
            case "message_delta":
                _end(answer, member(event, "delta"), member(event, "usage"))
            case _:
                pass

    def _thinking(self, options: CallOptions) -> dict[str, object]:
        """The parameter `thinking`; {} leaves it out, for example without an effort, so that the API decides."""
        if options.effort == "none":
            return {"type": "disabled"} if self.can_disable else {}
        if options.effort not in BUDGET_TOKENS or self.thinking == "none":
            return {}
        if self.thinking == "adaptive":
            return {"type": "adaptive", "display": "summarized"}
        tokens = min(BUDGET_TOKENS[options.effort], self.max_tokens(options) // 2)
        return {"type": "enabled", "budget_tokens": tokens} if tokens >= MIN_BUDGET_TOKENS else {}

    def _effort_word(self, options: CallOptions) -> str:
        return self.effort_word(options.effort) if options.effort in BUDGET_TOKENS else ""


@dataclass(slots=True, kw_only=True)
class ClaudeModel(EndpointModel):
    """Implements `LanguageModel` by the `anthropic` SDK, an optional dependency. There is no temperature."""

    base_url: str = ANTHROPIC_URL
    model: str = DEFAULT_CLAUDE_MODEL
    ability: Ability = CLAUDE

    vendor: ClassVar[Literal["OpenAI", "Anthropic"]] = "Anthropic"
    dialect = ClaudeDialect
    default: ClassVar[str] = DEFAULT_CLAUDE_MODEL
    assumed_window: ClassVar[int | None] = CLAUDE_WINDOW_TOKENS

    def first_dialect(self) -> ClaudeDialect:
        return ClaudeDialect(stream=self.streams)

    @staticmethod
    def is_installed() -> bool:
        """Whether the `anthropic` SDK is installed."""
        return find_spec("anthropic") is not None


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


def _is_thinking(parameter: Mapping[str, object]) -> bool:
    return parameter.get("type") in ("adaptive", "enabled")


def _begin_block(answer: Completion, block: object, index: object, arguments: str) -> None:
    if member(block, "type") == "tool_use":
        answer.begin_call(index, text_in(block, "id"), text_in(block, "name"), arguments)


def _end(answer: Completion, told: object, usage: object) -> None:
    """Add the stop reason, the explanation of a refusal, and the usage."""
    if reason := text_in(told, "stop_reason"):
        answer.finish_reason = FINISH_REASONS.get(reason, "stop")
    if reason == "refusal":
        answer.add(refusal=text_in(member(told, "stop_details"), "explanation"))
    _report(answer, usage, {**PROMPT_COUNTS, "completion": "output_tokens"})
    thinking = token_count(member(usage, "output_tokens_details"), "thinking_tokens")
    if thinking is not None:
        answer.report = replace(answer.report, reasoning=thinking)


def _report(answer: Completion, usage: object, fields: Mapping[str, str]) -> None:
    """Replace the token counts by those that are reported here, which are for the whole message so far."""
    told = {name: count for name, field in fields.items() if (count := token_count(usage, field)) is not None}
    answer.report = replace(answer.report, is_cache_apart=True, **told)
