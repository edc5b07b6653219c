"""Models behind OpenAI-compatible endpoints (chat completions): how requests are written and replies are read.

An endpoint that refuses or ignores a way of asking for JSON is asked in the next one:

    json_schema ─► tool call ─► json_object ─► plain text
"""

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import ClassVar, Literal, Self, TypeAlias

from agent_core.capabilities.models.completion import (
    BROKEN_OFF_REASONS,
    BrokenOff,
    Completion,
    TokenReport,
    check_error,
    member,
    text_in,
    token_count,
)
from agent_core.capabilities.models.dialect import STREAM_WORD, TOOL_DESCRIPTION, Dialect
from agent_core.capabilities.models.endpoint_model import EndpointModel
from agent_core.model.model_calls import TURN_TOOL, Message
from agent_core.ports.models import CallOptions

Format: TypeAlias = Literal["json_schema", "tool", "json_object", "none"]
LimitName: TypeAlias = Literal["max_tokens", "max_completion_tokens"]

DEFAULT_MODEL = "gpt-5.4-mini"
NEXT_FORMAT: Mapping[Format, Format] = {"json_schema": "tool", "tool": "json_object", "json_object": "none"}
OTHER_LIMIT: Mapping[LimitName, LimitName] = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
FORMAT_WORDS: Mapping[Format, tuple[str, ...]] = {
    "json_schema": ("response_format", "schema", "json mode", "structured output", "grammar"),
    "tool": ("tool", "function"),
    "json_object": ("response_format", "json_object", "json mode", "structured output", "grammar"),
    "none": (),
}
SYSTEM_AS: Mapping[str, Literal["user", "assistant"]] = {"system": "user", "user": "user", "assistant": "assistant"}
# "System role not supported", "Conversation roles must alternate", "Developer instruction is not enabled"
ABOUT_ROLES = re.compile(r"\broles?\b|\bsystem (?:messages?|prompts?|instructions?)\b|\bdeveloper instructions?\b")
REASONING_FIELDS = ("reasoning_content", "reasoning")  # DeepSeek, vLLM and Qwen; OpenRouter, Groq and Ollama


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIDialect(Dialect):
    """The parameters that an endpoint supports for a model. `system`: whether it accepts system messages."""

    format: Format = "json_schema"
    limit: LimitName = "max_tokens"
    temperature: bool = True
    stream_usage: bool = True
    cache_key: bool = False
    system: bool = True

    create = attrgetter("chat.completions.with_raw_response.create")
    reply_fields = frozenset({"max_completion_tokens", "max_output_tokens"})  # Groq, OpenRouter; gateways

    def request(self, messages: Sequence[Message], options: CallOptions) -> dict[str, object]:
        given: dict[str, object] = {
            "messages": chat_messages(messages, has_system=self.system),
            self.limit: self.max_tokens(options),
        }
        if options.temperature is not None and self.temperature:
            given["temperature"] = options.temperature
        if word := self.effort_word(options.effort):
            given["reasoning_effort"] = word
        if options.cache_key and self.cache_key:
            given["prompt_cache_key"] = options.cache_key
        if self.stream:
            given["stream"] = True
        if self.stream and self.stream_usage:
            given["stream_options"] = {"include_usage": True}
        return given | (_format_parameters(self.format, options.schema) if options.schema is not None else {})

    def adapt(self, complaint: str, options: CallOptions) -> Self | None:
        if options.schema is not None and any(word in complaint for word in FORMAT_WORDS[self.format]):
            return self.with_next_way()
        if self.limit in complaint:
            accepted = self.accepted_limit(complaint, options)
            return replace(self, max_reply=accepted) if accepted else replace(self, limit=OTHER_LIMIT[self.limit])
        if self.cache_key and "prompt_cache_key" in complaint:
            return replace(self, cache_key=False)
        if (word := self.effort_word(options.effort)) and ("reasoning" in complaint or "effort" in complaint):
            return self.without_effort(complaint, word)
        if self.stream_usage and ("stream_options" in complaint or "include_usage" in complaint):
            return replace(self, stream_usage=False)
        if self.stream and STREAM_WORD.search(complaint):
            return replace(self, stream=False)
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        return replace(self, system=False) if self.system and ABOUT_ROLES.search(complaint) else None

    def simplify(self, options: CallOptions, *, at_once: bool) -> Self | None:
        if options.schema is None or self.format == "none":
            return None
        return replace(self, format="none") if at_once else self.with_next_way()

    def with_next_way(self) -> Self:
        return replace(self, format=NEXT_FORMAT.get(self.format, "none"))

    def is_ignored_by(self, answer: Completion, options: CallOptions) -> bool:
        if options.schema is None or self.format == "none" or answer.refusal or answer.is_cut_off or not answer.size:
            return False
        return not answer.calls and (self.format == "tool" or not answer.is_object)

    @staticmethod
    def read(body: object) -> Completion | None:
        choices = member(body, "choices")
        if not isinstance(choices, list):
            check_error(body)
            return None
        answer = Completion(report=_token_report(_usage_in(body)))
        for choice in choices[:1]:
            _add_part(answer, member(choice, "message"), is_whole=True)
            answer.finish_reason = text_in(choice, "finish_reason")
        if answer.finish_reason in BROKEN_OFF_REASONS:
            raise BrokenOff
        return answer

    @staticmethod
    def add_event(answer: Completion, event: object) -> None:
        choices = member(event, "choices")
        if usage := _usage_in(event):
            answer.report = _token_report(usage)
        for choice in choices[:1] if isinstance(choices, list) else ():
            _add_part(answer, member(choice, "delta"))
            answer.finish_reason = text_in(choice, "finish_reason") or answer.finish_reason


