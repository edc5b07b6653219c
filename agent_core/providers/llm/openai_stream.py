"""Receives a streamed reply of either SDK, and detects a stream that broke off or is compressed."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import httpx2

from agent_core.ports.models import ModelProgress
from agent_core.providers.limited_replies import EVENT_STREAM, join_limited
from agent_core.providers.llm.openai_completion import (
    BrokenOff,
    Completion,
    CompressedStream,
    parse_completion,
)


async def receive_reply(
    response: Any,
    max_bytes: int,
    *,
    report: Callable[[ModelProgress], None] | None,
    add_event: Callable[[Completion, Any], None],
    read_whole: Callable[[object], Completion | None],
) -> Completion | None:
    """Read a raw response of an SDK to its end; return None if it is no reply.

    `add_event` adds an event of the stream to the reply. `read_whole` converts the parsed JSON of an endpoint that does
    not stream. Raise BrokenOff if the stream ends before the reply is complete, CompressedStream, or the SDK's errors.
    A stream is closed in any case.
    """
    if EVENT_STREAM not in response.headers.get("content-type", ""):
        parsed = await _parse_body(response, max_bytes)
        return None if parsed is None else read_whole(parsed)
    if "content-encoding" in response.headers:
        await response.http_response.aclose()
        raise CompressedStream
    stream = response.parse()
    opened = await stream if inspect.isawaitable(stream) else stream
    answer = await _read_stream(opened, report, add_event, max_bytes)
    if not (answer.is_whole or answer.is_endless or answer.size > max_bytes):
        raise BrokenOff
    return answer


async def _read_stream(
    stream: Any,
    report: Callable[[ModelProgress], None] | None,
    add_event: Callable[[Completion, Any], None],
    max_characters: int,
) -> Completion:
    answer = Completion()
    try:
        async for event in stream:
            add_event(answer, event)
            if report is not None:
                report(answer.progress())
            if answer.is_endless or answer.size > max_characters:
                break
    except Exception as error:
        if any(isinstance(each, httpx2.TransportError) for each in (error, error.__cause__)):
            raise BrokenOff from None
        raise
    finally:
        await stream.close()
    return answer


async def _parse_body(response: Any, max_bytes: int) -> object:
    """The parsed JSON; None if the body is not JSON."""
    try:
        body = await join_limited(response.http_response.aiter_bytes(), max_bytes)
        return await asyncio.to_thread(parse_completion, body.decode(errors="replace"))
    except httpx2.TransportError:
        raise BrokenOff from None
    except (ValueError, TypeError, RecursionError):
        return None
