"""A model's reply while it arrives, by any API: text, reasoning, tool calls, and token counts as they are reported."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO

from agent_core.model.model_calls import Message, Reply, ToolCall, Usage
from agent_core.ports.models import ModelProgress
from agent_core.replies.extraction import is_turn_tool
from agent_core.text.reasoning_tags import split_reasoning

MAX_TRAILING_BLANKS = 8_000  # characters; a grammar that allows blanks lets some servers write them for ever
MAX_TOOL_CALLS = 64
MAX_PLAUSIBLE_TOKENS = 100_000_000
MAX_CHARACTERS_PER_TOKEN = 100  # blanks not counted; a report of fewer tokens is not believed
CUT_OFF_REASONS = ("length", "content_filter")
BROKEN_OFF_REASONS = ("error", "insufficient_system_resource")  # OpenRouter; DeepSeek


class BrokenOff(Exception):
    """The endpoint ended a reply before it was complete, or sent an error instead of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenReport:
    """Token counts as an endpoint reports them; None is none, or an impossible one.

    `is_cache_apart`: `prompt` leaves out what was read from the cache and written to it.
    """

    prompt: int | None = None
    cached: int = 0
    cache_written: int = 0
    completion: int | None = None
    reasoning: int | None = None
    total: int | None = None
    is_cache_apart: bool = False

    @property
    def sent(self) -> int:
        """The tokens of the prompt; 0 if they are not reported."""
        apart = self.cached + self.cache_written if self.is_cache_apart and self.prompt is not None else 0
        return (self.prompt or 0) + apart

    def prompt_usage(self, sent: int) -> Usage:
        """The usage of a prompt of `sent` tokens, without the completion."""
        return Usage(prompt=sent, cached=min(self.cached, sent), cache_written=min(self.cache_written, sent))

    def reasoning_in_total(self, max_tokens: int) -> int:
        """Tokens of reasoning that only the total contains, as Gemini counts; 0 if they are not plausible.

        They are if the prompt was counted, the reply stays within `max_tokens`, and the total does not add the cache.
        """
        if not self.prompt or not self.completion:
            return 0
        reasoning = (self.total or 0) - self.prompt - self.completion
        is_cache = reasoning in (self.cached, self.cache_written, self.cached + self.cache_written)
        return reasoning if 0 < reasoning <= max_tokens - self.completion and not is_cache else 0


@dataclass(slots=True)
class CallParts:
    """The part of a tool call that was received so far."""

    index: object
    id: str
    name: str
    arguments: StringIO = field(default_factory=StringIO)