@dataclass(slots=True, kw_only=True)
class OpenAIModel(EndpointModel):
    """Implements `LanguageModel` behind an OpenAI-compatible endpoint, by the `openai` SDK."""

    dialect = OpenAIDialect
    default: ClassVar[str] = DEFAULT_MODEL

    def first_dialect(self) -> OpenAIDialect:
        return OpenAIDialect(
            limit="max_completion_tokens" if self.is_openai else "max_tokens",
            cache_key=self.is_openai,
            stream=self.streams,
        )


def chat_messages(messages: Sequence[Message], *, has_system: bool) -> list[dict[str, object]]:
    """The messages as the API takes them. Without system messages, users say what those would."""
    given = messages if has_system else [replace(message, role=SYSTEM_AS[message.role]) for message in messages]
    return [{"role": message.role, "content": _content_of(message)} for message in merge_same_role(given)]


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


def _content_of(message: Message) -> str | list[dict[str, object]]:
    """The content of a message: its text, or parts for text and images where it has images."""
    if not message.images:
        return message.content
    parts: list[dict[str, object]] = [{"type": "text", "text": message.content}]
    for image in message.images:
        url = f"data:{image.media_type};base64,{b64encode(image.data).decode()}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts


def _format_parameters(way: Format, schema: Mapping[str, object]) -> dict[str, object]:
    match way:
        case "json_schema":
            named = {"name": "turn", "schema": schema, "strict": False}
            return {"response_format": {"type": "json_schema", "json_schema": named}}
        case "tool":
            function = {"name": TURN_TOOL, "description": TOOL_DESCRIPTION, "parameters": schema}
            return {"tools": [{"type": "function", "function": function}], "tool_choice": "required"}
        case "json_object":
            return {"response_format": {"type": "json_object"}}
        case "none":
            return {}


def _add_part(answer: Completion, part: object, *, is_whole: bool = False) -> None:
    """Add a whole message or a delta: its text, refusal, reasoning and tool calls."""
    text, thought = _content(part)
    fields = (found for name in REASONING_FIELDS if (found := text_in(part, name)))
    answer.add(text=text, reasoning=thought or next(fields, ""), refusal=text_in(part, "refusal"))
    calls, old_call = member(part, "tool_calls"), member(part, "function_call")
    old_calls = [{"function": old_call, "index": "function_call"}] if old_call else []
    for call in calls if isinstance(calls, list) else old_calls:
        function = member(call, "function")
        arguments = member(function, "arguments")
        if isinstance(arguments, Mapping):  # Ollama's own shape
            arguments = json.dumps(arguments)
        add = answer.begin_call if is_whole else answer.add_to_call
        given = arguments if isinstance(arguments, str) else ""
        add(member(call, "index"), text_in(call, "id"), text_in(function, "name"), given)


def _content(part: object) -> tuple[str, str]:
    """The text and the reasoning in `content`, which Mistral gives as a list of chunks."""
    content = member(part, "content")
    if not isinstance(content, list):
        return text_in(part, "content"), ""
    text = "".join(text_in(chunk, "text") for chunk in content if member(chunk, "type") == "text")
    thoughts = [member(chunk, "thinking") for chunk in content if member(chunk, "type") == "thinking"]
    inner = [each for thought in thoughts if isinstance(thought, list) for each in thought]
    return text, "".join(text_in(each, "text") for each in inner)


def _usage_in(sent: object) -> object:
    """The usage of a completion or of a stream's chunk; Groq gives it in a field of its own."""
    return member(sent, "usage") or member(member(sent, "x_groq"), "usage")


def _token_report(usage: object) -> TokenReport:
    """The token counts, in the fields of several services."""
    prompt, completion = member(usage, "prompt_tokens_details"), member(usage, "completion_tokens_details")
    reasoning = token_count(completion, "reasoning_tokens")
    return TokenReport(
        prompt=token_count(usage, "prompt_tokens"),
        cached=token_count(prompt, "cached_tokens") or token_count(usage, "prompt_cache_hit_tokens") or 0,  # DeepSeek
        # OpenRouter; Anthropic behind gateways.
        cache_written=token_count(prompt, "cache_write_tokens")
        or token_count(usage, "cache_creation_input_tokens")
        or 0,
        completion=token_count(usage, "completion_tokens"),
        reasoning=token_count(usage, "reasoning_tokens") if reasoning is None else reasoning,
        total=token_count(usage, "total_tokens"),
    )
