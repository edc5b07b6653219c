"""Reads completions of OpenAI-compatible endpoints, whole or streamed, and handles the deviations of several."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from types import SimpleNamespace
from typing import Any

from agent_core.model.messages import Message, Reply, ToolCall
from agent_core.model.reasoning_tags import split_reasoning
from agent_core.model.usage import Usage
from agent_core.ports.models import ModelProgress
from agent_core.providers.llm.openai_dialect import Format
from agent_core.providers.llm.reported_usage import (
    cache_written_tokens,
    cached_tokens,
    is_too_few,
    reasoning_in_total,
    reasoning_tokens,
    token_count,
)
from agent_core.replies.turn_tool import is_turn_tool

MAX_TRAILING_BLANKS = 8_000  # characters; a grammar that allows blanks lets some servers write them for ever
MAX_TOOL_CALLS = 64
CUT_OFF_REASONS = ("length", "content_filter")
BROKEN_OFF_REASONS = ("error", "insufficient_system_resource")  # OpenRouter; DeepSeek
REASONING_FIELDS = ("reasoning_content", "reasoning")  # DeepSeek, vLLM and Qwen; OpenRouter, Groq and Ollama


class BrokenOff(Exception):
    """A stream ended before the end of the reply."""


class CompressedStream(Exception):
    """A stream is compressed although the request forbade it. It is refused: one line could unpack to any size."""


@dataclass(slots=True)
class Completion:
    """The part of a completion that was received so far. `tools`: the tool calls, in order.

    Its texts are buffers, so that a reply in many small parts takes linear time. `encrypted`: the characters of base64
    in which Claude gives all its reasoning, shown or not.
    """

    finish_reason: str = ""
    tools: list["_ToolParts"] = field(default_factory=list)
    usage: object = None
    encrypted: int = 0
    _text: StringIO = field(default_factory=StringIO)
    _reasoning: StringIO = field(default_factory=StringIO)
    _refusal: StringIO = field(default_factory=StringIO)
    _blanks: int = 0

    @classmethod
    def of(cls, completion: Any) -> "Completion":
        """Read a whole completion: an object of the SDK or of parsed JSON."""
        answer = cls(usage=_told_usage(completion))
        for choice in _choices(completion):
            answer.add(getattr(choice, "message", None), getattr(choice, "finish_reason", None), is_whole=True)
        return answer

    @classmethod
    def of_text(cls, text: str) -> "Completion":
        """A whole completion that has this text."""
        answer = cls()
        answer.add(SimpleNamespace(content=text), "stop")
        return answer

    @property
    def text(self) -> str:
        return self._text.getvalue()

    @property
    def reasoning(self) -> str:
        return self._reasoning.getvalue()

    @property
    def refusal(self) -> str:
        return self._refusal.getvalue()

    @property
    def size(self) -> int:
        """How many characters were received: text, reasoning, refusal and arguments of tool calls."""
        texts = (self._text, self._reasoning, self._refusal, *(call.arguments for call in self.tools))
        return sum(text.tell() for text in texts)

    @property
    def is_endless(self) -> bool:
        """Whether the last 8,000 characters of the text or of a tool call's arguments are blanks.

        Some servers write them without end.
        """
        return self._blanks > MAX_TRAILING_BLANKS

    def add_chunk(self, chunk: Any) -> None:
        """Add one chunk of a stream."""
        self.usage = _told_usage(chunk) or self.usage
        for choice in _choices(chunk):
            self.add(getattr(choice, "delta", None), getattr(choice, "finish_reason", None))

    def add(self, part: object, finish_reason: object, *, is_whole: bool = False) -> None:
        """Add a whole message or a delta: its text, refusal, reasoning and tool calls."""
        text, thought = _content(part)
        self._text.write(text)
        self._refusal.write(_text(part, "refusal"))
        fields = (found for name in REASONING_FIELDS if (found := _text(part, name)))
        self._reasoning.write(thought or next(fields, ""))
        calls = getattr(part, "tool_calls", None)
        for call in calls if isinstance(calls, list) else _old_call(part):
            text += self._add_tool(call, is_whole=is_whole)
        self._blanks = self._blanks + len(text) if not text.strip() else len(text) - len(text.rstrip())
        if isinstance(finish_reason, str) and finish_reason:
            self.finish_reason = finish_reason

    def _add_tool(self, call: Any, *, is_whole: bool) -> str:
        """Add a tool call or a part of one, and return its arguments.

        A new id or a second name begins another call, even at the same index.
        """
        function, index, own_id = getattr(call, "function", None), getattr(call, "index", None), _text(call, "id")
        arguments, name = getattr(function, "arguments", None), _text(function, "name")
        if isinstance(arguments, SimpleNamespace | Mapping):  # Ollama's own shape
            arguments = json.dumps(arguments, default=vars)
        given = arguments if isinstance(arguments, str) else ""
        begun = [each for each in self.tools if index is None or each.index == index]
        current = begun[-1] if begun and not is_whole else None
        if current and not (name and current.name) and own_id in ("", current.id):
            current.name = current.name or name
            current.arguments.write(given)
        elif len(self.tools) < MAX_TOOL_CALLS:
            self.tools.append(_ToolParts(index, own_id, name))
            self.tools[-1].arguments.write(given)
        return given

    @property
    def is_whole(self) -> bool:
        """Whether a streamed reply is complete: it has a finish reason, or its text is one JSON object."""
        return self.finish_reason not in BROKEN_OFF_REASONS and (bool(self.finish_reason) or _is_object(self.text))

    @property
    def is_cut_off(self) -> bool:
        """Whether a limit or a filter ended the reply."""
        return self.finish_reason in CUT_OFF_REASONS

    def ignores(self, way: Format) -> bool:
        """Whether the endpoint accepted this way to ask for JSON, and the model answered in another one."""
        if way == "none" or self.refusal or self.is_cut_off or not self.size:
            return False
        return not self.tools if way == "tool" else not self.tools and not _is_object(self.text)

    def progress(self) -> ModelProgress:
        """What people may be told while the model works."""
        sent = token_count(self.usage, "prompt_tokens")
        hidden = max(0, self.encrypted * 3 // 4 - self._reasoning.tell())
        return ModelProgress(
            characters=self.size + hidden,
            written=self._written,
            is_reasoning=0 < self._reasoning.tell() == self.size,
            prompt_usage=self._prompt_usage(sent) if sent else None,
        )

    def _written(self) -> str:
        return self.text or "".join(call.arguments.getvalue() for call in self.tools)

    def reply(self, count: Callable[[str], int], prompt: Sequence[Message], max_tokens: int = 0) -> Reply:
        """The reply. Token counts that the endpoint does not report, or reports absurdly, are replaced by `count`.

        `max_tokens`: the limit of the request in tokens, reasoning included; 0 if the endpoint reports no total.
        A single call of the tool `next_turn`, which asks for JSON, becomes the reply's text; other calls stay calls.
        """
        calls = tuple(ToolCall(each.name, each.arguments.getvalue()) for each in self.tools)
        text = self.text or self.refusal
        if len(calls) == 1 and is_turn_tool(calls[0].name):
            text, calls = calls[0].arguments, ()
        return Reply(
            text=text.rstrip() if self.is_endless else text,
            usage=self._usage(count, prompt, max_tokens),
            finish_reason="stop" if self.finish_reason in ("", "tool_calls", "function_call") else self.finish_reason,
            reasoning=self.reasoning,
            tool_calls=calls,
        )

    def _usage(self, count: Callable[[str], int], prompt: Sequence[Message], max_tokens: int) -> Usage:
        told, completion = self.usage, token_count(self.usage, "completion_tokens")
        sent = token_count(told, "prompt_tokens") or sum(message.tokens(count) for message in prompt)
        reasoning = reasoning_tokens(told)
        if reasoning is None:
            reasoning = reasoning_in_total(told, max_tokens) or (count(self.reasoning) if self.reasoning else 0)
        written = self.text + "".join(call.name + call.arguments.getvalue() for call in self.tools)
        if completion is None or (completion == 0 and self.size) or is_too_few(completion, written):
            completion = count(written) + reasoning
        elif token_count(told, "total_tokens") == sent + completion + reasoning:
            completion += reasoning  # xAI and Gemini report reasoning beside the completion, OpenAI within it
        return replace(self._prompt_usage(sent), completion=completion, reasoning=min(reasoning, completion))

    def _prompt_usage(self, sent: int) -> Usage:
        """The usage of a prompt of `sent` tokens, without the completion."""
        cached, written = cached_tokens(self.usage), cache_written_tokens(self.usage)
        return Usage(prompt=sent, cached=min(cached, sent), cache_written=min(written, sent))


@dataclass(slots=True)
class _ToolParts:
    """The part of a tool call that was received so far."""

    index: object
    id: str
    name: str
    arguments: StringIO = field(default_factory=StringIO)


def read_completion(completion: object) -> Completion | None:
    """A whole completion of the SDK or of parsed JSON; None if it is none.

    Raise BrokenOff if it is an error, which some services send with status 200, or if an error ended it.
    """
    if not isinstance(getattr(completion, "choices", None), list):
        check_error(completion)
        return None
    answer = Completion.of(completion)
    if answer.finish_reason in BROKEN_OFF_REASONS:
        raise BrokenOff
    return answer


def check_error(body: object) -> None:
    """Raise BrokenOff if a body that was sent with status 200 is an error."""
    if message := _member(getattr(body, "error", None), "message"):
        raise BrokenOff(str(message))


def _choices(completion: object) -> list[Any]:
    """The first choice of a completion or chunk in a list, which is empty if there is none."""
    choices = getattr(completion, "choices", None)
    return choices[:1] if isinstance(choices, list) else []


def parse_completion(body: str) -> object:
    """Parse JSON to an object with attributes, like the SDK's; raise ValueError if it is invalid."""
    return json.loads(body, object_hook=lambda members: SimpleNamespace(**members))


