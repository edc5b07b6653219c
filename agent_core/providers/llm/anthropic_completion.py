"""Reads replies of Anthropic's Messages API, whole or streamed, into completions."""

from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

from agent_core.ports.models import ModelProgress
from agent_core.providers.llm.openai_completion import Completion, token_count

FINISH_REASONS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "tool_use": "tool_calls",
}
PROMPT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def read_message(message: Any) -> Completion | None:
    """Convert a whole message of the SDK to a Completion; None if the object is not a message."""
    blocks = getattr(message, "content", None)
    if not isinstance(blocks, list):
        return None
    answer = Completion()
    for index, block in enumerate(blocks):
        answer.add(_begun(block, index), None)
        answer.add(_whole(block), None)
    _end(answer, message, getattr(message, "usage", None))
    return answer


async def read_events(
    events: AsyncIterator[Any], report: Callable[[ModelProgress], None] | None, max_characters: int
) -> Completion:
    """Read a stream of the SDK to its end, or until the reply is too long or continues with nothing but blanks."""
    answer, usage = Completion(), SimpleNamespace()
    async for event in events:
        _add_event(answer, event, usage)
        if report is not None:
            report(answer.progress())
        if answer.is_endless or answer.size > max_characters:
            break
    answer.usage = _as_reported(usage)
    return answer


def _add_event(answer: Completion, event: Any, usage: SimpleNamespace) -> None:
    match getattr(event, "type", None):
        case "message_start":
            _merge(usage, getattr(getattr(event, "message", None), "usage", None))
        case "content_block_start":
            answer.add(_begun(getattr(event, "content_block", None), getattr(event, "index", None)), None)
        case "content_block_delta":
            answer.add(_delta(getattr(event, "delta", None), getattr(event, "index", None)), None)
        case "message_delta":
            _merge(usage, getattr(event, "usage", None))
            _end(answer, getattr(event, "delta", None), None)
        case _:
            pass


def _begun(block: Any, index: object) -> SimpleNamespace | None:
    """The beginning of a tool call, as a delta in OpenAI's format; None for blocks of other types."""
    if getattr(block, "type", None) != "tool_use":
        return None
    function = SimpleNamespace(name=block.name, arguments="")
    return SimpleNamespace(tool_calls=[SimpleNamespace(index=index, id=block.id, function=function)])


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


def _merge(usage: SimpleNamespace, told: Any) -> None:
    """Replace the token counts by those that the event reports, which are for the whole message so far."""
    for name in (*PROMPT_COUNTS, "output_tokens", "output_tokens_details"):
        if (value := getattr(told, name, None)) is not None:
            setattr(usage, name, value)


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