@dataclass(slots=True)
class Completion:
    """The part of a reply that was received so far. `calls`: the tool calls, in order.

    Its texts are buffers, so that a reply in many small parts takes linear time.
    """

    finish_reason: str = ""
    calls: list[CallParts] = field(default_factory=list)
    report: TokenReport = field(default_factory=TokenReport)
    _text: StringIO = field(default_factory=StringIO)
    _reasoning: StringIO = field(default_factory=StringIO)
    _refusal: StringIO = field(default_factory=StringIO)
    _blanks: int = 0

    @property
    def text(self) -> str:
        return self._text.getvalue()

    @property
    def refusal(self) -> str:
        return self._refusal.getvalue()

    @property
    def size(self) -> int:
        """How many characters were received: text, reasoning, refusal and arguments of tool calls."""
        texts = (self._text, self._reasoning, self._refusal, *(call.arguments for call in self.calls))
        return sum(text.tell() for text in texts)

    @property
    def is_endless(self) -> bool:
        """Whether the last 8,000 characters of the text or of a tool call's arguments are blanks.

        Some servers write them without end.
        """
        return self._blanks > MAX_TRAILING_BLANKS

    @property
    def is_whole(self) -> bool:
        """Whether a streamed reply is complete: it has a finish reason, or its text is one JSON object."""
        return self.finish_reason not in BROKEN_OFF_REASONS and (bool(self.finish_reason) or self.is_object)

    @property
    def is_cut_off(self) -> bool:
        """Whether a limit or a filter ended the reply."""
        return self.finish_reason in CUT_OFF_REASONS

    @property
    def is_object(self) -> bool:
        """Whether the text after reasoning between tags, if there is any, is one JSON object and nothing else."""
        try:
            return isinstance(json.loads(split_reasoning(self.text)[1]), dict)
        except ValueError:
            return False

    def add(self, *, text: str = "", reasoning: str = "", refusal: str = "") -> None:
        self._text.write(text)
        self._reasoning.write(reasoning)
        self._refusal.write(refusal)
        self._count_blanks(text)

    def begin_call(self, index: object, own_id: str, name: str, arguments: str) -> None:
        """Add a tool call. `index` and `own_id` tell its later parts from those of other calls."""
        self._count_blanks(arguments)
        if len(self.calls) < MAX_TOOL_CALLS:
            self.calls.append(CallParts(index, own_id, name))
            self.calls[-1].arguments.write(arguments)

    def add_to_call(self, index: object, own_id: str, name: str, arguments: str) -> None:
        """Add a part of a tool call. A new id or a second name begins another call, even at the same index."""
        current = next((call for call in reversed(self.calls) if index is None or call.index == index), None)
        if current is None or (name and current.name) or own_id not in ("", current.id):
            self.begin_call(index, own_id, name, arguments)
        else:
            current.name = current.name or name
            current.arguments.write(arguments)
            self._count_blanks(arguments)

    def progress(self) -> ModelProgress:
        """What people may be told while the model works."""
        return ModelProgress(
            characters=self.size,
            written=self._written,
            is_reasoning=0 < self._reasoning.tell() == self.size,
            prompt_usage=self.report.prompt_usage(self.report.sent) if self.report.sent else None,
        )

    def reply(self, count: Callable[[str], int], prompt: Sequence[Message], max_tokens: int) -> Reply:
        """The reply. Token counts that the endpoint does not report, or reports absurdly, are replaced by `count`.

        `max_tokens`: the limit of the request in tokens, reasoning included.
        A single call of the tool `next_turn`, which asks for JSON, becomes the reply's text; other calls stay calls.
        """
        calls = tuple(ToolCall(each.name, each.arguments.getvalue()) for each in self.calls)
        text = self.text or self.refusal
        if len(calls) == 1 and is_turn_tool(calls[0].name):
            text, calls = calls[0].arguments, ()
        return Reply(
            text=text.rstrip() if self.is_endless else text,
            usage=self._usage(count, prompt, max_tokens),
            finish_reason="stop" if self.finish_reason in ("", "tool_calls", "function_call") else self.finish_reason,
            reasoning=self._reasoning.getvalue(),
            tool_calls=calls,
        )

    def _count_blanks(self, part: str) -> None:
        self._blanks = self._blanks + len(part) if not part.strip() else len(part) - len(part.rstrip())

    def _written(self) -> str:
        return self.text or "".join(call.arguments.getvalue() for call in self.calls)

    def _usage(self, count: Callable[[str], int], prompt: Sequence[Message], max_tokens: int) -> Usage:
        told, completion, thoughts = self.report, self.report.completion, self._reasoning.getvalue()
        sent = told.sent or sum(message.tokens(count) for message in prompt)
        reasoning = told.reasoning
        if reasoning is None:
            reasoning = told.reasoning_in_total(max_tokens) or (count(thoughts) if thoughts else 0)
        written = self.text + "".join(call.name + call.arguments.getvalue() for call in self.calls)
        least = len("".join(written.split())) / MAX_CHARACTERS_PER_TOKEN - 1
        if completion is None or (completion == 0 and self.size) or completion < least:
            completion = count(written) + reasoning
        elif told.total == sent + completion + reasoning:
            completion += reasoning  # xAI and Gemini report reasoning beside the completion, OpenAI within it
        usage = told.prompt_usage(sent)
        return replace(usage, completion=completion, reasoning=min(reasoning, completion))


def member(given: object, name: str) -> object:
    """A member of an object of an SDK or of parsed JSON; None if there is none."""
    return given.get(name) if isinstance(given, dict) else getattr(given, name, None)


def text_in(given: object, name: str) -> str:
    """A member that is a text, else ""."""
    found = member(given, name)
    return found if isinstance(found, str) else ""


def token_count(usage: object, name: str) -> int | None:
    """A token count; None if the endpoint reports none or an impossible one."""
    count = member(usage, name)
    is_plausible = isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MAX_PLAUSIBLE_TOKENS
    return count if is_plausible else None  # type: ignore[return-value]


def check_error(body: object) -> None:
    """Raise BrokenOff if a body that was sent with status 200 is an error."""
    if message := member(member(body, "error"), "message"):
        raise BrokenOff(str(message))