def _is_object(text: str) -> bool:
    """Whether the text after reasoning between tags, if there is any, is one JSON object and nothing else."""
    try:
        return isinstance(json.loads(split_reasoning(text)[1]), dict)
    except ValueError:
        return False


def _old_call(part: object) -> list[SimpleNamespace]:
    """The call in `function_call`, the field before there were `tool_calls`, as one of these."""
    function = getattr(part, "function_call", None)
    return [SimpleNamespace(function=function, index="function_call")] if function else []


def _told_usage(sent: object) -> object:
    """The usage of a completion or of a stream's chunk; Groq gives it in a field of its own."""
    if usage := getattr(sent, "usage", None):
        return usage
    usage = _member(getattr(sent, "x_groq", None), "usage")
    return parse_completion(json.dumps(usage)) if isinstance(usage, Mapping) else usage


def _content(part: object) -> tuple[str, str]:
    """The text and the reasoning in `content`, which Mistral gives as a list of chunks."""
    content = getattr(part, "content", None)
    if not isinstance(content, list):
        return content if isinstance(content, str) else "", ""
    text = "".join(_string(_member(chunk, "text")) for chunk in content if _member(chunk, "type") == "text")
    thoughts = [_member(chunk, "thinking") for chunk in content if _member(chunk, "type") == "thinking"]
    inner = [each for thought in thoughts if isinstance(thought, list) for each in thought]
    return text, "".join(_string(_member(each, "text")) for each in inner)


def _member(given: object, name: str) -> object:
    """A member of an object of the SDK or of parsed JSON."""
    return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def _string(given: object) -> str:
    return given if isinstance(given, str) else ""


def _text(part: object, name: str) -> str:
    return _string(getattr(part, name, None))
