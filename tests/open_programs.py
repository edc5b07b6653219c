"""Fails a test that leaves a program or its pipes open.

Otherwise a later test fails, in which the garbage collector happens to find them.
"""

import asyncio
import weakref
from typing import Any

PROGRAMS: "weakref.WeakKeyDictionary[asyncio.SubprocessTransport, tuple[asyncio.AbstractEventLoop, str]]" = (
    weakref.WeakKeyDictionary()
)


class LeftOpen(Exception):
    """A test ended with its event loop while these programs ran, or while their pipes were open."""


def watch_programs() -> None:
    """Remember from now on each program that an event loop starts."""
    start = asyncio.BaseEventLoop.subprocess_exec

    async def subprocess_exec(self: asyncio.BaseEventLoop, *given: Any, **options: Any) -> Any:
        transport, protocol = await start(self, *given, **options)
        PROGRAMS[transport] = self, " ".join(map(str, given[1:]))
        return transport, protocol

    asyncio.BaseEventLoop.subprocess_exec = subprocess_exec  # type: ignore[method-assign]


def require_no_programs() -> None:
    """Raise LeftOpen if an event loop was closed before its programs had ended and their pipes were closed."""
    over = {transport: line for transport, (loop, line) in PROGRAMS.items() if loop.is_closed()}
    for transport in over:
        del PROGRAMS[transport]
    if left := [line for transport, line in over.items() if not transport.is_closing()]:
        raise LeftOpen(*left)
