"""Receives a streamed completion, and detects a stream that broke off or is compressed."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2

from agent_core.ports.models import ModelProgress
from agent_core.providers.limited_replies import join_limited
from agent_core.providers.llm.openai_completion import (
    BrokenOff,
    Completion,
    CompressedStream,
    parse_completion,
    read_completion,
)

EVENT_STREAM = "text/event-stream"


async def receive_stream(
    response: Any, report: Callable[[ModelProgress], None] | None, max_bytes: int
) -> Completion | None:
    """Read a raw response of the SDK to its end; return None if it is no completion.

    An endpoint that does not stream answers with one JSON object, which is read as well. Raise BrokenOff if the stream
    ends before the reply is complete, CompressedStream, or the SDK's errors. A stream is closed in any case.
    """
    if EVENT_STREAM not in response.headers.get("content-type", ""):
        return await _read_whole(response, max_bytes)
    if "content-encoding" in response.headers:
        await response.http_response.aclose()
        raise CompressedStream
    answer = await _read_stream(response.parse(), report, max_bytes)
    if not (answer.is_whole or answer.is_endless or answer.size > max_bytes):
        raise BrokenOff
    return answer


async def _read_stream(stream: Any, report: Callable[[ModelProgress], None] | None, max_characters: int) -> Completion:
    from openai import APIConnectionError  # loaded by now: it made the stream

    answer = Completion()
    try:
        async for chunk in stream:
            answer.add_chunk(chunk)
            if report is not None:
                report(answer.progress())
            if answer.is_endless or answer.size > max_characters:
                break
    except APIConnectionError as error:
        if isinstance(error.__cause__, httpx2.TransportError):
            raise BrokenOff from None
        raise
    finally:
        await stream.close()
    return answer


async def _read_whole(response: Any, max_bytes: int) -> Completion | None:
    try:
        body = await join_limited(response.http_response.aiter_bytes(), max_bytes)
        completion = await asyncio.to_thread(parse_completion, body.decode(errors="replace"))
    except httpx2.TransportError:
        raise BrokenOff from None
    except (ValueError, TypeError, RecursionError):
        return None
    return read_completion(completion)
