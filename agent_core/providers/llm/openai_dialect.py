"""What an OpenAI-compatible endpoint understands for one model: parameters, limits, and ways to ask for JSON.

After a refusal, or a reply that ignores the request, the next simpler request is tried, one step at a time:

    ways of asking:  json_schema ─► tool call ─► json_object ─► plain text
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field

from agent_core.model.messages import TURN_TOOL
from agent_core.ports.models import CallOptions
from agent_core.providers.llm.effort_words import OtherEfforts, accepted_word, with_refused_word

Format: TypeAlias = Literal["json_schema", "tool", "json_object", "none"]
LimitName: TypeAlias = Literal["max_tokens", "max_completion_tokens"]

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
LIMIT_WORDS = ("at most", "maximum", "too large", "less than", "up to", "<=", "exceed", "range")
STATUS = re.compile(r"error code: \d+")
NUMBER = re.compile(r"\d[\d,]*")
MIN_REPLY_LIMIT = 256
STREAM_WORD = re.compile(r"\bstream(?:ing)?\b")  # not an "upstream" that is away
# "System role not supported", "Conversation roles must alternate", "Developer instruction is not enabled"
ABOUT_ROLES = re.compile(r"\broles?\b|\bsystem (?:messages?|prompts?|instructions?)\b|\bdeveloper instructions?\b")
TOOL_DESCRIPTION = "Reply with your thoughts and the next single command."


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The parameters that an endpoint supports for a model.

    `max_reply`: the highest reply limit that it accepts. `other_efforts`: the words for efforts that it refused.
    `window`: the context window in tokens that it named when it refused a request as too large.
    `system`: whether it accepts system messages.
    """

    format: Format = "json_schema"
    limit: LimitName = "max_tokens"
    max_reply: Annotated[int, Field(ge=MIN_REPLY_LIMIT)] | None = None
    temperature: bool = True
    effort: bool = True
    other_efforts: OtherEfforts = ()
    stream: bool = True
    stream_usage: bool = True
    cache_key: bool = False
    window: int | None = None
    system: bool = True

    def adapt(self, complaint: str, options: CallOptions) -> Self | None:
        """The dialect to try next after an error (in lower case), or None if the error is not about a parameter."""
        if options.schema is not None and any(word in complaint for word in FORMAT_WORDS[self.format]):
            return self.with_next_format()
        if self.limit in complaint:
            accepted = accepted_limit(complaint, self._max_tokens(options))
            return replace(self, max_reply=accepted) if accepted else replace(self, limit=OTHER_LIMIT[self.limit])
        if self.cache_key and "prompt_cache_key" in complaint:
            return replace(self, cache_key=False)
        if (word := self._effort(options)) and ("reasoning" in complaint or "effort" in complaint):
            others = with_refused_word(complaint, word, self.other_efforts)
            return replace(self, other_efforts=others) if others else replace(self, effort=False)
        if self.stream_usage and ("stream_options" in complaint or "include_usage" in complaint):
            return replace(self, stream_usage=False)
        if self.stream and STREAM_WORD.search(complaint):
            return replace(self, stream=False)
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        return replace(self, system=False) if self.system and ABOUT_ROLES.search(complaint) else None

    def with_next_format(self) -> Self:
        """The dialect with the next way to ask for JSON. The last way sends no parameter: only the prompt asks."""
        return replace(self, format=NEXT_FORMAT.get(self.format, "none"))

    def parameters(self, options: CallOptions) -> dict[str, object]:
        """The request parameters besides model and messages."""
        given: dict[str, object] = {self.limit: self._max_tokens(options)}
        if options.temperature is not None and self.temperature:
            given["temperature"] = options.temperature
        if word := self._effort(options):
            given["reasoning_effort"] = word
        if options.cache_key and self.cache_key:
            given["prompt_cache_key"] = options.cache_key
        if self.stream:
            given["stream"] = True
        if self.stream and self.stream_usage:
            given["stream_options"] = {"include_usage": True}
        return given | (_format_parameters(self.format, options.schema) if options.schema is not None else {})

    def _effort(self, options: CallOptions) -> str:
        return accepted_word(options.effort, self.other_efforts) if self.effort else ""

    def _max_tokens(self, options: CallOptions) -> int:
        return min(options.max_tokens, self.max_reply or options.max_tokens)


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


def accepted_limit(complaint: str, given: int) -> int | None:
    """The limit that the endpoint accepts, as its error names it: the largest number below the limit that was sent.

    None if the error is not about a limit or has no such number.
    """
    if not any(word in complaint for word in LIMIT_WORDS):
        return None
    numbers = [int(found.replace(",", "")) for found in NUMBER.findall(STATUS.sub("", complaint))]
    return max((number for number in numbers if MIN_REPLY_LIMIT <= number < given), default=None)
