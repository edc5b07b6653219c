"""Reads replies of Anthropic's Messages API, whole or streamed, into completions."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from agent_core.providers.llm.openai_completion import Completion, check_error
from agent_core.providers.llm.reported_usage import token_count

FINISH_REASONS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "tool_use": "tool_calls",
}
PROMPT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
COMPLETION_COUNTS = ("output_tokens", "output_tokens_details")


def read_message(message: Any) -> Completion | None:
    """Convert the parsed JSON of a whole message to a Completion; None if it is not a message.

    Raise BrokenOff if it is an error, which a gateway sent with status 200.
    """
    blocks = getattr(message, "content", None)
    if not isinstance(blocks, list):
        check_error(message)
        return None
    answer = Completion()
    for index, block in enumerate(blocks):
        answer.add(_begun(block, index), None)
        answer.add(_whole(block), None)
    _end(answer, message, getattr(message, "usage", None))
    return answer


@dataclass(slots=True)
class MessageEvents:
    """Adds the events of one streamed message to its completion. `usage`: the token counts that were reported so far.

    `output_tokens` of `message_start` is a placeholder, so the completion is only counted by `message_delta`. Until
    then, thinking is estimated by its encrypted text, which comes as the signature at the end of a block.
    """

    usage: SimpleNamespace = field(default_factory=SimpleNamespace)

    def add_event(self, answer: Completion, event: Any) -> None:
        """Add an event of the SDK; events of unknown types are ignored."""
        match getattr(event, "type", None):
            case "message_start":
                self._merge(answer, getattr(getattr(event, "message", None), "usage", None), PROMPT_COUNTS)
            case "content_block_start":
                block = getattr(event, "content_block", None)
                answer.add(_begun(block, getattr(event, "index", None)), None)
                answer.encrypted += _length(getattr(block, "data", None))  # of redacted thinking
            case "content_block_delta":
                delta = getattr(event, "delta", None)
                answer.add(_delta(delta, getattr(event, "index", None)), None)
                answer.encrypted += _length(getattr(delta, "signature", None))
            case "message_delta":
                self._merge(answer, getattr(event, "usage", None), (*PROMPT_COUNTS, *COMPLETION_COUNTS))
                _end(answer, getattr(event, "delta", None), None)
            case _:
                pass

    def _merge(self, answer: Completion, told: Any, names: tuple[str, ...]) -> None:
        """Replace the token counts by those that the event reports, which are for the whole message so far."""
        for name in names:
            if (value := getattr(told, name, None)) is not None:
                setattr(self.usage, name, value)
        answer.usage = _as_reported(self.usage)


def _length(given: object) -> int:
    return len(given) if isinstance(given, str) else 0


def _begun(block: Any, index: object) -> SimpleNamespace | None:
    """The beginning of a tool call, as a delta in OpenAI's format; None for blocks of other types."""
    if getattr(block, "type", None) != "tool_use":
        return None
    function = SimpleNamespace(name=getattr(block, "name", None), arguments="")
    call = SimpleNamespace(index=index, id=getattr(block, "id", None), function=function)
    return SimpleNamespace(tool_calls=[call])


def _delta(delta: Any, index: object) -> SimpleNamespace:
    given = getattr(delta, "partial_json", None)
    call = SimpleNamespace(index=index, id=None, function=SimpleNamespace(name=None, arguments=given))
    return SimpleNamespace(
        content=getattr(delta, "text", None),
        reasoning_content=getattr(delta, "thinking", None),
        tool_calls=[call] if given else None,
    )


def _whole(block: Any) -> SimpleNamespace:
    """All text or arguments of a block, as a delta in OpenAI's format."""
    arguments = getattr(block, "input", None)
    call = SimpleNamespace(index=None, id=None, function=SimpleNamespace(name=None, arguments=arguments))
    return SimpleNamespace(
        content=getattr(block, "text", None),
        reasoning_content=getattr(block, "thinking", None),
        tool_calls=[call] if arguments is not None else None,
    )


def _end(answer: Completion, told: Any, usage: Any) -> None:
    """Add the stop reason, the explanation of a refusal, and the usage unless it is None."""
    reason = getattr(told, "stop_reason", None)
    explanation = getattr(getattr(told, "stop_details", None), "explanation", None)
    refusal = explanation if reason == "refusal" else None
    answer.add(SimpleNamespace(refusal=refusal), FINISH_REASONS.get(str(reason), "stop") if reason else None)
    if usage is not None:
        answer.usage = _as_reported(usage)


def _as_reported(usage: Any) -> SimpleNamespace:
    """The usage as OpenAI's API reports it, where tokens read from the cache or written to it belong to the prompt."""
    sent, read, written = (token_count(usage, name) for name in PROMPT_COUNTS)
    thinking = token_count(getattr(usage, "output_tokens_details", None), "thinking_tokens")
    return SimpleNamespace(
        prompt_tokens=None if sent is None else sent + (read or 0) + (written or 0),
        prompt_tokens_details=SimpleNamespace(cached_tokens=read, cache_write_tokens=written),
        completion_tokens=token_count(usage, "output_tokens"),
        completion_tokens_details=SimpleNamespace(reasoning_tokens=thinking),
    )
