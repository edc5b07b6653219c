"""Reads completions of OpenAI-compatible endpoints, whole or streamed, with the peculiarities of several of them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from agent_core.model.messages import Reply, ToolCall
from agent_core.model.usage import Usage
from agent_core.ports.models import ModelProgress
from agent_core.providers.llm.openai_dialect import TOOL_NAME, Format

MAX_PLAUSIBLE_TOKENS = 100_000_000
MAX_TRAILING_BLANKS = 8_000  # characters; a grammar that allows blanks lets some servers write them for ever
MAX_TOOL_CALLS = 64
CUT_OFF_REASONS = ("length", "content_filter")
REASONING_FIELDS = ("reasoning_content", "reasoning")  # DeepSeek, vLLM and Qwen; OpenRouter, Groq and Ollama


class BrokenOff(Exception):
    """A stream ended before the end of the reply."""


@dataclass(slots=True)
class Completion:
    """A completion as far as it was received. `tools` has name and arguments of each tool call, by index."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    finish_reason: str = ""
    tools: dict[int, ToolCall] = field(default_factory=dict)
    usage: object = None
    _blanks: int = 0

    @classmethod
    def of(cls, completion: Any) -> "Completion":
        """Read a whole completion: an object of the SDK or of parsed JSON."""
        answer = cls(usage=getattr(completion, "usage", None))
        for choice in (completion.choices or ())[:1]:
            answer.add(getattr(choice, "message", None), getattr(choice, "finish_reason", None))
        return answer

    @property
    def size(self) -> int:
        """The characters received."""
        return len(self.text) + len(self.reasoning) + sum(len(call.arguments) for call in self.tools.values())

    @property
    def is_endless(self) -> bool:
        """Whether nothing but blanks has come for a long time."""
        return self._blanks > MAX_TRAILING_BLANKS

    def add_chunk(self, chunk: Any) -> None:
        """Add one chunk of a stream."""
        self.usage = getattr(chunk, "usage", None) or self.usage
        for choice in (getattr(chunk, "choices", None) or ())[:1]:
            self.add(getattr(choice, "delta", None), getattr(choice, "finish_reason", None))

    def add(self, part: object, finish_reason: object) -> None:
        """Add a message, or a delta of one. Anything that is not text is skipped."""
        text = _text(part, "content")
        self.text += text
        self._blanks = self._blanks + len(text) if not text.strip() else len(text) - len(text.rstrip())
        self.refusal += _text(part, "refusal")
        self.reasoning += next((found for name in REASONING_FIELDS if (found := _text(part, name))), "")
        calls = getattr(part, "tool_calls", None)
        for position, call in enumerate(calls if isinstance(calls, list) else ()):
            self._add_tool(call, position)
        if isinstance(finish_reason, str) and finish_reason:
            self.finish_reason = finish_reason

    def _add_tool(self, call: Any, position: int) -> None:
        """Add a tool call or a part of one: the name comes first and once, the arguments in pieces."""
        index = getattr(call, "index", None)
        index = index if isinstance(index, int) else position
        if index not in self.tools and len(self.tools) >= MAX_TOOL_CALLS:
            return
        function, before = getattr(call, "function", None), self.tools.get(index, ToolCall("", ""))
        arguments = getattr(function, "arguments", None)
        if isinstance(arguments, SimpleNamespace | Mapping):  # Ollama's own shape
            arguments = json.dumps(arguments, default=vars)
        given = arguments if isinstance(arguments, str) else ""
        self.tools[index] = ToolCall(before.name or _text(function, "name"), before.arguments + given)

    def ignores(self, way: Format) -> bool:
        """Whether the endpoint accepted this way to ask for JSON, and the model answered in another one."""
        if way == "none" or self.refusal or self.finish_reason in CUT_OFF_REASONS or not self.size:
            return False
        return not self.tools if way == "tool" else not self.tools and not _is_object(self.text)

    def progress(self) -> ModelProgress:
        """What people may be told while the model works."""
        written = self.text or "".join(call.arguments for call in self.tools.values())
        return ModelProgress(characters=self.size, written=written, is_reasoning=bool(self.reasoning) and not written)

    def reply(self, count: Callable[[str], int], prompt: Sequence[str]) -> Reply:
        """The reply, with usage as reported or, where that is missing or absurd, as counted.

        A call of our own tool becomes the reply's text; other tool calls are given as such.
        """
        calls = tuple(self.tools[index] for index in sorted(self.tools))
        text = self.text or self.refusal
        if len(calls) == 1 and calls[0].name == TOOL_NAME:
            text, calls = calls[0].arguments, ()
        return Reply(
            text=text.rstrip() if self.is_endless else text,
            usage=self._usage(count, prompt),
            finish_reason="stop" if self.finish_reason in ("", "tool_calls", "function_call") else self.finish_reason,
            reasoning=self.reasoning,
            tool_calls=calls,
        )

    def _usage(self, count: Callable[[str], int], prompt: Sequence[str]) -> Usage:
        told, completion = self.usage, token_count(self.usage, "completion_tokens")
        sent = token_count(told, "prompt_tokens")
        sent = sum(map(count, prompt)) if sent is None else sent
        reasoning = _reasoning_tokens(told)
        if reasoning is None:
            reasoning = count(self.reasoning) if self.reasoning else 0
        if completion is None:
            written = self.text + "".join(call.name + call.arguments for call in self.tools.values())
            completion = count(written) + reasoning
        elif token_count(told, "total_tokens") == sent + completion + reasoning:
            completion += reasoning  # xAI and Gemini report reasoning beside the completion, OpenAI within it
        return Usage(
            prompt=sent,
            cached=min(_cached_tokens(told), sent),
            cache_written=min(_cache_written_tokens(told), sent),
            completion=completion,
            reasoning=min(reasoning, completion),
        )


def token_count(usage: object, name: str) -> int | None:
    """A token count; None if the endpoint reports none, or one that cannot be."""
    count = getattr(usage, name, None)
    is_plausible = isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MAX_PLAUSIBLE_TOKENS
    return count if is_plausible else None


def parse_completion(body: str) -> object:
    """A completion from JSON, as an object with attributes; raise ValueError."""
    return json.loads(body, object_hook=lambda members: SimpleNamespace(**members))


def _is_object(text: str) -> bool:
    """Whether a text, after reasoning in tags, is one JSON object and nothing else."""
    try:
        return isinstance(json.loads(text.rpartition("</think>")[2]), dict)
    except ValueError:
        return False


def _reasoning_tokens(usage: object) -> int | None:
    details = getattr(usage, "completion_tokens_details", None)
    found = token_count(details, "reasoning_tokens")
    return found if found is not None else token_count(usage, "reasoning_tokens")


def _cached_tokens(usage: object) -> int:
    details = getattr(usage, "prompt_tokens_details", None)
    # OpenAI and most others; DeepSeek.
    return token_count(details, "cached_tokens") or token_count(usage, "prompt_cache_hit_tokens") or 0


def _cache_written_tokens(usage: object) -> int:
    details = getattr(usage, "prompt_tokens_details", None)
    # OpenRouter; Anthropic behind gateways.
    return token_count(details, "cache_write_tokens") or token_count(usage, "cache_creation_input_tokens") or 0


def _text(part: object, name: str) -> str:
    text = getattr(part, name, None)
    return text if isinstance(text, str) else ""
